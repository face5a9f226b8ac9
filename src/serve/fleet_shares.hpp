#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "serve/gpu_holding.hpp"

namespace septule::serve {

/// Which GPUs serve which tenant, and how much of its load each: by tenant, then GPU; rows add up
/// to 1.
using ShareTable = std::vector<std::vector<double>>;

/// Limits of fleet_shares(); both > 0.
struct FleetShareOptions {
  std::int64_t units_max = 20000;  ///< of each fleet plan (fleet_plan.hpp)
  int tenants_max = 5;  ///< on one GPU; plans with more are not used: the exact planner of one GPU
                        ///< could not follow
};

/// Shares by a fleet plan (serving.md 2.6, 2.7): the fewest GPUs for rates as much above those
/// given as the GPUs hold (by steps of a quarter, at most double), else the greatest goodput; laid
/// onto the GPUs with the fewest instances touched (fleet_mapping.hpp). A tenant's share on a GPU
/// is that of its instances there, by throughput. A tenant without an instance goes to the GPU with
/// the fewest tenants. Nothing where there is no plan or a GPU gets too many tenants:
/// tenant_shares.hpp deals then. Retraining instances are not moved by this: whoever runs there
/// keeps its place. `rates_rps` by tenant. Deterministic. Cost: at most five fleet plans.
std::optional<ShareTable> fleet_shares(const HoldingContext& context,
                                       std::span<const double> rates_rps,
                                       std::span<const GpuHoldings> current,
                                       const FleetShareOptions& options = {});

}  // namespace septule::serve
