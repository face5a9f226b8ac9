#pragma once

#include "base/result.hpp"
#include "serve/fleet_problem.hpp"

namespace septule::serve {

/// What a fleet plan is for.
enum class FleetGoal {
  kAllServed,    ///< plan_min_gpus: every rate is served
  kBestGoodput,  ///< plan_max_goodput
};

/// Judges a fleet plan and shares no code with the planners: every layout is legal, the layouts
/// hold all instances, no more GPUs than there are, rates served (within 1e-9), and every figure of
/// the plan worked out anew. The first fault found as kFailed, naming tenant, size and values.
/// Whether bounds are true it cannot know; only that they are not crossed by the plan. Pure.
Status check_fleet(const FleetProblem& problem, const FleetPlan& plan, FleetGoal goal);

}  // namespace septule::serve
