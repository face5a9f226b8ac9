#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/inline_vector.hpp"
#include "job/cost_model.hpp"
#include "job/job.hpp"
#include "job/metrics.hpp"
#include "job/power_curve.hpp"
#include "job/workload.hpp"
#include "port/env.hpp"
#include "port/job_runner.hpp"
#include "predict/mps_model.hpp"
#include "predict/speed_book.hpp"

namespace septule::sim {

/// A stretch of a job's life in one state and place, from the simulator's truth.
struct JobSegment {
  job::JobId job;
  job::JobState state = job::JobState::kWaiting;
  std::optional<port::JobPlace> place;  ///< nothing while waiting
  SimTime begin;
  SimTime end;
  double rate = 0;  ///< progress relative to the whole GPU, constant in the segment
};

/// Watches what really happens to jobs. Segments of one job come in order and without gaps from its
/// submission to its end; segments of different jobs interleave.
class JobObserver {
 public:
  JobObserver() = default;
  JobObserver(const JobObserver&) = delete;
  JobObserver& operator=(const JobObserver&) = delete;
  virtual ~JobObserver() = default;
  virtual void on_segment(const JobSegment& segment) = 0;
  virtual void on_end(job::JobId job, SimTime time) = 0;
};

/// The truth about the jobs: how fast each one really runs, and the job processes as a port. Jobs
/// progress at piecewise constant rates; whatever changes a GPU recomputes the rates of the jobs on
/// it and arms their next milestone (end, or change of phase) anew; older timers are stale by
/// generation. A checkpoint keeps all progress. One thread.
class SimJobs final : public port::JobRunner, public port::TimerTarget {
 public:
  struct Truth {
    const job::Workload& workload;
    const predict::SpeedBook& book;
    const predict::MpsModel& mps;
    const job::CostModel& costs;
    /// Speed on an instance of all compute slices under MIG, relative to the whole GPU.
    double whole_instance_speed = 1;
    /// Loss of speed of a MIG instance when all other slices are busy (workloads.md 7.1).
    double neighbour_loss = 0;
  };
  SimJobs(port::Env& env, const Truth& truth, int gpu_count);
  void set_client(port::JobRunnerClient& client) { client_ = &client; }
  void set_observer(JobObserver* observer) { observer_ = observer; }

  void submitted(job::JobId job);
  void rejected(job::JobId job);
  /// The controller has put the job back into its queue: once saved, it waits.
  void requeued(job::JobId job);
  /// A goal takes the job (again): when it is stopped next, it does not wait but is on its way.
  void placed(job::JobId job);

  void start(GpuId gpu,
             std::span<const port::JobStart> jobs,
             port::RunPurpose purpose,
             std::uint64_t token) override;
  void stop(GpuId gpu, std::span<const job::JobId> jobs, std::uint64_t token) override;
  void set_atp(GpuId gpu, ActiveThreadPercentage atp) override;
  void end_characterisation(GpuId gpu) override;
  std::optional<Duration> observed_step(job::JobId job) const override;
  job::SignatureIndex current_signature(job::JobId job) const override;
  void on_timer(std::uint64_t payload) override;

  /// A job that would reach its end (or next phase) after kHorizonNs: times beyond cannot be kept.
  std::optional<job::JobId> beyond_horizon() const { return beyond_horizon_; }
  static constexpr double kHorizonNs = 9e18;

  int left_count() const { return left_; }  ///< jobs neither done nor rejected
  /// Outcomes and totals so far into `run`.
  void record(job::RunRecord& run);
  int waiting_count() const { return waiting_; }
  int busy_slices() const { return busy_slices_; }

 private:
  static constexpr unsigned kJobShift = 32;  ///< of a job's id in a timer's payload
  /// Work below this counts as done: rounding of progress over many changes of rate.
  static constexpr double kWorkDone = 0.5;
  static bool makes_progress(job::JobState state) {
    return state == job::JobState::kStarting || state == job::JobState::kRunning ||
           state == job::JobState::kCharacterising;
  }
  struct Job {
    job::JobState state = job::JobState::kUnsubmitted;
    SimTime since;          ///< begin of the state
    SimTime progress_from;  ///< first step completed; kStarting until then
    SimTime updated;        ///< `left` holds as of then
    double left = 0;        ///< work left, nanoseconds alone on the whole GPU
    double rate = 0;        ///< progress per nanosecond once past progress_from
    port::JobPlace place;
    port::RunPurpose purpose = port::RunPurpose::kRun;
    std::uint32_t generation = 0;  ///< of its milestone timer
    std::uint32_t phase = 0;       ///< phases begun
    int parts = 0;                 ///< GPUs of a gang told to start it
    SimTime saved_at;              ///< its checkpoint is written; while kStopping
    bool has_place = false;
    bool was_started = false;  ///< completed a first step: later starts are restarts
    bool is_requeued = false;
    job::JobOutcome outcome;
  };
  struct Batch {
    GpuId gpu;
    std::uint64_t token = 0;
    enum class Kind { kStart, kStop } kind = Kind::kStart;
  };
  struct Gpu {
    InlineVector<job::JobId, 16> jobs;
    int busy_slices = 0;
  };
  struct GangPart {
    GpuId gpu;
    std::uint64_t token = 0;
  };

  Job& at(job::JobId id) { return jobs_[static_cast<std::size_t>(id.value())]; }
  const Job& at(job::JobId id) const { return jobs_[static_cast<std::size_t>(id.value())]; }
  Gpu& at(GpuId id) { return gpus_[static_cast<std::size_t>(id.value())]; }
  const job::JobSpec& spec(job::JobId id) const {
    return truth_.workload.jobs[static_cast<std::size_t>(id.value())];
  }
  void enter(job::JobId id, job::JobState state, SimTime time);
  void update(job::JobId id);
  void set_rates(GpuId gpu);
  double rate_alone(job::JobId id, GpuId gpu) const;
  void set_rate(job::JobId id, double rate);
  bool is_finished(job::JobId id) const;
  void close_segment(job::JobId id);
  void arm_milestone(job::JobId id);
  void reach_milestone(job::JobId id);
  void end(job::JobId id);
  void launch(job::JobId id);
  bool start_part(GpuId gpu, const port::JobStart& start, port::RunPurpose purpose);
  SimTime save(job::JobId id);
  void finish_stop(GpuId gpu);
  void answer(SimTime time, const Batch& batch);
  void account();
  void leave(job::JobId id, GpuId gpu);
  void count_slices(GpuId gpu);
  Bytes footprint(job::JobId id) const;
  const job::SliceTime* slice_time(const Job& job, job::SignatureIndex signature) const;

  port::Env& env_;
  Truth truth_;
  port::JobRunnerClient* client_ = nullptr;
  JobObserver* observer_ = nullptr;
  std::vector<Job> jobs_;
  std::vector<Gpu> gpus_;
  std::vector<Batch> batches_;
  std::vector<std::size_t> batches_free_;
  std::map<job::JobId, std::vector<GangPart>> gangs_;  ///< parts told to start
  std::vector<double> watts_;                          ///< by busy compute slices of a GPU
  std::optional<job::JobId> beyond_horizon_;
  int left_ = 0;
  int waiting_ = 0;
  int busy_slices_ = 0;
  double power_now_ = 0;
  SimTime accounted_;
  double busy_slice_ns_ = 0;
  double fragmented_slice_ns_ = 0;
  double energy_ns_ = 0;
  std::int64_t checkpoints_ = 0;
  int total_slices_ = 0;
};

}  // namespace septule::sim
