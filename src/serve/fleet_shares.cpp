#include "serve/fleet_shares.hpp"

#include <algorithm>
#include <numeric>

#include "serve/fleet_mapping.hpp"
#include "serve/fleet_plan.hpp"

namespace septule::serve {

namespace {

/// Rates below are planned as this: a fleet plan wants something to serve.
constexpr double kRateMin = 1e-3;

std::optional<FleetPlan> fleet_plan(const HoldingContext& context,
                                    std::span<const double> rates_rps,
                                    int gpu_count,
                                    std::int64_t units_max) {
  FleetProblem problem{.lattice = context.lattice, .gpu_count = gpu_count};
  const FleetOptions options{.units_max = units_max, .goodput_gap = 1e-3};
  for (const AdmittedTenant& admitted : context.tenants) {
    FleetTenant& tenant =
        problem.tenants.emplace_back(FleetTenant{.name = admitted.tenant.name,
                                                 .weight = admitted.tenant.weight,
                                                 .accuracy = admitted.tenant.accuracy});
    for (std::size_t s = 0; s < context.lattice->sizes().size(); ++s) {
      tenant.throughput[s] = admitted.throughput_rps(static_cast<int>(s));
    }
  }
  for (const double factor : {2.0, 1.75, 1.5, 1.25, 1.0}) {
    for (std::size_t m = 0; m < rates_rps.size(); ++m) {
      problem.tenants[m].rate_rps = std::max(kRateMin, factor * rates_rps[m]);
    }
    if (Result<FleetPlan> plan = plan_min_gpus(problem, options)) {
      return std::move(*plan);
    }
  }
  Result<FleetPlan> plan = plan_max_goodput(problem, options);
  return plan ? std::optional(std::move(*plan)) : std::nullopt;
}

}  // namespace

std::optional<ShareTable> fleet_shares(const HoldingContext& context,
                                       std::span<const double> rates_rps,
                                       std::span<const GpuHoldings> current,
                                       const FleetShareOptions& options) {
  const auto gpu_count = static_cast<int>(current.size());
  const std::optional<FleetPlan> plan =
      fleet_plan(context, rates_rps, gpu_count, options.units_max);
  if (!plan) {
    return std::nullopt;
  }
  const Result<FleetMapping> mapping = map_fleet(*context.lattice, *plan, current);
  if (!mapping) {
    return std::nullopt;
  }
  ShareTable shares(rates_rps.size(), std::vector<double>(current.size(), 0.0));
  std::vector<int> tenants_on(current.size(), 0);
  for (std::size_t g = 0; g < current.size(); ++g) {
    for (const Holding& holding : mapping->gpus[g]) {
      double& share = shares[static_cast<std::size_t>(holding.tenant)][g];
      tenants_on[g] += share > 0 ? 0 : 1;
      share += context.throughput_rps(holding);
    }
  }
  for (std::vector<double>& row : shares) {
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    if (sum <= 0) {
      const auto home = std::ranges::min_element(tenants_on) - tenants_on.begin();
      ++tenants_on[static_cast<std::size_t>(home)];
      row[static_cast<std::size_t>(home)] = 1;
      continue;
    }
    for (double& share : row) {
      share /= sum;
    }
  }
  const bool is_followable =
      std::ranges::all_of(tenants_on, [&](int count) { return count <= options.tenants_max; });
  return is_followable ? std::optional(std::move(shares)) : std::nullopt;
}

}  // namespace septule::serve
