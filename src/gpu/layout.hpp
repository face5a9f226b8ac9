#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "gpu/geometry.hpp"

namespace septule::gpu {

/// A GPU instance as geometry sees it: which profile, where. The size follows from the profile.
struct PlacedProfile {
  ProfileIndex profile;
  MemorySlices start;

  friend constexpr auto operator<=>(const PlacedProfile&, const PlacedProfile&) = default;
};

/// The GPU instances of one GPU, without their compute instances. Canonical order: by start, then
/// profile index. May be empty, which is legal.
using Layout = std::vector<PlacedProfile>;

Placement placement_of(const Geometry& geometry, const PlacedProfile& placed);
/// Sorts into canonical order.
void canonicalise(Layout& layout);

/// The search side's idea of what fits beside what: grows a layout instance by instance. The rules
/// are: disjoint memory slices, at most `instances_max` of a profile, engine budgets where known.
/// (gpu/partition_checker.hpp judges finished partitions and shares no code with this.)
/// Not thread-safe; cheap to copy; no allocation after construction.
class LayoutBuilder {
 public:
  static constexpr int kProfilesMax = 32;
  static constexpr int kMemorySlicesMax = 32;

  explicit LayoutBuilder(const Geometry& geometry);

  /// Whether `placed` (a possible placement of its profile) can be added now.
  bool can_add(const PlacedProfile& placed) const;
  void add(const PlacedProfile& placed);
  void remove(const PlacedProfile& placed);
  std::uint32_t memory_slice_mask() const { return mask_; }
  int count_of(ProfileIndex profile) const;

 private:
  struct Row {
    std::uint32_t size_mask = 0;  // `size` low bits set
    int instances_max = 0;
    std::array<int, kEngineCount> engines{};
  };
  std::array<Row, kProfilesMax> rows_{};
  std::array<int, kEngineCount> engine_budget_{};  // INT_MAX where unknown
  std::array<int, kProfilesMax> counts_{};
  std::array<int, kEngineCount> engines_used_{};
  std::uint32_t mask_ = 0;
};

/// Every possible (profile, start) of the given profiles, in canonical order.
std::vector<PlacedProfile> possible_placements(const Geometry& geometry,
                                               std::span<const ProfileIndex> profiles);

/// Calls `visit(layout, is_maximal)` for each legal layout of the given profiles once, the empty
/// one included, in lexicographic order of canonical layouts. Maximal: no further instance of these
/// profiles fits. `fixed` instances are part of every layout visited (and of the layout handed
/// over); they must be legal together. Cost: one visit per legal layout (2,319 at most for the
/// known GPUs).
void for_each_layout(const Geometry& geometry,
                     std::span<const ProfileIndex> profiles,
                     const Layout& fixed,
                     const std::function<void(const Layout& layout, bool is_maximal)>& visit);

struct LayoutCounts {
  std::int64_t legal = 0;  ///< layouts, the empty one included
  std::int64_t maximal = 0;
  std::int64_t legal_multisets = 0;  ///< layouts that differ in more than placement
  std::int64_t maximal_multisets = 0;
};
/// Nothing for a board without a profile table.
std::optional<LayoutCounts> count_layouts(const Geometry& geometry, ProfileSet set);

/// Whether the layouts of a profile set rest on placements that were seen: kVerified, or kInferred
/// if any placement is inferred.
Evidence layouts_evidence(const Geometry& geometry, ProfileSet set);

/// All maximal layouts of a profile set, in canonical order.
std::vector<Layout> maximal_layouts(const Geometry& geometry, ProfileSet set);

}  // namespace septule::gpu
