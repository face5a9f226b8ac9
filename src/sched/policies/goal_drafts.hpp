#pragma once

#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "sched/cluster_view.hpp"
#include "sched/events.hpp"

namespace septule::sched {

/// Keeps a batch of decisions to one goal per GPU: the first edit of a GPU copies its goal from the
/// view into the batch, later ones change the copy. O(1) per call. One owner; finish() ends a
/// batch.
class GoalDrafts {
 public:
  explicit GoalDrafts(int gpu_count) : draft_of_gpu_(static_cast<std::size_t>(gpu_count), kNone) {}

  /// The goal of the batch for this GPU. The reference holds until the next edit of another GPU.
  /// `reason` (static lifetime) is that of the first edit.
  GpuGoal& edit(const ClusterView& view, GpuId gpu, std::string_view reason, Decisions& out) {
    int& draft = draft_of_gpu_[static_cast<std::size_t>(gpu.value())];
    if (draft == kNone) {
      draft = static_cast<int>(out.goals.size());
      out.goals.push_back({.gpu = gpu, .goal = view.gpu(gpu).goal, .reason = reason});
    }
    return out.goals[static_cast<std::size_t>(draft)].goal;
  }
  /// What the GPU's goal is after the batch as it stands.
  const GpuGoal& peek(const ClusterView& view, GpuId gpu, const Decisions& out) const {
    const int draft = draft_of_gpu_[static_cast<std::size_t>(gpu.value())];
    return draft == kNone ? view.gpu(gpu).goal : out.goals[static_cast<std::size_t>(draft)].goal;
  }
  void finish(const Decisions& out) {
    for (const SetGoal& set : out.goals) {
      draft_of_gpu_[static_cast<std::size_t>(set.gpu.value())] = kNone;
    }
  }

 private:
  static constexpr int kNone = -1;
  std::vector<int> draft_of_gpu_;  ///< index into Decisions::goals
};

}  // namespace septule::sched
