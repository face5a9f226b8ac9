#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "serve/fleet_checker.hpp"
#include "serve/fleet_plan.hpp"
#include "serve/fleet_problem.hpp"

namespace septule::serve {

inline constexpr int kFleetStepsMax = 1000;

/// A fleet over some steps (serving.md 2.6 "Time": 12 of a minute each). Instances started in a
/// step cost what their warm-up loses; GPUs may cost something as long as they are used.
struct FleetHorizonProblem {
  const LayoutLattice* lattice = nullptr;
  std::vector<FleetTenant> tenants;           ///< their rate_rps is not looked at
  std::vector<std::vector<double>> rate_rps;  ///< by tenant, one for each step, >= 0
  Duration step = Duration::milliseconds(60000);
  std::optional<int> gpu_count;
  /// In force before step 0: an instance that goes on costs nothing. Nothing = the first plan's
  /// instances are there already.
  std::optional<FleetPlan> current;
  std::vector<double> start_cost;  ///< by tenant: goodput lost for each instance started, >= 0
  double gpu_cost = 0;             ///< goodput that a GPU in use costs in a step, >= 0
};

/// Plans by step. `value` = goodput (kBestGoodput only) - GPUs - starts, in requests x weight x
/// accuracy.
struct FleetHorizonPlan {
  std::vector<FleetPlan> steps;  ///< served and goodput are those of the step
  std::vector<int> starts;       ///< instances started at the begin of each step
  double value = 0;
  double bound = 0;  ///< no sequence of plans is worth more
  int plans_tried = 0;
  std::int64_t units_spent = 0;
};

/// Limits of a horizon's plan; all > 0.
struct FleetHorizonOptions {
  FleetOptions plan;   ///< of each single plan
  int plans_max = 24;  ///< planned for at most so many stretches, at least one for each step
  /// Choices of single steps: linear programs of the built-in solver, and how near will do.
  std::int64_t nodes_max = 400;
  double step_gap = 1e-3;
};

/// Plans a fleet over time, decomposed: the time-expanded program of serving.md 2.6 (flows between
/// layouts, thousands of integers) is not solved.
/// Steps: a plan for each step alone (kAllServed: plan_min_gpus, kBestGoodput: plan_max_goodput)
/// and for the peaks of halves, quarters, ... of the horizon; then the best sequence of these plans
/// by an exact dynamic program over steps and plans, each start charged: a plan is held over a dip
/// of load where starting again costs more (hysteresis). Then, step after step, each tenant gets
/// one of the sets of instances that these plans gave it, or keeps its own (fleet_step_choice.hpp,
/// by the solver or the built-in one), with stops charged none, half or all of a start; the best of
/// the four is the plan.
/// The bound is the sum of the single steps' bounds with nothing charged for starts: honest, and
/// loose where starts are dear. Ties: the plan tried first.
/// Assumes: what counts as started is by tenant and size; where instances are is map_fleet's.
/// Fails as the planners do, naming the step; kInvalidInput where sizes disagree. Cost: plans_max
/// plans, steps x plans^2 x tenants.
Result<FleetHorizonPlan> plan_fleet_horizon(const FleetHorizonProblem& problem,
                                            FleetGoal goal,
                                            const FleetHorizonOptions& options = {});

}  // namespace septule::serve
