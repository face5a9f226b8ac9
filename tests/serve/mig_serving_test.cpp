#include "serve/mig_serving.hpp"

#include <gtest/gtest.h>

#include "serve/fleet_checker.hpp"
#include "serve/fleet_plan.hpp"
#include "serve/fleet_support.hpp"
#include "serve/lattice_support.hpp"

namespace septule::serve {
namespace {

TEST(MigServing, OddFleets_ServedByNoFewerGpusThanNeeded) {
  // The greedy plan stands, and never beats the proved optimum.
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const FleetProblem problem = test::odd_fleet(test::a100(), 6, 40, seed);
    const auto greedy = plan_mig_serving(problem);
    ASSERT_TRUE(greedy.has_value());
    const Status checked = check_fleet(problem, *greedy, FleetGoal::kAllServed);
    EXPECT_TRUE(checked.is_ok()) << checked.error().message;
    EXPECT_GE(greedy->gpus, plan_min_gpus(problem, {})->gpus);
  }
}

TEST(MigServing, TwoTenants_BestScoresTaken) {
  // 4+3 serves all of b's need and scores 1; a 7g serves half of a's; then two of those are left.
  FleetProblem problem{.lattice = &test::a100()};
  problem.tenants = {{.name = "a", .rate_rps = 100, .throughput = {0, 0, 0, 0, 50}},
                     {.name = "b", .rate_rps = 10, .throughput = {0, 0, 4, 6, 6}}};
  const auto plan = plan_mig_serving(problem);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->gpus, 3);
  EXPECT_EQ(plan->instances[1][2], 1);
  EXPECT_EQ(plan->instances[1][3], 1);
  EXPECT_EQ(plan->instances[0][4], 2);
}

TEST(MigServing, FourTinyTenants_ThreeOnAGpu) {
  // At most three tenants share a GPU, however little they need.
  FleetProblem problem{.lattice = &test::a100()};
  for (const char* name : {"a", "b", "c", "d"}) {
    problem.tenants.push_back({.name = name, .rate_rps = 1, .throughput = {1, 2, 3, 4, 7}});
  }
  const auto plan = plan_mig_serving(problem);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->gpus, 2);
  EXPECT_EQ(plan_min_gpus(problem, {})->gpus, 1);
}

TEST(MigServing, TooFewGpus_Blocked) {
  // It says how many there are.
  FleetProblem problem = test::odd_fleet(test::a100(), 6, 40, 1);
  problem.gpu_count = 1;
  const auto plan = plan_mig_serving(problem);
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, ErrorCode::kBlocked);
}

}  // namespace
}  // namespace septule::serve
