#include "serve/tenant_shares.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "serve/lattice_support.hpp"
#include "serve/serving_tenants.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::admitted_tenant;

std::vector<AdmittedTenant> equal_tenants(std::size_t count) {
  return std::vector<AdmittedTenant>(count, admitted_tenant({}, a100()));
}

TEST(TenantShares, Dealt_AnyRates_AddUpAndHaveNoSmallPieces) {
  // Aim: over seeds each tenant's shares add up to 1, silent tenants have a place too, and
  // tenants_of says the same as share.
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    const int gpus = 1 + static_cast<int>(rng.below(5));
    const std::vector<AdmittedTenant> tenants = equal_tenants(1 + rng.below(6));
    std::vector<double> rates;
    for (std::size_t m = 0; m < tenants.size(); ++m) {
      rates.push_back(rng.chance(1, 4) ? 0 : 100 * rng.uniform());
    }
    TenantShares shares({.lattice = &a100(), .tenants = tenants}, gpus, 0.1);
    shares.deal(rates);
    for (std::size_t m = 0; m < tenants.size(); ++m) {
      double sum = 0;
      for (int g = 0; g < gpus; ++g) {
        const double share = shares.share(static_cast<int>(m), static_cast<std::size_t>(g));
        const std::vector<int> there = shares.tenants_of(static_cast<std::size_t>(g));
        EXPECT_GE(share, 0);
        EXPECT_EQ(std::ranges::count(there, static_cast<int>(m)), share > 0 ? 1 : 0);
        sum += share;
      }
      EXPECT_NEAR(sum, 1, 1e-9) << "seed " << seed << ", tenant " << m;
    }
  }
}

TEST(TenantShares, EqualTenants_OneGpuEach) {
  // Aim: three equal tenants on three GPUs have one each, in order.
  const std::vector<AdmittedTenant> tenants = equal_tenants(3);
  TenantShares shares({.lattice = &a100(), .tenants = tenants}, 3, 0.1);
  shares.deal(std::vector<double>{50, 50, 50});
  for (int m = 0; m < 3; ++m) {
    EXPECT_EQ(shares.tenants_of(static_cast<std::size_t>(m)), std::vector<int>{m});
  }
}

TEST(TenantShares, SmallChange_LeavesAllWhereItIs) {
  // Aim: dealt anew only beyond the change allowed; a single GPU is dealt once.
  const std::vector<AdmittedTenant> tenants = equal_tenants(2);
  TenantShares shares({.lattice = &a100(), .tenants = tenants}, 2, 0.2);
  EXPECT_EQ(shares.deal(std::vector<double>{50, 50}), TenantShares::Dealt::kAnew);
  EXPECT_EQ(shares.deal(std::vector<double>{54, 48}), TenantShares::Dealt::kAsBefore);
  EXPECT_FALSE(shares.is_due(std::vector<double>{54, 48}));
  EXPECT_EQ(shares.deal(std::vector<double>{90, 10}), TenantShares::Dealt::kAnew);
  EXPECT_EQ(shares.tenants_of(1), (std::vector<int>{0, 1}));

  TenantShares single({.lattice = &a100(), .tenants = tenants}, 1, 0.2);
  single.deal(std::vector<double>{50, 50});
  EXPECT_FALSE(single.is_due(std::vector<double>{500, 1}));
}

TEST(TenantShares, Taken_CountAsDealtForTheirRates) {
  // Aim: shares found otherwise stand until rates change.
  const std::vector<AdmittedTenant> tenants = equal_tenants(2);
  TenantShares shares({.lattice = &a100(), .tenants = tenants}, 2, 0.2);
  shares.take({{0, 1}, {0.5, 0.5}}, std::vector<double>{50, 50});
  EXPECT_EQ(shares.deal(std::vector<double>{50, 50}), TenantShares::Dealt::kAsBefore);
  EXPECT_EQ(shares.share(0, 1), 1);
  EXPECT_EQ(shares.tenants_of(0), std::vector<int>{1});
}

}  // namespace
}  // namespace septule::serve
