#include "gpu/layout.hpp"

#include <algorithm>
#include <set>

#include <climits>

#include "base/check.hpp"

namespace septule::gpu {

namespace {

std::size_t at(ProfileIndex index) {
  return static_cast<std::size_t>(index.value());
}

bool comes_before(const PlacedProfile& a, const PlacedProfile& b) {
  return a.start != b.start ? a.start < b.start : a.profile < b.profile;
}

}  // namespace

Placement placement_of(const Geometry& geometry, const PlacedProfile& placed) {
  return Placement{placed.start, geometry.profile(placed.profile).size()};
}

void canonicalise(Layout& layout) {
  std::ranges::sort(layout, comes_before);
}

LayoutBuilder::LayoutBuilder(const Geometry& geometry) {
  SEPTULE_CHECK(geometry.profiles().size() <= static_cast<std::size_t>(kProfilesMax),
                "a geometry has at most kProfilesMax profiles");
  for (std::size_t i = 0; i < geometry.profiles().size(); ++i) {
    const GpuInstanceProfile& profile = geometry.profiles()[i];
    // 64 bits wide, so that a profile of 32 slices gives all ones.
    rows_[i].size_mask = static_cast<std::uint32_t>(
        (std::uint64_t{1} << static_cast<unsigned>(profile.size().value())) - 1U);
    rows_[i].instances_max = profile.instances_max;
    for (std::size_t e = 0; e < static_cast<std::size_t>(kEngineCount); ++e) {
      rows_[i].engines[e] = profile.engines[e].value_or(0);
    }
  }
  for (std::size_t e = 0; e < static_cast<std::size_t>(kEngineCount); ++e) {
    engine_budget_[e] = geometry.engine_budget()[e].value_or(INT_MAX);
  }
}

bool LayoutBuilder::can_add(const PlacedProfile& placed) const {
  const Row& row = rows_[at(placed.profile)];
  const std::uint32_t mask = row.size_mask << static_cast<unsigned>(placed.start.value());
  if ((mask_ & mask) != 0 || counts_[at(placed.profile)] >= row.instances_max) {
    return false;
  }
  for (std::size_t e = 0; e < static_cast<std::size_t>(kEngineCount); ++e) {
    if (row.engines[e] > 0 && engines_used_[e] > engine_budget_[e] - row.engines[e]) {
      return false;
    }
  }
  return true;
}

void LayoutBuilder::add(const PlacedProfile& placed) {
  const Row& row = rows_[at(placed.profile)];
  mask_ |= row.size_mask << static_cast<unsigned>(placed.start.value());
  ++counts_[at(placed.profile)];
  for (std::size_t e = 0; e < static_cast<std::size_t>(kEngineCount); ++e) {
    engines_used_[e] += row.engines[e];
  }
}

void LayoutBuilder::remove(const PlacedProfile& placed) {
  const Row& row = rows_[at(placed.profile)];
  mask_ &= ~(row.size_mask << static_cast<unsigned>(placed.start.value()));
  --counts_[at(placed.profile)];
  for (std::size_t e = 0; e < static_cast<std::size_t>(kEngineCount); ++e) {
    engines_used_[e] -= row.engines[e];
  }
}

int LayoutBuilder::count_of(ProfileIndex profile) const {
  return counts_[at(profile)];
}

std::vector<PlacedProfile> possible_placements(const Geometry& geometry,
                                               std::span<const ProfileIndex> profiles) {
  std::vector<PlacedProfile> all;
  for (const ProfileIndex index : profiles) {
    for (const Placement& place : geometry.profile(index).placements) {
      all.push_back(PlacedProfile{index, place.start});
    }
  }
  std::ranges::sort(all, comes_before);
  return all;
}

namespace {

/// Depth-first walk over the possible placements in canonical order. A layout is visited when its
/// last instance has been added, so that each is visited once and prefixes come first.
class LayoutWalk {
 public:
  LayoutWalk(const Geometry& geometry,
             std::span<const ProfileIndex> profiles,
             const Layout& fixed,
             const std::function<void(const Layout&, bool)>& visit)
      : choices_(possible_placements(geometry, profiles)),
        builder_(geometry),
        fixed_(fixed),
        visit_(visit) {
    for (const PlacedProfile& placed : fixed) {
      SEPTULE_CHECK(builder_.can_add(placed), "fixed instances are legal together");
      builder_.add(placed);
    }
  }

  void run() { walk(0); }

 private:
  void walk(std::size_t from) {
    visit_current();
    for (std::size_t i = from; i < choices_.size(); ++i) {
      if (builder_.can_add(choices_[i])) {
        builder_.add(choices_[i]);
        chosen_.push_back(choices_[i]);
        walk(i + 1);
        chosen_.pop_back();
        builder_.remove(choices_[i]);
      }
    }
  }

  void visit_current() {
    const bool is_maximal = std::ranges::none_of(
        choices_, [&](const PlacedProfile& placed) { return builder_.can_add(placed); });
    layout_ = chosen_;
    if (!fixed_.empty()) {
      layout_.insert(layout_.end(), fixed_.begin(), fixed_.end());
      canonicalise(layout_);
    }
    visit_(layout_, is_maximal);
  }

  std::vector<PlacedProfile> choices_;
  LayoutBuilder builder_;
  const Layout& fixed_;
  const std::function<void(const Layout&, bool)>& visit_;
  Layout chosen_;
  Layout layout_;
};

}  // namespace

void for_each_layout(const Geometry& geometry,
                     std::span<const ProfileIndex> profiles,
                     const Layout& fixed,
                     const std::function<void(const Layout& layout, bool is_maximal)>& visit) {
  LayoutWalk(geometry, profiles, fixed, visit).run();
}

std::optional<LayoutCounts> count_layouts(const Geometry& geometry, ProfileSet set) {
  if (!geometry.has_profile_table()) {
    return std::nullopt;
  }
  LayoutCounts counts;
  std::set<std::vector<int>> legal_multisets;
  std::set<std::vector<int>> maximal_multisets;
  const std::vector<ProfileIndex> profiles = geometry.profiles_in(set);
  for_each_layout(geometry, profiles, {}, [&](const Layout& layout, bool is_maximal) {
    std::vector<int> multiset;
    for (const PlacedProfile& placed : layout) {
      multiset.push_back(placed.profile.value());
    }
    std::ranges::sort(multiset);
    ++counts.legal;
    legal_multisets.insert(multiset);
    if (is_maximal) {
      ++counts.maximal;
      maximal_multisets.insert(std::move(multiset));
    }
  });
  counts.legal_multisets = static_cast<std::int64_t>(legal_multisets.size());
  counts.maximal_multisets = static_cast<std::int64_t>(maximal_multisets.size());
  return counts;
}

Evidence layouts_evidence(const Geometry& geometry, ProfileSet set) {
  const std::vector<ProfileIndex> profiles = geometry.profiles_in(set);
  const bool is_verified = std::ranges::all_of(profiles, [&](ProfileIndex index) {
    return geometry.profile(index).is_verified("placements");
  });
  return is_verified ? Evidence::kVerified : Evidence::kInferred;
}

std::vector<Layout> maximal_layouts(const Geometry& geometry, ProfileSet set) {
  std::vector<Layout> layouts;
  for_each_layout(geometry, geometry.profiles_in(set), {}, [&](const Layout& layout, bool maximal) {
    if (maximal) {
      layouts.push_back(layout);
    }
  });
  return layouts;
}

}  // namespace septule::gpu
