#pragma once

#include <optional>
#include <span>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "gpu/layout.hpp"
#include "job/job.hpp"

namespace septule::port {

/// Where and how one job runs on one GPU. A job runs in the one full compute instance of
/// `instance`, or on the whole GPU (MIG off) if there is none.
struct JobPlace {
  GpuId gpu;
  std::optional<gpu::PlacedProfile> instance;
  ActiveThreadPercentage atp{100};

  friend bool operator==(const JobPlace&, const JobPlace&) = default;
};

struct JobStart {
  job::JobId job;
  JobPlace place;
};

/// Why a job's processes are being started: what its time counts as until the next change.
enum class RunPurpose { kRun, kCharacterise };

/// What an agent hears from the runner, later and one call per batch. `token` is the one given with
/// the order.
class JobRunnerClient {
 public:
  JobRunnerClient() = default;
  JobRunnerClient(const JobRunnerClient&) = delete;
  JobRunnerClient& operator=(const JobRunnerClient&) = delete;
  virtual ~JobRunnerClient() = default;

  /// Every job of a stop() has saved its checkpoint or ended.
  virtual void on_stopped(GpuId gpu, std::uint64_t token) = 0;
  /// Every job of a start(), and every other job on the GPU, has completed its first step or ended.
  virtual void on_started(GpuId gpu, std::uint64_t token) = 0;
  /// A job has finished all its work. Also while it is being stopped.
  virtual void on_job_ended(GpuId gpu, job::JobId job) = 0;
  /// A job's speed departs from what it was since its start by this factor (its phase changed).
  virtual void on_speed_changed(GpuId gpu, job::JobId job, double factor) = 0;
};

/// Starts and stops job processes. Jobs of different GPUs are independent, but for gangs, which run
/// once each of their GPUs has been told to start them. Not thread-safe.
class JobRunner {
 public:
  JobRunner() = default;
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;
  virtual ~JobRunner() = default;

  /// Starts (or restarts from their last checkpoints) jobs that run nowhere. Answers by
  /// on_started(gpu, token), also for an empty list. A job that has ended meanwhile is answered by
  /// on_job_ended at once.
  virtual void start(GpuId gpu,
                     std::span<const JobStart> jobs,
                     RunPurpose purpose,
                     std::uint64_t token) = 0;
  /// Saves checkpoints and ends the processes. Answers by on_stopped(gpu, token), also for an empty
  /// list.
  virtual void stop(GpuId gpu, std::span<const job::JobId> jobs, std::uint64_t token) = 0;
  /// Changes the active thread percentage of all jobs running on a GPU.
  virtual void set_atp(GpuId gpu, ActiveThreadPercentage atp) = 0;
  /// The characterisation run of a GPU is over and its jobs go on where they are: as kRun, at 100
  /// %.
  virtual void end_characterisation(GpuId gpu) = 0;
  /// Mean step time of a running job since its last start or set_atp(); nothing if it made no step.
  virtual std::optional<Duration> observed_step(job::JobId job) const = 0;
  /// By which signature the job's behaviour is known at present: what table predictors look up.
  /// (Learned predictors use observed steps only.)
  virtual job::SignatureIndex current_signature(job::JobId job) const = 0;
};

}  // namespace septule::port
