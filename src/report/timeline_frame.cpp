#include "report/timeline_frame.hpp"

#include <array>

#include <fmt/format.h>

#include "report/number_text.hpp"
#include "report/svg_plot_text.hpp"

namespace septule::report {

namespace {

/// A repeated stroke: vertical in a square of `size`, turned by `angle` degrees.
struct Pattern {
  char letter;
  int size;
  int angle;
  const char* stroke;  // attributes
};

}  // namespace

std::string timeline_box(double x, double y, double width, double height) {
  return fmt::format(
      "M{} {}h{}v{}h-{}z", pixels(x), pixels(y), pixels(width), pixels(height), pixels(width));
}

std::string timeline_patterns(const std::string& id) {
  constexpr std::array kPatterns = std::to_array<Pattern>({
      {'r', 5, 45, "style=\"stroke:var(--ink2)\" stroke-width=\"1.6\""},
      {'s', 4, 45, "stroke=\"#1b1f24\" stroke-opacity=\".55\" stroke-width=\"1.4\""},
      {'m', 6, -45, "stroke=\"#fff\" stroke-opacity=\".75\" stroke-width=\"2\""},
      {'c', 4, 0, "stroke=\"#1b1f24\" stroke-opacity=\".6\" stroke-width=\"1\""},
  });
  std::string out = "<defs>\n";
  for (const Pattern& pattern : kPatterns) {
    out += fmt::format(
        "<pattern id=\"{0}{1}\" width=\"{2}\" height=\"{2}\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate({3})\"><path d=\"M1 0V{2}\" {4}/></pattern>\n",
        id,
        pattern.letter,
        pattern.size,
        pattern.angle,
        pattern.stroke);
  }
  return out + "</defs>\n";
}

std::string timeline_texture(const std::string& path, const std::string& id, char texture) {
  return path.empty()
             ? std::string()
             : fmt::format(
                   "<path class=\"over\" fill=\"url(#{}{})\" d=\"{}\"/>\n", id, texture, path);
}

std::string timeline_key_entry(const TimelineKeyEntry& entry,
                               double x,
                               double y,
                               const std::string& id) {
  std::string shapes =
      fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"26\" height=\"14\"/>",
                  entry.shape,
                  pixels(x),
                  pixels(y));
  if (entry.texture != '-') {
    shapes += timeline_texture(timeline_box(x, y, 26, 14), id, entry.texture);
  }
  return shapes + fmt::format("<text class=\"strong\" x=\"{}\" y=\"{}\">{}</text>\n",
                              pixels(x + 32),
                              pixels(y + 11),
                              entry.text);
}

std::string timeline_band(const TimelineBand& band) {
  std::string rows;
  for (int slice = 1; slice < band.slices; ++slice) {
    rows += fmt::format("M{} {}H{}",
                        pixels(kTimelineLeft),
                        pixels(band.top + band.row * slice),
                        pixels(kTimelineRight));
  }
  std::string out =
      fmt::format("<rect class=\"band\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                  pixels(kTimelineLeft),
                  pixels(band.top),
                  pixels(kTimelineRight - kTimelineLeft),
                  pixels(band.row * band.slices));
  out += rows.empty() ? std::string() : fmt::format("<path class=\"grid\" d=\"{}\"/>\n", rows);
  return out + fmt::format("<text class=\"end strong\" x=\"{}\" y=\"{}\">{}</text>\n",
                           pixels(kTimelineLeft - 7),
                           pixels(band.top + band.row * band.slices / 2 + 4),
                           xml_escaped(shortened_text(band.label, 8)));
}

std::string timeline_axis(const Axis& axis, double bottom) {
  std::string marks;
  std::string labels;
  for (const Tick& tick : axis.ticks()) {
    const std::string at = pixels(axis.at(tick.value));
    marks += fmt::format("M{} {}v5", at, pixels(bottom));
    // A label at the right end keeps within the drawing.
    const bool is_last = axis.at(tick.value) > kTimelineRight - 20;
    labels += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n",
                          is_last ? "end" : "mid",
                          is_last ? pixels(kTimelineWidth - 2) : at,
                          pixels(bottom + 18),
                          xml_escaped(tick.label));
  }
  return fmt::format("<path class=\"axis\" d=\"M{} {}H{}{}\"/>\n{}",
                     pixels(kTimelineLeft),
                     pixels(bottom),
                     pixels(kTimelineRight),
                     marks,
                     labels);
}

Axis timeline_time_axis(double end_s) {
  return {{"time", AxisKind::kTime, 0.0, end_s}, {kTimelineLeft, kTimelineRight, 11}, {}};
}

}  // namespace septule::report
