#pragma once

#include <string>

#include "report/study.hpp"

namespace septule::report {

/// Tables of the page; each is a whole element in a scrolling frame.

/// A study of several gaps: mean JCT with its 95 % interval, a row per policy and cluster, a column
/// per gap.
std::string html_sweep_table(const StudyReport& study);
/// The same rows and columns: change of the mean JCT against the base at that gap.
std::string html_sweep_comparison(const StudyReport& study);
/// One line on each policy that says something of itself; empty if none does.
std::string html_policy_notes(const StudyReport& study);
/// One row per policy: the main figures with their 95 % intervals.
std::string html_policy_table(const StudyReport& study);
/// Every policy but the first against the first, paired by seed.
std::string html_comparison_table(const StudyReport& study);
/// All figures of all policies, one row per figure, with its unit and formula.
std::string html_all_figures(const StudyReport& study);
/// Names and values of the study's options.
std::string html_options(const StudyReport& study);

}  // namespace septule::report
