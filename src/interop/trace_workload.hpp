#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "interop/trace.hpp"
#include "interop/trace_findings.hpp"
#include "job/workload.hpp"

namespace septule::interop {

/// What becomes of jobs on several GPUs, which no slices can form.
enum class GangHandling { kKeep, kDrop };
enum class TraceStrictness {
  kLenient,
  kStrict,  ///< any row that cannot be simulated fails
};

struct TraceWorkloadOptions {
  /// Where a job's memory comes from if the trace does not say: one of job::memory_preset_names();
  /// empty = the first of them.
  std::string memory_preset;
  double compute_bound_share = 0;  ///< of the jobs without measurements; 0..1
  std::uint64_t seed = 1;
  GangHandling gangs = GangHandling::kKeep;
  double speed_up = 1;  ///< submit times are divided by it; > 0. 2 = arrivals twice as dense
  TraceStrictness strictness = TraceStrictness::kLenient;
  /// Own signatures beside the built-in ones; one with the name of a built-in one takes its place.
  std::vector<job::PerfSignature> signatures;
};

/// A row of the trace that is no job of the workload.
struct LeftOutJob {
  std::string id;
  int line = 0;
  TraceFindingKind why = TraceFindingKind::kNoDuration;
};

/// Jobs ready to simulate, and what was left out of the trace, counted and located.
struct TraceWorkload {
  job::Workload workload;
  std::int64_t jobs_in_trace = 0;
  std::int64_t jobs_measured = 0;     ///< their app is a built-in or own signature
  std::int64_t jobs_synthetic = 0;    ///< their signature was drawn
  std::int64_t jobs_share = 0;        ///< of these, asked for a share of a GPU
  std::int64_t jobs_without_app = 0;  ///< of these, the trace does not say what they run
  std::vector<TraceFinding> findings;
  std::vector<LeftOutJob> left_out;  ///< in the order of the trace
};

/// Turns a trace into a workload.
/// - Work is the duration: the job alone on a whole GPU, start-up left out. Rows without a positive
///   duration, without GPUs or with more than 64 of them are left out and counted.
/// - `app` equal to a built-in or own signature after normalised_app() has that signature; every
///   other job draws one, by a stream named after its app if that states a batch size (jobs of one
///   program are alike), else after its id (so that adding a job changes no other).
/// - A share f of a GPU becomes one GPU with a synthetic saturation of f.
/// - Phases have the measured signatures of their names; phases that are none are left out of the
///   job and counted. A priority that the trace does not say is 0.
/// - Users are numbered in order of appearance from 1; 0 is a user that the trace does not name.
/// Fails with kInvalidInput if no job is left, two own signatures are one after normalised_app(),
/// an option is out of range or, when strict, for any row that cannot be simulated.
Result<TraceWorkload> workload_from_trace(const Trace& trace, const TraceWorkloadOptions& options);

/// "resnet:64" of "ResNet|bs64", "ResNet (batch size 64)" and "resnet:64"; what follows another "|"
/// (a batch-scaling mode) is left out. Lower case of the text itself if it states no batch size.
std::string normalised_app(std::string_view app);

std::vector<std::string> signature_names(std::span<const job::PerfSignature> signatures);

}  // namespace septule::interop
