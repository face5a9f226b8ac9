#pragma once

#include <string>

#include "report/study.hpp"

namespace septule::report {

/// The study for a terminal: a line on what was run, a table with one row per policy (means over
/// seeds, the 95 % interval of the mean JCT, jobs done and rejected if any were rejected), how each
/// policy compares with the first one, paired by seed, and the notes. Names are quoted where they
/// could break a line. Ends with a line feed.
std::string study_table(const StudyReport& study);

}  // namespace septule::report
