#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/svg_plot_axis.hpp"
#include "report/svg_plot_text.hpp"

namespace septule::report {

/// A point of a line. `low` and `high` are the ends of its interval, if it has one.
struct PlotPoint {
  double x = 0;
  double y = 0;
  std::optional<double> low;
  std::optional<double> high;
};

/// One policy's line. `index` gives its colour (plot_class), the same in all drawings of a report.
struct PlotLine {
  std::string name;
  int index = 0;
  std::vector<PlotPoint> points;  ///< x ascending
};

enum class LineShape {
  kSteps,   ///< a value holds until the next point
  kPoints,  ///< straight lines between points that are marked, with their intervals
  kDots,    ///< marked points alone, x in any order; the line where y = x is drawn below them
};

/// Lines over one pair of axes: distributions, series over time, sweeps of a parameter.
struct LinePlot {
  std::string title;
  AxisSpec x;
  AxisSpec y;
  LineShape shape = LineShape::kPoints;
  std::vector<PlotLine> lines;
};

/// The drawing as SVG, with a legend above it. Points that an axis cannot show (not finite, or not
/// above 0 on a logarithmic axis) are left out; without any point it says "no data". Deterministic.
std::string svg_line_plot(const LinePlot& plot, Embedding embedding);

}  // namespace septule::report
