#include "optimize/slice_assignment_graph.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace septule::optimize {
namespace {

/// A multiset of new profiles: indices into AssignmentGraph::profiles, ascending.
using Multiset = std::vector<std::uint16_t>;

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidInput, std::move(message)};
}

Status check_costs(const ChangeCosts& costs) {
  const auto is_valid = [](double cost) { return cost >= 0.0 && cost <= plan::kSpeedMax; };
  for (const double cost : {costs.create, costs.destroy, costs.move}) {
    if (!is_valid(cost)) {
      return invalid(fmt::format(
          "change cost {} is not valid; give a number from 0 to {}", cost, plan::kSpeedMax));
    }
  }
  return {};
}

Status check_current_job(const CurrentInstance& instance, std::size_t i, std::uint32_t& seen) {
  if (!instance.job.has_value()) {
    return instance.use == InstanceUse::kPinned
               ? Status(invalid(fmt::format("current instance {} is pinned but names no job", i)))
               : Status();
  }
  const int job = *instance.job;
  if (job < 0 || job >= kAssignedJobsMax) {
    return invalid(fmt::format(
        "current instance {} names job {}; give 0 to {}", i, job, kAssignedJobsMax - 1));
  }
  if (instance.use == InstanceUse::kFrozen) {
    return invalid(fmt::format(
        "current instance {} is frozen to the jobs but names job {}; pin it instead", i, job));
  }
  if ((seen >> static_cast<unsigned>(job) & 1U) != 0) {
    return invalid(fmt::format("job {} is named by two current instances", job));
  }
  seen |= 1U << static_cast<unsigned>(job);
  return {};
}

Status check_current(const gpu::Geometry& geometry, std::span<const CurrentInstance> current) {
  gpu::LayoutBuilder builder(geometry);
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < current.size(); ++i) {
    const gpu::PlacedProfile& placed = current[i].placed;
    const int index = placed.profile.value();
    if (index < 0 || static_cast<std::size_t>(index) >= geometry.profiles().size()) {
      return invalid(fmt::format("current instance {} has profile index {}; {} has {} profiles",
                                 i,
                                 index,
                                 geometry.key(),
                                 geometry.profiles().size()));
    }
    const gpu::GpuInstanceProfile& profile = geometry.profile(placed.profile);
    const bool is_possible = std::ranges::any_of(
        profile.placements,
        [&](const gpu::Placement& placement) { return placement.start == placed.start; });
    if (!is_possible || !builder.can_add(placed)) {
      return invalid(fmt::format("current instance {} ({} at memory slice {}) is not legal {}",
                                 i,
                                 profile.name,
                                 placed.start.value(),
                                 is_possible ? "beside those before it" : "on this GPU"));
    }
    builder.add(placed);
    SEPTULE_TRY_STATUS(check_current_job(current[i], i, seen));
  }
  if (current.size() > static_cast<std::size_t>(kAssignedJobsMax)) {
    return invalid(
        fmt::format("{} current instances are more than the {} the per-GPU optimizer is made for",
                    current.size(),
                    kAssignedJobsMax));
  }
  return {};
}

/// Makes the node table of one KeptSet. Lives for one call of make().
class KeptSetMaker {
 public:
  KeptSetMaker(const gpu::Geometry& geometry, const AssignmentGraph& graph, LayoutRule rule)
      : geometry_(geometry),
        graph_(graph),
        rule_(rule),
        placements_(gpu::possible_placements(geometry, graph.profiles)) {
    // Order of idle room and of "largest": most memory slices, then compute slices, then plain
    // (lower index) profiles, then the lowest start.
    std::ranges::sort(placements_, [&](const gpu::PlacedProfile& a, const gpu::PlacedProfile& b) {
      const auto size_a = size_key(a.profile);
      const auto size_b = size_key(b.profile);
      return size_a != size_b ? size_a > size_b : a < b;
    });
  }

