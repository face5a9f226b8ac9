#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "predict/mps_matrix.hpp"

namespace septule::learn {

/// The active thread percentages at which the training data were measured (miso.md 3.1).
inline constexpr std::size_t kCanonicalLevels = 3;
inline constexpr std::array<int, kCanonicalLevels> kCanonicalPercentages = {100, 50, 14};

/// Step times of one job at the canonical percentages; nothing = not known.
using CanonicalTimes = std::array<std::optional<double>, kCanonicalLevels>;

/// The nearer of the two measured percentages is less than this factor away [D].
inline constexpr int kInterpolationReach = 2;

/// Times of a column at the canonical percentages, from whatever percentages were measured: the
/// measured time where there is one; else, between the nearest measured percentages below and
/// above, log time linear in log percentage (a job limited by its threads is a straight line there,
/// and so is one that is not limited at all). Not known is a level beyond the measured range, and
/// one whose neighbours are both kInterpolationReach or more away: networks are trained to do
/// without a level, so 100 and 14 alone say nothing of 50. `matrix` has passed check_mps_matrix().
/// No heap.
CanonicalTimes canonical_times(const predict::MpsMatrix& matrix, std::size_t column);

/// What becomes of the percentages that were measured of one column. A plain value.
struct LevelUse {
  std::vector<int> made;    ///< canonical percentages with a time, from the largest
  std::vector<int> unused;  ///< measured percentages that no such time is made of, from the largest
};
LevelUse level_use(const predict::MpsMatrix& matrix, std::size_t column);

}  // namespace septule::learn
