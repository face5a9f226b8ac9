#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace septule::predict {

/// Jobs of one MPS co-run at most: as many as a GPU has compute slices.
inline constexpr std::size_t kCoRunnersMax = 7;

/// Counters of a job running alone on the whole GPU. Each may be unknown; no value stands for that.
struct JobCounters {
  std::optional<double> sm_percent;      ///< 0..100
  std::optional<double> memory_percent;  ///< 0..100
  std::optional<double> power_watts;     ///< > 0
  std::optional<double> footprint_mib;   ///< what it holds on the GPU, > 0

  friend bool operator==(const JobCounters&, const JobCounters&) = default;
};

/// What an MPS co-run measured: step times of up to seven jobs that shared a whole GPU, at each
/// active thread percentage (the same for all jobs). Seven columns; an absent job's column is
/// empty. Unit of times: any, but one for all levels of a column (only ratios within a column are
/// used; miso.md 3.2). A plain value.
struct MpsMatrix {
  struct Level {
    ActiveThreadPercentage atp{100};
    /// By column; nothing = no such job, or it made no step at this level.
    std::array<std::optional<double>, kCoRunnersMax> step;

    friend bool operator==(const Level&, const Level&) = default;
  };
  std::vector<Level> levels;                          ///< percentages differ
  std::array<JobCounters, kCoRunnersMax> counters{};  ///< by column
  /// By column: compute slices (1, 2, 3, 4 or 7) of the smallest plain slice in which the job's
  /// memory fits, where that is declared. No measurement; it tells alike jobs apart.
  std::array<std::optional<ComputeSlices>, kCoRunnersMax> smallest{};
  /// Whether a column may be a filler, an idle program that filled up a run of fewer jobs as in the
  /// published measurements (miso.md 3.1). No measurement: whoever makes the matrix knows it.
  enum class Fillers { kNone, kPossible };
  Fillers fillers = Fillers::kNone;

  /// A column is present if any level has a time for it.
  bool is_present(std::size_t column) const;
  std::size_t present_count() const;

  friend bool operator==(const MpsMatrix&, const MpsMatrix&) = default;
};

/// Levels of a matrix at most.
inline constexpr std::size_t kMatrixLevelsMax = 16;

/// kInvalidInput, naming level (by its percentage) and column (from 1): no level, more than
/// kMatrixLevelsMax, a percentage outside 1..100 or twice, a time that is not a finite number > 0,
/// counters out of range, a smallest slice that is none of the five, no present column.
Status check_mps_matrix(const MpsMatrix& matrix);

}  // namespace septule::predict
