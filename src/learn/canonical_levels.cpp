#include "learn/canonical_levels.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "base/check.hpp"
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

/// The nearest measured percentages at or under, and at or over, a percentage.
struct Neighbours {
  std::optional<Point> below;
  std::optional<Point> above;

  bool is_measured() const {
    return below.has_value() && above.has_value() && below->percentage == above->percentage;
  }
  bool is_between(int percentage) const {
    return below.has_value() && above.has_value() && below->percentage != above->percentage &&
           is_within_reach(*below, *above, percentage);
  }
};

Neighbours neighbours_of(const predict::MpsMatrix& matrix, std::size_t column, int percentage) {
  Neighbours found;
  for (const predict::MpsMatrix::Level& level : matrix.levels) {
    const std::optional<double>& step = level.step[column];
    if (!step.has_value()) {
      continue;
    }
    const Point point{.percentage = level.atp.value(), .time = *step};
    if (point.percentage <= percentage &&
        (!found.below.has_value() || point.percentage > found.below->percentage)) {
      found.below = point;
    }
    if (point.percentage >= percentage &&
        (!found.above.has_value() || point.percentage < found.above->percentage)) {
      found.above = point;
    }
  }
  return found;
}

}  // namespace

CanonicalTimes canonical_times(const predict::MpsMatrix& matrix, std::size_t column) {
  CanonicalTimes times;
  for (std::size_t index = 0; index < kCanonicalLevels; ++index) {
    const int percentage = kCanonicalPercentages[index];
    const Neighbours near = neighbours_of(matrix, column, percentage);
    if (near.is_measured()) {
      times[index] = checked_value(near.below, "it was measured").time;
    } else if (near.is_between(percentage)) {
      times[index] = interpolated(checked_value(near.below, "there is a level below"),
                                  checked_value(near.above, "there is a level above"),
                                  percentage);
    }
  }
  return times;
}

LevelUse level_use(const predict::MpsMatrix& matrix, std::size_t column) {
  LevelUse use;
  std::vector<int> used;
  for (const int percentage : kCanonicalPercentages) {
    const Neighbours near = neighbours_of(matrix, column, percentage);
    if (near.is_measured() || near.is_between(percentage)) {
      use.made.push_back(percentage);
      used.insert(used.end(),
                  {checked_value(near.below, "a made level has one below").percentage,
                   checked_value(near.above, "a made level has one above").percentage});
    }
  }
  for (const predict::MpsMatrix::Level& level : matrix.levels) {
    if (level.step[column].has_value() &&
        std::ranges::find(used, level.atp.value()) == used.end()) {
      use.unused.push_back(level.atp.value());
    }
  }
  std::ranges::sort(use.unused, std::ranges::greater());
  return use;
}

}  // namespace septule::learn
