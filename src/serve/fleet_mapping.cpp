#include "serve/fleet_mapping.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "serve/capacitated_assignment.hpp"
#include "serve/indices.hpp"

namespace septule::serve {

namespace {

/// A price of 1: what keeping one instance is worth.
constexpr std::int64_t kWhole = 1000;
constexpr int kRoundsMax = 12;
constexpr int kUnused = -1;

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidInput, std::move(message)};
}

/// One round's assignment of layouts.
struct Round {
  std::vector<int> layout;          ///< by GPU: index into the plan's layouts, or the unused one
  std::vector<std::uint32_t> sets;  ///< by GPU: placements of its layout
  std::vector<std::vector<int>> in_place;  ///< by tenant and size: residents that could stay
  std::int64_t value = 0;                  ///< of the priced residents
};

class Mapper {
 public:
  Mapper(const LayoutLattice& lattice, const FleetPlan& plan, std::span<const GpuHoldings> current)
      : lattice_(lattice),
        plan_(plan),
        current_(current),
        sizes_(lattice.sizes().size()),
        have_(plan.instances.size(), std::vector<int>(sizes_, 0)),
        prices_(plan.instances.size(), std::vector<std::int64_t>(sizes_, kWhole)) {}

  Status check() const;
  FleetMapping run();

 private:
  int wanted(int tenant, std::size_t size) const { return plan_.instances[at(tenant)][size]; }
  std::size_t size_of(int placement) const { return at(lattice_.placements()[at(placement)].size); }
  /// Whether the plan may know the tenant of this instance.
  bool is_resident(const Holding& holding) const {
    return holding.role == Role::kServe && holding.tenant >= 0 &&
           std::cmp_less(holding.tenant, plan_.instances.size());
  }
  std::int64_t price(const Holding& holding) const;
  /// The placements of a layout where the residents worth most are in place.
  std::uint32_t best_set(int multiset, const GpuHoldings& holdings) const;
  std::int64_t value_of(std::uint32_t set, const GpuHoldings& holdings) const;
  Round assign() const;
  int kept_of(const Round& round) const;
  /// What no assignment keeps more than, by the prices of this round.
  int kept_bound(const Round& round) const;
  void change_prices(const Round& round, int number);
  int change_in_place(int gpu, int sign, Round& round) const;
  void put_best_set(int gpu, int layout, Round& round) const;
  bool swap_layouts(int one, int other, Round& round) const;
  bool is_content(int gpu, const Round& round) const;
  void improve(Round& round, int bound) const;
  FleetMapping settle(const Round& round) const;
  void place_missing(const Round& round, FleetMapping& mapping) const;

  const LayoutLattice& lattice_;
  const FleetPlan& plan_;
  std::span<const GpuHoldings> current_;
  std::size_t sizes_;
  std::vector<std::vector<int>> have_;             // by tenant and size
  std::vector<std::vector<std::int64_t>> prices_;  // by tenant and size, 0 .. kWhole
};

Status Mapper::check() const {
  int gpus = 0;
  SizeTable<int> slots{};
  for (const LayoutCount& layout : plan_.layouts) {
    if (layout.multiset < 0 ||
        std::cmp_greater_equal(layout.multiset, lattice_.multisets().size()) || layout.gpus < 0) {
      return invalid(fmt::format("the plan has {} GPUs of layout {}; there are layouts 0 to {}",
                                 layout.gpus,
                                 layout.multiset,
                                 lattice_.multisets().size() - 1));
    }
    gpus += layout.gpus;
    for (std::size_t size = 0; size < sizes_; ++size) {
      slots[size] += layout.gpus * lattice_.multisets()[at(layout.multiset)].counts[size];
    }
  }
  if (std::cmp_greater(gpus, current_.size())) {
    return Error{ErrorCode::kBlocked,
                 fmt::format("the plan takes {} GPUs, there are {}", gpus, current_.size())};
  }
  for (std::size_t size = 0; size < sizes_; ++size) {
    int needed = 0;
    for (const SizeTable<int>& instances : plan_.instances) {
      needed += instances[size];
    }
    if (needed > slots[size]) {
      return invalid(
          fmt::format("the plan gives tenants {} instances of size {}g, its layouts "
                      "have {}",
                      needed,
                      lattice_.sizes()[size].slices.value(),
                      slots[size]));
    }
  }
  return {};
}

