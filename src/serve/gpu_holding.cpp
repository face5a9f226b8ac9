#include "serve/gpu_holding.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "serve/indices.hpp"

namespace septule::serve {

namespace {

const Holding* find_same_use(const GpuHoldings& holdings, const Holding& wanted) {
  const auto found = std::ranges::find_if(
      holdings, [&](const Holding& holding) { return holding.is_same_use(wanted); });
  return found == holdings.end() ? nullptr : &*found;
}

std::optional<Holding> holding_of(const HoldingContext& context,
                                  const ServingInstance& instance,
                                  SimTime now) {
  if (!instance.placed || instance.occupants.size() != 1) {
    return std::nullopt;
  }
  const std::optional<int> placement = context.lattice->find_placement(*instance.placed);
  if (!placement) {
    return std::nullopt;
  }
  const Occupant& occupant = instance.occupants.front();
  return Holding{
      .placement = *placement, .tenant = occupant.tenant, .role = occupant.role, .since = now};
}

ServingInstance instance_of(const HoldingContext& context, const Holding& holding) {
  const auto& place = context.lattice->placements()[static_cast<std::size_t>(holding.placement)];
  Occupant occupant{.tenant = holding.tenant, .role = holding.role};
  if (holding.role == Role::kServe) {
    const auto& admitted = context.tenants[static_cast<std::size_t>(holding.tenant)];
    const OperatingPoint point =
        checked_value(admitted.serving[static_cast<std::size_t>(place.size)],
                      "a tenant serves only on sizes for which it has an operating point");
    occupant.batch = point.batch;
    occupant.processes = point.processes;
    occupant.share = point.share;
  }
  return {.placed = place.placed, .occupants = {occupant}};
}

}  // namespace

int HoldingContext::size_of(const Holding& holding) const {
  return lattice->placements()[static_cast<std::size_t>(holding.placement)].size;
}

double HoldingContext::throughput_rps(const Holding& holding) const {
  return holding.role == Role::kServe
             ? tenants[static_cast<std::size_t>(holding.tenant)].throughput_rps(size_of(holding))
             : 0.0;
}

Duration HoldingContext::warm_up(int tenant, WarmUpQuantile quantile) const {
  return warm_up_of(tenants[static_cast<std::size_t>(tenant)].tenant.warm_up, quantile);
}

std::uint32_t placement_bits(const GpuHoldings& holdings) {
  std::uint32_t bits = 0;
  for (const Holding& holding : holdings) {
    bits |= bit(holding.placement);
  }
  return bits;
}

void insert_holding(GpuHoldings& holdings, const Holding& holding) {
  const auto at = std::ranges::lower_bound(holdings, holding.placement, {}, &Holding::placement);
  holdings.insert(at, holding);
}

GpuHoldings continued(const GpuHoldings& before, GpuHoldings wanted, SimTime now) {
  for (Holding& holding : wanted) {
    const Holding* same = find_same_use(before, holding);
    holding.since = same == nullptr ? now : same->since;
  }
  return wanted;
}

std::vector<GpuHoldings> adopted(const HoldingContext& context,
                                 const Deployment& current,
                                 std::span<const GpuHoldings> before,
                                 SimTime now) {
  std::vector<GpuHoldings> gpus(before.size());
  const std::size_t count = std::min(before.size(), current.gpus.size());
  for (std::size_t gpu = 0; gpu < count; ++gpu) {
    GpuHoldings found;
    for (const ServingInstance& instance : current.gpus[gpu].instances) {
      if (const std::optional<Holding> holding = holding_of(context, instance, now)) {
        insert_holding(found, *holding);
      }
    }
    gpus[gpu] = continued(before[gpu], std::move(found), now);
  }
  return gpus;
}

Deployment to_deployment(const HoldingContext& context, std::span<const GpuHoldings> gpus) {
  Deployment deployment;
  for (const GpuHoldings& holdings : gpus) {
    GpuDeployment& gpu = deployment.gpus.emplace_back();
    for (const Holding& holding : holdings) {
      gpu.instances.push_back(instance_of(context, holding));
    }
    std::ranges::sort(gpu.instances, {}, [](const ServingInstance& instance) {
      return std::pair(instance.placed->start, instance.placed->profile);
    });
  }
  return deployment;
}

bool is_same_use(const GpuHoldings& one, const GpuHoldings& other) {
  return std::ranges::equal(
      one, other, [](const Holding& a, const Holding& b) { return a.is_same_use(b); });
}

}  // namespace septule::serve
