#include "optimize/move_order.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.hpp"

namespace septule::optimize {

std::vector<InstanceMove> order_moves(const gpu::Inventory& inventory,
                                      std::span<const DestroyedInstance> destroyed,
                                      std::vector<InstanceMove> moves) {
  std::map<GpuIndex, gpu::LayoutBuilder> gpus;
  for (const gpu::ObservedGpu& gpu : inventory.gpus) {
    const bool is_involved = std::ranges::any_of(moves, [&gpu](const InstanceMove& move) {
      return move.from_gpu == gpu.index || move.to_gpu == gpu.index;
    });
    if (!is_involved) {
      continue;
    }
    gpu::LayoutBuilder builder(*gpu.geometry);
    for (const gpu::ObservedInstance& instance : gpu.instances) {
      const bool is_gone = std::ranges::any_of(destroyed, [&](const DestroyedInstance& idle) {
        return idle.gpu == gpu.index && idle.placed == instance.placed;
      });
      const bool is_taken_over = std::ranges::any_of(moves, [&](const InstanceMove& move) {
        return move.reuses_idle && move.to_gpu == gpu.index && move.to == instance.placed;
      });
      if (!is_gone && !is_taken_over) {
        builder.add(instance.placed);
      }
    }
    gpus.emplace(gpu.index, builder);
  }
  std::vector<InstanceMove> ordered;
  while (!moves.empty()) {
    auto next = std::ranges::find_if(
        moves, [&gpus](const InstanceMove& move) { return gpus.at(move.to_gpu).can_add(move.to); });
    if (next == moves.end()) {
      next = std::ranges::find(moves, false, &InstanceMove::needs_stop_first);
      SEPTULE_CHECK(next != moves.end(), "once everything that moves is gone, every place is free");
      next->needs_stop_first = true;
      gpus.at(next->from_gpu).remove(next->from);
      continue;
    }
    gpus.at(next->to_gpu).add(next->to);
    if (!next->needs_stop_first) {
      gpus.at(next->from_gpu).remove(next->from);
    }
    ordered.push_back(std::move(*next));
    moves.erase(next);
  }
  return ordered;
}

}  // namespace septule::optimize
