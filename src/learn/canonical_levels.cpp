#include "learn/canonical_levels.hpp"

#include "base/portable_math.hpp"

namespace septule::learn {

namespace {

using Level = predict::MpsMatrix::Level;

/// Whether one of the two is near enough for a time between them to be more than a guess.
bool is_within_reach(const Level& below, const Level& above, int percentage) {
  return percentage < kInterpolationReach * below.atp.value() ||
         above.atp.value() < kInterpolationReach * percentage;
}

double interpolated(const Level& below, const Level& above, std::size_t column, int percentage) {
  const double log_below = portable_log(below.atp.value());
  const double log_above = portable_log(above.atp.value());
  const double part = (portable_log(percentage) - log_below) / (log_above - log_below);
  const double low = portable_log(*below.step[column]);
  const double high = portable_log(*above.step[column]);
  return portable_exp(low + part * (high - low));
}

}  // namespace

CanonicalTimes canonical_times(const predict::MpsMatrix& matrix, std::size_t column) {
  CanonicalTimes times;
  for (std::size_t index = 0; index < kCanonicalLevels; ++index) {
    const int percentage = kCanonicalPercentages[index];
    const Level* below = nullptr;  // the nearest at or under the percentage
    const Level* above = nullptr;  // the nearest at or over it
    for (const Level& level : matrix.levels) {
      if (!level.step[column].has_value()) {
        continue;
      }
      if (level.atp.value() <= percentage && (below == nullptr || level.atp > below->atp)) {
        below = &level;
      }
      if (level.atp.value() >= percentage && (above == nullptr || level.atp < above->atp)) {
        above = &level;
      }
    }
    if (below != nullptr && below == above) {
      times[index] = below->step[column];
    } else if (below != nullptr && above != nullptr &&
               is_within_reach(*below, *above, percentage)) {
      times[index] = interpolated(*below, *above, column, percentage);
    }
  }
  return times;
}

}  // namespace septule::learn
