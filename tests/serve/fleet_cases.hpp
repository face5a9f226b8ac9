#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "serve/fleet_problem.hpp"
#include "serve/gpu_holding.hpp"
#include "serve/lattice_support.hpp"

namespace septule::serve::test {

/// A fleet in force and a plan for it.
struct FleetCase {
  const LayoutLattice* lattice = nullptr;
  std::vector<GpuHoldings> current;
  FleetPlan plan;
  std::vector<SizeTable<double>> throughput;  ///< by tenant
};

struct FleetCaseOptions {
  int gpus = 3;
  int spare = 0;  ///< further GPUs, empty before and unused after
  int tenants = 3;
  int moved = 0;  ///< the plan is what is in force with so many instances given another tenant and
                  ///< so many GPUs another layout; 0 = nothing in common
};

inline GpuHoldings draw_holdings(const LayoutLattice& lattice, Rng& rng, int tenants) {
  GpuHoldings holdings;
  const auto sets = lattice.placed_sets();
  const std::uint32_t set = sets[static_cast<std::size_t>(rng.below(sets.size()))].placements;
  for (int placement = 0; std::cmp_less(placement, lattice.placements().size()); ++placement) {
    if ((set >> static_cast<unsigned>(placement) & 1U) != 0) {
      const auto tenant = static_cast<int>(rng.below(static_cast<std::uint64_t>(tenants)));
      holdings.push_back({.placement = placement, .tenant = tenant, .since = {}});
    }
  }
  return holdings;
}

inline int multiset_of(const LayoutLattice& lattice, const GpuHoldings& holdings) {
  const auto sets = lattice.placed_sets();
  const int index = checked_value(lattice.find_set(placement_bits(holdings)), "a legal layout");
  return sets[static_cast<std::size_t>(index)].multiset;
}

/// A plan that deployments like `goal` come from.
inline FleetPlan plan_of(const LayoutLattice& lattice,
                         const std::vector<GpuHoldings>& goal,
                         int tenants) {
  FleetPlan plan;
  plan.instances.resize(static_cast<std::size_t>(tenants));
  std::map<int, int> counts;
  for (const GpuHoldings& holdings : goal) {
    if (holdings.empty()) {
      continue;
    }
    ++counts[multiset_of(lattice, holdings)];
    ++plan.gpus;
    for (const Holding& holding : holdings) {
      const int size = lattice.placements()[static_cast<std::size_t>(holding.placement)].size;
      ++plan.instances[static_cast<std::size_t>(holding.tenant)][static_cast<std::size_t>(size)];
    }
  }
  for (const auto& [multiset, gpus] : counts) {
    plan.layouts.push_back({multiset, gpus});
  }
  return plan;
}

inline FleetCase draw_fleet(const LayoutLattice& lattice,
                            std::uint64_t seed,
                            const FleetCaseOptions& options) {
  Rng rng = Rng(seed).stream("fleet-case");
  FleetCase drawn{.lattice = &lattice};
  std::vector<GpuHoldings> goal;
  for (int gpu = 0; gpu < options.gpus; ++gpu) {
    drawn.current.push_back(draw_holdings(lattice, rng, options.tenants));
    goal.push_back(options.moved > 0 ? drawn.current.back()
                                     : draw_holdings(lattice, rng, options.tenants));
  }
  for (int move = 0; move < options.moved; ++move) {
    goal[static_cast<std::size_t>(rng.below(goal.size()))] =
        draw_holdings(lattice, rng, options.tenants);
    GpuHoldings& other = goal[static_cast<std::size_t>(rng.below(goal.size()))];
    if (!other.empty()) {
      other[static_cast<std::size_t>(rng.below(other.size()))].tenant =
          static_cast<int>(rng.below(static_cast<std::uint64_t>(options.tenants)));
    }
  }
  drawn.plan = plan_of(lattice, goal, options.tenants);
  drawn.current.resize(drawn.current.size() + static_cast<std::size_t>(options.spare));
  for (int tenant = 0; tenant < options.tenants; ++tenant) {
    SizeTable<double>& rates = drawn.throughput.emplace_back();
    for (std::size_t size = 0; size < lattice.sizes().size(); ++size) {
      rates[size] = (20 + 10 * rng.uniform()) * lattice.sizes()[size].slices.value();
    }
  }
  return drawn;
}

inline std::vector<double> capacity_of(const FleetCase& drawn,
                                       const std::vector<GpuHoldings>& gpus) {
  std::vector<double> sum(drawn.throughput.size(), 0);
  for (const GpuHoldings& holdings : gpus) {
    for (const Holding& holding : holdings) {
      const int size =
          drawn.lattice->placements()[static_cast<std::size_t>(holding.placement)].size;
      sum[static_cast<std::size_t>(holding.tenant)] +=
          drawn
              .throughput[static_cast<std::size_t>(holding.tenant)][static_cast<std::size_t>(size)];
    }
  }
  return sum;
}

}  // namespace septule::serve::test
