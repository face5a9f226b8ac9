#include "report/svg_plot.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "report/number_text.hpp"

namespace septule::report {

namespace {

constexpr int kWidth = 860;
constexpr double kLeft = 100;
constexpr double kRight = kWidth - 20;
constexpr double kPlotHeight = 270;
constexpr double kBelow = 46;
constexpr double kLegendRow = 20;
constexpr double kNameWidth = 320;

/// Places of the legend's entries: rows of names one after the other.
struct Legend {
  struct Entry {
    double x = 0;
    double y = 0;
    std::string name;
    std::string line_class;
  };
  std::vector<Entry> entries;
  double height = 0;
};

Legend legend_of(const LinePlot& plot) {
  constexpr double kSample = 26;  // the sample line and the gap behind it
  Legend legend;
  double x = kLeft;
  double y = 16;
  for (const PlotLine& line : plot.lines) {
    const std::string name = fitted_text(line.name, kNameWidth);
    const double width = kSample + text_width(name);
    if (x > kLeft && x + width > kRight) {
      x = kLeft;
      y += kLegendRow;
    }
    legend.entries.push_back({x, y, name, plot_class(line.index)});
    x += width + 14;
  }
  legend.height = plot.lines.empty() ? 12 : y + 14;
  return legend;
}

std::string draw_legend(const Legend& legend) {
  std::string out;
  for (const Legend::Entry& entry : legend.entries) {
    out += fmt::format(
        "<path class=\"line {}\" d=\"M{} {}h20\"/>"
        "<text class=\"strong\" x=\"{}\" y=\"{}\">{}</text>\n",
        entry.line_class,
        pixels(entry.x),
        pixels(entry.y - 4),
        pixels(entry.x + 26),
        pixels(entry.y),
        xml_escaped(entry.name));
  }
  return out;
}

std::string draw_axes(const Axis& x, const Axis& y, double top, double bottom) {
  std::string grid;
  std::string labels;
  for (const Tick& tick : y.ticks()) {
    const double at = y.at(tick.value);
    grid += fmt::format("M{} {}H{}", pixels(kLeft), pixels(at), pixels(kRight));
    labels += fmt::format("<text class=\"end\" x=\"{}\" y=\"{}\">{}</text>\n",
                          pixels(kLeft - 8),
                          pixels(at + 4),
                          xml_escaped(tick.label));
  }
  for (const Tick& tick : x.ticks()) {
    const double at = x.at(tick.value);
    grid += fmt::format("M{} {}V{}", pixels(at), pixels(top), pixels(bottom));
    // A label at the right end keeps within the drawing.
    labels += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n",
                          at > kRight - kLegendRow ? "end" : "mid",
                          pixels(at > kRight - kLegendRow ? kWidth - 2 : at),
                          pixels(bottom + 17),
                          xml_escaped(tick.label));
  }
  std::string out = fmt::format("<path class=\"grid\" d=\"{}\"/>\n", grid);
  out += fmt::format("<path class=\"axis\" d=\"M{} {}V{}H{}\"/>\n",
                     pixels(kLeft),
                     pixels(top),
                     pixels(bottom),
                     pixels(kRight));
  out += labels;
  out += fmt::format("<text class=\"mid\" x=\"{}\" y=\"{}\">{}</text>\n",
                     pixels((kLeft + kRight) / 2),
                     pixels(bottom + 37),
                     xml_escaped(x.label()));
  out += fmt::format("<text class=\"mid\" transform=\"translate(14 {}) rotate(-90)\">{}</text>\n",
                     pixels((top + bottom) / 2),
                     xml_escaped(y.label()));
  return out;
}

std::vector<PlotPoint> shown_points(const PlotLine& line, const Axis& x, const Axis& y) {
  std::vector<PlotPoint> shown;
  std::ranges::copy_if(line.points, std::back_inserter(shown), [&](const PlotPoint& point) {
    return x.can_show(point.x) && y.can_show(point.y);
  });
  return shown;
}

/// The dot of a point, and its interval where it has one.
std::string draw_mark(const PlotLine& line, const PlotPoint& point, const Axis& x, const Axis& y) {
  const std::string at_x = pixels(x.at(point.x));
  std::string out;
  std::string bounds;
  if (point.low.has_value() && point.high.has_value() && y.can_show(*point.low) &&
      y.can_show(*point.high)) {
    const std::string low = pixels(y.at(*point.low));
    const std::string high = pixels(y.at(*point.high));
    out += fmt::format("<path class=\"line {}\" d=\"M{} {}V{}m-4 0h8M{} {}m-4 0h8\"/>",
                       plot_class(line.index % kPlotColours),
                       at_x,
                       low,
                       high,
                       at_x,
                       low);
    bounds = fmt::format(" [{}, {}]", grouped_text(*point.low, 2), grouped_text(*point.high, 2));
  }
  out += fmt::format(
      "<circle class=\"{} {}\" cx=\"{}\" cy=\"{}\" r=\"3.5\"><title>{}: {} at {}{}</title>"
      "</circle>\n",
      line.index < kPlotColours ? "dot" : "open",
      plot_class(line.index % kPlotColours),
      at_x,
      pixels(y.at(point.y)),
      xml_escaped(line.name),
      grouped_text(point.y, 2),
      grouped_text(point.x, 2),
      bounds);
  return out;
}

std::string draw_line(const PlotLine& line, LineShape shape, const Axis& x, const Axis& y) {
  const std::vector<PlotPoint> points = shown_points(line, x, y);
  if (points.empty()) {
    return {};
  }
  std::string path;
  std::string marks;
  std::string last_y;
  for (const PlotPoint& point : points) {
    const std::string at_x = pixels(x.at(point.x));
    const std::string at_y = pixels(y.at(point.y));
    if (path.empty()) {
      path = fmt::format("M{} {}", at_x, at_y);
    } else if (shape == LineShape::kPoints) {
      path += fmt::format("L{} {}", at_x, at_y);
    } else {
      path += "H" + at_x + (at_y == last_y ? "" : "V" + at_y);
    }
    last_y = at_y;
    if (shape != LineShape::kSteps) {
      marks += draw_mark(line, point, x, y);
    }
  }
  if (shape == LineShape::kDots) {
    return marks;
  }
  return fmt::format("<path class=\"line {}\" d=\"{}\"><title>{}</title></path>\n{}",
                     plot_class(line.index),
                     path,
                     xml_escaped(line.name),
                     marks);
}

/// Where y = x, as far as both axes go.
std::string draw_diagonal(const Axis& x, const Axis& y) {
  const double from = std::max(x.min(), y.min());
  const double to = std::min(x.max(), y.max());
  return from < to ? fmt::format("<path class=\"axis\" d=\"M{} {}L{} {}\"/>\n",
                                 pixels(x.at(from)),
                                 pixels(y.at(from)),
                                 pixels(x.at(to)),
                                 pixels(y.at(to)))
                   : std::string();
}

/// All numbers that an axis has to hold.
struct PlotValues {
  std::vector<double> x;
  std::vector<double> y;
};

PlotValues values_of(const LinePlot& plot) {
  PlotValues values;
  for (const PlotLine& line : plot.lines) {
    for (const PlotPoint& point : line.points) {
      values.x.push_back(point.x);
      values.y.push_back(point.y);
      values.y.push_back(point.low.value_or(point.y));
      values.y.push_back(point.high.value_or(point.y));
    }
  }
  return values;
}

}  // namespace

std::string svg_line_plot(const LinePlot& plot, Embedding embedding) {
  const Legend legend = legend_of(plot);
  const double top = legend.height;
  const double bottom = top + kPlotHeight;
  const PlotValues values = values_of(plot);
  const Axis x(plot.x, {kLeft, kRight, 9}, values.x);
  const Axis y(plot.y, {bottom, top, 6}, values.y);
  std::string lines;
  for (const PlotLine& line : plot.lines) {
    lines += draw_line(line, plot.shape, x, y);
  }
  if (lines.empty()) {
    lines = fmt::format("<text class=\"mid\" x=\"{}\" y=\"{}\">no data</text>\n",
                        pixels((kLeft + kRight) / 2),
                        pixels((top + bottom) / 2));
  }
  if (plot.shape == LineShape::kDots) {
    lines = draw_diagonal(x, y) + lines;
  }
  const DrawingSize size{kWidth, static_cast<int>(bottom + kBelow)};
  return svg_opening(size, plot.title, embedding) + draw_legend(legend) +
         draw_axes(x, y, top, bottom) + lines + "</svg>\n";
}

}  // namespace septule::report
