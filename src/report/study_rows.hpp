#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/study.hpp"

namespace septule::report {

/// The entries of a study are policies, each on every cluster at every gap. How pictures and tables
/// put them in order. Rows are indices into StudyReport::policies. Pure functions; any thread.

/// The policy's own name, without cluster and gap.
const std::string& policy_key(const PolicyReport& policy);
/// The n-th policy of the study by first occurrence of its own name: its colour in all drawings,
/// the same on every cluster and at every gap.
int colour_index(const StudyReport& study, const PolicyReport& policy);
/// How many policies the study has by their own names.
int policy_count(const StudyReport& study);

/// Whether the entries differ by gap.
bool is_sweep(const StudyReport& study);
/// Gaps of the study, each once, in order of occurrence; entries without one are passed over.
std::vector<Duration> gaps_of(const StudyReport& study);
/// Rows at the gap of the first one: all rows unless the study is a sweep.
std::vector<std::size_t> first_gap_rows(const StudyReport& study);
/// The same rows, one part per cluster in order of occurrence.
std::vector<std::vector<std::size_t>> rows_by_cluster(const StudyReport& study,
                                                      const std::vector<std::size_t>& rows);

}  // namespace septule::report
