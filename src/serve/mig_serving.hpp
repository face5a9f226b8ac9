#pragma once

#include "base/result.hpp"
#include "serve/fleet_problem.hpp"

namespace septule::serve {

/// The fast greedy of a MIG-serving-like planner (arXiv 2109.11067; step details are ours, after
/// serving.md 3.5 steps 1 and 2, as the publication gives no code): one GPU after another gets the
/// configuration (a layout with a tenant in each instance, at most three tenants) of the best score
/// against what is still needed, sum over tenants of (1 - installed / rate) * throughput / rate,
/// until every rate is served. Two things are ours: throughput counts only up to what is still
/// needed (or a whole GPU for the last request would score best), and the tenants of a layout are
/// chosen one instance after another, largest first. Ties: first layout, first tenant. No bound.
/// Fails with kInvalidInput as validate() does, kBlocked beyond `gpu_count`. Cost: GPUs times
/// layouts times instances times tenants.
Result<FleetPlan> plan_mig_serving(const FleetProblem& problem);

}  // namespace septule::serve
