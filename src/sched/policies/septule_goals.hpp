#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/index_set.hpp"
#include "base/units.hpp"
#include "gpu/layout.hpp"
#include "optimize/placed_assignment.hpp"
#include "sched/admission_index.hpp"
#include "sched/policies/goal_drafts.hpp"
#include "sched/policies/septule_values.hpp"
#include "sched/policy_registry.hpp"

namespace septule::sched {

/// Septule's books about its GPUs, and the only place where its goals are written.
///
/// Invariants: a GPU is in the index (may take a job) and in the ranking by number of jobs only if
/// it can change and its goal, as the batch has it, runs jobs in instances or is empty. A goal
/// written here is legal: used instances come from the assigner's layouts, and idle ones of the old
/// goal are kept only where gpu::LayoutBuilder says that they still fit. Jobs of a goal that stay
/// in their place keep it, with restart rule kMovedOnly. A GPU in trouble takes no new jobs until
/// it has settled, or for kBackoffMin doubled with each further trouble, kBackoffMax at most: it
/// can neither swallow the queue nor block it. Cost: O(log GPUs) per call beside the assigner's.
/// One thread.
class SeptuleGoals {
 public:
  static constexpr Duration kBackoffMin = Duration::milliseconds(1000);
  static constexpr int kBackoffDoublingsMax = 6;  ///< 64 s
  /// Jobs on one GPU at most.
  static constexpr std::size_t kJobsMax = optimize::kAssignedJobsMax;

  /// `values` outlives it.
  SeptuleGoals(const PolicySetup& setup, SeptuleValues& values);

  // A call of the policy: begin(), then anything, then finish().
  void begin(const SeptuleCall& call);
  void finish(const SeptuleCall& call) { drafts_.finish(call.out); }
  /// The GPUs touched in this call; sort_touched() puts them in order.
  void touch(GpuId gpu);
  void sort_touched();
  const std::vector<GpuId>& touched() const { return touched_; }

  bool can_change(const SeptuleCall& call, GpuId gpu) const;
  void settled(const SeptuleCall& call, GpuId gpu);
  void troubled(const SeptuleCall& call, GpuId gpu);
  const GpuGoal& peek(const SeptuleCall& call, GpuId gpu) const {
    return drafts_.peek(call.view, gpu, call.out);
  }
  /// Enters the GPU into the books as it is now.
  void refresh(const SeptuleCall& call, GpuId gpu);

  /// GPUs that may take a job of this rank, least crowded first.
  void find(const SeptuleCall& call, int rank, std::vector<GpuId>& out);
  /// So many GPUs without jobs, lowest numbers first; false if there are fewer.
  bool find_empty(const SeptuleCall& call, std::size_t count, std::vector<GpuId>& out);
  /// The first GPU with so many jobs from this number on that can change.
  std::optional<GpuId> first_with(std::size_t job_count, int from) const;
  /// Whether the jobs of the goal and this one have the memory to share the whole GPU.
  bool has_memory_together(const SeptuleCall& call, const GpuGoal& goal, job::JobId job) const;

  const optimize::PlacedAssigner& assigner() const { return assigner_; }
  /// Runs the jobs of `posed` as `answer` has them.
  void run(const SeptuleCall& call,
           GpuId gpu,
           const SeptuleProblem& posed,
           const optimize::PlacedAnswer& answer,
           std::string_view reason);
  /// Whether jobs share an instance or have limits: such a goal is left alone by all calls below
  /// and takes no job.
  static bool is_shared(const GpuGoal& goal);
  /// Brings the GPU to a goal that somebody else made. `moving`: running jobs change their place.
  enum class Moving { kNobody, kRunning };
  void set(const SeptuleCall& call,
           GpuId gpu,
           const GpuGoal& goal,
           Moving moving,
           std::string_view reason);
  /// Adds the instances of `before` that still fit to a goal without slots.
  void keep_idle_instances(const GpuGoal& before, GpuGoal& goal) const;
  /// Characterises all jobs of the GPU, and `job` if there is one.
  void characterise(const SeptuleCall& call, GpuId gpu, std::optional<job::JobId> job);
  void give_whole(const SeptuleCall& call, GpuId gpu, job::JobId gang);
  void drop(const SeptuleCall& call, GpuId gpu, job::JobId job, std::string_view reason);
  /// Chooses places for the GPU's jobs anew; leaves it alone where nothing would be gained.
  void optimise(const SeptuleCall& call, GpuId gpu);

 private:
  static constexpr int kUnranked = -1;
  struct State {
    std::uint64_t touched_in = 0;  // number of the call
    bool is_moving = false;        // the last goal moves running jobs
    bool is_cut = false;           // has had a goal: changed_at means something
    bool is_troubled = false;      // in troubled_
    int trouble_count = 0;         // in a row
    SimTime usable_at;             // while in trouble
    SimTime changed_at;            // the last goal
  };
  State& state(GpuId gpu) { return states_[static_cast<std::size_t>(gpu.value())]; }
  const State& state(GpuId gpu) const { return states_[static_cast<std::size_t>(gpu.value())]; }
  void take_out(GpuId gpu);
  void note_cut(const SeptuleCall& call, GpuId gpu, Moving moving);

  const gpu::Geometry* geometry_;
  SeptuleValues* values_;
  CharacterisationPlan characterisation_;
  gpu::LayoutBuilder builder_;
  AdmissionIndex index_;
  optimize::PlacedAssigner assigner_;
  gpu::PlacedProfile whole_;
  GoalDrafts drafts_;
  std::vector<State> states_;
  std::vector<IndexSet> ranked_;  // by number of jobs: GPUs that can change
  std::vector<int> rank_of_;      // by GPU: where in ranked_
  std::vector<GpuId> troubled_;   // wait for time to pass
  std::uint64_t call_count_ = 0;
  std::vector<GpuId> touched_;
  SeptuleProblem posed_;
};

}  // namespace septule::sched
