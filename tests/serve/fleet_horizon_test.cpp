#include "serve/fleet_horizon.hpp"

#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "serve/fleet_generator.hpp"
#include "serve/lattice_support.hpp"

namespace septule::serve {
namespace {

using test::a100;
using testing::HasSubstr;

/// One tenant that needs a whole GPU for every 70 requests per second.
FleetHorizonProblem one_tenant(std::vector<double> rates) {
  FleetHorizonProblem problem{.lattice = &a100()};
  FleetTenant tenant{.name = "bert"};
  tenant.throughput[4] = 70;
  problem.tenants = {tenant};
  problem.rate_rps = {std::move(rates)};
  problem.start_cost = {0};
  problem.gpu_cost = 1;
  return problem;
}

std::vector<int> gpus_of(const FleetHorizonPlan& plan) {
  std::vector<int> gpus;
  for (const FleetPlan& step : plan.steps) {
    gpus.push_back(step.gpus);
  }
  return gpus;
}

TEST(FleetHorizon, CheapStarts_EachStepAlone) {
  // Aim: where starts cost nothing each step has its own fewest GPUs, proved.
  const auto plan = plan_fleet_horizon(one_tenant({140, 70, 210, 0, 60}), FleetGoal::kAllServed);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(gpus_of(*plan), (std::vector<int>{2, 1, 3, 0, 1}));
  EXPECT_EQ(plan->starts, (std::vector<int>{0, 0, 2, 0, 1}));
  EXPECT_EQ(plan->value, -7);
  EXPECT_EQ(plan->bound, -7);
}

TEST(FleetHorizon, DipOfLoad_HeldWhereStartsAreDear) {
  // Aim: over a dip of two steps the second GPU is held if a start costs more than two GPU-steps.
  FleetHorizonProblem problem = one_tenant({140, 70, 70, 140});
  problem.start_cost = {1.9};
  auto plan = plan_fleet_horizon(problem, FleetGoal::kAllServed);
  ASSERT_TRUE(plan);
  EXPECT_EQ(gpus_of(*plan), (std::vector<int>{2, 1, 1, 2}));
  EXPECT_DOUBLE_EQ(plan->value, -6 - 1.9);
  EXPECT_EQ(plan->bound, -6);
  problem.start_cost = {2.1};
  plan = plan_fleet_horizon(problem, FleetGoal::kAllServed);
  ASSERT_TRUE(plan);
  EXPECT_EQ(gpus_of(*plan), (std::vector<int>{2, 2, 2, 2}));
  EXPECT_DOUBLE_EQ(plan->value, -8);
}

TEST(FleetHorizon, PlanInForce_StartsCountFromIt) {
  // Aim: what is in force costs nothing to go on with; more of it is started.
  FleetHorizonProblem problem = one_tenant({70, 140});
  problem.start_cost = {0.5};
  FleetPlan current;
  current.instances.resize(1);
  problem.current = current;
  const auto plan = plan_fleet_horizon(problem, FleetGoal::kAllServed);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->starts, (std::vector<int>{1, 1}));
  EXPECT_DOUBLE_EQ(plan->value, -4);
}

TEST(FleetHorizon, Drawn_EveryStepServedAndBoundHolds) {
  // Aim: twelve steps of a drawn fleet: every step serves all that is asked, the bound is kept, and
  // dearer starts mean fewer of them.
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const FleetProblem drawn = generate_fleet(a100(), {.tenant_count = 6, .seed = seed});
    FleetHorizonProblem problem{.lattice = &a100(), .tenants = drawn.tenants, .gpu_cost = 1};
    Rng rng(seed);
    for (const FleetTenant& tenant : drawn.tenants) {
      std::vector<double>& rates = problem.rate_rps.emplace_back();
      for (int step = 0; step < 6; ++step) {
        rates.push_back(tenant.rate_rps * (0.5 + rng.uniform()));
      }
    }
    int starts_before = 1000000;
    for (const double cost : {0.0, 0.2, 5.0}) {
      problem.start_cost.assign(problem.tenants.size(), cost);
      const auto plan = plan_fleet_horizon(problem, FleetGoal::kAllServed);
      ASSERT_TRUE(plan) << plan.error().message;
      EXPECT_LE(plan->value, plan->bound + 1e-9);
      const int starts = std::accumulate(plan->starts.begin(), plan->starts.end(), 0);
      EXPECT_LE(starts, starts_before) << "seed " << seed << " cost " << cost;
      starts_before = starts;
      double value = -cost * starts;
      for (std::size_t step = 0; step < plan->steps.size(); ++step) {
        value -= plan->steps[step].gpus;
        for (std::size_t tenant = 0; tenant < problem.tenants.size(); ++tenant) {
          EXPECT_NEAR(plan->steps[step].served_rps[tenant],
                      problem.rate_rps[tenant][step],
                      1e-6 * problem.rate_rps[tenant][step]);
        }
      }
      EXPECT_NEAR(plan->value, value, 1e-9);
    }
  }
}

TEST(FleetHorizon, BestGoodput_NeverAboveItsBound) {
  // Aim: with too few GPUs the goodput of the steps is what the value says, below the bound.
  const FleetProblem drawn = generate_fleet(a100(), {.tenant_count = 5, .seed = 9});
  FleetHorizonProblem problem{.lattice = &a100(), .tenants = drawn.tenants, .gpu_count = 3};
  for (const FleetTenant& tenant : drawn.tenants) {
    problem.rate_rps.push_back({tenant.rate_rps, 0, 0.3 * tenant.rate_rps, 2 * tenant.rate_rps});
  }
  problem.start_cost.assign(5, 10);
  const auto plan = plan_fleet_horizon(problem, FleetGoal::kBestGoodput);
  ASSERT_TRUE(plan) << plan.error().message;
  double value = 0;
  for (std::size_t step = 0; step < 4; ++step) {
    EXPECT_LE(plan->steps[step].gpus, 3);
    value += 60 * plan->steps[step].goodput_rps - 10 * plan->starts[step];
  }
  EXPECT_NEAR(plan->value, value, 1e-6 * value);
  EXPECT_LE(plan->value, plan->bound);
  EXPECT_GE(plan->value, 0.8 * plan->bound);
}

TEST(FleetHorizon, WrongInput_Named) {
  // Aim: sizes that disagree, rates that are none, and a fleet too small name step or tenant.
  FleetHorizonProblem problem = one_tenant({70, -1});
  auto refused = plan_fleet_horizon(problem, FleetGoal::kAllServed);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("tenant 'bert'"));
  problem = one_tenant({70});
  problem.start_cost.clear();
  refused = plan_fleet_horizon(problem, FleetGoal::kAllServed);
  ASSERT_FALSE(refused);
  problem = one_tenant({70});
  problem.gpu_cost = 0;
  refused = plan_fleet_horizon(problem, FleetGoal::kAllServed);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("above 0 where the fewest"));
  problem = one_tenant({70, 700});
  problem.gpu_count = 3;
  refused = plan_fleet_horizon(problem, FleetGoal::kAllServed);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBlocked);
  EXPECT_THAT(refused.error().message, HasSubstr("step 1: "));
}

}  // namespace
}  // namespace septule::serve
