#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "serve/serving_policy.hpp"
#include "serve/serving_setup.hpp"

namespace septule::serve {

/// Whether a policy reads ServingSetup::true_rates.
enum class Foresight { kNone, kTrueRates };

/// A serving policy by name, as `serve compare --policies` lists it. Each make function is declared
/// in the header of its policy; the table is in policy_registry.cpp.
struct ServingPolicyVariant {
  std::string_view name;     ///< "ekya-like"
  std::string_view summary;  ///< half a line
  Foresight foresight = Foresight::kNone;
  std::vector<OptionRecord> (*options)() = nullptr;  ///< null = it has none
  Result<std::unique_ptr<ServingPolicy>> (*make)(const ServingSetup& setup) = nullptr;
};
/// In the order of the documentation.
std::span<const ServingPolicyVariant> serving_policy_variants();
/// kNotFound, naming near names.
Result<const ServingPolicyVariant*> find_serving_policy(std::string_view name);

/// The policy of this name. Checks what all of them need (lattice, tenants, GPUs, oracles' rates)
/// and the options against their records: kUsage for an unknown option or a value out of range,
/// kInvalidInput for the rest.
Result<std::unique_ptr<ServingPolicy>> make_serving_policy(std::string_view name,
                                                           const ServingSetup& setup);

}  // namespace septule::serve
