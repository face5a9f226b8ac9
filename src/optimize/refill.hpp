#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::optimize {

/// Method `refill`: no barriers. A partition is held and every seat takes its next job as soon as
/// the one before has ended, so that nothing lies idle until the queue runs dry; where it pays, the
/// GPU drains and is cut anew (with what switching costs). Ours; the idea of refilling a group's
/// seats: hierarchical.md 1.1 and 5.2.
///
/// Assumes: runs are not interrupted or moved; rates change only when the company changes.
/// Steps: (1) for every template, jobs longest first, each to the seat where the phase's score is
/// least (list scheduling); jobs that no seat takes run behind. (2) Simulated annealing on the best
/// of them (phase_search.hpp), the templates being the best by (1). (3) The rest of the budget on
/// the best of (2).
/// Memory, sharing rules and rates hold at every moment, the fairness floor over every run.
/// Whatever the problem's clock: `time` is the makespan of the timeline.
/// Ties: the template first in the catalogue, the lower seat; chance is seeded by the method alone.
/// Cost: a unit for each end of a job in a trial, and for each move. Windows of any size up to
/// kSeatedJobsMax. With a budget that does not last for that: the best of what was built.
class RefillOptimizer final : public WindowOptimizer {
 public:
  /// Enough for a window of 12: about 0.1 s; larger ones need it in proportion.
  static constexpr std::int64_t kUnitsDefault = 1000000;

  std::string_view name() const override { return "refill"; }
  Result<WindowAnswer> optimize(const WindowProblem& problem, WorkBudget& budget) const override;
};

}  // namespace septule::optimize
