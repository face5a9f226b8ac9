#include "sched/policy_registry.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"
#include "sched/policies/hierarchical.hpp"
#include "sched/policies/miso.hpp"
#include "sched/policies/mps_only.hpp"
#include "sched/policies/nopart.hpp"
#include "sched/policies/optsta.hpp"
#include "sched/policies/oracle.hpp"
#include "sched/policies/septule.hpp"

namespace septule::sched {

namespace {

// One row per name. Factories are declared in the header of their policy.
constexpr auto kVariants = std::to_array<PolicyVariant>({
    {.name = "nopart",
     .summary = "one job per whole GPU, first come first served",
     .begins_whole = true,
     .make = make_nopart},
    {.name = "optsta",
     .summary = "one static layout on all GPUs, chosen on other seeds",
     .needs_layout = true,
     .make = make_optsta},
    {.name = "optsta-promote",
     .summary = "optsta; running jobs move up to larger idle instances",
     .needs_layout = true,
     .make = make_optsta_promote},
    {.name = "optsta-on-trace",
     .summary = "optsta with the layout chosen on the evaluated trace itself",
     .needs_layout = true,
     .make = make_optsta_on_trace},
    {.name = "mps-only",
     .summary = "up to 3 jobs share a GPU by MPS at 33 %, spread by load",
     .make = make_mps_only},
    {.name = "mps-only-pack",
     .summary = "up to 3 jobs share a GPU by MPS at 33 %, first GPU with room",
     .make = make_mps_only_pack},
    {.name = "miso",
     .summary = "MISO: measures jobs together by MPS, then cuts the GPU for them",
     .has_error = true,
     .make = make_miso},
    {.name = "miso-wide",
     .summary = "miso with all layouts, 4g beside 3g and idle instances too",
     .has_error = true,
     .make = make_miso_wide},
    {.name = "oracle",
     .summary = "miso that knows all speeds and measures nothing",
     .knowledge = predict::Knowledge::kEverything,
     .make = make_oracle},
    {.name = "oracle-free",
     .summary = "oracle without costs of checkpoints, re-cuts and restarts",
     .knowledge = predict::Knowledge::kEverything,
     .is_free = true,
     .make = make_oracle_free},
    {.name = "oracle-wide",
     .summary = "oracle with all layouts, 4g beside 3g and idle instances too",
     .knowledge = predict::Knowledge::kEverything,
     .make = make_oracle_wide},
    {.name = "oracle-wide-free",
     .summary = "oracle-wide without costs of checkpoints, re-cuts and restarts",
     .knowledge = predict::Knowledge::kEverything,
     .is_free = true,
     .make = make_oracle_wide_free},
    {.name = "septule",
     .summary =
         "moves priced against gains, unknown jobs characterised once, crowded GPUs relieved",
     .knowledge = predict::Knowledge::kPerSignature,
     .has_error = true,
     .make = make_septule},
    {.name = "septule-fair",
     .summary = "septule that shares proportionally, more for jobs slowed down most",
     .knowledge = predict::Knowledge::kPerSignature,
     .has_error = true,
     .make = make_septule_fair},
    {.name = "hierarchical",
     .summary = "septule; a congested queue is planned in windows, MPS inside MIG instances",
     .knowledge = predict::Knowledge::kPerSignature,
     .has_error = true,
     .make = make_hierarchical},
    {.name = "hierarchical-rl",
     .summary = "hierarchical with windows planned by the learned agent",
     .knowledge = predict::Knowledge::kPerSignature,
     .has_error = true,
     .make = make_hierarchical_rl},
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
