#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "serve/admission.hpp"
#include "serve/deployment.hpp"
#include "serve/layout_lattice.hpp"
#include "serve/serving_policy.hpp"

namespace septule::serve {

/// An instance with one occupant, as policies of this layer that give each instance to one tenant
/// think of it. `placement` indexes LayoutLattice::placements().
struct Holding {
  int placement = 0;
  int tenant = 0;
  Role role = Role::kServe;
  SimTime since;  ///< when it was ordered

  bool is_same_use(const Holding& other) const {
    return placement == other.placement && tenant == other.tenant && role == other.role;
  }
};
/// Of one GPU, by placement.
using GpuHoldings = std::vector<Holding>;

/// What a policy of single-tenant instances knows all the time. The pointer and span outlive it.
struct HoldingContext {
  const LayoutLattice* lattice = nullptr;
  std::span<const AdmittedTenant> tenants;

  int size_of(const Holding& holding) const;
  /// What the instance answers within the SLO once ready; 0 for retraining.
  double throughput_rps(const Holding& holding) const;
  /// The tenant's warm-up at this quantile.
  Duration warm_up(int tenant, WarmUpQuantile quantile) const;
};

/// Placements occupied, as bits.
std::uint32_t placement_bits(const GpuHoldings& holdings);
/// Puts `holding` where it belongs.
void insert_holding(GpuHoldings& holdings, const Holding& holding);
/// The holdings of `wanted` with the times of those of `before` that they continue; the others
/// begin `now`.
GpuHoldings continued(const GpuHoldings& before, GpuHoldings wanted, SimTime now);

/// The deployment in force as holdings; times are those of `before` where the use is the same, else
/// `now`. Instances that several tenants share, or of no known placement, are left out: such a
/// policy replaces them.
std::vector<GpuHoldings> adopted(const HoldingContext& context,
                                 const Deployment& current,
                                 std::span<const GpuHoldings> before,
                                 SimTime now);
/// With the batch, processes and share of each tenant's operating point.
Deployment to_deployment(const HoldingContext& context, std::span<const GpuHoldings> gpus);
/// Whether both put the same uses in the same places.
bool is_same_use(const GpuHoldings& one, const GpuHoldings& other);

}  // namespace septule::serve
