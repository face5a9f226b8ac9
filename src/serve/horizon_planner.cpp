#include "serve/horizon_planner.hpp"

#include <algorithm>

#include "serve/layout_dp.hpp"
#include "serve/retraining_search.hpp"

namespace septule::serve {

namespace {

/// Labels with ages are worth their states only while these are few: plans are made all the time.
constexpr std::int64_t kStatesMax = 200'000;

bool has_jobs(const GoodputProblem& problem) {
  return std::ranges::any_of(
      problem.tenants, [](const GoodputTenant& tenant) { return tenant.retraining.has_value(); });
}

Result<GoodputPlan> plan_any(const GoodputProblem& problem, WorkBudget& budget) {
  const LayoutDpOptions layouts{.states_max = kStatesMax};
  if (!has_jobs(problem)) {
    return plan_layouts(problem, budget, layouts);
  }
  // A third each for the search, its bound and what follows.
  const std::int64_t joint = budget.units_left() / 3;
  return plan_window(
      problem, budget, {.layouts = layouts, .exact_units_max = joint, .joint_units_max = joint});
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
  // A search that was cut short has good plans all the same; a program that was has none.
  if (!plan || (budget.is_exhausted() && !has_jobs(problem))) {
    return std::nullopt;
  }
  return std::move(*plan);
}

}  // namespace septule::serve
