#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu/geometry.hpp"
#include "predict/predictor.hpp"
#include "sched/cluster_view.hpp"
#include "sched/events.hpp"

namespace septule::sched {

/// Whether jobs that share a GPU or an instance must fit its memory together.
enum class MemoryRule {
  kChecked,
  kIgnored,  ///< the MISO artifact's MPS-only looks at no memory
};

/// Independent judge of a policy's decisions, before anyone acts on them. Shares no code with any
/// policy; layouts are judged by gpu::check_partition.
///
/// Rules: each goal names a GPU of the cluster, once in the batch; its instances are a legal layout
/// in canonical order; slots ascend by job, name an instance of the goal (none in whole-GPU mode),
/// and have an ATP of 1 to 100; jobs wait or are placed; after the batch each job has one slot in
/// the cluster, or, for gangs, exactly its number of GPUs, whole and alone; jobs together in an
/// instance (or GPU) need no more memory than it has, where both are known; a characterisation has
/// its jobs in one place, 1 to 4 levels of 1 to 100 % and a time per level.
///
/// Cost: O(slots of the goals x log). Layouts judged once are remembered (at most kMemoMax). One
/// thread.
class DecisionChecker {
 public:
  static constexpr std::size_t kMemoMax = 8192;

  /// `geometry` outlives the checker.
  DecisionChecker(const gpu::Geometry& geometry, int gpu_count, MemoryRule memory_rule);

  /// Nothing if `decisions` may be carried out now; otherwise one sentence that names the GPU, the
  /// job and the rule of the first fault in the order of the batch.
  std::optional<std::string> refusal(const ClusterView& view,
                                     const predict::Predictor& predictor,
                                     const Decisions& decisions);

 private:
  using Verdict = std::optional<std::string>;
  using LayoutKey = std::array<std::uint32_t, kInstancesMax>;

  Verdict refused_goal(const ClusterView& view,
                       const predict::Predictor& predictor,
                       const SetGoal& set);
  Verdict refused_layout(const GpuGoal& goal);
  Verdict judged_layout(const GpuGoal& goal) const;
  Verdict refused_slots(const ClusterView& view, const GpuGoal& goal) const;
  Verdict refused_memory(const predict::Predictor& predictor, const GpuGoal& goal) const;
  Verdict refused_batch(const ClusterView& view, const Decisions& decisions);
  Verdict refused_doubles(const ClusterView& view) const;
  Verdict refused_gangs(const ClusterView& view) const;
  void note_gang(const ClusterView& view, job::JobId job);

  const gpu::Geometry* geometry_;
  int gpu_count_;
  MemoryRule memory_rule_;
  std::optional<Bytes> whole_memory_;
  std::map<LayoutKey, Verdict> layouts_;
  std::vector<GpuId> batch_gpus_;  ///< scratch: GPUs of the batch, ascending
  /// A slot that the batch gives.
  struct Mention {
    job::JobId job;
    GpuId gpu;
    friend auto operator<=>(const Mention&, const Mention&) = default;
  };
  std::vector<Mention> given_;     ///< scratch, ascending
  std::vector<job::JobId> gangs_;  ///< scratch, ascending: those that the batch touches
};

}  // namespace septule::sched
