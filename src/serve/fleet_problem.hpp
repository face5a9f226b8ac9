#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/layout_lattice.hpp"

namespace septule::serve {

// Many equal GPUs at one moment (serving.md 2.6): how many GPUs have which layout, how many
// instances of which size each tenant gets. No GPU has a number here; mapping to physical GPUs is
// fleet_mapping.hpp's.

/// A tenant of a fleet: what it needs and what an instance gives it.
struct FleetTenant {
  std::string name;
  double rate_rps = 0;  ///< to be served, > 0
  double weight = 1;
  double accuracy = 1;
  SizeTable<double> throughput{};  ///< of one instance, within the SLO; 0 = not on this size
};

/// What to plan. A plain value; the lattice outlives it.
struct FleetProblem {
  const LayoutLattice* lattice = nullptr;
  std::vector<FleetTenant> tenants;
  std::optional<int> gpu_count;  ///< what there is; nothing = as many as needed
};

/// So many GPUs with these instances.
struct LayoutCount {
  int multiset = 0;  ///< index into LayoutLattice::multisets()
  int gpus = 0;
};

/// A plan. Instances that no tenant needs are not listed: the layouts may hold more than is used.
struct FleetPlan {
  std::vector<LayoutCount> layouts;       ///< by multiset, counts > 0
  std::vector<SizeTable<int>> instances;  ///< by tenant
  std::vector<double> served_rps;         ///< by tenant, at most its rate
  int gpus = 0;
  int gpcs = 0;            ///< compute slices of the instances given to tenants
  double goodput_rps = 0;  ///< sum of weight * accuracy * served
  /// min_gpus: no plan uses fewer GPUs / fewer GPCs with so few GPUs. max_goodput: no plan has more
  /// goodput. Whole numbers for GPUs and GPCs.
  int gpus_bound = 0;
  int gpcs_bound = 0;
  double goodput_bound = 0;
  bool is_optimal = false;  ///< every bound that applies is reached
  std::string_view method;  ///< "cbc", "column-generation", ...; static lifetime
  std::int64_t units_spent = 0;
};

}  // namespace septule::serve