std::int64_t Mapper::price(const Holding& holding) const {
  return is_resident(holding) ? prices_[at(holding.tenant)][size_of(holding.placement)] : 0;
}

std::int64_t Mapper::value_of(std::uint32_t set, const GpuHoldings& holdings) const {
  std::int64_t value = 0;
  for (const Holding& holding : holdings) {
    value += (set & bit(holding.placement)) != 0 ? price(holding) : 0;
  }
  return value;
}

std::uint32_t Mapper::best_set(int multiset, const GpuHoldings& holdings) const {
  std::optional<std::uint32_t> best;
  std::int64_t best_value = 0;
  for (const std::uint32_t set : lattice_.sets_of(multiset)) {
    const std::int64_t value = value_of(set, holdings);
    if (!best || value > best_value) {
      best = set;
      best_value = value;
    }
  }
  return checked_value(best, "a multiset has a placed layout");
}

Round Mapper::assign() const {
  std::vector<int> capacities;
  int gpus = 0;
  for (const LayoutCount& layout : plan_.layouts) {
    capacities.push_back(layout.gpus);
    gpus += layout.gpus;
  }
  capacities.push_back(static_cast<int>(current_.size()) - gpus);
  // GPUs that hold the same have the same costs.
  std::map<std::vector<std::pair<int, int>>,
           std::pair<std::vector<std::int64_t>, std::vector<std::uint32_t>>>
      known;
  std::vector<std::vector<std::int64_t>> costs;
  std::vector<const std::vector<std::uint32_t>*> sets;
  for (const GpuHoldings& holdings : current_) {
    std::vector<std::pair<int, int>> key;
    for (const Holding& holding : holdings) {
      key.emplace_back(holding.placement, is_resident(holding) ? holding.tenant : -1);
    }
    const auto [entry, is_new] = known.try_emplace(std::move(key));
    auto& [cost, set] = entry->second;
    if (is_new) {
      for (const LayoutCount& layout : plan_.layouts) {
        set.push_back(best_set(layout.multiset, holdings));
        cost.push_back(-value_of(set.back(), holdings));
      }
      set.push_back(0);
      cost.push_back(0);
    }
    costs.push_back(cost);
    sets.push_back(&set);
  }
  Round round;
  round.layout = assign_within_capacities(costs, capacities);
  round.in_place.assign(plan_.instances.size(), std::vector<int>(sizes_, 0));
  for (std::size_t gpu = 0; gpu < current_.size(); ++gpu) {
    round.sets.push_back((*sets[gpu])[at(round.layout[gpu])]);
    round.value -= costs[gpu][at(round.layout[gpu])];
    for (const Holding& holding : current_[gpu]) {
      if (is_resident(holding) && (round.sets.back() & bit(holding.placement)) != 0) {
        ++round.in_place[at(holding.tenant)][size_of(holding.placement)];
      }
    }
  }
  return round;
}

int Mapper::kept_of(const Round& round) const {
  int kept = 0;
  for (int tenant = 0; std::cmp_less(tenant, plan_.instances.size()); ++tenant) {
    for (std::size_t size = 0; size < sizes_; ++size) {
      kept += std::min(round.in_place[at(tenant)][size], wanted(tenant, size));
    }
  }
  return kept;
}

/// min(in place, wanted) <= price * in place + (1 - price) * wanted, for any price of 0 to 1.
int Mapper::kept_bound(const Round& round) const {
  std::int64_t bound = round.value;
  for (int tenant = 0; std::cmp_less(tenant, plan_.instances.size()); ++tenant) {
    for (std::size_t size = 0; size < sizes_; ++size) {
      bound += (kWhole - prices_[at(tenant)][size]) * wanted(tenant, size);
    }
  }
  return static_cast<int>(bound / kWhole);
}

void Mapper::change_prices(const Round& round, int number) {
  for (int tenant = 0; std::cmp_less(tenant, plan_.instances.size()); ++tenant) {
    for (std::size_t size = 0; size < sizes_; ++size) {
      const int in_place = round.in_place[at(tenant)][size];
      const std::int64_t step = kWhole * (wanted(tenant, size) - in_place) /
                                (std::int64_t{1} + number / 2) /
                                std::max(1, have_[at(tenant)][size]);
      std::int64_t& price = prices_[at(tenant)][size];
      price = std::clamp<std::int64_t>(price + step, 0, kWhole);
    }
  }
}

