#pragma once

#include "base/result.hpp"
#include "serve/fleet_problem.hpp"

namespace septule::serve {

/// The fast greedy of a MIG-serving-like planner (arXiv 2109.11067; step details are ours, after
/// serving.md 3.5 steps 1 and 2, as the publication gives no code): one GPU after another gets the
/// configuration (a layout with a tenant in each instance) of the best score against what is still
/// needed, sum over tenants of max(0, 1 - installed / rate) * throughput / rate, until every rate
/// is served. The score is a sum over instances, so the best configuration has the best tenant of
/// each size, and at most as many tenants as a layout has sizes. Ties: first layout, first tenant.
/// No bound. Fails with kInvalidInput as validate() does, kBlocked beyond `gpu_count`. Cost: GPUs
/// times tenants.
Result<FleetPlan> plan_mig_serving(const FleetProblem& problem);

}  // namespace septule::serve
