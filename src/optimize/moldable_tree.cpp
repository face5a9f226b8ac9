#include "optimize/moldable_tree.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace septule::optimize {

namespace {

/// What is needed of the subtree below each node.
struct Below {
  std::array<std::int32_t, kMoldableNodesMax> tasks{};    // the node's own and below
  std::array<std::int64_t, kMoldableNodesMax> longest{};  // the longest way down, own included
};

Below look_below(const MoldableGpu& gpu, const NodeLoads& loads) {
  Below below;
  for (std::size_t node = gpu.nodes().size(); node-- > 0;) {
    below.tasks[node] += loads[node].tasks;
    below.longest[node] += loads[node].time;
    if (node == 0) {
      break;
    }
    const std::size_t parent = checked_value(gpu.node(node).parent, "only the root has no parent");
    below.tasks[parent] += below.tasks[node];
    below.longest[parent] = std::max(below.longest[parent], below.longest[node]);
  }
  return below;
}

struct Open {
  std::int64_t free_at = 0;
  std::size_t node = 0;
  bool has_run = false;
};
using OpenNodes = InlineVector<Open, kMoldableNodesMax>;

std::size_t next_of(const OpenNodes& open, const Below& below, TreeTies ties) {
  const auto comes_before = [&](const Open& a, const Open& b) {
    if (a.free_at != b.free_at) {
      return a.free_at < b.free_at;
    }
    if (ties == TreeTies::kLongestFirst && below.longest[a.node] != below.longest[b.node]) {
      return below.longest[a.node] > below.longest[b.node];
    }
    return a.node < b.node;
  };
  std::size_t best = 0;
  for (std::size_t at = 1; at < open.size(); ++at) {
    if (comes_before(open[at], open[best])) {
      best = at;
    }
  }
  return best;
}

}  // namespace

TreePass tree_pass(const MoldableGpu& gpu, const NodeLoads& loads, TreeTies ties) {
  const Below below = look_below(gpu, loads);
  TreePass pass;
  std::int64_t driver_free = 0;
  OpenNodes open;
  open.push_back({});
  while (!open.empty()) {
    const std::size_t at = next_of(open, below, ties);
    Open& next = open[at];
    const std::size_t node = next.node;
    pass.end[node] = next.free_at;
    if (loads[node].tasks > 0 && !next.has_run) {
      driver_free = std::max(driver_free, next.free_at) + gpu.size_of(node).create.to_nanoseconds();
      next.free_at = driver_free + loads[node].time;
      next.has_run = true;
      pass.created.push_back(node);
      pass.makespan = std::max(pass.makespan, next.free_at);
      continue;
    }
    if (next.has_run && below.tasks[node] > loads[node].tasks) {
      driver_free =
          std::max(driver_free, next.free_at) + gpu.size_of(node).destroy.to_nanoseconds();
    }
    const std::int64_t free_at = next.free_at;
    open[at] = open.back();
    open.pop_back();
    for (const std::size_t child : gpu.node(node).children) {
      if (below.tasks[child] > 0) {
        open.push_back({free_at, child, false});
      }
    }
  }
  for (std::size_t node = 1; node < gpu.nodes().size(); ++node) {
    if (below.tasks[node] == 0) {
      pass.end[node] =
          pass.end[checked_value(gpu.node(node).parent, "only the root has no parent")];
    }
  }
  return pass;
}

NodeLoads loads_of(const MoldableGpu& gpu,
                   const MoldableTimes& times,
                   const MoldableAssignment& assignment) {
  NodeLoads loads;
  for (std::size_t task = 0; task < assignment.size(); ++task) {
    NodeLoad& load = loads[assignment[task]];
    load.time += times.at(task, gpu.node(assignment[task]).size);
    ++load.tasks;
  }
  return loads;
}

std::vector<MoldableBlock> tree_blocks(const MoldableGpu& gpu,
                                       const MoldableTimes& times,
                                       const MoldableAssignment& assignment,
                                       TreeTies ties) {
  const TreePass pass = tree_pass(gpu, loads_of(gpu, times, assignment), ties);
  std::array<std::size_t, kMoldableNodesMax> block_of{};
  std::vector<MoldableBlock> blocks;
  for (const std::size_t node : pass.created) {
    block_of[node] = blocks.size();
    blocks.push_back({node, {}});
  }
  for (std::size_t task = 0; task < assignment.size(); ++task) {
    blocks[block_of[assignment[task]]].tasks.push_back(task);
  }
  return blocks;
}

}  // namespace septule::optimize
