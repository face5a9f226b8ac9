#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "base/index_set.hpp"
#include "sched/policies/gang_book.hpp"
#include "sched/policies/goal_drafts.hpp"
#include "sched/policy.hpp"
#include "sched/policy_registry.hpp"

namespace septule::sched {

/// One static layout on all GPUs for the whole run; jobs take idle instances.
/// Assumes: the layout (PolicySetup::static_layout) was chosen elsewhere and holds every job; a job
///   that fits none of its instances waits for ever and blocks nobody (such a layout is infeasible,
///   miso.md section 7).
/// Steps: first come, first served; a job takes the largest idle instance anywhere if it fits. A
///   gang takes GPUs that are idle as a whole, uncut; they are cut back when it ends. Strictly in
///   order in the paper's setting (a gang that waits holds everybody back), every waiting job tried
///   in the artifact's.
/// Promotion: on a GPU with an idle instance larger than a used one, the job in the smallest used
///   instance takes the largest idle one, and so on, at the price of a restart; in the paper's
///   setting only when no job waits. GPUs that are being changed are looked at again later.
/// Ties: lowest GPU, then the instance that starts first.
/// Cost: O(log GPUs) per event and job placed, times the instances of the layout.
/// Source: MISO (SoCC'22), "OptSta", and its artifact's static experiment; miso.md section 7.
class OptstaPolicy final : public Policy {
 public:
  enum class Promotion { kOff, kOn };
  /// `name` has static lifetime.
  OptstaPolicy(const PolicySetup& setup, std::string_view name, Promotion promotion);

  std::string_view name() const override { return name_; }
  void decide(const ClusterView& view,
              std::span<const Event> events,
              const PolicyContext& context,
              Decisions& out) override;

 private:
  enum class Placing { kPlaced, kNoRoom, kFitsNowhere };

  /// A kind of instance of the layout, and those of it that are idle.
  struct Rank {
    ProfileIndex profile;
    MemorySlices size;
    IndexSet idle;  ///< GPU x kInstancesMax + instance
  };

  void cut_all(const ClusterView& view, Decisions& out);
  void refresh(const ClusterView& view, GpuId gpu, Decisions& out);
  /// Makes the sets agree with a goal.
  void note(GpuId gpu, const GpuGoal& goal);
  Placing place(const ClusterView& view,
                const job::JobSpec& spec,
                const PolicyContext& context,
                Decisions& out);
  Placing place_gang(const ClusterView& view, const job::JobSpec& spec, Decisions& out);
  void promote_all(const ClusterView& view, Decisions& out);
  void promote(const ClusterView& view, GpuId gpu, Decisions& out);
  GpuGoal layout_goal() const;
  MemorySlices size_of(ProfileIndex profile) const;

  std::string_view name_;
  Promotion promotion_;
  Setting setting_;
  const gpu::Geometry* geometry_;
  int gpu_count_;
  gpu::Layout layout_;
  std::vector<Rank> ranks_;                           ///< largest first
  std::array<std::size_t, kInstancesMax> rank_of_{};  ///< by instance of the layout
  IndexSet idle_gpus_;                                ///< cut, no job
  IndexSet promotable_;  ///< GPUs with an idle instance larger than a used one
  GoalDrafts drafts_;
  GangBook gangs_;
  bool is_cut_ = false;
};

std::unique_ptr<Policy> make_optsta(const PolicySetup& setup);
std::unique_ptr<Policy> make_optsta_promote(const PolicySetup& setup);
std::unique_ptr<Policy> make_optsta_on_trace(const PolicySetup& setup);

}  // namespace septule::sched
