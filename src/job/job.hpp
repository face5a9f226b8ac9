#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "job/perf_signature.hpp"

namespace septule::job {

/// Index of a job in its Workload: dense from 0, in order of submission.
using JobId = StrongInteger<struct JobIdTag, int>;
/// An anonymous user.
using UserId = StrongInteger<struct UserIdTag, int>;

/// From `begins_at` of its work on, a job behaves like another signature (its speed changes).
struct JobPhase {
  double begins_at = 0;  ///< fraction of the work done, in (0, 1); phases ascend
  SignatureIndex signature;
};

/// A job as submitted. `work` is the time the job's steps take alone on the whole GPU, start-up
/// left out (num_iters x step of the whole GPU); for gangs on all their GPUs. A plain value.
struct JobSpec {
  JobId id;
  std::string name;  ///< the trace's own id; unique
  SimTime submit;
  Duration work;  ///< > 0
  int gpus = 1;   ///< > 1: a gang of whole GPUs, started together
  SignatureIndex signature;
  std::optional<Bytes> memory;  ///< per GPU, where the submitter stated it
  int priority = 0;             ///< larger = more urgent
  UserId user;
  std::vector<JobPhase> phases;
};

/// Where a job is in its life. Legal moves: is_legal_move().
enum class JobState {
  kUnsubmitted,
  kWaiting,         ///< submitted, on no GPU (the first time or after a preemption)
  kStarting,        ///< process start or restart until its first completed step
  kCharacterising,  ///< running under MPS in a characterisation run
  kRunning,
  kStopping,  ///< saving a checkpoint
  kStopped,   ///< checkpoint saved, its GPU is being re-cut
  kDone,
  kRejected,  ///< fits no GPU of the cluster
};
inline constexpr int kJobStateCount = 9;
std::string_view job_state_name(JobState state);
/// The one table of legal moves.
bool is_legal_move(JobState from, JobState to);

/// The four kinds of time of which a JCT is the sum, to the nanosecond.
enum class TimeKind {
  kWaiting,           ///< kWaiting
  kCharacterisation,  ///< kCharacterising
  kReconfiguration,   ///< kStarting, kStopping, kStopped
  kRunning,           ///< kRunning
};
inline constexpr int kTimeKindCount = 4;
/// Nothing for states in which a job's clock does not run.
std::optional<TimeKind> time_kind_of(JobState state);
std::string_view time_kind_name(TimeKind kind);

}  // namespace septule::job
