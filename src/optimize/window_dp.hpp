#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "optimize/group_schedule.hpp"
#include "optimize/group_table.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::optimize {

/// Among which schedules exact answers are optimal. Every group has the GPU to itself, cut exactly
/// as its template says, and the next one begins when its last job has ended.
inline constexpr std::string_view kGroupScope = "schedules of full groups with barriers";

/// What methods that make groups hand out: the schedule, its time, no proof. See
/// make_group_schedule() for what `groups` must be.
WindowAnswer answer_from_groups(const GroupTimer& timer,
                                std::span<const SeatedGroup> groups,
                                std::string_view method);

/// The best sequence of groups of a table, seated.
struct SeatedSequence {
  std::vector<SeatedGroup> groups;
  bool is_proven = false;  ///< no other sequence takes less
};
SeatedSequence best_sequence(const GroupTable& table, WorkBudget& budget);

/// The exact method: the fastest of all sequences of groups, switches between cuts included.
///
/// Assumptions: groups are separated by barriers; a group takes a template of the catalogue and the
/// GPU is cut exactly so. With kRefill groups are timed as with kSpeedUp.
/// Steps: GroupTable (the time of every group on every cut), then find_best_sequence() (dynamic
/// program over jobs left and the current cut); both say how ties are broken.
/// Certificate: kOptimal within kGroupScope, unless the budget ended first. Windows of more than
/// kTableJobsMax jobs are kInvalidInput, naming the limit and the method `local`.
/// Cost: that of both steps.
class WindowDp final : public WindowOptimizer {
 public:
  std::string_view name() const override { return "exact"; }
  Result<WindowAnswer> optimize(const WindowProblem& problem, WorkBudget& budget) const override;
};

}  // namespace septule::optimize
