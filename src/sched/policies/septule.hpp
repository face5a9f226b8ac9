#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sched/admission.hpp"
#include "sched/policies/due_window.hpp"
#include "sched/policies/gang_book.hpp"
#include "sched/policies/septule_goals.hpp"
#include "sched/policies/septule_recheck.hpp"
#include "sched/policies/septule_relief.hpp"
#include "sched/policies/septule_values.hpp"
#include "sched/policy.hpp"
#include "sched/policy_registry.hpp"

namespace septule::sched {

/// Septule's own policy: beyond MISO, it prices moves, leaves untouched jobs alone, remembers what
/// it measured, and evens out its GPUs.
///
/// Assumptions: a re-cut disturbs only jobs whose instance changes (RestartRule::kMovedOnly);
/// speeds depend on the profile only, and jobs in different instances do not slow each other down;
/// the predictor remembers signatures, so that few jobs are unknown; longer-running jobs have
/// longer to go (septule_values.hpp says what follows from it).
///
/// Steps of decide():
///  1. Events are noted per GPU (septule_goals.hpp: who can take what). A speed that changed beyond
///     the threshold makes the predictor forget the job.
///  2. A GPU whose characterisation run is over gets the best places for its jobs.
///  3. Queue: the first DueWindow::kLength due jobs in the queue's order; one that finds no place
///  is
///     passed over, within the bound of due_window.hpp. A known job is tried on up to
///     candidates_max GPUs that admission lets it on, the least crowded first; each gets the
///     exactly best places for its jobs and the new one (placed_assignment.hpp, moves priced), and
///     the GPU gains the job on which the sum of values grows most. An unknown job goes to an empty
///     GPU and is characterised there under MPS in the whole instance; else to a run that begins in
///     this very decision, and else to the GPU where least value is disturbed, always only where
///     the memory of all jobs fits together. A gang waits for so many empty GPUs.
///  4. GPUs on which something ended or changed: a re-characterisation if it pays
///     (septule_recheck.hpp); if nobody waits, jobs are pulled off the most crowded GPUs
///     (septule_relief.hpp); and the best places again, moves priced.
/// A GPU can change in phases kSettled and kStarting. What is due earlier is remembered until an
/// event of that GPU. A job unknown after its run (nothing was seen) is taken to have an assumed
/// curve, and no run is begun for it again.
///
/// Ties: jobs in the order of the queue; least crowded GPU, then lowest number; places as
/// placed_assignment.hpp has them.
/// Cost: per event O(log GPUs) for the books; per arrival candidates_max assignments; per departure
/// at most SeptuleRelief::kRoundsMax x donors_max x 14: none of it grows with the cluster.
/// Allocates only while lists grow, and for gangs.
/// Sources: MISO (SoCC'22) for admission, characterisation and per-GPU optimisation; weights by
/// age: least attained service (Tiresias, NSDI'19); proportional fairness: Kelly (1997); the rest
/// is our own, tuned as SeptuleTuning says.
class SeptulePolicy : public Policy {
 public:
  struct Options {
    std::string_view name;  ///< static lifetime
    SeptuleAim aim = SeptuleAim::kSpeed;
    SeptuleTuning tuning = {};
  };
  SeptulePolicy(const Options& options, const PolicySetup& setup);

  std::string_view name() const override { return name_; }
  void decide(const ClusterView& view,
              std::span<const Event> events,
              const PolicyContext& context,
              Decisions& out) override;

 protected:
  struct GpuState {
    bool is_dirty = false;          // to be optimised again
    bool is_characterised = false;  // its run ended: places are due
  };
  struct DueJob {
    std::size_t index = 0;  // in due_
    int rank = 0;           // of the smallest profile; a gang's is beyond all
  };
  /// Whether anybody waits after the queue was looked at.
  enum class QueueLength { kEmpty, kWaiting };
  GpuState& state(GpuId gpu) { return gpus_[static_cast<std::size_t>(gpu.value())]; }
  void mark(GpuId gpu);
  void note(const SeptuleCall& call, const Event& event);
  void note_speed(const SeptuleCall& call, const JobSpeedChanged& event);
  // What a policy that builds on this one may do otherwise, step by step of decide().
  /// 2: the characterisation run of a GPU is over; it can change.
  virtual void place_characterised(const SeptuleCall& call, GpuId gpu);
  /// 3: due_ is filled. `touched` = GPUs of which something happened, ascending.
  virtual void place_waiting(const SeptuleCall& call, std::span<const GpuId> touched);
  /// 4: something ended or changed on a GPU that can change.
  virtual void settle(const SeptuleCall& call, GpuId gpu, QueueLength left);

  void place_queue(const SeptuleCall& call);
  void order_due(const SeptuleCall& call, std::size_t from, std::size_t to);
  bool place(const SeptuleCall& call, job::JobId job);
  bool place_known(const SeptuleCall& call, job::JobId job);
  bool place_unknown(const SeptuleCall& call, job::JobId job);
  bool join_run(const SeptuleCall& call, job::JobId job);
  bool place_gang(const SeptuleCall& call, const job::JobSpec& spec);

  std::string_view name_;
  double threshold_;
  AdmissionTable admission_;
  SeptuleValues values_;
  SeptuleGoals goals_;
  SeptuleRelief relief_;
  SeptuleRecheck recheck_;
  DueWindow due_;
  GangBook gangs_;
  std::vector<DueJob> ordered_;
  std::vector<GpuState> gpus_;
  std::vector<GpuId> open_runs_;  // characterisations that begin in this decision
  std::vector<GpuId> found_;
  SeptuleProblem posed_;
  SeptuleProblem best_posed_;
};

std::unique_ptr<Policy> make_septule(const PolicySetup& setup);
std::unique_ptr<Policy> make_septule_fair(const PolicySetup& setup);

}  // namespace septule::sched
