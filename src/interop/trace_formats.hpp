#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "interop/limits.hpp"
#include "interop/trace_builder.hpp"

namespace septule::interop {

/// The forms in which clusters have published their jobs (docs/traces.md).
enum class TraceFormat {
  kSeptule,    ///< our CSV
  kPhilly,     ///< Microsoft Philly (ATC'19): cluster_job_log, a JSON list
  kHelios,     ///< SenseTime Helios (SC'21): cluster_log.csv
  kAcmeSeren,  ///< Shanghai AI Laboratory Acme (NSDI'24): trace_seren.csv
  kAcmeKalos,  ///< the same: trace_kalos.csv
  kOpenb,      ///< Alibaba cluster-trace-gpu-v2023: openb_pod_list*.csv
  kSwf,        ///< Standard Workload Format of the Parallel Workloads Archive
  kSacct,      ///< Slurm's accounting: what sacct -P prints
};
inline constexpr int kTraceFormatCount = 8;
/// "acme-seren": as --format has it.
std::string_view trace_format_name(TraceFormat format);
std::optional<TraceFormat> parse_trace_format(std::string_view text);

/// Which format a text has, from its beginning. Fails with kInvalidInput if that is not clear,
/// naming what was seen and what would be known.
Result<TraceFormat> detect_trace_format(const InputText& input);

struct TraceImportOptions {
  std::optional<TraceFormat> format;    ///< nothing = detect
  std::int64_t processors_per_gpu = 1;  ///< SWF knows processors only; >= 1
  /// Names of signatures that phases may have beside the built-in ones (signature_names()).
  std::vector<std::string> signatures;
};

/// Reads a trace. Odd rows are counted, located and kept, repaired or dropped (TraceFindings); only
/// a text that is not of the format at all fails (kInvalidInput naming source, line and column): a
/// needed column is missing, JSON that does not parse, no rows, a limit, a compressed file.
Result<TraceImport> import_trace(const InputText& input, const TraceImportOptions& options);

}  // namespace septule::interop
