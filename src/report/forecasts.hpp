#pragma once

#include <string>
#include <vector>

#include "report/study.hpp"
#include "report/study_csv.hpp"

namespace septule::report {

/// How fast learned predictors believed jobs to be, against how fast they were: one entry for each
/// stay of a job alone on an instance. Pure functions; any thread.

/// Whether any policy of the study has such forecasts.
bool has_forecasts(const StudyReport& study);

/// Columns of forecasts_csv.
std::vector<CsvColumn> forecast_columns();
/// One row for each stay of the run, by its begin; a heading first; RFC 4180 with "\n". Speeds have
/// six decimals.
std::string forecasts_csv(const RepresentativeRun& run);

/// One line for terminals: mean absolute error by policy and slice, and where more is. Policies of
/// the first gap only, without the whole GPU, to which speeds are relative; slices with fewer than
/// 20 stays are marked. Empty without forecasts of other slices.
std::string forecast_errors_text(const StudyReport& study);

/// Table of mean absolute error and bias by policy and slice as above, over all runs, and for each
/// slice a drawing of believed against actual speed, from one run of each policy (at most some 400
/// points of each, spread over the run; not where all were right). The policies of the first gap
/// only. Empty without forecasts.
std::string html_forecasts(const StudyReport& study);

/// "2g": an instance by its compute slices.
std::string slice_name(ComputeSlices slices);

}  // namespace septule::report
