// septule trace generate: draw a trace by the recipe of the MISO study.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "job/workload.hpp"
#include "septule/app.hpp"
#include "septule/files.hpp"
#include "septule/trace_view.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

job::GenerateOptions options_of(const Invocation& invocation) {
  job::GenerateOptions options;
  options.jobs = static_cast<int>(invocation.number("jobs"));
  options.seed = static_cast<std::uint64_t>(invocation.number("seed"));
  options.duration_max = seconds_to_duration(invocation.number("duration-max"));
  options.gang_share = invocation.number("gang-share");
  options.phase_share = invocation.number("phase-share");
  options.priority_share = invocation.number("priority-share");
  options.users = static_cast<int>(invocation.number("users"));
  options.arrivals.kind = checked_value(job::parse_arrival_kind(invocation.text("arrivals")),
                                        "the choices of --arrivals are kinds of arrivals");
  options.arrivals.gap = seconds_to_duration(invocation.number("gap"));
  options.arrivals.burstiness = invocation.number("burstiness");
  options.arrivals.is_rate_constant = invocation.is_given("constant-rate");
  return options;
}

Result<int> run_trace_generate(const Invocation& invocation, Context& context) {
  const job::GenerateOptions options = options_of(invocation);
  SEPTULE_TRY(const job::Workload workload, job::generate_workload(options));
  const interop::Trace trace = interop::trace_of_workload(workload);
  const std::string target = invocation.text("to");
  if (target == "-") {
    SEPTULE_TRY_STATUS(context.output.print(interop::trace_csv(trace)));
    return 0;
  }
  SEPTULE_TRY_STATUS(write_file(target, interop::trace_csv(trace)));
  const interop::TraceStatistics statistics = interop::trace_statistics(trace);
  Json document{{"schema", "septule-trace-generate/1"},
                {"written", target},
                {"seed", options.seed},
                {"arrivals", job::arrival_kind_name(options.arrivals.kind)}};
  document.update(statistics_document(statistics));
  SEPTULE_TRY_STATUS(context.output.emit(document, [&] {
    return fmt::format("written: {}: {} jobs, seed {}, {} GPU-hours, last submission at {:.0f} s\n",
                       target,
                       trace.jobs.size(),
                       options.seed,
                       statistics.gpu_hours ? fmt::format("{:.1f}", *statistics.gpu_hours) : "N/A",
                       (trace.jobs.back().submit - SimTime()).to_seconds());
  }));
  return 0;
}

std::vector<OptionRecord> generate_options() {
  return {{.name = "jobs",
           .value = "N",
           .text = "Number of jobs.",
           .default_text = "100",
           .min = 1,
           .max = 1000000,
           .is_integer = true},
          {.name = "seed",
           .value = "N",
           .text = "Equal seeds give equal traces, everywhere.",
           .default_text = "1",
           .min = 0,
           .max = 1000000000,
           .is_integer = true},
          {.name = "arrivals",
           .value = "KIND",
           .text = "How the gaps between submissions are drawn.",
           .default_text = "poisson",
           .choices = {"poisson", "near-periodic", "bursty"}},
          {.name = "gap",
           .value = "S",
           .text = "Mean gap. The first third of the jobs arrives twice as fast.",
           .unit = "s",
           .default_text = "60",
           .min = 0.001,
           .max = 86400},
          {.name = "constant-rate", .text = "The same mean gap throughout."},
          {.name = "burstiness",
           .value = "X",
           .text = "Squared coefficient of variation of bursty gaps (1 would be Poisson).",
           .default_text = "14",
           .min = 1.01,
           .max = 1000},
          {.name = "duration-max",
           .value = "S",
           .text = "Cut of the durations.",
           .unit = "s",
           .default_text = "7200",
           .min = 1,
           .max = 31536000},
          {.name = "gang-share",
           .value = "X",
           .text = "Share of the jobs that ask for 2, 4 or 8 whole GPUs.",
           .default_text = "0",
           .min = 0,
           .max = 1},
          {.name = "phase-share",
           .value = "X",
           .text = "Share of the jobs that go on as another model or batch size from a drawn part "
                   "of their work on (column phases).",
           .default_text = "0",
           .min = 0,
           .max = 1},
          {.name = "priority-share",
           .value = "X",
           .text = "Share of the jobs with priority 1 instead of 0 (column priority).",
           .default_text = "0",
           .min = 0,
           .max = 1},
          {.name = "users",
           .value = "N",
           .text = "Number of users.",
           .default_text = "10",
           .min = 1,
           .max = 1000000,
           .is_integer = true},
          {.name = "to",
           .value = "FILE",
           .text = "Where to write the trace; - for standard output.",
           .default_text = "-",
           .completion = CompletionKind::kFile},
          output_option(),
          verbose_option()};
}

}  // namespace

Command trace_generate_command() {
  return {
      .record =
          {.path = {"trace", "generate"},
           .summary = "draw a trace of training jobs",
           .description =
               {"Durations follow the curve that was published for the Helios clusters, cut at "
                "--duration-max; model and batch size are uniform over the 32 measured training "
                "jobs. Durations, models, gangs, phases, priorities, users and arrivals have "
                "random streams of their own, so that changing one option leaves the others' draws "
                "alone."},
           .options = generate_options(),
           .examples = {{"septule trace generate --jobs 1000 --gap 10 --seed 7 --to jobs.csv",
                         "a thousand jobs, one every ten seconds"},
                        {"septule trace generate --arrivals bursty | septule trace describe -",
                         "look at it without keeping it"}},
           .exit_codes = {0, 1, 2, 3}},
      .run = run_trace_generate};
}

}  // namespace septule::app
