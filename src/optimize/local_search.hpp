#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "optimize/phase_plan.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::optimize {

/// Groups with barriers found by local search: the start of method `refill` too. Nothing where no
/// groups are found that keep to the rules. `planner` has SeatRule::kOneJob; the search ends when
/// `units_end` of its budget are spent, but for the first groups.
std::optional<PhasePlan> find_groups(PhasePlanner& planner, std::int64_t units_end);

/// Method `local`: groups with barriers, for windows of any size up to kSeatedJobsMax.
///
/// Assumes what the exact method assumes; seats may stay empty.
/// Steps: (1) jobs by length; consecutive ones are tried on every template, and the templates that
/// save most time are kept. (2) The longest job left opens a group; on each kept template every
/// seat takes, of the next jobs by length, the one with which the group saves most; the best
/// template wins. (3) Simulated annealing (phase_search.hpp): jobs exchanged and moved between
/// groups, groups split, merged and put on other templates.
/// Ties: the template first in the catalogue, the longer job; chance is seeded by the method alone.
/// Cost: a unit for each end of a job in a trial, and for each move.
class LocalOptimizer final : public WindowOptimizer {
 public:
  /// Enough for a window of so many jobs: what gives gaps as in docs/benchmarks.md.
  static constexpr std::int64_t kUnitsPerJob = 6000;

  std::string_view name() const override { return "local"; }
  Result<WindowAnswer> optimize(const WindowProblem& problem, WorkBudget& budget) const override;
};

}  // namespace septule::optimize
