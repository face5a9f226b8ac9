#pragma once

#include <string>

#include "report/svg_plot_axis.hpp"

namespace septule::report {

// What all drawings of GPUs over time have in common: a band for each GPU with a row for each
// memory slice, textures, a time axis. Lengths in pixels of the view box. Pure functions; any
// thread.

inline constexpr int kTimelineWidth = 1100;
inline constexpr double kTimelineLeft = 62;  ///< where t = 0 is
inline constexpr double kTimelineRight = kTimelineWidth - 18;
inline constexpr double kTimelineTop = 6;
inline constexpr double kTimelineGap = 9;  ///< between bands

/// A GPU that is drawn: where its band is.
struct TimelineBand {
  int gpu = 0;
  int slices = 0;  ///< > 0
  double top = 0;
  std::string label;
  double row = 6;  ///< height of a memory slice
};

/// A rectangle as a part of a path.
std::string timeline_box(double x, double y, double width, double height);
/// The definitions of the textures: `id` followed by r (re-cut), s (slow), m (shared), c (sampled).
std::string timeline_patterns(const std::string& id);
/// A path with one of these textures; empty for an empty path.
std::string timeline_texture(const std::string& path, const std::string& id, char texture);
/// An entry of a key, with its box at (x, y): what the shape (a class) with this texture ('-' =
/// none) means. `text` is XML already.
struct TimelineKeyEntry {
  std::string shape;
  char texture = '-';
  std::string text;
};
std::string timeline_key_entry(const TimelineKeyEntry& entry,
                               double x,
                               double y,
                               const std::string& id);
/// The band's ground, its rows and its label.
std::string timeline_band(const TimelineBand& band);
/// The axis below all bands.
std::string timeline_axis(const Axis& axis, double bottom);
/// An axis of time over the width of a drawing, from 0 to `end_s` > 0.
Axis timeline_time_axis(double end_s);

}  // namespace septule::report
