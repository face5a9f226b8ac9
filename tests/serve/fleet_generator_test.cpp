#include "serve/fleet_generator.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "serve/fleet_plan.hpp"
#include "serve/lattice_support.hpp"

namespace septule::serve {
namespace {

TEST(FleetGenerator, SameSeed_SameFleet) {
  // A seed means one fleet, and another seed another.
  const auto fleet = [](std::uint64_t seed) {
    return generate_fleet(test::a100(), {.tenant_count = 20, .load_mean = 1, .seed = seed});
  };
  const FleetProblem first = fleet(1);
  const FleetProblem again = fleet(1);
  const FleetProblem other = fleet(2);
  ASSERT_EQ(first.tenants.size(), 20U);
  int different = 0;
  for (std::size_t t = 0; t < 20; ++t) {
    EXPECT_EQ(first.tenants[t].name, again.tenants[t].name);
    EXPECT_EQ(first.tenants[t].rate_rps, again.tenants[t].rate_rps);
    EXPECT_EQ(first.tenants[t].throughput, again.tenants[t].throughput);
    different += first.tenants[t].rate_rps != other.tenants[t].rate_rps ? 1 : 0;
  }
  EXPECT_GT(different, 15);
}

TEST(FleetGenerator, Recipe_AsDescribed) {
  // Fleets are valid, the load is about what was asked for, and some tenants lack small sizes.
  const FleetProblem problem =
      generate_fleet(test::a100(), {.tenant_count = 2000, .load_mean = 1.5, .seed = 7});
  EXPECT_TRUE(validate(problem).is_ok());
  double load = 0;
  int lacking_one = 0;
  int lacking_two = 0;
  for (const FleetTenant& tenant : problem.tenants) {
    load += tenant.rate_rps / tenant.throughput[4];
    lacking_one += tenant.throughput[0] == 0 ? 1 : 0;
    lacking_two += tenant.throughput[1] == 0 ? 1 : 0;
    EXPECT_GT(tenant.throughput[4], 0);
    EXPECT_TRUE(std::ranges::is_sorted(tenant.throughput.begin(), tenant.throughput.begin() + 3));
  }
  EXPECT_NEAR(load / 2000, 1.5, 0.1);
  EXPECT_NEAR(lacking_one, 500, 60);
  EXPECT_NEAR(lacking_two, 200, 45);
}

}  // namespace
}  // namespace septule::serve
