#include "serve/capacity_choices.hpp"

#include <algorithm>
#include <functional>

namespace septule::serve {

namespace {

using Way = std::vector<double>;  // capacity by tenant

bool gives_no_more(const Way& way, const Way& other) {
  return std::ranges::equal(way, other, [](double a, double b) { return a <= b; });
}

/// Lists the ways of one multiset: for each size in turn, how many of its instances each tenant
/// gets.
class WayLister {
 public:
  WayLister(const HoldingContext& context, std::span<const int> tenants, std::vector<Way>& out)
      : context_(context), tenants_(tenants), out_(out), way_(tenants.size(), 0.0) {}

  /// False once there are too many.
  bool list(const LayoutLattice::Multiset& multiset) {
    multiset_ = &multiset;
    return deal(0, 0, multiset.counts[0]);
  }

 private:
  bool deal(std::size_t size, std::size_t tenant, int left) {
    if (size == context_.lattice->sizes().size()) {
      out_.push_back(way_);
      return out_.size() <= CapacityChoices::kWaysMax;
    }
    if (tenant + 1 == tenants_.size() || left == 0) {
      return deal_last(size, tenant, left);
    }
    const double rate = throughput(size, tenant);
    const double before = way_[tenant];
    for (int given = 0; given <= left; ++given) {
      way_[tenant] = before + given * rate;
      const bool goes_on = deal(size, tenant + 1, left - given);
      way_[tenant] = before;
      if (!goes_on) {
        return false;
      }
    }
    return true;
  }
  bool deal_last(std::size_t size, std::size_t tenant, int left) {
    const double before = way_[tenant];
    way_[tenant] = before + left * throughput(size, tenant);
    const bool goes_on = deal(size + 1, 0, multiset_->counts[std::min(size + 1, kSizesMax - 1)]);
    way_[tenant] = before;
    return goes_on;
  }
  double throughput(std::size_t size, std::size_t tenant) const {
    return context_.tenants[static_cast<std::size_t>(tenants_[tenant])].throughput_rps(
        static_cast<int>(size));
  }

  const HoldingContext& context_;
  std::span<const int> tenants_;
  std::vector<Way>& out_;
  Way way_;
  const LayoutLattice::Multiset* multiset_ = nullptr;
};

}  // namespace

std::optional<CapacityChoices> CapacityChoices::make(const HoldingContext& context,
                                                     std::span<const int> tenants,
                                                     std::span<const int> taken) {
  CapacityChoices choices;
  std::vector<LayoutLattice::Multiset> left;
  for (const LayoutLattice::Multiset& multiset : context.lattice->multisets()) {
    if (multiset.is_undominated) {
      LayoutLattice::Multiset& rest = left.emplace_back(multiset);
      for (const int size : taken) {
        --rest.counts[static_cast<std::size_t>(size)];
      }
      if (std::ranges::any_of(rest.counts, [](int count) { return count < 0; })) {
        left.pop_back();
      }
    }
  }
  choices.is_possible_ = !left.empty();
  if (tenants.empty()) {
    return choices;
  }
  std::vector<Way> ways;
  WayLister lister(context, tenants, ways);
  for (const LayoutLattice::Multiset& multiset : left) {
    if (!lister.list(multiset)) {
      return std::nullopt;
    }
  }
  // Later in lexicographic order first, so that what is kept can only be beaten by what is kept.
  std::ranges::sort(ways, std::greater<>());
  choices.width_ = tenants.size();
  std::vector<Way> kept;
  for (const Way& way : ways) {
    if (std::ranges::none_of(kept, [&](const Way& other) { return gives_no_more(way, other); })) {
      kept.push_back(way);
      choices.capacities_.insert(choices.capacities_.end(), way.begin(), way.end());
    }
  }
  return choices;
}

double CapacityChoices::best_rate(std::span<const double> rate_rps,
                                  std::span<const double> value) const {
  double best = 0;
  for (std::size_t begin = 0; begin < capacities_.size(); begin += width_) {
    double sum = 0;
    for (std::size_t m = 0; m < width_; ++m) {
      sum += value[m] * std::min(rate_rps[m], capacities_[begin + m]);
    }
    best = std::max(best, sum);
  }
  return best;
}

const CapacityChoices* CapacityBook::choices(std::vector<int> taken) {
  std::ranges::sort(taken);
  const auto found = made_.find(taken);
  const std::optional<CapacityChoices>& made =
      found != made_.end()
          ? found->second
          : made_.emplace(taken, CapacityChoices::make(context_, tenants_, taken)).first->second;
  return made ? &*made : nullptr;
}

}  // namespace septule::serve
