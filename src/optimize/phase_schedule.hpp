#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "optimize/phase_plan.hpp"
#include "optimize/window_optimizer.hpp"
#include "plan/schedule.hpp"

namespace septule::optimize {

/// The whole schedule of a plan: instances as lay_out_phases() has them, a run for each job, and
/// with SeatRule::kOneJob a group for each phase. Every domain of the plan can be worked off.
plan::Schedule make_phase_schedule(PhasePlanner& planner, const PhasePlan& plan);

/// Searches for a plan of all the planner's jobs, at least one; nothing = there is none.
using PlanFinder = std::function<std::optional<PhasePlan>(PhasePlanner& planner)>;

/// What methods that search for phases share: the problem checked, the search, its schedule. Fails
/// as WindowOptimizer::optimize() does; a window takes up to kSeatedJobsMax jobs.
Result<WindowAnswer> optimize_phases(const WindowProblem& problem,
                                     WorkBudget& budget,
                                     SeatRule rule,
                                     std::string_view method,
                                     const PlanFinder& find);

}  // namespace septule::optimize
