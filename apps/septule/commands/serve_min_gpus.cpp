// septule serve min-gpus: the fewest GPUs that serve every tenant within its SLO, with proof.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "septule/app.hpp"
#include "septule/serve_fleet_view.hpp"
#include "septule/serve_inputs.hpp"
#include "septule/serve_moves.hpp"
#include "septule/serve_node.hpp"
#include "septule/serve_solver.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "septule-serve-min-gpus/1";

Json min_gpus_document(const FleetAnswer& answer) {
  const serve::FleetPlan& plan = answer.plan;
  Json document{{"schema", kSchema},
                {"gpu", answer.input->geometry->key()},
                {"feasible", true},
                {"gpus", plan.gpus},
                {"gpcs", plan.gpcs},
                {"bound", plan.gpus_bound},
                {"gpcs_bound", plan.gpcs_bound},
                {"optimal", plan.is_optimal},
                {"gap", goodput_gap(plan.gpus_bound, plan.gpus)}};
  add_fleet_fields(answer, document);
  return document;
}

std::string min_gpus_text(const FleetAnswer& answer, FleetDetail detail) {
  const serve::FleetPlan& plan = answer.plan;
  std::string text = fleet_tables_text(answer, detail) + "\n";
  text += fmt::format("{} GPU{} of {}, {} compute slice{} given to tenants ({})\n",
                      plan.gpus,
                      plan.gpus == 1 ? "" : "s",
                      answer.input->geometry->key(),
                      plan.gpcs,
                      plan.gpcs == 1 ? "" : "s",
                      plan.method);
  text += plan.gpus_bound == plan.gpus
              ? std::string("proven: no plan uses fewer GPUs\n")
              : fmt::format("not proven least: no plan uses fewer than {} GPUs (gap {:.2f} %)\n",
                            plan.gpus_bound,
                            100 * goodput_gap(plan.gpus_bound, plan.gpus));
  text += plan.gpcs_bound == plan.gpcs
              ? std::string("proven: none with so few GPUs uses fewer compute slices\n")
              : fmt::format("not proven least: none with so few GPUs uses fewer than {} slices\n",
                            plan.gpcs_bound);
  return text;
}

/// Fewer GPUs are there than the plan takes: how many would do, and whether that is certain.
Error too_small(const FleetAnswer& answer, int there) {
  const serve::FleetPlan& plan = answer.plan;
  const std::string have = fmt::format("{} GPU{}", there, there == 1 ? "" : "s");
  if (plan.gpus_bound > there) {
    return {ErrorCode::kBlocked,
            fmt::format("{} of {} cannot serve these tenants within their SLOs: {} would do, and "
                        "{} at least are needed",
                        have,
                        answer.input->geometry->key(),
                        plan.gpus,
                        plan.gpus_bound)};
  }
  return {ErrorCode::kBlocked,
          fmt::format("no plan for {} of {} was found: {} would do (not proven least; a larger "
                      "--budget or --time-limit may find fewer)",
                      have,
                      answer.input->geometry->key(),
                      plan.gpus)};
}

Error print_too_small(const FleetAnswer& answer,
                      int there,
                      const Invocation& invocation,
                      Context& context) {
  Error error = too_small(answer, there);
  if (invocation.is_given("emit")) {
    return error;
  }
  const Json document{{"schema", kSchema},
                      {"gpu", answer.input->geometry->key()},
                      {"feasible", false},
                      {"reason", error.message},
                      {"gpus_there", there},
                      {"gpus", answer.plan.gpus},
                      {"bound", answer.plan.gpus_bound}};
  const Status printed = context.output.emit(document, [] { return std::string(); });
  return printed ? error : printed.error();
}

Result<int> run_min_gpus(const Invocation& invocation, Context& context) {
  SEPTULE_TRY_STATUS(check_emit(invocation, context));
  SEPTULE_TRY(auto node, load_serve_node(invocation, context));
  SEPTULE_TRY(const ServeInput input,
              load_serve_input(invocation, context, node ? &*node : nullptr));
  SEPTULE_TRY_STATUS(keep_free_gpus(node, input));
  FleetAnswer answer{.input = &input, .problem = {}, .plan = {}, .solve_time = {}};
  // Without the limit, so that the answer says how many would do.
  SEPTULE_TRY(answer.problem, fleet_problem_of(input, invocation.text("demand"), std::nullopt));
  SEPTULE_TRY_STATUS(solve_fleet(invocation, serve::FleetGoal::kAllServed, answer));
  if (const auto there = gpu_limit(invocation, node); there && answer.plan.gpus > *there) {
    return print_too_small(answer, *there, invocation, context);
  }
  return print_fleet(answer,
                     node,
                     invocation,
                     context,
                     {min_gpus_document(answer), min_gpus_text(answer, fleet_detail(context))});
}

}  // namespace

Command serve_min_gpus_command() {
  return {
      .record =
          {.path = {"serve", "min-gpus"},
           .summary = "the fewest GPUs that keep every SLO",
           .description =
               {"For tenants with request rates, SLOs and measured profiles: how few GPUs serve "
                "all requests within their SLOs, and how few compute slices with so few GPUs. "
                "Every answer has a lower bound beside it and says whether it is proven.",
                "With --state the plan is mapped onto the GPUs of that node with as few instances "
                "touched as possible, and --emit prints the moves as a shell script, new instances "
                "before old ones go. Nothing is changed."},
           .arguments = {},
           .options = serve_fleet_options(
               "How many GPUs there are; fewer than needed is exit 5. Without it and "
               "--state: as many as it takes."),
           .examples = {{"septule serve min-gpus --tenants tenants.yaml",
                         "how few A100-80GB serve these tenants at their peaks?"},
                        {"septule serve min-gpus --profiles serving_profile.csv --tenants "
                         "tenants.csv --margin 0.45 -o json",
                         "by ParvaGPU's rule of admission, as data"}},
           .exit_codes = {0, 1, 2, 3, 4, 5}},
      .run = run_min_gpus};
}

}  // namespace septule::app