  Result<KeptSet> make(std::uint32_t kept) {
    KeptSet set;
    set.kept = kept;
    fixed_.clear();
    for (std::size_t i = 0; i < graph_.current.size(); ++i) {
      if ((kept >> i & 1U) == 0) {
        ++set.destroyed;
        continue;
      }
      fixed_.push_back(graph_.current[i].placed);
      if (graph_.current[i].use != InstanceUse::kFrozen) {
        set.hosts.push_back(static_cast<int>(i));
      }
    }
    gpu::canonicalise(fixed_);
    std::ranges::sort(
        set.hosts, {}, [&](int i) { return graph_.current[static_cast<std::size_t>(i)].placed; });
    is_pair_there_ = has_four_and_three(fixed_);
    found_.clear();
    gpu::for_each_layout(geometry_, graph_.profiles, fixed_, [&](const gpu::Layout& layout, bool) {
      consider(layout);
    });
    SEPTULE_TRY_STATUS(check_size(set));
    fill(set);
    return set;
  }

 private:
  /// A way to place a multiset: the new instances, and what else could be placed beside them.
  struct Candidate {
    gpu::Layout created;
    std::vector<int> room_sizes;  // descending
  };

  int size_key(ProfileIndex profile) const {
    const gpu::GpuInstanceProfile& row = geometry_.profile(profile);
    return row.size().value() * 64 + row.slices.value();
  }

  bool has_four_and_three(const gpu::Layout& layout) const {
    const auto has = [&](int slices) {
      return std::ranges::any_of(layout, [&](const gpu::PlacedProfile& placed) {
        return geometry_.profile(placed.profile).slices == ComputeSlices(slices);
      });
    };
    return has(4) && has(3);
  }

  bool is_allowed(const gpu::Layout& layout) const {
    return rule_ == LayoutRule::kEveryLayout || is_pair_there_ || !has_four_and_three(layout);
  }

  gpu::LayoutBuilder builder_of(const gpu::Layout& layout) const {
    gpu::LayoutBuilder builder(geometry_);
    for (const gpu::PlacedProfile& placed : layout) {
      builder.add(placed);
    }
    return builder;
  }

  bool fits_beside(const gpu::LayoutBuilder& builder,
                   gpu::Layout& layout,
                   const gpu::PlacedProfile& placed) const {
    if (!builder.can_add(placed)) {
      return false;
    }
    layout.push_back(placed);
    const bool is_fine = is_allowed(layout);
    layout.pop_back();
    return is_fine;
  }

  void consider(const gpu::Layout& layout) {
    if (!is_allowed(layout)) {
      return;
    }
    Candidate candidate;
    Multiset key;
    for (const gpu::PlacedProfile& placed : layout) {
      if (std::ranges::find(fixed_, placed) != fixed_.end()) {
        continue;
      }
      candidate.created.push_back(placed);
      const auto at = std::ranges::lower_bound(graph_.profiles, placed.profile);
      key.push_back(static_cast<std::uint16_t>(at - graph_.profiles.begin()));
    }
    std::ranges::sort(key);
    const gpu::LayoutBuilder builder = builder_of(layout);
    gpu::Layout beside = layout;
    std::optional<ProfileIndex> last;
    for (const gpu::PlacedProfile& placed : placements_) {
      if (last != placed.profile && fits_beside(builder, beside, placed)) {
        candidate.room_sizes.push_back(size_key(placed.profile));
        last = placed.profile;
      }
    }
    // Layouts come in canonical order, so an equal candidate that comes later loses.
    const auto [at, is_new] = found_.try_emplace(std::pair(key.size(), key), candidate);
    if (!is_new && candidate.room_sizes > at->second.room_sizes) {
      at->second = std::move(candidate);
    }
  }

  Status check_size(const KeptSet& set) const {
    const std::size_t most = found_.empty() ? 0 : found_.rbegin()->first.first;
    if (most + set.hosts.size() > kAssignedJobsMax ||
        (found_.size() << set.hosts.size()) > kStatesMax) {
      return invalid(
          fmt::format("{}: its layouts are beyond what the per-GPU optimizer is made "
                      "for ({} instances, {} states)",
                      geometry_.key(),
                      kAssignedJobsMax,
                      kStatesMax));
    }
    return {};
  }

