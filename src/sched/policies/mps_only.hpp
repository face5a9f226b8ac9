#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/index_set.hpp"
#include "sched/policies/first_fit_tree.hpp"
#include "sched/policies/gang_book.hpp"
#include "sched/policies/goal_drafts.hpp"
#include "sched/policy.hpp"
#include "sched/policy_registry.hpp"

namespace septule::sched {

/// Jobs share whole GPUs by MPS, MIG off: at most 3 on a GPU, each at 33 %.
/// Assumes: nothing of speeds; needs of memory are stated (Predictor::need).
/// Steps: strictly first come, first served. Spreading: the GPU with the fewest jobs that has the
///   memory. Packing: the first GPU that is not full and has the memory; in the artifact's setting
///   memory is not looked at. A gang takes empty GPUs and shares them with nobody.
/// Ties: lowest GPU.
/// Cost: O(log GPUs) per event and job placed.
/// Source: the MISO artifact's "MPS-only" (packing); spreading with memory is ours. miso.md
///   section 7.
class MpsOnlyPolicy final : public Policy {
 public:
  static constexpr int kJobsMax = 3;
  static constexpr ActiveThreadPercentage kShare{33};
  enum class Placement { kSpread, kPack };
  /// `name` has static lifetime.
  MpsOnlyPolicy(const PolicySetup& setup, std::string_view name, Placement placement);

  std::string_view name() const override { return name_; }
  void decide(const ClusterView& view,
              std::span<const Event> events,
              const PolicyContext& context,
              Decisions& out) override;

 private:
  /// Makes the sets agree with a goal.
  void note(const ClusterView& view, GpuId gpu, const GpuGoal& goal, const PolicyContext& context);
  bool place(const ClusterView& view,
             const job::JobSpec& spec,
             const PolicyContext& context,
             Decisions& out);
  bool place_gang(const ClusterView& view,
                  const job::JobSpec& spec,
                  const PolicyContext& context,
                  Decisions& out);
  std::optional<std::size_t> gpu_for(std::uint64_t room) const;

  std::string_view name_;
  bool is_memory_checked_;
  std::uint64_t memory_;  ///< of one GPU, bytes
  /// Room by GPU, in one tree for each number of jobs (spreading) or in one tree (packing). Room =
  /// free memory + 1, so that a full GPU (0) differs from one without free memory.
  std::vector<FirstFitTree> trees_;
  IndexSet empty_;
  GoalDrafts drafts_;
  GangBook gangs_;
};

std::unique_ptr<Policy> make_mps_only(const PolicySetup& setup);
std::unique_ptr<Policy> make_mps_only_pack(const PolicySetup& setup);

}  // namespace septule::sched
