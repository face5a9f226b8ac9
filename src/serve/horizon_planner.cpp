#include "serve/horizon_planner.hpp"

#include <algorithm>

#include "serve/layout_dp.hpp"

namespace septule::serve {

namespace {

/// Labels with ages are worth their states only while these are few: plans are made all the time.
constexpr std::int64_t kStatesMax = 200'000;

Result<GoodputPlan> plan_any(const GoodputProblem& problem, WorkBudget& budget) {
  const bool has_jobs = std::ranges::any_of(
      problem.tenants, [](const GoodputTenant& tenant) { return tenant.retraining.has_value(); });
  if (has_jobs) {
    return Error{ErrorCode::kTimedOut, "retraining search to come"};
  }
  return plan_layouts(problem, budget, {.states_max = kStatesMax});
}

}  // namespace

std::optional<GoodputPlan> plan_horizon(const GoodputProblem& problem, WorkBudget& budget) {
  Result<GoodputPlan> plan = plan_any(problem, budget);
  if (!plan && plan.error().code == ErrorCode::kBlocked) {
    GoodputProblem without_floors = problem;
    for (GoodputTenant& tenant : without_floors.tenants) {
      tenant.floor_share = 0;
    }
    plan = plan_any(without_floors, budget);
  }
  if (!plan || budget.is_exhausted()) {
    return std::nullopt;
  }
  return std::move(*plan);
}

}  // namespace septule::serve
