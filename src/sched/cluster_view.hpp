#pragma once

#include <set>
#include <span>
#include <vector>

#include "gpu/geometry.hpp"
#include "job/job.hpp"
#include "sched/events.hpp"
#include "sched/goal.hpp"

namespace septule::sched {

/// How far a GPU is on its way to its goal.
enum class GpuPhase {
  kSettled,         ///< as wanted; all jobs past their first step
  kChanging,        ///< jobs being stopped, instances being cut: takes no new goal until ready
  kStarting,        ///< ready; some job has not completed its first step
  kCharacterising,  ///< in a characterisation run (from its order on)
};

/// What a policy may know of one GPU.
struct GpuView {
  GpuGoal goal;  ///< what it is or will be: ended jobs are taken out at once
  GpuPhase phase = GpuPhase::kSettled;
  SimTime phase_since;
};

/// What a policy may know of one job.
struct JobView {
  const job::JobSpec* spec = nullptr;  ///< null until submitted
  enum class State { kUnsubmitted, kWaiting, kPlaced, kEnded, kRejected };
  State state = State::kUnsubmitted;
  GpuId gpu;             ///< while placed (for gangs the first)
  SimTime since;         ///< begin of the state; kWaiting after a preemption begins anew
  SimTime placed_first;  ///< first placement; means something once placed
  bool was_placed = false;
};

/// The state a policy may see: desired state and what agents reported. Changed only by apply() and
/// set_goal() of the controller, never by policies. One thread.
class ClusterView {
 public:
  /// All GPUs are of one model. `geometry` outlives the view; `jobs_max` jobs at most.
  ClusterView(const gpu::Geometry& geometry, int gpu_count, int jobs_max);

  const gpu::Geometry& geometry() const { return *geometry_; }
  int gpu_count() const { return static_cast<int>(gpus_.size()); }
  const GpuView& gpu(GpuId id) const { return gpus_[static_cast<std::size_t>(id.value())]; }
  /// Jobs that the view has room for: ids are below.
  int jobs_max() const { return static_cast<int>(jobs_.size()); }
  const JobView& job(job::JobId id) const { return jobs_[static_cast<std::size_t>(id.value())]; }

  /// Waiting jobs in the order in which they are due: priority (larger first), then submission
  /// (a preempted job keeps its place).
  struct QueueKey {
    int negative_priority = 0;
    job::JobId job;
    friend auto operator<=>(const QueueKey&, const QueueKey&) = default;
  };
  const std::set<QueueKey>& queue() const { return queue_; }

  // For the controller.
  void submit(const job::JobSpec& spec, SimTime now);
  void reject(job::JobId job, SimTime now);
  void apply(const Event& event, SimTime now);
  /// Replaces the goal. Its jobs are placed there from now on; those of the old goal that it leaves
  /// out stay kPlaced until another goal of the batch or requeue() takes them. Goals of one batch
  /// may come in any order.
  void set_goal(GpuId gpu, const GpuGoal& goal, SimTime now);
  void set_phase(GpuId gpu, GpuPhase phase, SimTime now);
  /// Whether a goal names the job: false between set_goal() that leaves it out and requeue().
  bool is_placed(job::JobId job) const;
  /// The GPUs whose goals name the job, ascending: none, one, or those of a gang. Allocates.
  std::vector<GpuId> gpus_of(job::JobId job) const;
  /// Jobs taken out of a goal and not placed by another goal go back to the queue.
  void requeue(job::JobId job, SimTime now);

 private:
  JobView& mutable_job(job::JobId id) { return jobs_[static_cast<std::size_t>(id.value())]; }
  GpuView& mutable_gpu(GpuId id) { return gpus_[static_cast<std::size_t>(id.value())]; }

  void end(job::JobId id, SimTime now);
  void refresh_gang(job::JobId id);

  /// One GPU of a gang.
  struct GangPlace {
    job::JobId job;
    GpuId gpu;
    friend auto operator<=>(const GangPlace&, const GangPlace&) = default;
  };

  const gpu::Geometry* geometry_;
  std::vector<GpuView> gpus_;
  std::vector<JobView> jobs_;
  std::set<QueueKey> queue_;
  std::set<GangPlace> gang_places_;  ///< of placed jobs with more than one GPU
};

}  // namespace septule::sched
