#pragma once

#include <cstddef>
#include <vector>

#include "base/units.hpp"
#include "optimize/placed_assignment.hpp"
#include "sched/admission.hpp"
#include "sched/policy.hpp"

namespace septule::sched {

/// What Septule strives for.
enum class SeptuleAim {
  kSpeed,     ///< useful work now, that of young jobs first: short mean completion times
  kFairness,  ///< proportional fairness, more for jobs that were slowed down most
};

/// The numbers of Septule's method. Tuned on arrival seeds 1 to 20 of `miso-100` and `miso-1000`
/// only (reported on others). None is finely tuned: docs/adr/0017 says what sweeps of them changed.
/// A value.
struct SeptuleTuning {
  /// Useful seconds after which a job's weight has fallen to 1/sqrt(2): weight =
  /// sqrt(age_scale / (useful seconds so far + age_scale)). Durations are heavy-tailed: whoever ran
  /// long has long to go, so that a young job's speed shortens more completion times.
  double age_scale_s = 600;
  /// Seconds added to both parts of a job's slowdown so far, so that a job that just came does not
  /// count as endlessly slowed down (SeptuleAim::kFairness).
  double slowdown_scale_s = 60;
  /// A move must gain so many times what it is expected to cost: gains are beliefs, costs certain.
  double move_factor = 1.5;
  /// The same for a move to another GPU, on top: more goes wrong there, and two GPUs change.
  double relief_factor = 1.5;
  /// A cut is expected to last at least and at most so many seconds, whatever was observed: the one
  /// keeps a burst of arrivals from freezing layouts, the other a quiet night from thawing them.
  double horizon_min_s = 60;
  double horizon_max_s = 1200;
  /// Share of an observation in what is learned of losses and horizons: about the last 20 count.
  double blend = 0.05;
  /// Due jobs looked at together: those with the largest smallest profile, which have the fewest
  /// places, are placed first. (Anything from 1 to 64 gives the same figures within 0.3 %.)
  std::size_t lookahead = 8;
  /// GPUs tried for an arriving job, the least crowded first.
  std::size_t candidates_max = 8;
  /// The most crowded GPUs that are asked for a job when one has room.
  std::size_t donors_max = 2;
};

/// What one decide() of Septule works with.
struct SeptuleCall {
  const ClusterView& view;
  const PolicyContext& context;
  Decisions& out;
};

/// A problem for the assigner with the jobs it speaks of, in its order.
struct SeptuleProblem {
  optimize::PlacedProblem problem;
  InlineVector<job::JobId, optimize::kAssignedJobsMax> jobs;

  void clear() {
    problem.jobs.clear();
    jobs.clear();
  }
};

/// What Septule believes a place is worth to a job, and what leaving one costs.
///
/// Value of a job at a speed = weight x utility(speed), in weighted useful seconds per second:
/// kSpeed: utility = speed, weight by age (SeptuleTuning::age_scale_s). kFairness: utility =
/// log(speed) plus a constant that keeps it positive (and cancels wherever the same jobs are
/// compared), weight = the square of the job's slowdown so far (the plain slowdown leaves the
/// 99th percentile of slowdowns where kSpeed has it).
/// Cost of a move = weight x what the job does in the seconds that a move takes (learned: blended
/// times from goal to settled), spread over the time a cut lasts (learned: blended times between
/// re-cuts of a GPU, within bounds), times SeptuleTuning::move_factor. So gain and cost have one
/// unit, and a layout changes only if it gains over its expected life what the change costs.
/// Useful seconds are as believed: speed believed x time since; stops count as running.
/// A job that the predictor does not know is taken to run at sqrt(compute slices / all) from its
/// smallest profile on (the typical curve of the MISO jobs: half the slices, 0.7 of the speed).
/// Cost: O(profiles) per call. One thread.
class SeptuleValues {
 public:
  /// Both references outlive it.
  SeptuleValues(const gpu::Geometry& geometry,
                const AdmissionTable& admission,
                SeptuleAim aim,
                const SeptuleTuning& tuning,
                int jobs_max);

  const SeptuleTuning& tuning() const { return tuning_; }
  const AdmissionTable& admission() const { return *admission_; }
  int smallest_rank(const SeptuleCall& call, job::JobId job) const;
  static bool is_known(const SeptuleCall& call, job::JobId job) {
    return call.context.predictor.speeds(job) != nullptr;
  }
  static bool is_all_known(const SeptuleCall& call, const GpuGoal& goal);

  /// Believed or assumed speeds.
  predict::SpeedRow row(const SeptuleCall& call, job::JobId job) const;
  /// Speeds from the smallest profile on: 1, sqrt(compute slices / all), compute slices / all.
  enum class Shape { kFlat, kRoot, kLinear };
  predict::SpeedRow assumed_row(const SeptuleCall& call, job::JobId job, Shape shape) const;

  double weight(const SeptuleCall& call, job::JobId job) const;
  /// Always positive, also for a speed of 0 or none: a job is never without a place for it.
  double utility(double speed) const;
  /// Of a running job at this place; 0 unless the goal runs it in an instance.
  double value_at(const SeptuleCall& call, const GpuGoal& goal, job::JobId job) const;
  /// Of all jobs of the goal.
  double value_of(const SeptuleCall& call, const GpuGoal& goal) const;
  /// What it costs to stop the job where it runs now; in the unit of values.
  double move_cost(const SeptuleCall& call, const GpuGoal& goal, job::JobId job) const;

  /// The jobs of `goal`, each tied to its place if the goal runs it.
  void pose(const SeptuleCall& call, const GpuGoal& goal, SeptuleProblem& out) const;
  /// One more job, from elsewhere.
  void add_arrival(const SeptuleCall& call, job::JobId job, SeptuleProblem& out) const;
  /// The same with speeds given; `goal` = null for a job from elsewhere.
  void add(const SeptuleCall& call,
           const GpuGoal* goal,
           job::JobId job,
           const predict::SpeedRow& speeds,
           SeptuleProblem& out) const;

  /// From now on the job is believed to run at this speed.
  void run_at(const SeptuleCall& call, job::JobId job, double speed);
  double useful_seconds(const SeptuleCall& call, job::JobId job) const;

  /// A change that moved running jobs took so long to settle.
  void learn_loss(Duration seen);
  /// A cut lasted so long.
  void learn_horizon(Duration seen);
  double loss_s() const { return loss_s_; }
  /// How long a cut is expected to last, within the bounds.
  double horizon_s() const;

 private:
  struct Age {
    double useful_s = 0;  // up to `since`
    double speed = 0;     // believed from then on
    SimTime since;
  };

  const gpu::Geometry* geometry_;
  const AdmissionTable* admission_;
  SeptuleAim aim_;
  SeptuleTuning tuning_;
  std::vector<Age> ages_;  // by job
  // First guesses, forgotten after some twenty observations: nominal restarts of the MISO jobs, and
  // how long a cut lasts on the paper's testbed.
  double loss_s_ = 15;
  double horizon_s_ = 240;
};

}  // namespace septule::sched
