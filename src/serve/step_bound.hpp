#pragma once

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "serve/goodput_problem.hpp"

namespace septule::serve {

/// An upper bound on the objective of any plan of this window on `gpu_count` equal GPUs, however
/// tenants are dealt out to them: in each step what the best layouts for that step alone would
/// give, all of it ready, with the better of each tenant's models (fleet_plan.hpp's bound on
/// goodput). Loose where warm-ups or retraining decide, tight where there are many tenants, for
/// whom the exact program of one GPU has too many states. Steps with equal rates are bounded once.
/// kInvalidInput for a problem that is not valid or has labels of two tenants, kTimedOut where the
/// budget ends first. Cost: a fleet plan for each different step.
Result<double> step_bound(const GoodputProblem& problem, int gpu_count, WorkBudget& budget);

}  // namespace septule::serve
