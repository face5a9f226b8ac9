#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "base/index_set.hpp"
#include "base/units.hpp"
#include "sched/admission.hpp"
#include "sched/admission_index.hpp"
#include "sched/policies/target_finder.hpp"
#include "sched/policy.hpp"
#include "sched/policy_registry.hpp"

namespace septule::sched {

/// The engine of MISO and of its oracle: packs jobs onto the least crowded GPU and cuts each GPU
/// for the jobs it holds (miso.md sections 4 to 7).
///
/// Assumptions: a re-cut resets its GPU and restarts every job on it (RestartRule::kEverything);
/// jobs never leave their GPU, but for a preemption when no partition serves all (see below); GPUs
/// are independent of each other.
///
/// Steps of decide():
///  1. Events are noted per GPU. A speed that changed beyond the threshold makes the predictor
///     forget the job (if the policy characterises).
///  2. A GPU whose characterisation run is over gets its target, computed from the jobs still
///     alive: none = see 4, one = alone on the whole profile, more = the optimal partition.
///  3. Queue, strictly in its order: the head goes to the GPU with the fewest jobs that may take a
///     job and whose bound (admission.hpp) is at least the job's smallest profile, ties to the
///     lowest number. On an empty GPU it runs alone on the whole profile. Otherwise the GPU's jobs
///     and it are characterised together, if some are unknown to the predictor, or get the optimal
///     partition at once. A gang waits for so many empty GPUs (lowest numbers) and holds them whole
///     and alone. If the head cannot be placed, all wait.
///  4. GPUs on which a job ended or changed are optimised again, and left alone if no job's place
///     would change. kArtifact: only if no job waits, and then always re-cut. An empty GPU is cut
///     back to the whole profile if no job waits.
/// A GPU may take a job or a new partition in phase kSettled only. What is due earlier is
/// remembered until an event of that GPU. (The artifact looks at MPS phases only and stops jobs
/// that have not made a step yet, its bug 2: kArtifact takes kStarting too.)
/// kArtifact with Pass::kOneByOne follows the artifact's loop instead: one decision a call, in the
/// order departures, arrivals, ends of characterisation runs; the partition after a run is the one
/// for the jobs that began it, so that a job that ended meanwhile leaves its instance empty; no job
/// comes to a GPU within 4 s of its last change.
///
/// Ties: lowest GPU number; jobs by id; partitions as TargetFinder has them.
/// When no partition serves all jobs (beliefs in error): it is sought again with speeds in
/// proportion to compute slices on all profiles from the job's smallest on; if there is still none,
/// the newest job is put back into the queue. A job unknown after its characterisation run (or when
/// the GPU is in trouble, or for the oracle) is taken to have those speeds too.
///
/// Cost: per event O(log GPUs) and one optimisation per GPU that changes; no allocation but growth
/// of lists, and for gangs.
/// Source: SoCC'22 paper and artifact, as miso.md marks them.
class RepartitioningPolicy final : public Policy {
 public:
  /// Whether jobs that the predictor does not know are characterised (MISO) or not (oracle).
  enum class UnknownJobs { kCharacterise, kAssume };
  struct Options {
    std::string_view name;  ///< static lifetime
    PartitionChoice choice = PartitionChoice::kPaperTable;
    UnknownJobs unknown_jobs = UnknownJobs::kCharacterise;
  };
  RepartitioningPolicy(const Options& options, const PolicySetup& setup);

  std::string_view name() const override { return options_.name; }
  void decide(const ClusterView& view,
              std::span<const Event> events,
              const PolicyContext& context,
              Decisions& out) override;

