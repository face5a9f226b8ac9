#include "septule/study_effective.hpp"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "plan/objective.hpp"
#include "report/study.hpp"

namespace septule::app {

namespace {

std::string rate_text(double bytes_per_s) {
  constexpr double kBytesPerGibibyte = 1073741824.0;
  return std::isinf(bytes_per_s) ? "no limit" : fmt::format("{}", bytes_per_s / kBytesPerGibibyte);
}

std::string seeds_list(const std::vector<std::uint64_t>& seeds) {
  const std::string text = report::seeds_text(seeds);  // "seeds 1-20"
  const std::size_t space = text.find(' ');
  return text.substr(space + 1);
}

std::string gaps_list(const sim::StudySpec& spec) {
  std::string text;
  for (const Duration gap : spec.gaps) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", gap.to_seconds());
  }
  return text;
}

std::string levels_list(const sched::CharacterisationPlan& plan) {
  std::string text;
  for (const ActiveThreadPercentage level : plan.levels) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", level.value());
  }
  return text;
}

bool needs_layout(const sim::StudySpec& spec) {
  for (const sched::PolicyVariant* policy : spec.policies) {
    if (policy->needs_layout) {
      return true;
    }
  }
  return false;
}

/// What the settings without a default of their own came to, by name.
std::map<std::string, std::string, std::less<>> resolved(const sim::StudySpec& spec) {
  const sim::SimSetup& common = spec.common;
  const bool is_artifact = common.policy_setup.setting == sched::Setting::kArtifact;
  std::map<std::string, std::string, std::less<>> texts;
  texts["arrivals"] = job::arrival_kind_name(spec.arrivals.kind);
  if (job::has_gaps(spec.arrivals.kind)) {
    texts["gap"] = gaps_list(spec);
  }
  if (needs_layout(spec)) {
    texts["layout-seeds"] = seeds_list(spec.layout_seeds);
    texts["layout"] = spec.layout   ? ""
                      : is_artifact ? "the artifact's"
                                    : "the best of all on layout-seeds";
  }
  texts["checkpoint-rate"] = rate_text(common.costs.checkpoint_bytes_per_s);
  texts["restart-rate"] = rate_text(common.costs.restart_bytes_per_s);
  texts["reset"] = common.device.full_reset
                       ? fmt::format("{}", common.device.full_reset->to_seconds())
                       : "the sum of its steps";
  texts["tick"] = fmt::format("{}", common.controller.tick.to_seconds());
  texts["objective"] = plan::objective_name(common.policy_setup.objective.value_or(
      is_artifact ? plan::ObjectiveKind::kMeanSlowdown : plan::ObjectiveKind::kSumOfSpeeds));
  texts["levels"] = levels_list(common.policy_setup.characterisation);
  texts["level-time"] =
      fmt::format("{}", common.policy_setup.characterisation.per_level.to_seconds());
  return texts;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> effective_settings(const StudySettings& settings,
                                                                    const sim::StudySpec& spec) {
  const auto texts = resolved(spec);
  std::vector<std::pair<std::string, std::string>> all = settings.all();
  for (auto& [name, text] : all) {
    const auto found = texts.find(name);
    if (text.empty() && found != texts.end()) {
      text = found->second;
    }
  }
  return all;
}

}  // namespace septule::app
