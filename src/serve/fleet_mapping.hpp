#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "serve/fleet_problem.hpp"
#include "serve/gpu_holding.hpp"

namespace septule::serve {

/// A fleet plan on physical GPUs.
struct FleetMapping {
  std::vector<GpuHoldings> gpus;  ///< by GPU; instances that no tenant needs are not there
  std::vector<int> multisets;     ///< by GPU: its layout, an index into multisets(); -1 = unused
  int kept = 0;                   ///< instances that stay with their tenant
  int stopped = 0;                ///< instances in force that do not
  int started = 0;                ///< instances that are new, or another tenant's now
  int touched_bound = 0;          ///< no mapping of the plan stops and starts fewer in all

  int touched() const { return stopped + started; }
  bool is_optimal() const { return touched() == touched_bound; }
};

/// Gives each GPU of a fleet a layout of the plan and each tenant its instances so that as few
/// instances as possible are touched (serving.md 2.6 (i) and (ii)).
/// Assumes: equal GPUs; `current` as gpu_holding.hpp's adopted() gives it, one entry for each GPU;
/// tenants are numbered as in the plan, others leave. Retraining is not part of a fleet plan: such
/// instances go. Steps: layouts to GPUs by an exact assignment, a GPU being worth the instances
/// that stay where they are; a tenant that has more instances of a size than the plan gives it
/// counts by prices (subgradient of the Lagrangian, a few rounds, the best round is taken), whose
/// dual value is the bound; then pairs of GPUs exchange layouts as long as more stays. Then the
/// first residents up to what the plan gives stay, and what is
/// missing goes to free places: where nothing is in force first, then where an instance of the same
/// size only changes its tenant. Ties: lowest GPU, lowest placement, lowest tenant.
/// Source: ours. Cost: rounds x GPUs x placed layouts of the plan.
/// Fails with kBlocked if the plan has more GPUs than there are, kInvalidInput if its layouts do
/// not hold its instances or are unknown. Any thread.
Result<FleetMapping> map_fleet(const LayoutLattice& lattice,
                               const FleetPlan& plan,
                               std::span<const GpuHoldings> current);

}  // namespace septule::serve
