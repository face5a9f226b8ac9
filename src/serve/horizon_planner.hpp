#pragma once

#include <optional>

#include "base/work_budget.hpp"
#include "serve/goodput_problem.hpp"

namespace septule::serve {

/// The plan of one window of the rolling horizon: exact (layout_dp.hpp) where nothing is to be
/// retrained, retraining_search.hpp otherwise. Floors that cannot be kept are dropped. Nothing
/// where the budget ends first.
std::optional<GoodputPlan> plan_horizon(const GoodputProblem& problem, WorkBudget& budget);

}  // namespace septule::serve
