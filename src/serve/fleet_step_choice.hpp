#pragma once

#include <vector>

#include "base/result.hpp"
#include "port/milp_solver.hpp"
#include "serve/fleet_checker.hpp"
#include "serve/fleet_horizon.hpp"

namespace septule::serve {

/// The choice of one step of a horizon: one set of instances for each tenant.
struct FleetStepChoice {
  int step = 0;
  FleetGoal goal = FleetGoal::kAllServed;
  const std::vector<SizeTable<int>>* before = nullptr;  ///< by tenant; null = starts cost nothing
  /// By tenant: what to choose from. Where all is to be served, sets that do not are left out.
  std::vector<std::vector<SizeTable<int>>> pool;
  double stop_share = 0;  ///< of a start's cost, charged for each instance stopped
};

/// The best choice: one set for each tenant and layouts that hold them, by value as
/// plan_fleet_horizon has it, less what stops are charged. A multiple-choice integer program;
/// within `limits` and their gaps. Gives instances, layouts, gpus and gpcs; the rest of the plan is
/// the caller's. kBlocked where no choice fits the fleet, kTimedOut where a limit ended the search
/// without one.
Result<FleetPlan> choose_step(const FleetHorizonProblem& problem,
                              const FleetStepChoice& choice,
                              port::MilpSolver& solver,
                              const port::MilpLimits& limits);

}  // namespace septule::serve
