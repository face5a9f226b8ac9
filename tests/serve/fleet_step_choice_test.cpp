#include "serve/fleet_step_choice.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "serve/built_in_milp.hpp"
#include "serve/lattice_support.hpp"

namespace septule::serve {
namespace {

using test::a30;

/// The least GPUs (at most 6) of a four-slice model that hold so many instances of 1g, 2g, 4g.
int gpus_for(const SizeTable<int>& counts) {
  const int pairs = counts[1] + (counts[0] + 1) / 2;
  return counts[2] + (pairs + 1) / 2;
}

TEST(FleetStepChoice, SmallPools_AsTryingAll) {
  // Aim: the chosen sets are worth as much as the best of all combinations, with starts, stops and
  // GPUs charged, for both goals.
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    FleetHorizonProblem problem{.lattice = &a30(), .gpu_cost = 0.5 + rng.uniform()};
    FleetStepChoice choice{.goal = seed % 2 == 0 ? FleetGoal::kAllServed : FleetGoal::kBestGoodput,
                           .stop_share = 0.5};
    problem.step = Duration::milliseconds(1000);
    std::vector<SizeTable<int>> before;
    for (int index = 0; index < 3; ++index) {
      FleetTenant tenant{.name = "t", .throughput = {10, 21, 40}};
      problem.tenants.push_back(tenant);
      problem.rate_rps.push_back({30.0 * rng.uniform()});
      problem.start_cost.push_back(0.3 * static_cast<double>(rng.below(3)));
      before.push_back({static_cast<int>(rng.below(2)), static_cast<int>(rng.below(2)), 0});
      std::vector<SizeTable<int>>& pool = choice.pool.emplace_back();
      pool = {{3, 0, 0}, {1, 1, 0}, {0, 0, 1}, before.back(), {0, 2, 0}};
    }
    choice.before = &before;
    double best = -1e9;
    std::vector<SizeTable<int>> picked;
    const auto worth = [&](const std::vector<SizeTable<int>>& sets) {
      double value = 0;
      SizeTable<int> sum{};
      for (std::size_t tenant = 0; tenant < sets.size(); ++tenant) {
        double capacity = 0;
        for (std::size_t size = 0; size < 3; ++size) {
          capacity += problem.tenants[tenant].throughput[size] * sets[tenant][size];
          sum[size] += sets[tenant][size];
          const int change = sets[tenant][size] - before[tenant][size];
          value -= problem.start_cost[tenant] * (change > 0 ? change : -0.5 * change);
        }
        const double rate = problem.rate_rps[tenant][0];
        if (choice.goal == FleetGoal::kBestGoodput) {
          value += std::min(rate, capacity);
        } else if (capacity < rate) {
          return -1e9;
        }
      }
      return value - problem.gpu_cost * gpus_for(sum);
    };
    const std::function<void(std::size_t)> pick = [&](std::size_t tenant) {
      if (tenant == choice.pool.size()) {
        best = std::max(best, worth(picked));
        return;
      }
      for (const SizeTable<int>& set : choice.pool[tenant]) {
        picked.push_back(set);
        pick(tenant + 1);
        picked.pop_back();
      }
    };
    pick(0);
    BuiltInMilp solver;
    const auto plan = choose_step(problem, choice, solver, {});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_NEAR(worth(plan->instances), best, 1e-6) << "seed " << seed;
    SizeTable<int> sum{};
    for (const SizeTable<int>& set : plan->instances) {
      std::ranges::transform(sum, set, sum.begin(), std::plus<>());
    }
    EXPECT_EQ(plan->gpus, gpus_for(sum)) << "seed " << seed;
  }
}

TEST(FleetStepChoice, FleetTooSmall_Blocked) {
  // Aim: no choice within the GPUs there are is an error that names the step.
  FleetHorizonProblem problem{.lattice = &a30(), .gpu_count = 1, .start_cost = {0}, .gpu_cost = 1};
  problem.tenants.push_back({.name = "t", .throughput = {10, 21, 40}});
  problem.rate_rps.push_back({70});
  const FleetStepChoice choice{.pool = {{{0, 0, 2}, {0, 0, 1}}}};
  BuiltInMilp solver;
  const auto plan = choose_step(problem, choice, solver, {});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kBlocked);
  EXPECT_EQ(plan.error().message, "step 0: no choice of instances fits the fleet");
}

}  // namespace
}  // namespace septule::serve