  void fill(KeptSet& set) const {
    std::map<Multiset, std::uint16_t> node_of;
    for (const auto& [key, candidate] : found_) {
      node_of.emplace(key.second, static_cast<std::uint16_t>(node_of.size()));
    }
    for (const auto& [key, candidate] : found_) {
      for (std::size_t level = key.first + 1; level < set.level_begin.size(); ++level) {
        ++set.level_begin[level];  // nodes are by level, so this counts those below
      }
      AssignmentNode node;
      node.edges_begin = static_cast<std::uint32_t>(set.edges.size());
      for (std::size_t p = 0; p < graph_.profiles.size(); ++p) {
        const auto profile = static_cast<std::uint16_t>(p);
        Multiset next = key.second;
        next.insert(std::ranges::upper_bound(next, profile), profile);
        if (const auto to = node_of.find(next); to != node_of.end()) {
          set.edges.push_back({.profile = profile, .to = to->second});
        }
      }
      node.edges_end = static_cast<std::uint32_t>(set.edges.size());
      node.placed_count = static_cast<int>(candidate.created.size());
      std::ranges::copy(candidate.created, node.placed.begin());
      fill_room(node, candidate);
      set.nodes.push_back(node);
    }
  }

  void fill_room(AssignmentNode& node, const Candidate& candidate) const {
    gpu::Layout layout = fixed_;
    layout.insert(layout.end(), candidate.created.begin(), candidate.created.end());
    gpu::LayoutBuilder builder = builder_of(layout);
    // `placements_` is by falling size, so one pass is a greedy completion; what did not fit once
    // does not fit later, except that a profile may be added again at a later place.
    for (const gpu::PlacedProfile& placed : placements_) {
      if (fits_beside(builder, layout, placed)) {
        SEPTULE_CHECK(node.room_count < kAssignedJobsMax, "a GPU holds at most seven instances");
        node.room[static_cast<std::size_t>(node.room_count)] = placed;
        ++node.room_count;
        builder.add(placed);
        layout.push_back(placed);
      }
    }
  }

  const gpu::Geometry& geometry_;
  const AssignmentGraph& graph_;
  LayoutRule rule_;
  std::vector<gpu::PlacedProfile> placements_;
  gpu::Layout fixed_;
  bool is_pair_there_ = false;
  std::map<std::pair<std::size_t, Multiset>, Candidate> found_;  // by level, then multiset
};

}  // namespace

int KeptSet::capacity() const {
  int levels = 0;
  for (int level = 1; level <= kAssignedJobsMax; ++level) {
    const auto at = static_cast<std::size_t>(level);
    if (level_begin[at] < level_begin[at + 1]) {
      levels = level;
    }
  }
  return levels + static_cast<int>(hosts.size());
}

Result<AssignmentGraph> AssignmentGraph::make(const gpu::Geometry& geometry,
                                              const SliceAssigner::Options& options) {
  if (!geometry.has_profile_table()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("{} has no published profile table, so nothing can be planned on it",
                             geometry.key())};
  }
  SEPTULE_TRY_STATUS(check_costs(options.costs));
  SEPTULE_TRY_STATUS(check_current(geometry, options.current));
  AssignmentGraph graph;
  graph.profiles = geometry.profiles_in(options.profiles);
  SEPTULE_CHECK(graph.profiles.size() <= kProfilesPerSetMax, "LayoutBuilder has this limit too");
  graph.current.assign(options.current.begin(), options.current.end());
  graph.costs = options.costs;

  std::uint32_t reusable = 0;
  const std::uint32_t all = (1U << graph.current.size()) - 1U;
  for (std::size_t i = 0; i < graph.current.size(); ++i) {
    if (graph.current[i].use == InstanceUse::kReusable) {
      reusable |= 1U << i;
    }
  }
  KeptSetMaker maker(geometry, graph, options.rule);
  // Every subset of the reusable ones, from all of them down to none.
  std::uint32_t subset = reusable;
  while (true) {
    SEPTULE_TRY(KeptSet set, maker.make((all & ~reusable) | subset));
    graph.capacity = std::max(graph.capacity, set.capacity());
    graph.kept_sets.push_back(std::move(set));
    if (subset == 0) {
      break;
    }
    subset = (subset - 1U) & reusable;
  }
  return graph;
}

}  // namespace septule::optimize