 private:
  struct GpuState {
    std::uint64_t seen_at = 0;      // number of the decide() that touched it last
    std::uint64_t decided_at = 0;   // number of the decide() that gave it a goal last
    bool is_dirty = false;          // to be optimised again
    bool is_characterised = false;  // its run ended in this decide()
    bool is_troubled = false;  // an order failed: no further characterisation run until settled
    bool was_characterised = false;
    bool is_gap_waiting = false;  // in gap_waiting_
    SimTime characterised_at;
    SimTime changed_at;                           // when emit() gave it a goal; one by one only
    InlineVector<job::JobId, kSlotsMax> pending;  // whom its characterisation run began with
  };
  struct Call {  // what one decide() works with
    const ClusterView& view;
    const PolicyContext& context;
    Decisions& out;
  };

  GpuState& state(GpuId gpu) { return gpus_[static_cast<std::size_t>(gpu.value())]; }
  /// Whether a GPU may take a job or be cut anew: RUN or EMPTY of miso.md 6.4. The artifact does
  /// not wait for first steps.
  bool can_change(const GpuView& gpu) const;
  void note(Call& call, const Event& event);
  void note_speed(Call& call, const JobSpeedChanged& event);
  void note_end(Call& call, const JobEnded& event);
  void touch(GpuId gpu);
  void refresh(const Call& call, GpuId gpu);
  /// Whether the whole queue has been placed.
  bool place_queue(Call& call);
  std::optional<GpuId> find_gpu(const Call& call, int rank);
  bool place(Call& call, GpuId gpu, job::JobId job);
  bool place_gang(Call& call, const job::JobSpec& spec);
  void optimise_again(Call& call, GpuId gpu);
  void tidy_empty(Call& call, GpuId gpu);
  void settle_postponed(Call& call);
  // kArtifact one by one, in repartitioning_artifact.cpp.
  void take_next_step(Call& call, std::span<const Event> events);
  bool place_next(Call& call);
  bool settle_next(Call& call);
  bool cut_next(Call& call);
  void end_pass(Call& call);
  std::optional<GpuId> find_gpu_as_artifact(const Call& call, int rank);
  void note_change(const Call& call, GpuId gpu);
  void end_characterisation(Call& call, GpuId gpu);

  /// Completes goal_ from its slots (sorted by job id; at least one). False if the whole change has
  /// to wait for the gap between characterisation runs.
  enum class Cause { kArrival, kDeparture, kCharacterised };
  bool is_unchanged(const GpuGoal& now) const;
  bool complete_goal(Call& call, GpuId gpu, Cause cause);
  void make_alone(job::JobId job);
  void make_characterisation();
  void make_partition(Call& call, const GpuGoal& now);
  bool find_places(const Call& call, const GpuGoal& now);
  void emit(Call& call, GpuId gpu, std::string_view reason);
  bool is_unknown_among_slots(const Call& call) const;
  void assume_speeds(const Call& call, job::JobId job, predict::SpeedRow& row) const;
  int smallest_rank(const Call& call, job::JobId job) const;

  Options options_;
  Setting setting_;
  Pass pass_;
  CharacterisationPlan characterisation_;
  double threshold_;
  Duration gap_;
  const gpu::Geometry* geometry_;
  AdmissionTable admission_;
  AdmissionIndex index_;
  TargetFinder finder_;
  gpu::PlacedProfile whole_;
  std::vector<GpuState> gpus_;
  IndexSet postponed_;              // dirty GPUs that wait for an empty queue
  std::vector<GpuId> gap_waiting_;  // GPUs that wait for WokeUp
  std::map<job::JobId, std::vector<GpuId>> gangs_;
  std::uint64_t call_count_ = 0;
  // One by one: where the pass stands, and which jobs it may see (ids below).
  enum class Stage { kDepartures, kArrivals, kCharacterised } stage_ = Stage::kDepartures;
  bool has_news_ = false;
  int next_gpu_ = 0;
  int known_jobs_ = 0;
  int seen_jobs_ = 0;
  SimTime guarded_until_;
  IndexSet finished_runs_;
  // Working memory of decide().
  std::vector<GpuId> touched_;
  GpuGoal goal_;
  TargetJobs jobs_;
  TargetPlaces places_;
  std::array<predict::SpeedRow, optimize::kAssignedJobsMax> assumed_{};
};

}  // namespace septule::sched
