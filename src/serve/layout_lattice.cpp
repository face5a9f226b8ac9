#include "serve/layout_lattice.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "serve/indices.hpp"

namespace septule::serve {

namespace {

constexpr std::size_t kPlacementsMax = 32;

std::size_t hash_of(std::uint32_t placements) {
  return static_cast<std::size_t>((placements * 2654435769ULL) >> 8U);
}

/// Ways to give `count` equal things one of `labels` labels each.
std::int64_t labellings(int count, int labels) {
  std::int64_t ways = 1;
  for (int i = 1; i <= count; ++i) {
    ways = ways * (labels - 1 + i) / i;
  }
  return ways;
}

bool holds_more(const LayoutLattice::Multiset& a, const LayoutLattice::Multiset& b) {
  bool is_more = false;
  for (std::size_t size = 0; size < kSizesMax; ++size) {
    if (a.counts[size] < b.counts[size]) {
      return false;
    }
    is_more = is_more || a.counts[size] > b.counts[size];
  }
  return is_more;
}

}  // namespace

Result<LayoutLattice> LayoutLattice::make(const gpu::Geometry& geometry, gpu::ProfileSet profiles) {
  if (!geometry.has_profile_table()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("{}: no profile table has been published, so its layouts are not "
                             "known; valid are GPU models with one, such as A100-80GB",
                             geometry.key())};
  }
  LayoutLattice lattice;
  lattice.geometry_ = &geometry;
  SEPTULE_TRY_STATUS(lattice.make_sizes(profiles));
  SEPTULE_TRY_STATUS(lattice.make_placed_sets(geometry.profiles_in(profiles)));
  lattice.make_multisets();
  lattice.mark_undominated();
  lattice.make_index();
  return lattice;
}

Status LayoutLattice::make_sizes(gpu::ProfileSet profiles) {
  for (const ProfileIndex index : geometry_->profiles_in(profiles)) {
    const gpu::GpuInstanceProfile& profile = geometry_->profile(index);
    sizes_.push_back({index, profile.slices, profile.size(), profile.memory});
  }
  if (sizes_.size() > kSizesMax) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("{}: {} profiles are in the set '{}', at most {} sizes of instances can be "
                    "planned with; a smaller set is 'plain'",
                    geometry_->key(),
                    sizes_.size(),
                    profile_set_name(profiles),
                    kSizesMax)};
  }
  std::ranges::sort(sizes_, {}, [](const InstanceSize& size) {
    return std::tuple(size.slices, size.memory, size.span, size.profile);
  });
  const std::vector<ProfileIndex> indices = geometry_->profiles_in(profiles);
  for (const gpu::PlacedProfile& placed : gpu::possible_placements(*geometry_, indices)) {
    const auto size = std::ranges::find(sizes_, placed.profile, &InstanceSize::profile);
    placements_.push_back({static_cast<int>(size - sizes_.begin()), placed});
  }
  if (placements_.size() > kPlacementsMax) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{}: the profiles of the set '{}' have {} placements, at most {} can "
                             "be planned with; a smaller set is 'plain'",
                             geometry_->key(),
                             profile_set_name(profiles),
                             placements_.size(),
                             kPlacementsMax)};
  }
  return {};
}

Status LayoutLattice::make_placed_sets(std::span<const ProfileIndex> profiles) {
  std::size_t instances_max = 0;
  const auto visit = [&](const gpu::Layout& layout, bool is_maximal) {
    instances_max = std::max(instances_max, layout.size());
    PlacedSet set;
    for (const gpu::PlacedProfile& placed : layout) {
      set.placements |= bit(find_placement(placed).value_or(0));
    }
    set.size_count = static_cast<int>(layout.size());
    set.is_maximal = is_maximal;
    placed_sets_.push_back(set);
  };
  gpu::for_each_layout(*geometry_, profiles, {}, visit);
  if (instances_max > kInstancesMax) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("{}: up to {} instances fit on one GPU, at most {} can be planned with",
                    geometry_->key(),
                    instances_max,
                    kInstancesMax)};
  }
  std::ranges::sort(placed_sets_, {}, [](const PlacedSet& set) {
    return std::pair(set.size_count, set.placements);
  });
  return {};
}

void LayoutLattice::make_multisets() {
  std::map<SizeTable<int>, int> seen;
  for (PlacedSet& set : placed_sets_) {
    Multiset multiset;
    for (std::size_t p = 0; p < placements_.size(); ++p) {
      if ((set.placements & bit(static_cast<int>(p))) != 0) {
        const auto size = static_cast<std::size_t>(placements_[p].size);
        ++multiset.counts[size];
        ++multiset.instances;
        multiset.gpcs += sizes_[size].slices.value();
      }
    }
    const auto [at, is_new] = seen.try_emplace(multiset.counts, static_cast<int>(seen.size()));
    if (is_new) {
      multisets_.push_back(multiset);
      sets_of_.emplace_back();
    }
    set.multiset = at->second;
    sets_of_[static_cast<std::size_t>(at->second)].push_back(set.placements);
  }
}

void LayoutLattice::mark_undominated() {
  for (Multiset& multiset : multisets_) {
    multiset.is_undominated = std::ranges::none_of(
        multisets_, [&](const Multiset& other) { return holds_more(other, multiset); });
  }
}

void LayoutLattice::make_index() {
  set_index_.assign(std::bit_ceil(placed_sets_.size() * 4), -1);
  const std::size_t mask = set_index_.size() - 1;
  for (std::size_t i = 0; i < placed_sets_.size(); ++i) {
    std::size_t at = hash_of(placed_sets_[i].placements) & mask;
    while (set_index_[at] >= 0) {
      at = (at + 1) & mask;
    }
    set_index_[at] = static_cast<int>(i);
  }
}

std::optional<int> LayoutLattice::size_of(ComputeSlices slices) const {
  const auto found = std::ranges::find(sizes_, slices, &InstanceSize::slices);
  if (found == sizes_.end()) {
    return std::nullopt;
  }
  return static_cast<int>(found - sizes_.begin());
}

std::optional<int> LayoutLattice::find_placement(const gpu::PlacedProfile& placed) const {
  const auto found = std::ranges::find(placements_, placed, &SizePlacement::placed);
  if (found == placements_.end()) {
    return std::nullopt;
  }
  return static_cast<int>(found - placements_.begin());
}

std::optional<int> LayoutLattice::find_set(std::uint32_t placements) const {
  const std::size_t mask = set_index_.size() - 1;
  for (std::size_t at = hash_of(placements) & mask; set_index_[at] >= 0; at = (at + 1) & mask) {
    const int index = set_index_[at];
    if (placed_sets_[static_cast<std::size_t>(index)].placements == placements) {
      return index;
    }
  }
  return std::nullopt;
}

std::int64_t LayoutLattice::labelled_set_count(int label_count) const {
  std::int64_t total = 0;
  for (const PlacedSet& set : placed_sets_) {
    std::int64_t labelled = 1;
    for (int i = 0; i < set.size_count; ++i) {
      labelled *= label_count;
    }
    total += labelled;
  }
  return total;
}

std::int64_t LayoutLattice::labelled_multiset_count(int label_count) const {
  std::int64_t total = 0;
  for (const Multiset& multiset : multisets_) {
    std::int64_t labelled = 1;
    for (const int count : multiset.counts) {
      labelled *= labellings(count, label_count);
    }
    total += labelled;
  }
  return total;
}

}  // namespace septule::serve
