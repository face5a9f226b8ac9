#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "optimize/window_optimizer.hpp"
#include "optimize/window_pieces.hpp"

namespace septule::optimize {

/// Method `greedy`: the group with the best gain first.
///
/// Steps: among all groups of jobs left, on all cuts, take the one with the greatest ratio of its
/// solo times to what it takes, the switch from the present cut included; repeat. Windows of more
/// than kTableJobsMax jobs in pieces (optimize_in_pieces()).
/// Ties: the larger group, then the one of the lowest jobs, then the lowest cut.
/// Cost: the table of groups, and a unit for each group looked at.
class GreedyOptimizer final : public WindowOptimizer {
 public:
  std::string_view name() const override { return "greedy"; }
  Result<WindowAnswer> optimize(const WindowProblem& problem, WorkBudget& budget) const override;
};

/// Method `beam`: grows sequences of groups and keeps the best few of each number of jobs done.
///
/// Steps: a sequence grows by a group that holds the first job left (by number), on any cut.
/// Sequences with equally many jobs done compete: the least of time so far, switches included, plus
/// for each job left its least share of any group that it can be in (share of a group's time by
/// solo time); `width` of them are kept, one for each set of jobs and cut. In the end groups of one
/// cut are put together where that saves switching. Windows of more than kTableJobsMax jobs in
/// pieces (optimize_in_pieces()).
/// Ties: fewer groups first, then the order in which they were grown.
/// Cost: the table of groups, and a unit for each group appended.
class BeamOptimizer final : public WindowOptimizer {
 public:
  static constexpr std::size_t kWidthDefault = 32;
  static constexpr std::size_t kWidthMax = 4096;

  /// 1 to kWidthMax; anything else is a programmer error.
  explicit BeamOptimizer(std::size_t width = kWidthDefault);
  std::string_view name() const override { return "beam"; }
  Result<WindowAnswer> optimize(const WindowProblem& problem, WorkBudget& budget) const override;

 private:
  std::size_t width_;
};

}  // namespace septule::optimize
