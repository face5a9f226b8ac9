// septule window: which queued jobs run together, how the GPU is cut for them and shared.
#include <nlohmann/json.hpp>

#include "optimize/window_methods.hpp"
#include "septule/app.hpp"
#include "septule/window_run.hpp"
#include "septule/window_view.hpp"

namespace septule::app {

namespace {

Result<int> run_window(const Invocation& invocation, Context& context) {
  SEPTULE_TRY(const WindowQuestion question, load_window(invocation, context));
  SEPTULE_TRY(const WindowFinding finding, find_window_answer(invocation, question, nullptr));
  SEPTULE_TRY_STATUS(context.output.emit(window_document(question, finding),
                                         [&] { return window_text(question, finding); }));
  return 0;
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const optimize::WindowMethod& method : optimize::window_methods()) {
    names.emplace_back(method.name);
  }
  return names;
}

std::vector<OptionRecord> window_options() {
  return {
      gpu_option("The GPU that runs the window: a model."),
      {.name = "method",
       .short_name = 'm',
       .value = "METHOD",
       .text = "How a schedule is looked for; all: the best of every method.",
       .default_text = "all",
       .choices = method_names()},
      {.name = "concurrency",
       .value = "N",
       .text = "Jobs on the GPU at one time at most; beyond 4 without MPS only.",
       .default_text = "4",
       .min = 1,
       .max = 7,
       .is_integer = true},
      {.name = "splits",
       .value = "LIST",
       .text = "Active thread percentages that an MPS client may be given, or none.",
       .default_text = "25,50,75"},
      {.name = "clock",
       .value = "METRIC",
       .text = "What a group takes when its jobs do not end together: idle (the last end; what "
               "ended jobs had lies idle), speed-up (survivors speed up), steady-state (every job "
               "replaced by its like), refill (the next job takes the seat).",
       .default_text = "speed-up",
       .choices = {"steady-state", "idle", "speed-up", "refill"}},
      {.name = "fairness",
       .value = "FLOOR",
       .text = "No job is slower than this part of its speed alone on the whole GPU; 0 = no "
               "floor.",
       .default_text = "0.1",
       .min = 0,
       .max = 1},
      {.name = "share-users",
       .text = "Jobs of different users may share an MPS server (never those of different "
               "trust)."},
      {.name = "current",
       .value = "LAYOUT",
       .text = "How the GPU is cut now, or mig-off.",
       .default_text = "mig-off"},
      {.name = "no-switch-costs", .text = "Cutting the GPU anew takes no time."},
      {.name = "beam-width",
       .value = "N",
       .text = "With --method beam or all: sequences kept.",
       .default_text = "32",
       .min = 1,
       .max = 4096,
       .is_integer = true},
      output_option(),
      verbose_option()};
}

}  // namespace

Command window_command() {
  return {.record =
              {.path = {"window"},
               .summary = "run a window of queued jobs together: MIG and MPS at once",
               .description =
                   {"For the jobs of FILE and one GPU: which jobs run together, how the GPU is cut "
                    "while they do (MIG), and how each instance is shared (MPS).",
                    "FILE is a CSV table: name, solo_s (seconds alone on the whole GPU), and "
                    "optionally user, trust, memory_gib, speeds s7,s4,s3,s2,s1, kind, kernel_us, "
                    "w, serial_share, memory_share, sm_percent, memory_percent; - for standard "
                    "input."},
               .arguments = {{.name = "FILE",
                              .text = "The window's jobs.",
                              .is_required = true,
                              .completion = CompletionKind::kFile}},
               .options = window_options(),
               .examples = {{"septule window jobs.csv --gpu A100-80GB",
                             "the best of every method, and how far from a bound it is"},
                            {"septule window jobs.csv --gpu A100-80GB --method exact -o json",
                             "the exact answer as data"}},
               .exit_codes = {0, 1, 2, 3, 4, 5, 7}},
          .run = run_window};
}

}  // namespace septule::app
