#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace septule::interop {

/// A text somebody handed over and what to call it in messages ("jobs.csv", "standard input").
/// Both views must outlive the call they are passed to.
struct InputText {
  std::string_view text;
  std::string_view source_name;
  /// Which line of the source the text begins with; other than 1 for a line of a stream only
  /// (JSON).
  int line = 1;
};

// The written limits of every input (docs/formats.md, "Limits"). They keep a hostile file from
// costing more than a moment; real files stay far below them.

/// Longest text of one input.
inline constexpr std::size_t kInputBytesMax = std::size_t{1} << 20U;
/// Longest YAML text: real files hold a few KiB, and YAML costs the most per byte.
inline constexpr std::size_t kYamlBytesMax = std::size_t{1} << 18U;
/// Deepest nesting of lists and maps in JSON and YAML.
inline constexpr int kNestingMax = 32;
/// Values in one JSON or YAML text, counting each again where an alias repeats it.
inline constexpr std::size_t kNodesMax = 100000;
/// Bytes of scalars in one JSON or YAML text, aliases counted as above.
inline constexpr std::size_t kScalarBytesMax = std::size_t{1} << 22U;
/// Fields of one JSON object or YAML map.
inline constexpr std::size_t kFieldsMax = 1024;
/// GPUs of one node; their indices run from 0 to 63.
inline constexpr int kGpusMax = 64;
/// GPU instances of one GPU, and compute instances of one GPU instance, in a file.
inline constexpr int kInstancesMax = 64;
/// Highest GPU-instance or compute-instance id accepted.
inline constexpr int kInstanceIdMax = 9999;
/// Longest text of one job trace (the Philly archive has about 100 MiB).
inline constexpr std::size_t kTraceBytesMax = std::size_t{1} << 30U;
/// Rows of a job trace, its heading not counted.
inline constexpr std::size_t kTraceRowsMax = 5000000;
/// Attempts of one job of a trace, and GPUs and nodes of one attempt.
inline constexpr std::size_t kTraceAttemptsMax = 10000;
/// Latest instant of a trace, in seconds from its own origin (1970 for dates): 2096.
inline constexpr std::int64_t kTraceSecondsMax = 4000000000;
/// Longest duration of one job of a trace: ten years of 365 days.
inline constexpr std::int64_t kTraceDurationSecondsMax = 315360000;
/// GPUs that one job of a trace may ask for.
inline constexpr std::int64_t kTraceGpusMax = 100000;
/// Most urgent priority of a job of a trace, and, below 0, the least urgent.
inline constexpr int kTracePriorityMax = 1000;
/// Phases of one job of a trace.
inline constexpr std::size_t kTracePhasesMax = 64;
/// Rows of a table of MPS measurements, its heading not counted.
inline constexpr std::size_t kMpsRowsMax = 20000;
/// Co-runs in one file of MPS measurements.
inline constexpr std::size_t kMpsRunsMax = 1000;
/// A step time of an MPS measurement: seconds, or any unit where only ratios count.
inline constexpr double kMpsTimeMin = 1e-12;
inline constexpr double kMpsTimeMax = 1e12;
/// Rows of a job table, its heading not counted.
inline constexpr std::size_t kJobsMax = 10000;
/// Rows of a table of serving profiles, its heading not counted.
inline constexpr std::size_t kServingRowsMax = 50000;
/// Tenants of a tenants file.
inline constexpr std::size_t kTenantsMax = 1000;
/// Bytes and rows of a trace of request rates, its heading not counted.
inline constexpr std::size_t kRateTraceBytesMax = std::size_t{1} << 26U;
inline constexpr std::size_t kRateTraceRowsMax = 4000000;
/// Steps of a rate series that is made of a trace.
inline constexpr std::int64_t kRateStepsMax = 4000000;
/// A request rate, or a throughput, in requests per second.
inline constexpr double kRateRpsMax = 1e9;
/// Times of serving (SLO, latency, warm-up, steps, work): ten years of 365 days, in seconds.
inline constexpr double kServingSecondsMax = 315360000;
/// Requests of one batch, MPS processes of one instance.
inline constexpr int kBatchMax = 100000;
inline constexpr int kProcessesMax = 100;
/// Columns of a CSV table.
inline constexpr std::size_t kColumnsMax = 64;
/// Bytes of a name: of a job, a node, a holder, a configuration.
inline constexpr std::size_t kNameBytesMax = 200;

/// Speeds are relative to the whole GPU; 0 means that the job does not fit.
inline constexpr double kSpeedMin = 0.000001;
inline constexpr double kSpeedMax = 1000;
inline constexpr double kWeightMin = 0.000001;
inline constexpr double kWeightMax = 1000000;
inline constexpr double kMemoryGibibytesMax = 4096;

}  // namespace septule::interop
