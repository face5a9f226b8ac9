#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "predict/mps_matrix.hpp"

namespace septule::learn {

/// The active thread percentages at which the training data were measured (miso.md 3.1).
inline constexpr std::size_t kCanonicalLevels = 3;
inline constexpr std::array<int, kCanonicalLevels> kCanonicalPercentages = {100, 50, 14};

/// Step times of one job at the canonical percentages; nothing = not known.
using CanonicalTimes = std::array<std::optional<double>, kCanonicalLevels>;

/// Times of a column at the canonical percentages, from whatever percentages were measured: the
/// measured time where there is one; else, between the nearest measured percentages below and
/// above, log time linear in log percentage (a job limited by its threads is a straight line there,
/// and so is one that is not limited at all). Never beyond the measured range: such a level is not
/// known. `matrix` has passed check_mps_matrix(). No heap.
CanonicalTimes canonical_times(const predict::MpsMatrix& matrix, std::size_t column);

}  // namespace septule::learn
