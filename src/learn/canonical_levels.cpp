#include "learn/canonical_levels.hpp"

#include <algorithm>
#include <optional>

#include "base/portable_math.hpp"

namespace septule::learn {

namespace {

/// Times at the ends of what a double holds stay within what portable_exp() takes.
constexpr double kExponentMax = 700;

/// A measured time.
struct Point {
  int percentage = 0;
  double time = 0;
};

/// Whether one of the two is near enough for a time between them to be more than a guess.
bool is_within_reach(const Point& below, const Point& above, int percentage) {
  return percentage < kInterpolationReach * below.percentage ||
         above.percentage < kInterpolationReach * percentage;
}

double interpolated(const Point& below, const Point& above, int percentage) {
  const double log_below = portable_log(below.percentage);
  const double log_above = portable_log(above.percentage);
  const double part = (portable_log(percentage) - log_below) / (log_above - log_below);
  const double low = portable_log(below.time);
  const double exponent = low + part * (portable_log(above.time) - low);
  return portable_exp(std::clamp(exponent, -kExponentMax, kExponentMax));
}

}  // namespace

CanonicalTimes canonical_times(const predict::MpsMatrix& matrix, std::size_t column) {
  CanonicalTimes times;
  for (std::size_t index = 0; index < kCanonicalLevels; ++index) {
    const int percentage = kCanonicalPercentages[index];
    std::optional<Point> below;  // the nearest at or under the percentage
    std::optional<Point> above;  // the nearest at or over it
    for (const predict::MpsMatrix::Level& level : matrix.levels) {
      const std::optional<double>& step = level.step[column];
      if (!step.has_value()) {
        continue;
      }
      const Point point{.percentage = level.atp.value(), .time = *step};
      if (point.percentage <= percentage &&
          (!below.has_value() || point.percentage > below->percentage)) {
        below = point;
      }
      if (point.percentage >= percentage &&
          (!above.has_value() || point.percentage < above->percentage)) {
        above = point;
      }
    }
    if (!below.has_value() || !above.has_value()) {
      continue;
    }
    if (below->percentage == above->percentage) {
      times[index] = below->time;
    } else if (is_within_reach(*below, *above, percentage)) {
      times[index] = interpolated(*below, *above, percentage);
    }
  }
  return times;
}

}  // namespace septule::learn
