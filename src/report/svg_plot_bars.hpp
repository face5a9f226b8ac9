#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/svg_plot_axis.hpp"
#include "report/svg_plot_text.hpp"

namespace septule::report {

/// One policy's bar.
struct Bar {
  std::string name;
  int index = 0;               ///< colour of a bar of one part (plot_class)
  std::vector<double> parts;   ///< lengths, >= 0, one after the other; empty = not known
  std::optional<double> low;   ///< interval of the whole length
  std::optional<double> high;  ///< likewise
  std::string text;            ///< the figure, written at the right
  std::string group;           ///< heading above it, unless the bar before has the same; or empty
};

/// Horizontal bars, one under the other, from 0. The column of names is as wide as they are, up to
/// half of the drawing; longer names are shortened.
struct BarPlot {
  std::string title;
  AxisSpec axis;
  int width = 860;                      ///< of the view box; >= 280
  std::vector<std::string> part_names;  ///< up to 4, for stacked bars with a legend; empty = plain
  std::vector<Bar> bars;
};

/// The drawing as SVG. A bar whose value is not known says "N/A". Deterministic.
std::string svg_bar_plot(const BarPlot& plot, Embedding embedding);

}  // namespace septule::report
