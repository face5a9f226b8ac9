#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"
#include "optimize/slice_assignment.hpp"
#include "optimize/speed_matrix.hpp"
#include "plan/objective.hpp"

namespace septule::optimize {

/// The best of all, found by looking at all: the ground truth for SliceAssigner in small cases.
struct ExhaustiveAnswer {
  bool is_feasible = false;
  std::vector<SliceAssignment::Slot> slots;  ///< by job
  double objective = 0;                      ///< without change costs, rounded to 1e-9
  /// Objective and costs in units of 1e-9 (kMeanSlowdown: of the sum, negated); larger is better.
  std::int64_t net_units = 0;
  std::int64_t second_units = 0;  ///< kMaxMin: the sum of speeds; otherwise 0
  int changes = 0;
  std::int64_t assignments_seen = 0;
};

/// Tries every legal final layout that holds the instances which must stay, and in each every way
/// to give the jobs distinct instances. Same question and same first three tie rules as
/// SliceAssigner (it does not compare placements further); shares only the input types with it.
/// Options must have passed SliceAssigner::make. Cost: layouts x assignments, up to seconds for
/// seven jobs.
ExhaustiveAnswer find_best_exhaustively(const gpu::Geometry& geometry,
                                        const SliceAssigner::Options& options,
                                        const SpeedMatrix& jobs,
                                        plan::ObjectiveKind objective);

}  // namespace septule::optimize
