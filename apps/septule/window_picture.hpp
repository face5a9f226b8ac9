#pragma once

#include <string>

#include "septule/window_run.hpp"

namespace septule::app {

/// The schedule over time as an SVG file of its own: the slices of the GPU, jobs in their instances
/// (report/svg_plot_timeline.hpp). Notes are said.
std::string window_picture(const WindowQuestion& question, const WindowFinding& finding);

}  // namespace septule::app
