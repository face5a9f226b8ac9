#include "serve/fleet_pricing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace septule::serve {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

FleetTenant tenant_of(SizeTable<double> throughput, double rate) {
  FleetTenant tenant;
  tenant.name = "t";
  tenant.rate_rps = rate;
  tenant.throughput = throughput;
  return tenant;
}

WorkBudget plenty() {
  return WorkBudget(1000000000);
}

/// Every count up to `most` of three sizes tried.
double cheapest_of_all(const FleetTenant& tenant,
                       const CoverPrices& prices,
                       const CountLimits& limits) {
  double best = kInfinite;
  SizeTable<int> n{};
  for (n[0] = limits.least[0]; n[0] <= std::min(12, limits.most[0]); ++n[0]) {
    for (n[1] = limits.least[1]; n[1] <= std::min(12, limits.most[1]); ++n[1]) {
      for (n[2] = limits.least[2]; n[2] <= std::min(12, limits.most[2]); ++n[2]) {
        double cost = 0;
        for (std::size_t s = 0; s < 3; ++s) {
          cost += prices.instance[s] * n[s];
        }
        const double left = tenant.rate_rps - capacity_of(tenant, n);
        if (covers_rate(tenant, n)) {
          best = std::min(best, cost);
        } else if (prices.shortfall.has_value()) {
          best = std::min(best, cost + *prices.shortfall * left);
        }
      }
    }
  }
  return best;
}

TEST(CheapestCover, ThreeSizes_AsEveryCountTried) {
  // With and without limits and paid shortfall, the cost is that of trying all counts.
  Rng rng(3);
  for (int round = 0; round < 3000; ++round) {
    SCOPED_TRACE(round);
    FleetTenant tenant;
    CoverPrices prices;
    CountLimits limits;
    for (std::size_t s = 0; s < 3; ++s) {
      tenant.throughput[s] = rng.chance(1, 5) ? 0 : 1 + static_cast<double>(rng.below(9));
      prices.instance[s] = static_cast<double>(rng.below(8));
      if (rng.chance(1, 3)) {
        limits.least[s] = tenant.throughput[s] > 0 ? static_cast<int>(rng.below(3)) : 0;
        limits.most[s] = limits.least[s] + static_cast<int>(rng.below(3));
      }
    }
    tenant.rate_rps = 0.5 + static_cast<double>(rng.below(10));
    if (rng.chance(1, 2)) {
      prices.shortfall = static_cast<double>(rng.below(30)) / 10;
    }
    WorkBudget budget = plenty();
    const CheapestCover found = cheapest_cover(tenant, prices, limits, budget);
    const double best = cheapest_of_all(tenant, prices, limits);
    ASSERT_EQ(found.cover.has_value(), best < kInfinite);
    if (best == kInfinite) {
      EXPECT_EQ(found.bound, kInfinite);
      continue;
    }
    EXPECT_NEAR(found.cover->cost, best, 1e-7);
    EXPECT_NEAR(found.bound, best, 1e-7);
    EXPECT_TRUE(limits.holds(found.cover->counts));
    EXPECT_TRUE(prices.shortfall.has_value() || covers_rate(tenant, found.cover->counts));
  }
}

TEST(CheapestCover, DecimalFractions_CoverExactly) {
  // Three times 0.1 serve 0.3 though the sum of the doubles is another number.
  const FleetTenant tenant = tenant_of({0.1}, 0.3);
  EXPECT_TRUE(covers_rate(tenant, {3}));
  EXPECT_FALSE(covers_rate(tenant, {2}));
  WorkBudget budget = plenty();
  const CheapestCover found = cheapest_cover(tenant, {.instance = {1}}, {}, budget);
  ASSERT_TRUE(found.cover.has_value());
  EXPECT_EQ(found.cover->counts[0], 3);
}

TEST(CheapestCover, SpentBudget_CoverAndTrueBound) {
  // Without work left there is still a cover, and the bound is not above the optimum.
  const FleetTenant tenant = tenant_of({10.1, 20.7, 31.3, 41.9, 73.3}, 3001);
  const CoverPrices prices{.instance = {1, 2, 3, 4, 7}};
  WorkBudget enough = plenty();
  const CheapestCover best = cheapest_cover(tenant, prices, {}, enough);
  for (const std::int64_t units : {0, 1, 5, 20, 100}) {
    WorkBudget budget(units);
    const CheapestCover found = cheapest_cover(tenant, prices, {}, budget);
    ASSERT_TRUE(found.cover.has_value());
    EXPECT_TRUE(covers_rate(tenant, found.cover->counts));
    EXPECT_GE(found.cover->cost, best.cover->cost - 1e-9);
    EXPECT_LE(found.bound, best.cover->cost + 1e-9);
  }
}

TEST(CheapestCover, CrossedLimits_NoCover) {
  // Limits that allow nothing are no cover at all, not an error.
  CountLimits limits;
  limits.least[0] = 2;
  limits.most[0] = 1;
  WorkBudget budget = plenty();
  const CheapestCover found = cheapest_cover(tenant_of({5}, 4), {.instance = {1}}, limits, budget);
  EXPECT_FALSE(found.cover.has_value());
  EXPECT_EQ(found.bound, kInfinite);
}

}  // namespace
}  // namespace septule::serve
