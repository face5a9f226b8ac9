#include "serve/policies/share_search.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace septule::serve {
namespace {

ShareTenant linear(double per_step, int steps, double expected) {
  ShareTenant tenant{.rate_rps = {}, .expected_rps = expected};
  for (int s = 0; s <= steps; ++s) {
    tenant.rate_rps.push_back(per_step * s);
  }
  return tenant;
}

TEST(ShareSearch, LinearRates_GiveTheClosedForm) {
  // Aim: with rate = a x share, kappa = grid / sum(expected / a): 20 / (4 + 6) = 2. The shares are
  // for 1.1 times the load only: ceil(4.4) and ceil(6.6).
  const std::vector<ShareTenant> tenants{linear(10, 20, 40), linear(10, 20, 60)};
  const ShareSearchResult found = search_shares(tenants, 20, 1.1);
  EXPECT_DOUBLE_EQ(found.kappa, 2);
  EXPECT_EQ(found.steps, (std::vector<int>{5, 7}));
  EXPECT_EQ(found.left_over, 8);
}

TEST(ShareSearch, TooMuchLoad_SharesForTheGreatestFactorBelowOne) {
  // Aim: 20 steps of 10/s for 100/s and 300/s: kappa 0.5, shares 5 and 15, nothing left over.
  const std::vector<ShareTenant> tenants{linear(10, 20, 100), linear(10, 20, 300)};
  const ShareSearchResult found = search_shares(tenants, 20, 1.1);
  EXPECT_DOUBLE_EQ(found.kappa, 0.5);
  EXPECT_EQ(found.steps, (std::vector<int>{5, 15}));
  EXPECT_EQ(found.left_over, 0);
}

TEST(ShareSearch, TenantThatNoShareServes_CountsForNothing) {
  // Aim: no operating point at any share leaves the GPU to the others.
  const std::vector<ShareTenant> tenants{linear(0, 10, 5), linear(10, 10, 50)};
  const ShareSearchResult found = search_shares(tenants, 10, 1.1);
  EXPECT_DOUBLE_EQ(found.kappa, 2);
  EXPECT_EQ(found.steps, (std::vector<int>{0, 6}));
}

TEST(ShareSearch, NobodyIsExpected_OneStepEach) {
  // Aim: without load kappa has no limit, and everybody stays deployed.
  const std::vector<ShareTenant> tenants{linear(10, 10, 0), linear(10, 10, 0)};
  const ShareSearchResult found = search_shares(tenants, 10, 1.1);
  EXPECT_TRUE(std::isinf(found.kappa));
  EXPECT_EQ(found.steps, (std::vector<int>{1, 1}));
  EXPECT_EQ(found.left_over, 8);
}

TEST(ShareSearch, MoreTenantsThanSteps_TheFirstOnesAreServed) {
  // Aim: what cannot fit does not break the grid.
  const std::vector<ShareTenant> tenants{linear(1, 2, 1), linear(1, 2, 1), linear(1, 2, 1)};
  const ShareSearchResult found = search_shares(tenants, 2, 1.1);
  EXPECT_EQ(found.kappa, 0);
  EXPECT_EQ(found.steps, (std::vector<int>{1, 1, 0}));
}

TEST(ShareSearch, RandomTables_KappaIsThatOfExhaustiveSearch) {
  // Aim: exact against every way to divide the grid; tables need not be monotone.
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    constexpr int kGrid = 8;
    std::vector<ShareTenant> tenants;
    for (int m = 0; m < 3; ++m) {
      tenants.push_back(linear(1 + 9 * rng.uniform(), kGrid, 1 + 40 * rng.uniform()));
      for (std::size_t s = 1; s <= kGrid; ++s) {
        tenants.back().rate_rps[s] *= 0.5 + rng.uniform();
      }
    }
    double best = 0;
    for (int a = 1; a <= kGrid; ++a) {
      for (int b = 1; a + b <= kGrid; ++b) {
        for (int c = 1; a + b + c <= kGrid; ++c) {
          const int shares[] = {a, b, c};
          double kappa = std::numeric_limits<double>::infinity();
          for (std::size_t m = 0; m < 3; ++m) {
            kappa = std::min(
                kappa,
                tenants[m].rate_rps[static_cast<std::size_t>(shares[m])] / tenants[m].expected_rps);
          }
          best = std::max(best, kappa);
        }
      }
    }
    const ShareSearchResult found = search_shares(tenants, kGrid, 1e9);
    EXPECT_DOUBLE_EQ(found.kappa, best) << seed;
    EXPECT_EQ(found.left_over, kGrid - std::accumulate(found.steps.begin(), found.steps.end(), 0));
  }
}

}  // namespace
}  // namespace septule::serve
