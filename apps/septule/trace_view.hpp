#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/digest.hpp"
#include "interop/trace_builder.hpp"
#include "interop/trace_formats.hpp"
#include "interop/trace_statistics.hpp"
#include "job/perf_signature.hpp"
#include "septule/app.hpp"

namespace septule::app {

/// --format of the commands that read traces.
OptionRecord trace_format_option();
/// --processors-per-gpu of the same.
OptionRecord processors_per_gpu_option();

/// --signatures of the commands that read traces: a file of own signatures.
OptionRecord signatures_option();
/// The signatures of this file; none for an empty path. Their text goes into `digest`.
Result<std::vector<job::PerfSignature>> load_signatures(const std::string& path, Digest& digest);

/// A trace read from a file or standard input, as these options say.
struct LoadedTrace {
  interop::TraceFormat format = interop::TraceFormat::kSeptule;
  interop::TraceImport import;
};
Result<LoadedTrace> load_trace(const Invocation& invocation, const std::string& path);

/// Each finding as a message on standard error: a note if nothing is lost by it, else a warning.
void say_findings(std::string_view source_name, const std::vector<interop::TraceFinding>& findings);
nlohmann::ordered_json findings_document(const std::vector<interop::TraceFinding>& findings);

nlohmann::ordered_json statistics_document(const interop::TraceStatistics& statistics);
/// Tables and bars for people.
std::string statistics_text(std::string_view name, const interop::TraceStatistics& statistics);

}  // namespace septule::app
