#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.hpp"
#include "gpu/geometry.hpp"
#include "optimize/predicted_speeds.hpp"

namespace septule::optimize {

/// Draws of one judgement at most.
inline constexpr int kConfidenceDrawsMax = 100000;

/// Correlation of the errors of one job's speeds on two slices: a job taken for a better scaling
/// one than it is, is so on every slice. Chosen on two folds of job mixes that the network was not
/// trained on and checked on a third (docs/predict.md): the loss expected from draws was 0.54 %
/// with it where the true one was 0.55 %; 2.9 % with independent errors [C].
inline constexpr double kSliceErrorCorrelation = 0.95;

struct ConfidenceOptions {
  int draws = 1000;  ///< 1..kConfidenceDrawsMax
  std::uint64_t seed = 1;
  double coverage = 0.9;                        ///< of the interval of the total speed, in (0, 1)
  double correlation = kSliceErrorCorrelation;  ///< within a job, in [0, 1]
};

/// How much the layout chosen from expected speeds depends on their error. A plain value.
struct LayoutConfidence {
  int draws = 0;
  /// Part of the draws in which the best choice is the same: every job on the same profile.
  double same_choice = 0;
  /// Part of the draws in which the choice loses at most 1 % of the best total speed.
  double within_one_percent = 0;
  double loss_mean = 0;  ///< mean of 1 - total speed / best total speed
  /// Interval of the total speed of the choice: equal tails, order statistics of the draws.
  /// Somewhat narrow, because the choice favours speeds that were predicted too high.
  double total_low = 0;
  double total_high = 0;
};

/// Draws the speeds of 1 to 7 jobs from normal distributions with the predicted means and standard
/// deviations, correlated between the slices of a job and independent between jobs, brought into
/// plan::kSpeedMin..kSpeedMax; finds the best layout of each draw (sum of speeds, every legal
/// layout of plain profiles) and compares it with what the expected speeds choose. Deterministic
/// for a seed. Cost: one solve of the exact optimizer and at most 35 normal numbers a draw. Nothing
/// if the expected speeds have no feasible layout; fails as SliceAssigner does, and with
/// kInvalidInput for options out of range.
Result<std::optional<LayoutConfidence>> layout_confidence(const gpu::Geometry& geometry,
                                                          const SliceProfiles& profiles,
                                                          std::span<const PredictedJob> jobs,
                                                          const ConfidenceOptions& options);

}  // namespace septule::optimize
