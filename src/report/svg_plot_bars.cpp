#include "report/svg_plot_bars.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/check.hpp"
#include "report/number_text.hpp"

namespace septule::report {

namespace {

constexpr double kBarHeight = 20;
constexpr double kBarStep = 30;
constexpr double kHeadingStep = 26;
constexpr std::size_t kPartsMax = 4;

/// Where the columns of the drawing are.
struct Columns {
  double left = 0;   ///< of the bars; names end here
  double right = 0;  ///< of the bars; figures begin here
  double top = 0;
  double bottom = 0;
};

/// Whether a heading stands above the bar.
bool begins_group(const BarPlot& plot, std::size_t index) {
  const std::string& group = plot.bars[index].group;
  return !group.empty() && (index == 0 || plot.bars[index - 1].group != group);
}

Columns columns_of(const BarPlot& plot) {
  const bool is_wide = plot.width >= 600;
  double names = 0;
  double figures = 0;
  Columns columns;
  columns.top = plot.part_names.empty() ? 6 : 34;
  columns.bottom = columns.top;
  for (std::size_t i = 0; i < plot.bars.size(); ++i) {
    names = std::max(names, text_width(plot.bars[i].name));
    figures = std::max(figures, text_width(plot.bars[i].text));
    columns.bottom += kBarStep + (begins_group(plot, i) ? kHeadingStep : 0);
  }
  columns.left = std::clamp(names + 14, is_wide ? 150.0 : 92.0, 0.5 * plot.width);
  columns.right = plot.width - std::clamp(figures + 12, is_wide ? 90.0 : 62.0, 0.25 * plot.width);
  return columns;
}

bool is_length(double value) {
  return std::isfinite(value) && value >= 0;
}

bool is_known(const Bar& bar) {
  return !bar.parts.empty() && std::ranges::all_of(bar.parts, is_length);
}

double length_of(const Bar& bar) {
  return std::accumulate(bar.parts.begin(), bar.parts.end(), 0.0);
}

std::string draw_legend(const BarPlot& plot, const Columns& columns) {
  std::string out;
  double x = columns.left;
  for (std::size_t i = 0; i < plot.part_names.size(); ++i) {
    out += fmt::format(
        "<rect class=\"k{}\" x=\"{}\" y=\"8\" width=\"12\" height=\"12\"/>"
        "<text class=\"strong\" x=\"{}\" y=\"18\">{}</text>\n",
        i,
        pixels(x),
        pixels(x + 17),
        xml_escaped(plot.part_names[i]));
    x += 17 + 7 * static_cast<double>(plot.part_names[i].size()) + 16;
  }
  return out;
}

std::string draw_grid(const Axis& axis, const Columns& columns) {
  std::string grid;
  std::string labels;
  for (const Tick& tick : axis.ticks()) {
    const std::string at = pixels(axis.at(tick.value));
    grid += fmt::format("M{} {}V{}", at, pixels(columns.top), pixels(columns.bottom + 3));
    labels += fmt::format("<text class=\"mid\" x=\"{}\" y=\"{}\">{}</text>\n",
                          at,
                          pixels(columns.bottom + 17),
                          xml_escaped(tick.label));
  }
  return fmt::format("<path class=\"grid\" d=\"{}\"/>\n{}", grid, labels) +
         fmt::format("<text class=\"mid\" x=\"{}\" y=\"{}\">{}</text>\n",
                     pixels((columns.left + columns.right) / 2),
                     pixels(columns.bottom + 35),
                     xml_escaped(axis.label()));
}

/// One part of a stacked bar, with its share written in it where there is room.
std::string draw_part(
    const BarPlot& plot, const Bar& bar, std::size_t part, const Axis& axis, double y) {
  const double before = std::accumulate(
      bar.parts.begin(), bar.parts.begin() + static_cast<std::ptrdiff_t>(part), 0.0);
  const double from = axis.at(before);
  const double width = axis.at(before + bar.parts[part]) - from;
  const bool is_stacked = !plot.part_names.empty();
  const double whole = length_of(bar);
  const double share = whole > 0 ? bar.parts[part] / whole : 0;
  std::string out = fmt::format(
      "<rect class=\"bar {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}{}: {}{}"
      "</title></rect>\n",
      is_stacked ? fmt::format("k{}", part) : plot_class(bar.index),
      pixels(from),
      pixels(y),
      pixels(width),
      pixels(kBarHeight),
      xml_escaped(bar.name),
      is_stacked ? xml_escaped(", " + plot.part_names[part]) : std::string(),
      grouped_text(bar.parts[part], plot.axis.kind == AxisKind::kPercent ? 4 : 2),
      is_stacked ? fmt::format(" ({} %)", fixed_text(100 * share, 1)) : std::string());
  if (!is_stacked) {
    out += area_stripes(bar.index, from, y, width, kBarHeight);
  }
  if (is_stacked && width >= 40) {
    out += fmt::format("<text class=\"mid over t{}\" x=\"{}\" y=\"{}\">{} %</text>\n",
                       part,
                       pixels(from + width / 2),
                       pixels(y + 14.5),
                       fixed_text(100 * share, 0));
  }
  return out;
}

std::string draw_bar(
    const BarPlot& plot, const Columns& columns, const Bar& bar, const Axis& axis, double y) {
  std::string out =
      fmt::format("<text class=\"end strong\" x=\"{}\" y=\"{}\"><title>{}</title>{}</text>\n",
                  pixels(columns.left - 8),
                  pixels(y + 14.5),
                  xml_escaped(bar.name),
                  xml_escaped(fitted_text(bar.name, columns.left - 10)));
  if (is_known(bar)) {
    for (std::size_t part = 0; part < bar.parts.size(); ++part) {
      out += draw_part(plot, bar, part, axis, y);
    }
    if (bar.low.has_value() && bar.high.has_value() && axis.can_show(*bar.low) &&
        axis.can_show(*bar.high)) {
      const double low = axis.at(*bar.low);
      out += fmt::format("<path class=\"bound\" d=\"M{} {}H{}M{} {}v8M{} {}v8\"/>\n",
                         pixels(low),
                         pixels(y + 10),
                         pixels(axis.at(*bar.high)),
                         pixels(low),
                         pixels(y + 6),
                         pixels(axis.at(*bar.high)),
                         pixels(y + 6));
    }
  }
  return out + fmt::format("<text class=\"strong end\" x=\"{}\" y=\"{}\">{}</text>\n",
                           pixels(plot.width - 4),
                           pixels(y + 14.5),
                           is_known(bar)
                               ? xml_escaped(fitted_text(bar.text, plot.width - columns.right - 6))
                               : "N/A");
}

}  // namespace

std::string svg_bar_plot(const BarPlot& plot, Embedding embedding) {
  SEPTULE_CHECK(plot.width >= 280, "a bar plot has room for names, bars and figures");
  SEPTULE_CHECK(plot.part_names.size() <= kPartsMax, "there are four colours for parts");
  const Columns columns = columns_of(plot);
  std::vector<double> ends = {0};
  for (const Bar& bar : plot.bars) {
    const bool is_fitting = plot.part_names.empty() || bar.parts.size() <= plot.part_names.size();
    SEPTULE_CHECK(is_fitting, "each part of a stacked bar has a name");
    if (is_known(bar)) {
      ends.push_back(length_of(bar));
      ends.push_back(bar.high.value_or(0));
    }
  }
  AxisSpec spec = plot.axis;
  spec.min = 0;
  const int ticks_max = plot.width >= 600 ? 7 : 4;
  const Axis axis(spec, {columns.left, columns.right, ticks_max}, ends);
  const DrawingSize size{plot.width, static_cast<int>(columns.bottom + 42)};
  std::string out = svg_opening(size, plot.title, embedding);
  out += draw_legend(plot, columns) + draw_grid(axis, columns);
  double y = columns.top + (kBarStep - kBarHeight) / 2;
  for (std::size_t i = 0; i < plot.bars.size(); ++i) {
    if (begins_group(plot, i)) {
      out += fmt::format("<text class=\"strong heading\" x=\"4\" y=\"{}\">{}</text>\n",
                         pixels(y + 16),
                         xml_escaped(fitted_text(plot.bars[i].group, plot.width - 8)));
      y += kHeadingStep;
    }
    out += draw_bar(plot, columns, plot.bars[i], axis, y);
    y += kBarStep;
  }
  return out + "</svg>\n";
}

}  // namespace septule::report
