#pragma once

#include "interop/limits.hpp"
#include "predict/mps_matrix.hpp"
#include "support/fuzz_support.hpp"

namespace septule::fuzz {

/// Whether column `column` has a good time at every level (true) or at none (false).
inline bool require_whole_column(const predict::MpsMatrix& matrix, std::size_t column) {
  std::size_t count = 0;
  for (const predict::MpsMatrix::Level& level : matrix.levels) {
    if (level.step[column].has_value()) {
      const double time = *level.step[column];
      require(time >= interop::kMpsTimeMin && time <= interop::kMpsTimeMax, "times are in range");
      ++count;
    }
  }
  require(count == 0 || count == matrix.levels.size(), "a job has a time at each level");
  return count != 0;
}

/// What holds of every matrix that was read; returns how many jobs it has.
inline std::size_t require_matrix(const predict::MpsMatrix& matrix) {
  require(!matrix.levels.empty() && matrix.levels.size() <= predict::kMatrixLevelsMax,
          "the number of levels is in its limits");
  for (std::size_t i = 0; i < matrix.levels.size(); ++i) {
    const int atp = matrix.levels[i].atp.value();
    require(atp >= 1 && atp <= 100, "levels are percentages");
    for (std::size_t k = 0; k < i; ++k) {
      require(matrix.levels[k].atp.value() != atp, "levels differ");
    }
  }
  std::size_t jobs = 0;
  for (std::size_t column = 0; column < predict::kCoRunnersMax; ++column) {
    const bool is_present = require_whole_column(matrix, column);
    jobs += is_present ? 1 : 0;
    const predict::JobCounters& counters = matrix.counters[column];
    require(is_present || counters == predict::JobCounters{}, "an absent job has no counters");
    require(is_present || !matrix.smallest[column].has_value(), "nor a smallest slice");
    require(counters.sm_percent.value_or(0) >= 0 && counters.sm_percent.value_or(0) <= 100,
            "a percentage is one");
    require(counters.power_watts.value_or(1) > 0, "power is above 0");
    require(counters.footprint_mib.value_or(1) > 0, "memory is above 0");
  }
  require(jobs > 0, "a co-run has jobs");
  return jobs;
}

}  // namespace septule::fuzz
