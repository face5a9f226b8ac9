#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "port/milp_solver.hpp"
#include "serve/fleet_problem.hpp"

namespace septule::serve {

/// How long to plan.
struct FleetOptions {
  /// Work allowed in all; a unit is a branch of a search or a line of a linear program.
  std::int64_t units_max = 400000000;
  /// Goodput this close below its bound, relative, will do.
  double goodput_gap = 1e-6;
  /// Asked where our own search has spent a tenth of its work without closing the gap; may be
  /// nothing.
  port::MilpSolver* solver = nullptr;
  Duration solver_elapsed = Duration::milliseconds(20000);
};

/// Numbers are finite and in range, every tenant has a size, the GPU model has layouts;
/// kInvalidInput otherwise, naming the tenant.
Status validate(const FleetProblem& problem);

/// The fewest GPUs that serve every rate, and the fewest compute slices with so few. Fails with
/// kBlocked where `gpu_count` is too small, saying how many are needed.
Result<FleetPlan> plan_min_gpus(const FleetProblem& problem, const FleetOptions& options);

/// The greatest goodput of `gpu_count` GPUs (which must be given).
Result<FleetPlan> plan_max_goodput(const FleetProblem& problem, const FleetOptions& options);

}  // namespace septule::serve
