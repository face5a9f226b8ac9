// septule diff FROM TO: the ordered steps from one layout to another.
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gpu/transition.hpp"
#include "septule/app.hpp"
#include "septule/inputs.hpp"
#include "septule/transition_view.hpp"

namespace septule::app {

namespace {

Result<int> run_diff(const Invocation& invocation, Context& context) {
  SEPTULE_TRY(const gpu::Inventory from, load_from(invocation.text("FROM"), invocation, context));
  SEPTULE_TRY(const auto goal, load_goal(invocation.text("TO"), from, invocation, context));
  SEPTULE_TRY(const gpu::Transition transition,
              gpu::plan_transition(from, goal, context.latencies));
  nlohmann::ordered_json document{{"schema", "septule-diff/1"}};
  document.update(transition_document(transition));
  SEPTULE_TRY_STATUS(context.output.emit(document, [&] { return transition_text(transition); }));
  if (invocation.is_given("check")) {
    return is_different(transition) ? 1 : 0;
  }
  if (std::string problem = undone_summary(transition); !problem.empty()) {
    return Error{ErrorCode::kBlocked, std::move(problem)};
  }
  return 0;
}

}  // namespace

Command diff_command() {
  return {
      .record = {.path = {"diff"},
                 .summary = "show the steps from one layout to another",
                 .description =
                     {"Lists per GPU what stays, the ordered driver operations with their "
                      "placements, the time they take by published latencies, and what stays "
                      "undone because a busy or foreign instance is in the way, with its holder. "
                      "Busy and foreign instances are never touched; other GPUs go ahead.",
                      "A layout without placements is placed so that as little as possible "
                      "changes."},
                 .arguments = transition_arguments(),
                 .options = {gpu_option("GPU model (or node) for layouts and pasted output."),
                             config_option(),
                             index_option(),
                             {.name = "check",
                              .text = "Exit 1 if anything differs, 0 if nothing does."},
                             output_option(),
                             verbose_option()},
                 .examples = {{"septule diff --gpu A100-40GB 7g.40gb 3g.20gb,3g.20gb",
                               "between two layouts"},
                              {"septule diff node.json config.yaml --config mixed --check",
                               "has this node drifted from its configuration?"}},
                 .exit_codes = {0, 1, 2, 3, 4, 5}},
      .run = run_diff};
}

}  // namespace septule::app
