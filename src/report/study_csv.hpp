#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/study.hpp"

namespace septule::report {

/// A column of a file as docs/formats.md lists it.
struct CsvColumn {
  std::string name;
  std::string unit;
  std::string formula;
};

/// A text as a cell: quoted where RFC 4180 asks for it.
std::string csv_cell(std::string_view text);
/// The heading of these columns, as a line.
std::string csv_heading(std::span<const CsvColumn> columns);

/// Columns of runs_csv: policy and seed, then all of job::figure_columns().
std::vector<CsvColumn> run_columns();
/// Columns of jobs_csv.
std::vector<CsvColumn> job_columns();

/// One row for each run of each policy, in the order of the study; a heading first; RFC 4180 with
/// "\n". A run in which no job finished has empty cells where there is no figure.
std::string runs_csv(const StudyReport& study);

/// One row for each job of the run, by id; a heading first; RFC 4180 with "\n". Times are seconds
/// without rounding, so that the four kinds of time add up to jct_s in the file too. What is not
/// known or did not happen is an empty cell.
std::string jobs_csv(const RepresentativeRun& run);

}  // namespace septule::report
