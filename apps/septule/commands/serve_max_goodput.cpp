// septule serve max-goodput: the most that so many GPUs can serve within SLOs, with a bound.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/number_text.hpp"
#include "septule/app.hpp"
#include "septule/serve_fleet_view.hpp"
#include "septule/serve_inputs.hpp"
#include "septule/serve_moves.hpp"
#include "septule/serve_node.hpp"
#include "septule/serve_solver.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

Json max_goodput_document(const FleetAnswer& answer) {
  const serve::FleetPlan& plan = answer.plan;
  Json document{{"schema", "septule-serve-max-goodput/1"},
                {"gpu", answer.input->geometry->key()},
                {"gpus", plan.gpus},
                {"gpcs", plan.gpcs},
                {"goodput_rps", plan.goodput_rps},
                {"bound", plan.goodput_bound},
                {"gap", goodput_gap(plan.goodput_rps, plan.goodput_bound)},
                {"optimal", plan.is_optimal}};
  add_fleet_fields(answer, document);
  return document;
}

std::string max_goodput_text(const FleetAnswer& answer, FleetDetail detail) {
  const serve::FleetPlan& plan = answer.plan;
  std::string text = fleet_tables_text(answer, detail) + "\n";
  double arriving = 0;
  double served = 0;
  for (std::size_t i = 0; i < answer.problem.tenants.size(); ++i) {
    arriving += answer.problem.tenants[i].rate_rps;
    served += plan.served_rps[i];
  }
  text += fmt::format(
      "goodput {} per second on {} GPU{} of {}; {} of {} requests per second within "
      "their SLOs ({})\n",
      report::grouped_text(plan.goodput_rps, 2),
      plan.gpus,
      plan.gpus == 1 ? "" : "s",
      answer.input->geometry->key(),
      report::grouped_text(served, 1),
      report::grouped_text(arriving, 1),
      plan.method);
  text += plan.is_optimal
              ? fmt::format("proven: no plan has more (bound {})\n",
                            report::grouped_text(plan.goodput_bound, 2))
              : fmt::format("not proven best: no plan has more than {} (gap {:.3f} %)\n",
                            report::grouped_text(plan.goodput_bound, 2),
                            100 * goodput_gap(plan.goodput_rps, plan.goodput_bound));
  return text;
}

Result<int> run_max_goodput(const Invocation& invocation, Context& context) {
  SEPTULE_TRY_STATUS(check_emit(invocation, context));
  if (!invocation.is_given("gpus") && !invocation.is_given("state")) {
    return Error{ErrorCode::kUsage, "how many GPUs are there? Give --gpus N or --state FILE"};
  }
  SEPTULE_TRY(auto node, load_serve_node(invocation, context));
  SEPTULE_TRY(const ServeInput input,
              load_serve_input(invocation, context, node ? &*node : nullptr));
  SEPTULE_TRY_STATUS(keep_free_gpus(node, input));
  FleetAnswer answer{.input = &input, .problem = {}, .plan = {}, .solve_time = {}};
  SEPTULE_TRY(answer.problem,
              fleet_problem_of(input, invocation.text("demand"), gpu_limit(invocation, node)));
  SEPTULE_TRY_STATUS(solve_fleet(invocation, serve::FleetGoal::kBestGoodput, answer));
  return print_fleet(
      answer,
      node,
      invocation,
      context,
      {max_goodput_document(answer), max_goodput_text(answer, fleet_detail(context))});
}

}  // namespace

Command serve_max_goodput_command() {
  return {
      .record =
          {.path = {"serve", "max-goodput"},
           .summary = "the most that so many GPUs can serve",
           .description =
               {"For tenants with request rates, SLOs, weights and accuracies, and a number of "
                "GPUs: which layouts and instances give the greatest goodput (requests within "
                "their SLO x accuracy x weight, per second). No answer can be better than the "
                "bound beside it.",
                "With --state the plan is mapped onto the GPUs of that node, and --emit prints the "
                "moves as a shell script. Nothing is changed."},
           .arguments = {},
           .options = serve_fleet_options("How many GPUs there are, unless --state says it."),
           .examples = {{"septule serve max-goodput --tenants tenants.yaml --gpus 2",
                         "what can two A100-80GB do for these tenants at their peaks?"},
                        {"septule serve max-goodput --tenants tenants.yaml --gpus 4 --demand mean "
                         "-o json",
                         "at their mean rates, as data"}},
           .exit_codes = {0, 1, 2, 3, 4, 5}},
      .run = run_max_goodput};
}

}  // namespace septule::app
