// septule window: which queued jobs run together, how the GPU is cut for them and shared.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "interop/window_script.hpp"
#include "optimize/window_methods.hpp"
#include "septule/app.hpp"
#include "septule/files.hpp"
#include "septule/window_picture.hpp"
#include "septule/window_run.hpp"
#include "septule/window_view.hpp"
#include "septule/written_files.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

/// With exit 5 the result is printed as well: that there is none, and why.
Error not_feasible(const WindowQuestion& question,
                   const Invocation& invocation,
                   const Context& context,
                   const Error& error) {
  if (error.code == ErrorCode::kBlocked && !invocation.is_given("emit")) {
    const Json document{{"schema", "septule-window/1"},
                        {"gpu", question.geometry->key()},
                        {"method", invocation.text("method")},
                        {"feasible", false},
                        {"reason", error.message}};
    if (Status written = context.output.emit(document, [] { return std::string(); }); !written) {
      return written.error();
    }
  }
  return error;
}

Status print_answer(const WindowQuestion& question,
                    const WindowFinding& finding,
                    const Invocation& invocation,
                    const Context& context) {
  if (invocation.is_given("emit")) {
    SEPTULE_TRY(const std::string script,
                interop::window_script({.schedule = finding.answer.schedule,
                                        .jobs = question.problem.jobs,
                                        .before = question.gpu,
                                        .latencies = context.latencies}));
    return context.output.print(script);
  }
  return context.output.emit(window_document(question, finding),
                             [&] { return window_text(question, finding); });
}

Result<int> run_window(const Invocation& invocation, Context& context) {
  if (invocation.is_given("emit") && !context.output.is_for_people()) {
    return Error{ErrorCode::kUsage, "--emit prints a shell script; it does not go with -o"};
  }
  SEPTULE_TRY_STATUS(check_written_files(invocation, {.written = {"svg"}, .read = {"FILE"}}));
  SEPTULE_TRY(const std::unique_ptr<learn::WindowAgent> agent, load_agent(invocation));
  SEPTULE_TRY(const WindowQuestion question, load_window(invocation, context));
  const Result<WindowFinding> finding = find_window_answer(invocation, question, agent.get());
  if (!finding) {
    return not_feasible(question, invocation, context, finding.error());
  }
  if (invocation.is_given("svg")) {
    SEPTULE_TRY_STATUS(write_file(invocation.text("svg"), window_picture(question, *finding)));
  }
  SEPTULE_TRY_STATUS(print_answer(question, *finding, invocation, context));
  return 0;
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const optimize::WindowMethod& method : optimize::window_methods()) {
    names.emplace_back(method.name);
  }
  return names;
}

std::string methods_text() {
  std::vector<std::string> items;
  for (const optimize::WindowMethod& method : optimize::window_methods()) {
    items.push_back(fmt::format("{} ({})", method.name, method.summary));
  }
  return "Methods: " + joined_with_and(items) + ".";
}

std::vector<OptionRecord> question_options() {
  return {{.name = "method",
           .short_name = 'm',
           .value = "METHOD",
           .text = "How a schedule is looked for; all: the best of every method.",
           .default_text = "all",
           .choices = method_names()},
          {.name = "concurrency",
           .value = "N",
           .text = "Jobs on the GPU at one time at most, more than 4 only without MPS; static, far "
                   "and moldable use all instances.",
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
           .text = "What a group takes when its jobs do not end together: idle (the last end; "
                   "what ended jobs had lies idle), speed-up (survivors speed up), steady-state "
                   "(every job replaced by its like), refill (as speed-up; the name of what has "
                   "no barriers).",
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
                   "trust)."}};
}

std::vector<OptionRecord> gpu_options() {
  return {gpu_option("The GPU that runs the window: a model."),
          state_option(),
          index_option(),
          {.name = "current",
           .value = "LAYOUT",
           .text = "Without --state: how the GPU is cut now, or mig-off.",
           .default_text = "mig-off"},
          {.name = "no-switch-costs", .text = "Cutting the GPU anew takes no time."}};
}

std::vector<OptionRecord> answer_options() {
  return {{.name = "weights",
           .value = "FILE",
           .text = "With --method rl or all: a network of your own, written by septule train "
                   "window.",
           .completion = CompletionKind::kFile},
          {.name = "beam-width",
           .value = "N",
           .text = "With --method beam or all: sequences kept.",
           .default_text = "32",
           .min = 1,
           .max = 4096,
           .is_integer = true},
          {.name = "budget",
           .value = "UNITS",
           .text = "Work that may be done; the best found until then is the answer.",
           .default_text = "400000000",
           .min = 1,
           .max = 1e12,
           .is_integer = true},
          {.name = "emit",
           .text = "Print a shell script that carries the schedule out (GPU instances, an MPS "
                   "daemon for each instance that is shared, jobs), not the table. It is for GPU "
                   "0, or that of --index."},
          {.name = "svg",
           .value = "FILE",
           .text = "Also draw the schedule over time, as an SVG picture.",
           .completion = CompletionKind::kFile},
          output_option(),
          verbose_option()};
}

std::vector<OptionRecord> window_options() {
  std::vector<OptionRecord> options = gpu_options();
  for (auto& more : {question_options(), answer_options()}) {
    options.insert(options.end(), more.begin(), more.end());
  }
  return options;
}

}  // namespace

Command window_command() {
  return {
      .record =
          {.path = {"window"},
           .summary = "plan which queued jobs share a GPU, and how: MIG and MPS at once",
           .description =
               {"For the jobs of FILE and one GPU: which jobs run together, how the GPU is cut "
                "while they do (MIG), and how each instance is shared (MPS). Nothing is "
                "changed; --emit prints a script that carries the plan out.",
                "FILE is a CSV table: name, solo_s (seconds alone on the whole GPU), and "
                "optionally user, trust, memory_gib, speeds s7,s4,s3,s2,s1 (1 = as fast as "
                "alone on the whole GPU), kind, kernel_us, w, serial_share, memory_share, "
                "sm_percent, memory_percent; - for standard input.",
                methods_text()},
           .arguments = {{.name = "FILE",
                          .text = "The window's jobs.",
                          .is_required = true,
                          .completion = CompletionKind::kFile}},
           .options = window_options(),
           .examples = {{"septule window window.csv --gpu A100-80GB",
                         "the best of every method, and how far from a bound it is"},
                        {"septule window window.csv --gpu A100-80GB --method exact -o json",
                         "the exact answer as data"},
                        {"septule window window.csv --state node.json --index 1 --emit > run.sh",
                         "a script that carries it out"}},
           .exit_codes = {0, 1, 2, 3, 4, 5, 7}},
      .run = run_window};
}

}  // namespace septule::app
