#include "serve/policy_registry.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "serve/migrator_mode.hpp"
#include "serve/policies/astraea.hpp"
#include "serve/policies/ekya.hpp"
#include "serve/policies/oracle_static.hpp"
#include "serve/policies/paris.hpp"
#include "serve/policies/parvagpu_policy.hpp"
#include "serve/policies/static_best.hpp"
#include "serve/reactive_greedy.hpp"
#include "serve/rolling_horizon.hpp"

namespace septule::serve {

namespace {

// One row per name. Factories are declared in the header of their policy.
constexpr auto kVariants = std::to_array<ServingPolicyVariant>({
    {.name = "septule",
     .summary = "plans the coming minutes exactly, again and again, for forecast rates",
     .options = septule_serving_options,
     .make = make_septule_serving},
    {.name = "septule-oracle",
     .summary = "septule that knows the rates to come",
     .foresight = Foresight::kTrueRates,
     .options = septule_serving_options,
     .make = make_septule_oracle},
    {.name = "migrator",
     .summary = "MIGrator mode (reconstruction): one plan for each 200 s, 6 s warm-ups, no MPS",
     .options = migrator_options,
     .make = make_migrator},
    {.name = "reactive-greedy",
     .summary = "one best move every 5 s for the rates of the last 10 s, no forecast",
     .options = reactive_greedy_options,
     .make = make_reactive_greedy},
    {.name = "ekya-like",
     .summary = "our emulation of Ekya: thief scheduler over MPS shares, per window",
     .options = ekya_like_options,
     .make = make_ekya_like},
    {.name = "astraea-like",
     .summary = "our emulation of Astraea: MPS shares for the load, retraining gets the rest",
     .options = astraea_like_options,
     .make = make_astraea_like},
    {.name = "paris-like",
     .summary = "our emulation of PARIS and ELSA: one layout per window for the mix of batches",
     .options = paris_like_options,
     .make = make_paris_like},
    {.name = "parvagpu",
     .summary = "ParvaGPU's deployment for the mean rates, made once",
     .options = parvagpu_options,
     .make = make_parvagpu},
    {.name = "static-best",
     .summary = "the best labelled layout in hindsight, which never moves",
     .foresight = Foresight::kTrueRates,
     .make = make_static_best},
    {.name = "oracle-static",
     .summary = "the best labelled layout of each window in hindsight, at normal costs",
     .foresight = Foresight::kTrueRates,
     .options = oracle_static_options,
     .make = make_oracle_static},
});

Status check_setup(const ServingPolicyVariant& variant, const ServingSetup& setup) {
  if (setup.lattice == nullptr || setup.tenants.empty()) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("policy {} needs a GPU model and at least one tenant", variant.name)};
  }
  if (setup.gpu_count < 1 || setup.gpu_count > 100000) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("policy {}: {} GPUs; valid is 1 to 100000", variant.name, setup.gpu_count)};
  }
  if (variant.foresight == Foresight::kTrueRates &&
      setup.true_rates.size() != setup.tenants.size()) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("policy {} needs the rates as they will be of {} tenants, and {} are given",
                    variant.name,
                    setup.tenants.size(),
                    setup.true_rates.size())};
  }
  return {};
}

Status check_options(const ServingPolicyVariant& variant, const PolicyOptions& options) {
  const std::vector<OptionRecord> records =
      variant.options == nullptr ? std::vector<OptionRecord>() : variant.options();
  std::vector<std::string> names;
  for (const OptionRecord& record : records) {
    names.push_back(record.name);
  }
  for (const auto& [name, value] : options.all()) {
    const auto record = std::ranges::find(records, name, &OptionRecord::name);
    if (record == records.end()) {
      return Error{ErrorCode::kUsage,
                   fmt::format("policy {} has no option {}; {}",
                               variant.name,
                               quoted_for_message(name),
                               names.empty() ? "it has none" : "it has " + joined_with_and(names))};
    }
    if (const Status status = check_option(*record, value); !status.is_ok()) {
      return Error{status.error().code,
                   fmt::format("policy {}: {}", variant.name, status.error().message)};
    }
  }
  return {};
}

}  // namespace

std::span<const ServingPolicyVariant> serving_policy_variants() {
  return kVariants;
}

Result<const ServingPolicyVariant*> find_serving_policy(std::string_view name) {
  std::vector<std::string> names;
  for (const ServingPolicyVariant& variant : kVariants) {
    if (variant.name == name) {
      return &variant;
    }
    names.emplace_back(variant.name);
  }
  const std::vector<std::string> near = nearest_names(name, names, 2);
  return Error{
      ErrorCode::kNotFound,
      fmt::format("there is no serving policy {}; {}",
                  quoted_for_message(name),
                  near.empty() ? "there are " + joined_with_and(names)
                               : fmt::format("did you mean {}?", fmt::join(near, " or ")))};
}

Result<std::unique_ptr<ServingPolicy>> make_serving_policy(std::string_view name,
                                                           const ServingSetup& setup) {
  SEPTULE_TRY(const ServingPolicyVariant* variant, find_serving_policy(name));
  if (const Status status = check_setup(*variant, setup); !status.is_ok()) {
    return status.error();
  }
  if (const Status status = check_options(*variant, setup.options); !status.is_ok()) {
    return status.error();
  }
  return variant->make(setup);
}

}  // namespace septule::serve
