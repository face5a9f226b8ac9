#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "job/workload.hpp"

namespace septule::interop {

/// Thousandths of a GPU, so that shares (460 = 0.46 of one GPU) add up exactly.
using GpuMilli = StrongCount<struct GpuMilliTag, std::int64_t>;
inline constexpr std::int64_t kGpuMilliWhole = 1000;
/// Memory is written in steps of 1e-6 GiB; less than half a step counts as none.
inline constexpr double kMemoryStepsPerGibibyte = 1e6;

/// From `begins_at` of its work on, a job behaves like another signature. A plain value.
struct TracePhase {
  double begins_at = 0;   ///< fraction of the work done, between 0 and 1
  std::string signature;  ///< as normalised_app() writes it
};

/// One job of a trace as it happened on its own cluster. Nothing, or an empty text, means that the
/// source does not say. A plain value.
struct TraceJob {
  int line = 0;  ///< where it stands in its source; 0 = it was made, not read
  std::string id;
  SimTime submit;                    ///< from the first submission of the trace
  std::optional<Duration> duration;  ///< run time without queueing; >= 0
  bool has_started = true;           ///< false: the source says that it never ran; no duration then
  std::optional<GpuMilli> gpus;      ///< 0 = CPU only; below 1000 = a share of one GPU
  std::string gpu_model;             ///< "A|B" = any of
  std::optional<Bytes> gpu_memory;   ///< measured peak per GPU; > 0
  std::string user;
  std::string vc;                 ///< queue, virtual cluster or sub-cluster
  std::string status;             ///< lower case
  std::optional<Duration> queue;  ///< wait on the original cluster; >= 0
  std::optional<double> cpus;     ///< CPU cores
  std::optional<Bytes> host_memory;
  std::string app;
  std::optional<int> priority;     ///< larger = more urgent; at most kTracePriorityMax either way
  std::vector<TracePhase> phases;  ///< ascending (check_phases())
};

/// The jobs of a trace by submission (those of one instant in the order of the source). Invariants:
/// submissions ascend from 0, ids are unique and not empty. A plain value.
struct Trace {
  std::string name;
  std::vector<TraceJob> jobs;
  bool has_submit_times = true;  ///< false: a list of jobs that get their arrivals later
};

/// Columns that every written Septule trace has, in order; `priority` and `phases` follow where a
/// job has them.
inline constexpr std::string_view kTraceHeading =
    "job_id,submit_s,duration_s,gpus,gpu_model,gpu_mem_gib,user,vc,status,queue_s,cpus,"
    "host_mem_gib,app";

/// The trace as text (docs/formats.md, "Job trace"). Times keep their nanoseconds. The columns
/// `priority` and `phases` are written only if a job has one.
std::string trace_csv(const Trace& trace);

/// The jobs of a workload as a trace; `app` is the name of the signature, memory that of the job,
/// else the need of a synthetic signature. Times count from the first submission; a workload whose
/// jobs all come at once has no submit times, one whose jobs are all of user 0 no users, one whose
/// jobs are all of priority 0 no priorities.
Trace trace_of_workload(const job::Workload& workload);

/// "1.5": seconds without trailing zeros, exact to the nanosecond.
std::string seconds_text(Duration duration);
/// "0.46", "8": GPUs without trailing zeros.
std::string gpus_text(GpuMilli gpus);

/// Decimal seconds, exact to the nanosecond (further digits are dropped). Nothing for what is no
/// number or lies beyond +-kTraceSecondsMax.
std::optional<Duration> parse_seconds(std::string_view text);
/// "36:05:10", "1-12:05:10": a time as Slurm writes it, [D-]HH:MM:SS. Without days there may be any
/// number of hours. Nothing for anything else and beyond kTraceSecondsMax.
std::optional<Duration> parse_days_and_clock(std::string_view text);
/// "2020-04-01 00:31:05", "2023-03-01T08:00:00.5+08:00": since 1970 in UTC; a time without offset
/// counts as UTC. Nothing for anything else, for impossible dates and years outside 1970-2096.
std::optional<Duration> parse_timestamp(std::string_view text);

}  // namespace septule::interop
