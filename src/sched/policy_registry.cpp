#include "sched/policy_registry.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"
#include "sched/policies/nopart.hpp"

namespace septule::sched {

namespace {

// One row per name. Factories are declared in the header of their policy.
constexpr auto kVariants = std::to_array<PolicyVariant>({
    {.name = "nopart",
     .summary = "one job per whole GPU, first come first served",
     .begins_whole = true,
     .make = make_nopart},
});

}  // namespace

CharacterisationPlan default_characterisation(Setting setting) {
  CharacterisationPlan plan;
  if (setting == Setting::kArtifact) {
    plan.levels.push_back(ActiveThreadPercentage(50));
    plan.per_level = Duration::milliseconds(30000);
    plan.from = LevelsFrom::kLaunch;
    return plan;
  }
  for (const int level : {100, 50, 14}) {
    plan.levels.push_back(ActiveThreadPercentage(level));
  }
  plan.per_level = Duration::milliseconds(10000);
  plan.from = LevelsFrom::kFirstStep;
  return plan;
}

std::span<const PolicyVariant> policy_variants() {
  return kVariants;
}

Result<const PolicyVariant*> find_policy(std::string_view name) {
  const auto* found = std::ranges::find(kVariants, name, &PolicyVariant::name);
  if (found != kVariants.end()) {
    return found;
  }
  std::vector<std::string> names;
  for (const PolicyVariant& variant : kVariants) {
    names.emplace_back(variant.name);
  }
  const std::vector<std::string> near = nearest_names(name, names, 3);
  return Error{ErrorCode::kNotFound,
               fmt::format("no policy is named {}; {}{}",
                           quoted_for_message(name),
                           near.empty() ? "there are " : "near it: ",
                           joined_with_and(near.empty() ? names : near))};
}

}  // namespace septule::sched
