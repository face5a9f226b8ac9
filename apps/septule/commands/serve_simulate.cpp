// septule serve simulate: what a policy would have served, second by second or request by request.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "report/serving_report.hpp"
#include "septule/app.hpp"
#include "septule/files.hpp"
#include "septule/serve_inputs.hpp"
#include "septule/serve_report.hpp"
#include "septule/serve_run_view.hpp"
#include "septule/serve_study.hpp"
#include "septule/written_files.hpp"
#include "serve/policy_registry.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

Result<int> run_serve_simulate(const Invocation& invocation, Context& context) {
  SEPTULE_TRY_STATUS(check_written_files(
      invocation, {.written = {"csv", "report"}, .read = {"tenants", "profiles"}}));
  SEPTULE_TRY(sim::StudyServingPolicy policy, parse_serving_policy(invocation.text("policy")));
  SEPTULE_TRY(const ServeInput input, load_serve_input(invocation, context));
  SEPTULE_TRY(ServeStudy study, load_serve_study(invocation, context, input));
  if (invocation.is_given("report")) {
    study.spec.options.timeline = sim::ServingTimeline::kOn;
  }
  study.spec.policies = {std::move(policy)};
  study.spec.seeds = {static_cast<std::uint64_t>(invocation.number("seed"))};
  SEPTULE_TRY(const std::vector<report::ServingPolicyRuns> results,
              run_serve_study(study, invocation, UnfitPolicies::kFail));
  const job::ServingRecord& run = results.front().runs.front();
  if (invocation.is_given("csv")) {
    SEPTULE_TRY_STATUS(write_file(invocation.text("csv"), report::serving_csv(run)));
  }
  if (invocation.is_given("report")) {
    SEPTULE_TRY_STATUS(write_serving_report(invocation, study, results, invocation.text("report")));
  }
  Json document{{"schema", "septule-serve-simulate/1"}, {"gpu", input.geometry->key()}};
  document.update(serving_run_document(run));
  SEPTULE_TRY_STATUS(context.output.emit(document, [&] { return serving_run_text(run); }));
  return 0;
}

std::vector<OptionRecord> simulate_options() {
  std::vector<OptionRecord> options = serve_input_options();
  options.push_back({.name = "policy",
                     .short_name = 'p',
                     .value = "POLICY",
                     .text = "Who decides; its options behind a colon, joined with +: "
                             "reactive-greedy:NAME=VALUE+NAME=VALUE.",
                     .default_text = "septule"});
  for (OptionRecord& record : serve_study_options()) {
    options.push_back(std::move(record));
  }
  options.push_back({.name = "seed",
                     .value = "N",
                     .text = "Of all chance: requests, warm-ups.",
                     .default_text = "1",
                     .min = 0,
                     .max = 1e15,
                     .is_integer = true});
  options.push_back({.name = "report",
                     .value = "FILE",
                     .text = "Also write a page: layouts over time, rates against capacity, "
                             "retraining windows, figures.",
                     .completion = CompletionKind::kFile});
  options.push_back({.name = "csv",
                     .value = "FILE",
                     .text = "Also write what happened to each tenant in each second.",
                     .completion = CompletionKind::kFile});
  options.push_back(output_option());
  options.push_back(verbose_option());
  return options;
}

}  // namespace

Command serve_simulate_command() {
  return {
      .record =
          {.path = {"serve", "simulate"},
           .summary = "what a policy would have served",
           .description =
               {"Lets a policy serve the tenants on virtual GPUs: it decides each second, what it "
                "orders is set up and warms up, requests arrive and are answered or not. The "
                "figures are SLO attainment, goodput, accuracy, latencies (request mode), how much "
                "of the reconfiguration was hidden, and GPUs used.",
                serve_policies_text()},
           .arguments = {},
           .options = simulate_options(),
           .examples = {{"septule serve simulate --tenants tenants.yaml --report report.html",
                         "200 seconds of our policy, with a page of pictures"},
                        {"septule serve simulate --tenants tenants.yaml --policy reactive-greedy "
                         "--mode request --seed 7 -o json",
                         "another policy, request by request, as data"}},
           .exit_codes = {0, 1, 2, 3, 4}},
      .run = run_serve_simulate};
}

}  // namespace septule::app
