#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "control/messages.hpp"
#include "sched/goal.hpp"

namespace septule::control {

/// Brings what is to what should be, one safe order per GPU at a time. Level-triggered: it compares
/// desired with ordered state, not edges. A GPU gets no order while it carries one out. A job that
/// another GPU still holds is left out of its new GPU's order until it is free there: so GPUs may
/// exchange jobs without waiting for each other in a circle. A gang is ordered part by part on the
/// GPUs that want it; where the set of these changes, all its parts are stopped first. Pure
/// bookkeeping; one thread.
class Reconciler {
 public:
  Reconciler(int gpu_count, int jobs_max);

  /// What the GPU should be. Replaces the goal before. A gang's one job is wanted on several GPUs.
  enum class Members { kOwnJobs, kGang };
  void desire(GpuId gpu, const sched::GpuGoal& goal, Members members);
  /// The job holds nothing any more, on any GPU.
  void job_ended(job::JobId job);
  /// The order of this epoch is cut and launched. False for a stale epoch: nothing changed.
  [[nodiscard]] bool ready(GpuId gpu, std::uint64_t epoch);
  /// The characterisation run of this epoch is over: the GPU takes orders again. False if stale.
  [[nodiscard]] bool characterised(GpuId gpu, std::uint64_t epoch);
  /// The order was given up half way, after the jobs that it leaves out have left; retry() orders
  /// the goal anew. False if stale.
  [[nodiscard]] bool troubled(GpuId gpu, std::uint64_t epoch);
  void retry(GpuId gpu);
  bool is_current(GpuId gpu, std::uint64_t epoch) const { return state(gpu).epoch == epoch; }

  /// The order due next for a GPU that was touched since; nothing if all is under way.
  std::optional<GpuOrder> next_order();
  /// Whether an order is being carried out on this GPU.
  bool is_busy(GpuId gpu) const { return state(gpu).is_busy; }
  /// GPUs whose order is not ready yet (a characterisation run that is ready does not count).
  int changing_count() const { return changing_count_; }
  /// How often orders failed in a row on this GPU.
  int trouble_count(GpuId gpu) const { return state(gpu).trouble_count; }

 private:
  struct Gpu {
    sched::GpuGoal desired;
    sched::GpuGoal ordered;  ///< the last order, less the jobs that ended since
    InlineVector<job::JobId, 2 * sched::kSlotsMax> held;  ///< jobs that may hold something here
    std::uint64_t epoch = 0;
    int trouble_count = 0;
    bool is_gang = false;
    bool is_busy = false;
    bool is_changing = false;
    bool is_touched = false;
    bool is_stuck = false;    ///< troubled, waits for retry()
    bool is_unknown = false;  ///< what the last order left behind is not known: order in any case
  };
  /// A job with parts on several GPUs. Each list ascends.
  struct Gang {
    std::vector<GpuId> wanted;   ///< whose desired goal names it
    std::vector<GpuId> held;     ///< that may hold a part
    std::vector<GpuId> forming;  ///< `wanted` when the first part was ordered
  };
  Gpu& state(GpuId id) { return gpus_[static_cast<std::size_t>(id.value())]; }
  const Gpu& state(GpuId id) const { return gpus_[static_cast<std::size_t>(id.value())]; }
  void touch(GpuId id);
  void settle_change(GpuId id);
  void finish(GpuId id);
  void want(GpuId gpu, const sched::GpuGoal& goal);
  void unwant(GpuId gpu);
  void touch_holders(const Gang& gang);
  void release_left_out(GpuId gpu);
  void release(job::JobId job, GpuId from);
  void forget(job::JobId job, GpuId on);
  bool may_take(GpuId gpu, job::JobId job) const;
  void hold(GpuId gpu, job::JobId job);
  std::optional<GpuOrder> order_for(GpuId id);

  std::vector<Gpu> gpus_;
  std::vector<int> holder_;   ///< by job, gangs left out: the GPU that holds it, -1 = none
  std::vector<int> desirer_;  ///< the same: the GPU that wants it last, -1 = none
  std::map<job::JobId, Gang> gangs_;
  std::vector<GpuId> touched_;
  std::size_t touched_next_ = 0;
  int changing_count_ = 0;
};

}  // namespace septule::control
