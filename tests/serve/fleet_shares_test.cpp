#include "serve/fleet_shares.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "serve/lattice_support.hpp"
#include "serve/serving_tenants.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::admitted_tenant;

TEST(FleetShares, Shares_AnyRates_AddUpAndKeepGpusFollowable) {
  // Aim: over seeds each tenant's shares add up to 1 and no GPU has more tenants than allowed.
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    Rng rng(seed);
    const std::size_t gpus = 2 + static_cast<std::size_t>(rng.below(4));
    std::vector<AdmittedTenant> tenants;
    std::vector<double> rates;
    for (std::uint64_t m = 0; m < 1 + rng.below(6); ++m) {
      tenants.push_back(admitted_tenant({.per_slice_rps = 5 + 10 * rng.uniform()}, a100()));
      rates.push_back(rng.chance(1, 5) ? 0 : 100 * rng.uniform());
    }
    const std::vector<GpuHoldings> current(gpus);
    const auto shares =
        fleet_shares({.lattice = &a100(), .tenants = tenants}, rates, current, {.tenants_max = 4});
    if (!shares) {
      continue;
    }
    std::vector<int> on(gpus, 0);
    ASSERT_EQ(shares->size(), tenants.size());
    for (const std::vector<double>& row : *shares) {
      EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1, 1e-9);
      for (std::size_t g = 0; g < gpus; ++g) {
        EXPECT_GE(row[g], 0);
        on[g] += row[g] > 0 ? 1 : 0;
      }
    }
    for (const int count : on) {
      EXPECT_LE(count, 4) << "seed " << seed;
    }
  }
}

TEST(FleetShares, Shares_MoreThanFits_GivesEverybodyAPlace) {
  // Aim: where the rates exceed the GPUs there is a plan all the same, and equal calls are equal.
  const std::vector<AdmittedTenant> tenants(3, admitted_tenant({}, a100()));
  const HoldingContext context{.lattice = &a100(), .tenants = tenants};
  const std::vector<GpuHoldings> current(2);
  const std::vector<double> rates(3, 100.0);
  const auto shares = fleet_shares(context, rates, current);
  ASSERT_TRUE(shares.has_value());
  EXPECT_EQ(*shares, fleet_shares(context, rates, current).value_or(ShareTable()));
}

TEST(FleetShares, Shares_TooManyTenants_GivesNothing) {
  // Aim: a plan that one GPU's planner could not follow is not used.
  std::vector<AdmittedTenant> tenants(8, admitted_tenant({}, a100()));
  const std::vector<GpuHoldings> current(2);
  EXPECT_FALSE(fleet_shares({.lattice = &a100(), .tenants = tenants},
                            std::vector<double>(8, 5.0),
                            current,
                            {.tenants_max = 3})
                   .has_value());
}

}  // namespace
}  // namespace septule::serve
