// septule serve compare: several policies on the same windows with the same requests.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "report/number_text.hpp"
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

Result<std::vector<sim::StudyServingPolicy>> policies_option(const Invocation& invocation) {
  std::vector<sim::StudyServingPolicy> policies;
  const std::string text = invocation.text("policies");
  if (text == "all") {
    for (const serve::ServingPolicyVariant& variant : serve::serving_policy_variants()) {
      SEPTULE_TRY(sim::StudyServingPolicy policy, parse_serving_policy(variant.name));
      policies.push_back(std::move(policy));
    }
    return policies;
  }
  for (const std::string_view item : split_outside_brackets(text, ',')) {
    SEPTULE_TRY(sim::StudyServingPolicy policy, parse_serving_policy(item));
    policies.push_back(std::move(policy));
  }
  return policies;
}

Json compare_document(const ServeStudy& study,
                      const Invocation& invocation,
                      const std::vector<report::ServingPolicyRuns>& results) {
  Json document{{"schema", "septule-serve-compare/1"},
                {"gpu", study.input->geometry->key()},
                {"gpus", study.spec.gpu_count},
                {"length_s", study.spec.windows.front().length.to_seconds()},
                {"windows", invocation.number("windows")},
                {"seeds", invocation.number("seeds")},
                {"forecaster", study.spec.forecaster},
                {"first", results.front().name}};
  Json policies = Json::array();
  for (const report::ServingPolicyRuns& result : results) {
    Json runs = Json::array();
    for (const job::ServingRecord& run : result.runs) {
      runs.push_back(serving_run_document(run));
    }
    policies.push_back(
        {{"name", result.name},
         {"figures", serving_intervals_document(result)},
         {"first_to_this", interval_document(report::goodput_ratio(results.front(), result))},
         {"runs", std::move(runs)}});
  }
  document["policies"] = std::move(policies);
  return document;
}

std::string compare_text(const std::vector<report::ServingPolicyRuns>& results) {
  std::string text = report::serving_comparison_text(results);
  text += fmt::format("\n{} run{} of each; RATIO: goodput of {} / that of the policy, run by run\n",
                      results.front().runs.size(),
                      results.front().runs.size() == 1 ? "" : "s",
                      results.front().name);
  for (const report::ServingPolicyRuns& result : results) {
    for (const job::ServingRecord& run : result.runs) {
      for (const std::string& violation : run.violations) {
        text += fmt::format(
            "the checkers object to {}, seed {}: {}\n", result.name, run.seed, violation);
      }
    }
  }
  return text;
}

Result<int> run_serve_compare(const Invocation& invocation, Context& context) {
  SEPTULE_TRY_STATUS(
      check_written_files(invocation, {.written = {"report"}, .read = {"tenants", "profiles"}}));
  SEPTULE_TRY(std::vector<sim::StudyServingPolicy> policies, policies_option(invocation));
  SEPTULE_TRY(const ServeInput input, load_serve_input(invocation, context));
  SEPTULE_TRY(ServeStudy study, load_serve_study(invocation, context, input));
  SEPTULE_TRY_STATUS(spread_windows(study, static_cast<int>(invocation.number("windows"))));
  study.spec.policies = std::move(policies);
  for (int seed = 1; seed <= static_cast<int>(invocation.number("seeds")); ++seed) {
    study.spec.seeds.push_back(static_cast<std::uint64_t>(seed));
  }
  if (invocation.is_given("report")) {
    study.spec.options.timeline = sim::ServingTimeline::kOn;
  }
  SEPTULE_TRY(const std::vector<report::ServingPolicyRuns> results,
              run_serve_study(study,
                              invocation,
                              invocation.text("policies") == "all" ? UnfitPolicies::kLeaveOut
                                                                   : UnfitPolicies::kFail));
  if (invocation.is_given("report")) {
    SEPTULE_TRY_STATUS(write_serving_report(invocation, study, results, invocation.text("report")));
  }
  SEPTULE_TRY_STATUS(context.output.emit(compare_document(study, invocation, results),
                                         [&] { return compare_text(results); }));
  return 0;
}

std::vector<OptionRecord> compare_options() {
  std::vector<OptionRecord> options = serve_input_options();
  options.push_back({.name = "policies",
                     .short_name = 'p',
                     .value = "LIST",
                     .text = "Policies separated by commas, or all; the others are compared with "
                             "the first. Options as for serve simulate.",
                     .default_text = "all"});
  for (OptionRecord& record : serve_study_options()) {
    options.push_back(std::move(record));
  }
  options.push_back({.name = "windows",
                     .value = "N",
                     .text = "Runs of --length each, spread evenly over the trace from --begin on.",
                     .default_text = "1",
                     .min = 1,
                     .max = 1000,
                     .is_integer = true});
  options.push_back({.name = "seeds",
                     .value = "N",
                     .text = "Seeds 1 to N for every window.",
                     .default_text = "1",
                     .min = 1,
                     .max = 1000,
                     .is_integer = true});
  options.push_back({.name = "report",
                     .value = "FILE",
                     .text = "Also write a page: figures with intervals, and the first run of each "
                             "policy in pictures.",
                     .completion = CompletionKind::kFile});
  options.push_back(output_option());
  options.push_back(verbose_option());
  return options;
}

}  // namespace

Command serve_compare_command() {
  return {
      .record =
          {.path = {"serve", "compare"},
           .summary = "serving policies on the same requests",
           .description =
               {"Runs serve simulate for several policies, windows and seeds, and prints means "
                "with 95 % intervals. All policies meet the same requests and use the same "
                "forecaster; ratios are taken run by run, so that what the windows have in common "
                "cancels out.",
                serve_policies_text()},
           .arguments = {},
           .options = compare_options(),
           .examples = {{"septule serve compare --tenants tenants.yaml --windows 10",
                         "every policy on ten windows of the trace"},
                        {"septule serve compare --tenants tenants.yaml --policies "
                         "septule,ekya-like --seeds 5 -o json",
                         "two policies on five draws of the requests, as data"}},
           .exit_codes = {0, 1, 2, 3, 4}},
      .run = run_serve_compare};
}

}  // namespace septule::app
