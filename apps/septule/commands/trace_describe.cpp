// septule trace describe: what the jobs of a trace look like.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "job/workload.hpp"
#include "septule/app.hpp"
#include "septule/inputs.hpp"
#include "septule/trace_view.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

Result<int> print_statistics(const std::string& name,
                             const interop::TraceImport& import,
                             Context& context) {
  const interop::TraceStatistics statistics = interop::trace_statistics(import.trace);
  Json document{{"schema", "septule-trace-describe/1"}, {"source", name}};
  document.update(statistics_document(statistics));
  document["findings"] = findings_document(import.findings);
  SEPTULE_TRY_STATUS(
      context.output.emit(document, [&] { return statistics_text(name, statistics); }));
  return 0;
}

Result<int> run_trace_describe(const Invocation& invocation, Context& context) {
  const std::string path = invocation.text("TRACE");
  if (path == "miso-100" || path == "miso-1000") {
    SEPTULE_TRY(const job::Workload workload, job::miso_workload(path));
    const interop::TraceImport import{.trace = interop::trace_of_workload(workload),
                                      .findings = {}};
    say_note(
        fmt::format("{} is a list of jobs: its arrivals are drawn when it is simulated", path));
    return print_statistics(path, import, context);
  }
  const std::string name = source_name_of(path);
  SEPTULE_TRY(const LoadedTrace loaded, load_trace(invocation, path));
  say_findings(name, loaded.import.findings);
  return print_statistics(name, loaded.import, context);
}

}  // namespace

Command trace_describe_command() {
  return {
      .record =
          {.path = {"trace", "describe"},
           .summary = "show quantiles and shapes of a trace",
           .description =
               {"Durations, gaps between submissions, GPUs and memory by quantiles (linear between "
                "order statistics), shares of the jobs on one GPU and of those of at most two "
                "hours, GPU-hours, and bars. What the trace does not say is N/A.",
                "miso-100 and miso-1000 are the job mixes that come with Septule."},
           .arguments = {{.name = "TRACE",
                          .text = "A trace in any format of trace import, - for standard input, or "
                                  "miso-100 or miso-1000.",
                          .is_required = true,
                          .completion = CompletionKind::kFile}},
           .options = {trace_format_option(),
                       processors_per_gpu_option(),
                       signatures_option(),
                       output_option(),
                       verbose_option()},
           .examples = {{"septule trace describe jobs.csv", "tables and bars"},
                        {"septule trace describe miso-100 -o json", "for a program"}},
           .exit_codes = {0, 1, 2, 3, 4}},
      .run = run_trace_describe};
}

}  // namespace septule::app
