#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/admission.hpp"
#include "serve/layout_lattice.hpp"
#include "serve/tenant.hpp"

namespace septule::serve {

/// Options of one policy as text by name, as a command line or a study file gives them. Which names
/// exist and what they may be: ServingPolicyVariant::options. Sorted by name; a value.
class PolicyOptions {
 public:
  /// The last value of a name counts.
  void set(std::string_view name, std::string_view value);
  /// Nothing given = `fallback`. The text has been checked to be a number by make_serving_policy.
  double number(std::string_view name, double fallback) const;
  std::string_view text(std::string_view name, std::string_view fallback) const;
  std::span<const std::pair<std::string, std::string>> all() const { return values_; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

/// What serving policies are made with. Pointers and spans outlive the policy.
struct ServingSetup {
  const LayoutLattice* lattice = nullptr;
  std::span<const AdmittedTenant> tenants;
  int gpu_count = 1;   ///< of the lattice's model
  AdmissionRule rule;  ///< that `tenants` were admitted by, for policies that admit anew (no MPS)
  /// What policies other than oracles forecast with: a name of forecasters.hpp. Every policy of a
  /// comparison gets the same.
  std::string forecaster = "ewma-trend";
  /// Rates as they will be, by tenant, for oracles (hindsight policies and the forecaster
  /// "oracle"); empty = there are none, and those policies cannot be made.
  std::span<const RateSeries> true_rates;
  /// For how long; needed by policies that plan in hindsight (static best, oracle static).
  Duration span;
  std::uint64_t seed = 0;
  PolicyOptions options;
};

}  // namespace septule::serve
