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

std::string lead_text(const ServeStudy& study) {
  std::vector<std::string> names;
  constexpr std::size_t kNamesMax = 6;
  const std::size_t shown = std::min(study.input->tenants.size(), kNamesMax);
  for (std::size_t i = 0; i < shown; ++i) {
    names.push_back(study.input->tenants[i].tenant.name);
  }
  if (shown < study.input->tenants.size()) {
    names.push_back(fmt::format("{} more", study.input->tenants.size() - shown));
  }
  return fmt::format("{} on {} {}{} for {} s.",
                     joined_with_and(names),
                     study.spec.gpu_count,
                     study.input->geometry->key(),
                     study.spec.gpu_count == 1 ? "" : " GPUs",
                     study.spec.windows.front().length.to_seconds());
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
  report::ServingReport report;
  report.title = fmt::format("Serving {} tenants within their SLOs", study.input->tenants.size());
  report.lead = lead_text(study);
  report.policies = std::move(policies);
  report.memory_slices =
      study.input->geometry->facts().memory_slices.value_or(MemorySlices(8)).value();
  report.settings = {
      {"GPU", study.input->geometry->key()},
      {"mode", study.spec.options.mode == sim::ServingMode::kFluid ? "fluid" : "request"},
      {"forecaster", study.spec.forecaster},
      {"margin of admission", fmt::format("{}", study.input->rule.margin)},
      {"processes per instance at most", fmt::format("{}", study.input->rule.processes_max)}};
  report.notes = {
      "Latencies and throughputs are those of the tenants' profiles, not measured by Septule."};
  if (study.spec.options.mode == sim::ServingMode::kFluid) {
    report.notes.emplace_back(
        "Fluid mode has no queues: what capacity allows in a second is answered in time.");
  }
  report.command = command_text(invocation);
  report.version = version();
  return write_file(path, report::serving_page(report));
}

}  // namespace septule::app
