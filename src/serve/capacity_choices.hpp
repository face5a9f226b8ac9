#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "serve/gpu_holding.hpp"

namespace septule::serve {

/// Everything that one GPU can give some tenants at one moment, places and moves forgotten: the
/// capacities of all ways to give the instances of an undominated multiset to them, less those that
/// give nobody more than another way does. The best of them is a bound on what any layout earns in
/// a step (serving.md 2.4, multiset relaxation without time). A value; any thread may read.
class CapacityChoices {
 public:
  /// More ways than this are not listed.
  static constexpr std::size_t kWaysMax = 20000;

  /// Nothing where there are more than kWaysMax ways.
  static std::optional<CapacityChoices> make(const HoldingContext& context,
                                             std::span<const int> tenants);

  /// The most that sum of value[i] * min(rate_rps[i], capacity of tenants[i]) can be.
  double best_rate(std::span<const double> rate_rps, std::span<const double> value) const;
  std::size_t way_count() const { return width_ == 0 ? 0 : capacities_.size() / width_; }

 private:
  std::size_t width_ = 0;           // tenants
  std::vector<double> capacities_;  // by way, tenant
};

}  // namespace septule::serve
