#pragma once

#include "report/study.hpp"
#include "report/svg_plot.hpp"

namespace septule::report {

/// Mean JCT over the mean gap between submissions with intervals: a line for each policy on each
/// cluster, coloured by policy; clusters differ by their dashes. Entries without a gap or without a
/// figure are left out.
LinePlot sweep_plot(const StudyReport& study);

}  // namespace septule::report
