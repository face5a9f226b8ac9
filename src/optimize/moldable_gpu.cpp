#include "optimize/moldable_gpu.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace septule::optimize {

namespace {

std::uint32_t memory_mask(const gpu::Placement& placement) {
  const std::uint32_t ones =
      (std::uint32_t{1} << static_cast<unsigned>(placement.size.value())) - 1;
  return ones << static_cast<unsigned>(placement.start.value());
}

Duration cost_of(const std::vector<Duration>& costs, ProfileIndex profile) {
  const auto index = static_cast<std::size_t>(profile.value());
  return index < costs.size() ? costs[index] : Duration();
}

/// The largest placement of fewer compute slices than `below` inside `room`, the first of equals.
struct FoundPlace {
  std::size_t size = 0;
  gpu::Placement placement;
};
std::optional<FoundPlace> largest_in(const gpu::Geometry& geometry,
                                     std::span<const MoldableSize> sizes,
                                     std::size_t below,
                                     std::uint32_t room) {
  for (std::size_t size = below; size-- > 0;) {
    for (const gpu::Placement& placement : geometry.profile(sizes[size].profile).placements) {
      if ((memory_mask(placement) & ~room) == 0) {
        return FoundPlace{size, placement};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Result<MoldableGpu> MoldableGpu::make(const gpu::Geometry& geometry, const SwitchCosts& costs) {
  MoldableGpu made;
  made.geometry_ = &geometry;
  if (!geometry.has_profile_table()) {
    return Error{ErrorCode::kBlocked,
                 fmt::format("moldable tasks need a GPU whose profiles are known, and none were "
                             "published of {}",
                             geometry.key())};
  }
  for (const ProfileIndex profile : geometry.profiles_in(gpu::ProfileSet::kPlain)) {
    made.sizes_.push_back({profile,
                           geometry.profile(profile).slices,
                           cost_of(costs.create, profile),
                           cost_of(costs.destroy, profile)});
  }
  std::stable_sort(
      made.sizes_.begin(), made.sizes_.end(), [](const MoldableSize& a, const MoldableSize& b) {
        return a.slices < b.slices;
      });
  made.grow_tree();
  std::vector<bool> has_node(made.sizes_.size(), false);
  for (const MoldableNode& node : made.nodes_) {
    has_node[node.size] = true;
  }
  const bool all_reached = std::all_of(has_node.begin(), has_node.end(), [](bool b) { return b; });
  if (!all_reached || made.nodes_.size() > kMoldableNodesMax ||
      made.leaves_.size() > kMoldableLeavesMax || made.sizes_.size() > kMoldableSizesMax ||
      !made.has_legal_layouts()) {
    return Error{
        ErrorCode::kBlocked,
        fmt::format("the plain profiles of {} do not form a tree of at most {} places that "
                    "moldable tasks could be put on",
                    geometry.key(),
                    kMoldableNodesMax)};
  }
  return made;
}

void MoldableGpu::grow_tree() {
  const auto add = [this](const FoundPlace& found, std::optional<std::size_t> parent) {
    MoldableNode node;
    node.size = found.size;
    node.placed = {sizes_[found.size].profile, found.placement.start};
    node.memory_mask = memory_mask(found.placement);
    node.parent = parent;
    nodes_.push_back(std::move(node));
  };
  const ProfileIndex whole = sizes_.back().profile;
  add({sizes_.size() - 1, geometry_->profile(whole).placements.front()}, std::nullopt);
  // Breadth first; a tree beyond the limit is refused by the caller.
  for (std::size_t at = 0; at < nodes_.size() && nodes_.size() <= kMoldableNodesMax; ++at) {
    std::uint32_t room = nodes_[at].memory_mask;
    while (const std::optional<FoundPlace> found =
               largest_in(*geometry_, sizes_, nodes_[at].size, room)) {
      nodes_[at].children.push_back(nodes_.size());
      add(*found, at);
      room &= ~memory_mask(found->placement);
    }
    if (nodes_[at].children.empty()) {
      leaves_.push_back(at);
    }
  }
  layouts_ = cuts_below(0);
  for (std::vector<std::size_t>& layout : layouts_) {
    std::sort(layout.begin(), layout.end());
  }
}

std::vector<std::vector<std::size_t>> MoldableGpu::cuts_below(std::size_t node) const {
  std::vector<std::vector<std::size_t>> cuts = {{node}};
  if (nodes_[node].children.empty()) {
    return cuts;
  }
  std::vector<std::vector<std::size_t>> combined = {{}};
  for (const std::size_t child : nodes_[node].children) {
    std::vector<std::vector<std::size_t>> longer;
    for (const std::vector<std::size_t>& begun : combined) {
      for (const std::vector<std::size_t>& cut : cuts_below(child)) {
        longer.push_back(begun);
        longer.back().insert(longer.back().end(), cut.begin(), cut.end());
      }
    }
    combined = std::move(longer);
  }
  cuts.insert(cuts.end(), combined.begin(), combined.end());
  return cuts;
}

bool MoldableGpu::has_legal_layouts() const {
  for (const std::vector<std::size_t>& layout : layouts_) {
    gpu::LayoutBuilder builder(*geometry_);
    for (const std::size_t node : layout) {
      if (!builder.can_add(nodes_[node].placed)) {
        return false;
      }
      builder.add(nodes_[node].placed);
    }
  }
  return true;
}

}  // namespace septule::optimize
