#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/inline_vector.hpp"
#include "optimize/moldable.hpp"

namespace septule::optimize {

/// What runs on a node of the tree: the sum of its tasks' times (ns), and how many there are.
struct NodeLoad {
  std::int64_t time = 0;
  std::int32_t tasks = 0;
};
using NodeLoads = std::array<NodeLoad, kMoldableNodesMax>;

/// Which of several nodes that are free at the same time is cut first.
enum class TreeTies {
  kNodeOrder,     ///< the smallest index (FAR)
  kLongestFirst,  ///< the one with most left to run, because creations queue up
};

/// When everything of an assignment happens.
struct TreePass {
  std::int64_t makespan = 0;
  /// When a node's own tasks end; of a node without tasks, its parent's end.
  std::array<std::int64_t, kMoldableNodesMax> end{};
  InlineVector<std::size_t, kMoldableNodesMax> created;  ///< nodes with tasks, by creation
};

/// The timeline of loads on the tree, as FAR builds it: nodes in order of the time at which they
/// are free; one with tasks is created (one creation or destruction at a time), runs them, and is
/// destroyed if anything below it has tasks; then its children are free. Nodes without tasks are
/// passed without creating anything. Equal to lay_out() of the blocks in the order `created`. No
/// heap; a few hundred nanoseconds.
TreePass tree_pass(const MoldableGpu& gpu, const NodeLoads& loads, TreeTies ties);

NodeLoads loads_of(const MoldableGpu& gpu,
                   const MoldableTimes& times,
                   const MoldableAssignment& assignment);

/// The blocks of an assignment in the order in which tree_pass() creates them; tasks by number.
std::vector<MoldableBlock> tree_blocks(const MoldableGpu& gpu,
                                       const MoldableTimes& times,
                                       const MoldableAssignment& assignment,
                                       TreeTies ties);

}  // namespace septule::optimize
