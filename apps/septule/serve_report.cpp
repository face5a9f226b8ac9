#include "septule/serve_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/serving_report.hpp"
#include "septule/files.hpp"
#include "serve/policy_registry.hpp"

namespace septule::app {

namespace {

/// The command as it was given, without where it wrote to.
std::string command_text(const Invocation& invocation) {
  std::string text = "septule " + invocation.command().name();
  for (const OptionRecord& option : invocation.command().options) {
    if (invocation.is_given(option.name)) {
      text += " --" + option.name;
      text += option.value.empty() ? "" : " " + invocation.text(option.name);
    }
  }
  return text;
}

std::string lead_text(const ServeInput& input, int gpus, Duration length) {
  std::vector<std::string> names;
  constexpr std::size_t kNamesMax = 6;
  const std::size_t shown = std::min(input.tenants.size(), kNamesMax);
  for (std::size_t i = 0; i < shown; ++i) {
    names.push_back(input.tenants[i].tenant.name);
  }
  if (shown < input.tenants.size()) {
    names.push_back(fmt::format("{} more", input.tenants.size() - shown));
  }
  return fmt::format("{} on {} {}{} for {} s.",
                     joined_with_and(names),
                     gpus,
                     input.geometry->key(),
                     gpus == 1 ? "" : " GPUs",
                     length.to_seconds());
}

/// What all pages have in common.
report::ServingReport page_of(const Invocation& invocation,
                              const ServeInput& input,
                              std::vector<report::ServingPolicyRuns> policies) {
  report::ServingReport report;
  const job::ServingRecord& first = policies.front().runs.front();
  report.title = fmt::format("Serving {} tenants within their SLOs", input.tenants.size());
  report.lead = lead_text(input, first.gpu_count, first.span);
  report.policies = std::move(policies);
  report.memory_slices = input.geometry->facts().memory_slices.value_or(MemorySlices(8)).value();
  report.settings = {
      {"GPU", input.geometry->key()},
      {"margin of admission", fmt::format("{}", input.rule.margin)},
      {"processes per instance at most", fmt::format("{}", input.rule.processes_max)}};
  report.notes = {
      "Latencies and throughputs are those of the tenants' profiles, not measured by Septule."};
  report.command = command_text(invocation);
  report.version = version();
  return report;
}

}  // namespace

std::string serve_policies_text() {
  std::vector<std::string> items;
  for (const serve::ServingPolicyVariant& variant : serve::serving_policy_variants()) {
    items.push_back(fmt::format("{} ({})", variant.name, variant.summary));
  }
  return "Policies: " + joined_with_and(items) + ".";
}

Status write_serving_report(const Invocation& invocation,
                            const ServeStudy& study,
                            std::vector<report::ServingPolicyRuns> policies,
                            const std::string& path) {
  report::ServingReport report = page_of(invocation, *study.input, std::move(policies));
  const bool is_fluid = study.spec.options.mode == sim::ServingMode::kFluid;
  report.settings.push_back({"mode", is_fluid ? "fluid" : "request"});
  report.settings.push_back({"forecaster", study.spec.forecaster});
  if (is_fluid) {
    report.notes.emplace_back(
        "Fluid mode has no queues: what capacity allows in a second is answered in time.");
  }
  return write_file(path, report::serving_page(report));
}

Status write_plan_report(const Invocation& invocation,
                         const ServePlan& plan,
                         const std::string& path) {
  report::ServingReport report =
      page_of(invocation, *plan.input, {{.name = plan.mode, .runs = {record_of(plan)}}});
  report.notes.emplace_back("A plan, for rates that come as foretold: nothing was simulated.");
  return write_file(path, report::serving_page(report));
}

}  // namespace septule::app
