// septule trace import: a job log of a cluster as a Septule trace, every odd row counted.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "septule/app.hpp"
#include "septule/files.hpp"
#include "septule/inputs.hpp"
#include "septule/trace_view.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

std::string import_text(const std::string& name,
                        const LoadedTrace& loaded,
                        const std::string& target) {
  std::string text = fmt::format("{} ({}): rows {}; kept as jobs {}; dropped {}\n",
                                 name,
                                 interop::trace_format_name(loaded.format),
                                 loaded.import.rows,
                                 loaded.import.trace.jobs.size(),
                                 loaded.import.dropped);
  if (!target.empty()) {
    text += fmt::format("written: {}\n", target);
  }
  return text;
}

Result<int> run_trace_import(const Invocation& invocation, Context& context) {
  const std::string path = invocation.text("FILE");
  const std::string name = source_name_of(path);
  const std::string target = invocation.text("to");
  SEPTULE_TRY(const LoadedTrace loaded, load_trace(invocation, path));
  say_findings(name, loaded.import.findings);
  Status verdict;
  if (invocation.is_given("strict")) {
    verdict = interop::check_no_faults(name, loaded.import.findings);
  }
  if (verdict && loaded.import.trace.jobs.empty()) {
    verdict =
        Error{ErrorCode::kInvalidInput,
              fmt::format("{}: every one of its {} rows was dropped", name, loaded.import.rows)};
  }
  const bool is_to_stream = target == "-";
  if (verdict && is_to_stream) {
    SEPTULE_TRY_STATUS(context.output.print(interop::trace_csv(loaded.import.trace)));
    return 0;
  }
  const bool is_written = verdict.is_ok() && !target.empty();
  if (is_written) {
    SEPTULE_TRY_STATUS(write_file(target, interop::trace_csv(loaded.import.trace)));
  }
  if (!verdict && is_to_stream) {
    return verdict.error();
  }
  const Json document{{"schema", "septule-trace-import/1"},
                      {"source", name},
                      {"format", interop::trace_format_name(loaded.format)},
                      {"rows", loaded.import.rows},
                      {"jobs", loaded.import.trace.jobs.size()},
                      {"dropped", loaded.import.dropped},
                      {"written", is_written ? Json(target) : Json(nullptr)},
                      {"findings", findings_document(loaded.import.findings)}};
  SEPTULE_TRY_STATUS(context.output.emit(
      document, [&] { return import_text(name, loaded, is_written ? target : std::string()); }));
  if (!verdict) {
    return verdict.error();
  }
  return 0;
}

}  // namespace

Command trace_import_command() {
  return {
      .record =
          {.path = {"trace", "import"},
           .summary = "turn the job log of a cluster into a Septule trace",
           .description =
               {"Reads what Slurm's sacct -P prints, the published forms of Philly, Helios, Acme "
                "(Seren and Kalos) and Alibaba openb, the Standard Workload Format, and Septule's "
                "own CSV. Compressed files must be unpacked first.",
                "Rows that never ran, contradict themselves or cannot be read are counted and "
                "located on standard error; none is left out in silence. Times count from the "
                "first submission, and rows are sorted by it."},
           .arguments = {{.name = "FILE",
                          .text = "The job log; - for standard input.",
                          .is_required = true,
                          .completion = CompletionKind::kFile}},
           .options = {trace_format_option(),
                       processors_per_gpu_option(),
                       signatures_option(),
                       {.name = "to",
                        .value = "FILE",
                        .text = "Where to write the trace; - for standard output instead of the "
                                "summary. Without it nothing is written.",
                        .completion = CompletionKind::kFile},
                       {.name = "strict",
                        .text = "Fail (exit code 3) and write nothing if any row is dropped, "
                                "repaired or cannot be simulated."},
                       output_option(),
                       verbose_option()},
           .examples = {{"septule trace import cluster_log.csv --to jobs.csv",
                         "find out the format, write our CSV"},
                        {"septule trace import --format philly cluster_job_log -o json",
                         "only count, for a program"}},
           .exit_codes = {0, 1, 2, 3, 4}},
      .run = run_trace_import};
}

}  // namespace septule::app
