#include "serve/fleet_pricing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "base/check.hpp"

namespace septule::serve {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// A cover replaces another only if it is cheaper by this, relative: rounding makes no difference.
constexpr double kCheaper = 1e-11;

/// A size in the order of the search.
struct Item {
  std::size_t size = 0;
  double throughput = 0;
  double price = 0;
  double ratio = 0;  // price per request
  int most = 0;      // above what the limits force
};

/// One search; see cheapest_cover.
class CoverSearch {
 public:
  CoverSearch(const FleetTenant& tenant,
              const CoverPrices& prices,
              const CountLimits& limits,
              WorkBudget& budget)
      : shortfall_(prices.shortfall.value_or(kInfinite)), budget_(budget), counts_(limits.least) {
    left_ = tenant.rate_rps * (1 - kRateTolerance);
    for (std::size_t s = 0; s < kSizesMax; ++s) {
      left_ -= tenant.throughput[s] * counts_[s];
      cost_ += prices.instance[s] * counts_[s];
      if (tenant.throughput[s] > 0 && limits.most[s] > limits.least[s]) {
        items_[item_count_++] = {s,
                                 tenant.throughput[s],
                                 prices.instance[s],
                                 prices.instance[s] / tenant.throughput[s],
                                 limits.most[s] - limits.least[s]};
      }
    }
    std::stable_sort(items_.begin(),
                     items_.begin() + static_cast<std::ptrdiff_t>(item_count_),
                     [](const Item& a, const Item& b) { return a.ratio < b.ratio; });
  }

  CheapestCover run() {
    descend(0, left_, cost_);
    CheapestCover found;
    found.cover = best_;
    found.bound = std::min(unseen_, best_.has_value() ? best_->cost : kInfinite);
    return found;
  }

 private:
  /// What `left` requests cost at least, by the sizes from `item` on or left unserved.
  double cost_least(std::size_t item, double left) const {
    if (left <= 0) {
      return 0;
    }
    const double ratio = item < item_count_ ? items_[item].ratio : kInfinite;
    return left * std::min(ratio, shortfall_);
  }

  bool is_hopeless(double bound) const {
    return best_.has_value() ? bound >= best_->cost - kCheaper * std::abs(best_->cost)
                             : bound == kInfinite;
  }

  /// A spent budget does not keep the first cover from being found, only better ones.
  bool is_over() const {
    return units_ > kUnitsOfCoverMax || (budget_.is_exhausted() && best_.has_value());
  }

  void descend(std::size_t item, double left, double cost) {
    const double bound = cost + cost_least(item, left);
    if (is_hopeless(bound)) {
      return;
    }
    const bool is_paid_best = item == item_count_ || items_[item].ratio >= shortfall_;
    if (left <= 0 || is_paid_best) {
      best_ = Cover{counts_, bound};
      return;
    }
    budget_.spend(1);
    ++units_;
    if (is_over()) {
      unseen_ = std::min(unseen_, bound);
      return;
    }
    const Item& tried = items_[item];
    const double whole = std::ceil(left / tried.throughput);
    const int first = whole < tried.most ? static_cast<int>(whole) : tried.most;
    for (int count = first; count >= 0; --count) {
      const double next_left = left - tried.throughput * count;
      const double next_cost = cost + tried.price * count;
      // Fewer of this size leave more to dearer ones: once hopeless, always hopeless. Only the
      // first may be hopeless for what it covers in excess.
      if (count < first && is_hopeless(next_cost + cost_least(item + 1, next_left))) {
        break;
      }
      counts_[tried.size] += count;
      descend(item + 1, next_left, next_cost);
      counts_[tried.size] -= count;
      if (is_over()) {
        unseen_ = std::min(unseen_, bound);
        break;
      }
    }
  }

  std::array<Item, kSizesMax> items_{};
  std::size_t item_count_ = 0;
  double shortfall_;
  double left_ = 0;
  double cost_ = 0;
  WorkBudget& budget_;
  SizeTable<int> counts_;
  std::optional<Cover> best_;
  double unseen_ = kInfinite;
  std::int64_t units_ = 0;
};

}  // namespace

double capacity_of(const FleetTenant& tenant, const SizeTable<int>& counts) {
  double sum = 0;
  for (std::size_t s = 0; s < kSizesMax; ++s) {
    sum += tenant.throughput[s] * counts[s];
  }
  return sum;
}

bool covers_rate(const FleetTenant& tenant, const SizeTable<int>& counts) {
  return capacity_of(tenant, counts) >= tenant.rate_rps * (1 - kRateTolerance);
}

bool CountLimits::holds(const SizeTable<int>& counts) const {
  for (std::size_t s = 0; s < kSizesMax; ++s) {
    if (counts[s] < least[s] || counts[s] > most[s]) {
      return false;
    }
  }
  return true;
}

CheapestCover cheapest_cover(const FleetTenant& tenant,
                             const CoverPrices& prices,
                             const CountLimits& limits,
                             WorkBudget& budget) {
  for (std::size_t s = 0; s < kSizesMax; ++s) {
    SEPTULE_CHECK(prices.instance[s] >= 0, "prices are not negative");
    if (limits.least[s] > limits.most[s]) {
      return {};
    }
  }
  return CoverSearch(tenant, prices, limits, budget).run();
}

}  // namespace septule::serve