/// Takes a GPU's residents in place out of the counts or puts them in; what is kept changes by so
/// much.
int Mapper::change_in_place(int gpu, int sign, Round& round) const {
  int change = 0;
  for (const Holding& holding : current_[at(gpu)]) {
    if (is_resident(holding) && (round.sets[at(gpu)] & bit(holding.placement)) != 0) {
      const std::size_t size = size_of(holding.placement);
      int& count = round.in_place[at(holding.tenant)][size];
      change -= std::min(count, wanted(holding.tenant, size));
      count += sign;
      change += std::min(count, wanted(holding.tenant, size));
    }
  }
  return change;
}

/// Gives a GPU that is not in the counts a layout, placed so that the most is kept.
void Mapper::put_best_set(int gpu, int layout, Round& round) const {
  round.layout[at(gpu)] = layout;
  if (std::cmp_equal(layout, plan_.layouts.size())) {
    round.sets[at(gpu)] = 0;
    return;
  }
  std::optional<std::uint32_t> best;
  int best_change = 0;
  for (const std::uint32_t set : lattice_.sets_of(plan_.layouts[at(layout)].multiset)) {
    round.sets[at(gpu)] = set;
    const int change = change_in_place(gpu, 1, round);
    change_in_place(gpu, -1, round);
    if (!best || change > best_change) {
      best = set;
      best_change = change;
    }
  }
  round.sets[at(gpu)] = checked_value(best, "a multiset has a placed layout");
}

/// Exchanges the layouts of two GPUs (of one with itself: places it anew) if more is kept then.
bool Mapper::swap_layouts(int one, int other, Round& round) const {
  const std::array<std::pair<int, std::uint32_t>, 2> before = {
      std::pair(round.layout[at(one)], round.sets[at(one)]),
      std::pair(round.layout[at(other)], round.sets[at(other)])};
  const bool is_pair = one != other;
  int change = change_in_place(one, -1, round);
  change += is_pair ? change_in_place(other, -1, round) : 0;
  put_best_set(one, before[1].first, round);
  change += change_in_place(one, 1, round);
  if (is_pair) {
    put_best_set(other, before[0].first, round);
    change += change_in_place(other, 1, round);
  }
  if (change > 0) {
    return true;
  }
  change_in_place(one, -1, round);
  if (is_pair) {
    change_in_place(other, -1, round);
    std::tie(round.layout[at(other)], round.sets[at(other)]) = before[1];
    change_in_place(other, 1, round);
  }
  std::tie(round.layout[at(one)], round.sets[at(one)]) = before[0];
  change_in_place(one, 1, round);
  return false;
}

/// Whether everything on it that could stay stays, and none of it is too much.
bool Mapper::is_content(int gpu, const Round& round) const {
  return std::ranges::all_of(current_[at(gpu)], [&](const Holding& holding) {
    if (!is_resident(holding)) {
      return true;
    }
    const std::size_t size = size_of(holding.placement);
    const int count = round.in_place[at(holding.tenant)][size];
    const bool is_in_place = (round.sets[at(gpu)] & bit(holding.placement)) != 0;
    return is_in_place ? count <= wanted(holding.tenant, size)
                       : count >= wanted(holding.tenant, size);
  });
}

/// Exchanges layouts of pairs as long as more is kept, a few passes and so many tries.
void Mapper::improve(Round& round, int bound) const {
  constexpr int kPasses = 3;
  int tries_left = 20000;
  const auto gpus = static_cast<int>(current_.size());
  bool is_changed = true;
  for (int pass = 0; pass < kPasses && is_changed; ++pass) {
    is_changed = false;
    for (int one = 0; one < gpus; ++one) {
      if (is_content(one, round)) {
        continue;
      }
      for (int other = 0; other < gpus && tries_left > 0; ++other) {
        const bool is_other_layout = round.layout[at(one)] != round.layout[at(other)];
        if (one == other || is_other_layout) {
          --tries_left;
          is_changed = swap_layouts(one, other, round) || is_changed;
        }
      }
    }
    if (kept_of(round) >= bound) {
      return;
    }
  }
}

