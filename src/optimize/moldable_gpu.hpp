#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::optimize {

/// Written limits of MoldableGpu; the largest known GPU has 14 nodes, 7 leaves and 5 sizes.
inline constexpr std::size_t kMoldableNodesMax = 24;
inline constexpr std::size_t kMoldableLeavesMax = 8;
inline constexpr std::size_t kMoldableSizesMax = 8;

/// A size of instance: a plain profile, and what making and unmaking one takes.
struct MoldableSize {
  ProfileIndex profile;
  ComputeSlices slices;
  Duration create;
  Duration destroy;
};

/// A place for an instance: a node of the repartitioning tree. What lies below it are the smaller
/// places that can be made of it.
struct MoldableNode {
  std::size_t size = 0;  ///< index into MoldableGpu::sizes()
  gpu::PlacedProfile placed;
  std::uint32_t memory_mask = 0;      ///< the memory slices it takes
  std::optional<std::size_t> parent;  ///< nothing = the root
  std::vector<std::size_t> children;  ///< by start
};

/// One GPU as moldable tasks see it (FAR, hierarchical.md section 3): sizes and the repartitioning
/// tree, worked out from the geometry. The root is the largest placement of a plain profile; the
/// children of a node are, from its first memory slice on, the largest smaller placements that fit
/// in it beside one another. On the A100 that is FAR's tree: 7@0 -> 4@0, 3@4; 4@0 -> 3@0;
/// 3@0 -> 2@0, 2@2; 3@4 -> 2@4, 1@6; every 2g -> two 1g.
///
/// Plain placements of all known GPUs are laminar (two of them either lie within one another or
/// apart), so that each maximal layout is a cut of the tree.
///
/// Invariants: a parent has a smaller index than its children; nodes stand by depth, then start;
/// sizes ascend by compute slices; every size has a node. Immutable; any thread. The geometry
/// outlives it.
class MoldableGpu {
 public:
  /// `costs` as in WindowProblem; empty vectors: nothing costs anything. Fails with kBlocked for a
  /// GPU without a profile table, or whose plain profiles do not form such a tree.
  static Result<MoldableGpu> make(const gpu::Geometry& geometry, const SwitchCosts& costs);

  const gpu::Geometry& geometry() const { return *geometry_; }
  std::span<const MoldableSize> sizes() const { return sizes_; }
  std::span<const MoldableNode> nodes() const { return nodes_; }
  const MoldableNode& node(std::size_t index) const { return nodes_[index]; }
  const MoldableSize& size_of(std::size_t node) const { return sizes_[nodes_[node].size]; }
  /// Nodes without children, ascending.
  std::span<const std::size_t> leaves() const { return leaves_; }
  /// Every cut of the tree: nodes that lie apart and leave no leaf out, ascending. 19 on the A100.
  const std::vector<std::vector<std::size_t>>& layouts() const { return layouts_; }
  /// All compute slices of the GPU that plain profiles can use.
  ComputeSlices compute_slices() const { return sizes_.back().slices; }

 private:
  MoldableGpu() = default;
  void grow_tree();
  std::vector<std::vector<std::size_t>> cuts_below(std::size_t node) const;
  bool has_legal_layouts() const;

  const gpu::Geometry* geometry_ = nullptr;
  std::vector<MoldableSize> sizes_;
  std::vector<MoldableNode> nodes_;
  std::vector<std::size_t> leaves_;
  std::vector<std::vector<std::size_t>> layouts_;
};

}  // namespace septule::optimize
