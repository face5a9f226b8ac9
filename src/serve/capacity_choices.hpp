#pragma once

#include <cstddef>
#include <map>
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

  /// Nothing where there are more than kWaysMax ways. Of the instances of these sizes (ascending,
  /// with repetition) `tenants` get nothing: somebody retrains there; no way at all where they do
  /// not fit together.
  static std::optional<CapacityChoices> make(const HoldingContext& context,
                                             std::span<const int> tenants,
                                             std::span<const int> taken = {});

  /// The most that sum of value[i] * min(rate_rps[i], capacity of tenants[i]) can be.
  double best_rate(std::span<const double> rate_rps, std::span<const double> value) const;
  /// Whether the sizes taken fit together.
  bool is_possible() const { return is_possible_; }
  std::size_t way_count() const { return width_ == 0 ? 0 : capacities_.size() / width_; }

 private:
  bool is_possible_ = false;
  std::size_t width_ = 0;           // tenants
  std::vector<double> capacities_;  // by way, tenant
};

/// The choices of one GPU's tenants for all that may be taken, made when first asked for. One
/// owner; the context outlives it.
class CapacityBook {
 public:
  CapacityBook() = default;
  CapacityBook(const HoldingContext& context, std::span<const int> tenants)
      : context_(context), tenants_(tenants.begin(), tenants.end()) {}

  std::span<const int> tenants() const { return tenants_; }
  /// Null where there are too many ways. The pointer holds as long as the book.
  const CapacityChoices* choices(std::vector<int> taken);

 private:
  HoldingContext context_;
  std::vector<int> tenants_;
  std::map<std::vector<int>, std::optional<CapacityChoices>> made_;  // by sizes taken, ascending
};

}  // namespace septule::serve
