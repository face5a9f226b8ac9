#pragma once

#include <cstdint>
#include <vector>

namespace septule::optimize {

/// The columns of one stage of pattern_selection: pattern `i` of class `group[i]` takes
/// `takes[i * demand.size() + k]` of demand k at `cost[i]`. Columns of a class are adjacent and its
/// first one takes nothing. Internal to the optimizers.
struct PatternColumns {
  std::vector<std::int64_t> demand;
  std::vector<int> gpu_counts;     ///< per class
  std::vector<std::size_t> first;  ///< per class its first column, and one past the last
  std::vector<std::size_t> group;  ///< per column its class
  std::vector<std::int64_t> takes;
  std::vector<std::int64_t> cost;

  std::size_t width() const { return demand.size(); }
  std::int64_t take(std::size_t column, std::size_t k) const {
    return takes[(column * demand.size()) + k];
  }
};

/// The linear relaxation's answer. All bounds are exact integers: prices are rounded first and the
/// bound is computed from the rounded prices, so an inexact price weakens it but never falsifies
/// it.
struct PatternRelaxation {
  static constexpr std::int64_t kScale = 1 << 20;  ///< costs are counted in units of 1/kScale

  std::int64_t bound_scaled = 0;             ///< no selection costs less
  std::vector<std::int64_t> reduced_scaled;  ///< per column, >= 0: what using it adds to the bound
  std::vector<double> use;                   ///< per column: GPUs that use it in the relaxation
  std::int64_t cost_max = 0;                 ///< no selection costs more
  std::int64_t columns_priced = 0;           ///< work done
};

/// Revised simplex method from the basis "every GPU does nothing, all demand is unmet at a price".
/// Stops after a fixed number of steps in the worst case; the bound stays valid.
PatternRelaxation relax_patterns(const PatternColumns& columns);

}  // namespace septule::optimize