/// Free places in order of preference, each to the first tenant that still wants one of its size.
void Mapper::place_missing(const Round& round, FleetMapping& mapping) const {
  std::vector<SizeTable<int>> missing = plan_.instances;
  for (const GpuHoldings& holdings : mapping.gpus) {
    for (const Holding& holding : holdings) {
      --missing[at(holding.tenant)][size_of(holding.placement)];
    }
  }
  struct Place {
    int rank = 0;  ///< 0 nothing in force is in the way, 1 same place, 2 to be cut anew
    int gpu = 0;
    int placement = 0;
    auto operator<=>(const Place&) const = default;
  };
  std::vector<Place> places;
  for (int gpu = 0; std::cmp_less(gpu, current_.size()); ++gpu) {
    const std::uint32_t held = placement_bits(current_[at(gpu)]);
    const std::uint32_t used = placement_bits(mapping.gpus[at(gpu)]);
    for (int placement = 0; std::cmp_less(placement, lattice_.placements().size()); ++placement) {
      if ((round.sets[at(gpu)] & ~used & bit(placement)) != 0) {
        const bool is_same = (held & bit(placement)) != 0;
        const bool is_free = !is_same && lattice_.is_legal(held | bit(placement));
        places.push_back({is_free ? 0 : is_same ? 1 : 2, gpu, placement});
      }
    }
  }
  std::ranges::sort(places);
  for (int tenant = 0; std::cmp_less(tenant, missing.size()); ++tenant) {
    for (Place& place : places) {
      int& left = missing[at(tenant)][size_of(place.placement)];
      if (left > 0 && place.gpu >= 0) {
        --left;
        insert_holding(mapping.gpus[at(place.gpu)],
                       {.placement = place.placement, .tenant = tenant, .since = {}});
        ++mapping.started;
        place.gpu = -1;  // taken
      }
    }
  }
}

FleetMapping Mapper::settle(const Round& round) const {
  FleetMapping mapping;
  mapping.gpus.resize(current_.size());
  std::vector<SizeTable<int>> left = plan_.instances;
  for (std::size_t gpu = 0; gpu < current_.size(); ++gpu) {
    const int layout = round.layout[gpu];
    mapping.multisets.push_back(
        std::cmp_less(layout, plan_.layouts.size()) ? plan_.layouts[at(layout)].multiset : kUnused);
    for (const Holding& holding : current_[gpu]) {
      const bool is_in_place = (round.sets[gpu] & bit(holding.placement)) != 0;
      if (is_resident(holding) && is_in_place &&
          left[at(holding.tenant)][size_of(holding.placement)] > 0) {
        --left[at(holding.tenant)][size_of(holding.placement)];
        mapping.gpus[gpu].push_back(holding);
        ++mapping.kept;
      } else {
        ++mapping.stopped;
      }
    }
  }
  place_missing(round, mapping);
  return mapping;
}

FleetMapping Mapper::run() {
  int held = 0;
  for (const GpuHoldings& holdings : current_) {
    for (const Holding& holding : holdings) {
      ++held;
      if (is_resident(holding)) {
        ++have_[at(holding.tenant)][size_of(holding.placement)];
      }
    }
  }
  int total = 0;
  for (int tenant = 0; std::cmp_less(tenant, plan_.instances.size()); ++tenant) {
    for (std::size_t size = 0; size < sizes_; ++size) {
      total += wanted(tenant, size);
      const int have = have_[at(tenant)][size];
      if (have > wanted(tenant, size)) {
        prices_[at(tenant)][size] = kWhole * wanted(tenant, size) / have;
      }
    }
  }
  std::optional<Round> best;
  int best_kept = -1;
  int bound = held;
  for (int number = 0; number < kRoundsMax && best_kept < bound; ++number) {
    Round round = assign();
    bound = std::min(bound, kept_bound(round));
    const int kept = kept_of(round);
    change_prices(round, number);
    if (kept > best_kept) {
      best_kept = kept;
      best = std::move(round);
    }
  }
  Round chosen = checked_value(std::move(best), "there is a first round");
  if (best_kept < bound) {
    improve(chosen, bound);
  }
  FleetMapping mapping = settle(chosen);
  mapping.touched_bound = held + total - 2 * bound;
  return mapping;
}

}  // namespace

Result<FleetMapping> map_fleet(const LayoutLattice& lattice,
                               const FleetPlan& plan,
                               std::span<const GpuHoldings> current) {
  Mapper mapper(lattice, plan, current);
  SEPTULE_TRY_STATUS(mapper.check());
  return mapper.run();
}

}  // namespace septule::serve
