#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "port/milp_solver.hpp"
#include "serve/fleet_problem.hpp"

namespace septule::serve {

/// How long to plan, and with whose help. Without a solver equal problems give equal plans.
struct FleetOptions {
  /// Work allowed in all, a second or three; a unit is a branch of a search or a line of a linear
  /// program. The fewest GPUs of 300 tenants take some 10,000 units, proofs of the greatest goodput
  /// may take any number.
  std::int64_t units_max = 2000000;
  /// Goodput this close below its bound will do, relative to itself: where the search may end.
  double goodput_gap = 1e-6;
  /// Asked where our own search leaves a gap; may be nothing. Not owned.
  port::MilpSolver* solver = nullptr;
  Duration solver_elapsed = Duration::milliseconds(20000);
};

/// Numbers are finite and in range, every tenant has a size, the GPU model has layouts;
/// kInvalidInput otherwise, naming the tenant.
Status validate(const FleetProblem& problem);

/// The fewest GPUs that serve every rate, and the fewest compute slices with so few, by branch and
/// price (fleet_search.hpp) from a greedy plan, then by the solver if a gap is left. Where the work
/// ends first the plan is not optimal, its bounds hold all the same. Fails with kBlocked where
/// `gpu_count` is too small, saying how many are needed.
Result<FleetPlan> plan_min_gpus(const FleetProblem& problem, const FleetOptions& options);

/// The greatest goodput of `gpu_count` GPUs, which must be given. Where they serve every rate this
/// is plan_min_gpus' plan. Optimal means within a millionth of the bound, whatever `goodput_gap`
/// allows.
Result<FleetPlan> plan_max_goodput(const FleetProblem& problem, const FleetOptions& options);

}  // namespace septule::serve
