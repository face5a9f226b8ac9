#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "optimize/moldable.hpp"

namespace septule::optimize {

/// Makespans below which no schedule of a problem can be, whatever it does (splits, merges, idles).
struct MoldableBounds {
  /// FAR's: the least compute slices * time of each task, over all compute slices. Counts no
  /// creation. Reported because published ratios are relative to it.
  Duration area;
  /// The longest task in the least time it could take, its instance's creation included.
  Duration longest;
  /// The layout bound (below), the first creation included.
  Duration layouts;

  Duration best() const;
};

/// The layout bound. At any time the instances that stand form a layout, so a schedule spends some
/// time x_L in each maximal layout L, and tasks use up the time of instances by size:
///   least sum of x_L with, for each size s, sum_L n_{L,s} x_L >= sum of t_i(s) over tasks of s.
/// By duality every price p_s >= 0 of an instance's time, at which no layout earns more than 1 per
/// second, proves sum_i min_s p_s t_i(s) <= makespan. Good prices come from the linear program
/// (columns are layouts and whole allotments, made on demand); the bound is then worked out anew
/// from the prices, rounded down by more than floating point can err, so that it holds whatever
/// the solver said. Before the first instance is created nothing runs, which is added.
///
/// `rounds_max` limits the linear programs solved; fewer rounds give a weaker bound. Fails as
/// check_moldable_problem() does; never because of the solver (then the area bound's prices stand).
Result<MoldableBounds> moldable_bounds(const MoldableProblem& problem, int rounds_max = 60);

/// The bound that prices prove (nanoseconds, without the creation), by the formula above. Prices
/// are not negative, one for each size; they need not be scaled.
std::int64_t priced_bound(const MoldableProblem& problem, std::span<const double> prices);

}  // namespace septule::optimize
