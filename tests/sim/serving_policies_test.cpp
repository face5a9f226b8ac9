// Every serving policy in the simulator: its orders are legal, runs repeat, and oracle h of
// serving.md section 5: no policy of whole instances exceeds what perfect information allows.
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "base/work_budget.hpp"
#include "serve/layout_dp.hpp"
#include "serve/policy_registry.hpp"
#include "sim/serving_support.hpp"

namespace septule::sim {
namespace {

using test::ServingBench;
using test::whole_seconds;

enum class Retraining { kNone, kPeriodic };

/// Tenants with drawn speeds and rates that swing between 20 and 120 % of their part of the GPU.
void fill(ServingBench& bench, Rng rng, Retraining retraining) {
  const auto count = static_cast<std::int64_t>(2 + rng.below(2));
  const std::int64_t length = 120;
  for (std::int64_t i = 0; i < count; ++i) {
    bench.add("t" + std::to_string(i), 10 + 10 * rng.uniform(), 1);
    serve::AdmittedTenant& tenant = bench.tenants.back();
    const double part = tenant.throughput_rps(0) * 7 / static_cast<double>(count);
    serve::RateSeries& rate = bench.rates.back();
    rate.values.clear();
    double level = 0.7;
    for (std::int64_t t = 0; t < length; ++t) {
      if (rng.chance(1, 20)) {
        level = 0.2 + rng.uniform();
      }
      rate.values.push_back(part * level * (0.9 + 0.2 * rng.uniform()));
    }
    tenant.tenant.rate = rate;
    tenant.tenant.accuracy = 0.6 + 0.1 * rng.uniform();
    if (retraining == Retraining::kPeriodic) {
      tenant.tenant.retraining = serve::RetrainingJob{
          .work_s = 5 + 10 * rng.uniform(), .accuracy_after = 0.9, .period = whole_seconds(60)};
    }
  }
  bench.options.length = whole_seconds(length);
}

std::unique_ptr<serve::ServingPolicy> make(const ServingBench& bench, std::string_view name) {
  auto made = serve::make_serving_policy(name,
                                         {.lattice = &bench.lattice,
                                          .tenants = bench.tenants,
                                          .gpu_count = bench.gpu_count,
                                          .true_rates = bench.rates,
                                          .span = bench.options.length});
  EXPECT_TRUE(made.has_value()) << name << ": " << made.error().message;
  return std::move(made).value();
}

job::ServingRecord run_named(const ServingBench& bench, std::string_view name) {
  const auto policy = make(bench, name);
  auto run = bench.run(*policy);
  EXPECT_TRUE(run.has_value()) << name << ": " << run.error().message;
  for (const std::string& violation : run->violations) {
    ADD_FAILURE() << name << ": " << violation;
  }
  return std::move(run).value();
}

TEST(ServingPolicies, EveryPolicyInBothModes_OrdersLegallyAndRepeats) {
  // Aim: the simulator's checkers stay silent and digests repeat, with retraining or without.
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    ServingBench bench;
    fill(bench, Rng(seed), seed == 0 ? Retraining::kNone : Retraining::kPeriodic);
    for (const serve::ServingPolicyVariant& variant : serve::serving_policy_variants()) {
      for (const auto mode : {ServingMode::kFluid, ServingMode::kRequest}) {
        bench.options.mode = mode;
        const auto one = run_named(bench, variant.name);
        const auto two = run_named(bench, variant.name);
        EXPECT_EQ(one.digest, two.digest) << variant.name;
        EXPECT_TRUE(seed > 0 || one.weighted_goodput > 0) << variant.name;
      }
    }
  }
}

serve::GoodputProblem problem_of(const ServingBench& bench) {
  serve::GoodputProblem problem;
  problem.lattice = &bench.lattice;
  problem.step_count = static_cast<int>(bench.options.length.to_seconds());
  for (std::size_t i = 0; i < bench.tenants.size(); ++i) {
    const serve::AdmittedTenant& tenant = bench.tenants[i];
    problem.tenants.push_back({.name = tenant.tenant.name,
                               .weight = tenant.tenant.weight,
                               .accuracy = tenant.tenant.accuracy,
                               .accuracy_after = tenant.tenant.accuracy,
                               .rate_rps = bench.rates[i].values});
    serve::Label label{.name = tenant.tenant.name, .warm_up_steps = 1};
    label.serves.push_back({.tenant = static_cast<int>(i)});
    for (std::size_t s = 0; s < bench.lattice.sizes().size(); ++s) {
      label.serves[0].rate_rps[s] = tenant.throughput_rps(static_cast<int>(s));
    }
    problem.labels.push_back(label);
  }
  return problem;
}

void check_bounds_policies(HandOver hand_over) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    ServingBench bench;
    fill(bench, Rng(100 + seed), Retraining::kNone);
    bench.options.hand_over = hand_over;
    serve::GoodputProblem problem = problem_of(bench);
    problem.hand_over = hand_over;
    WorkBudget budget(1'000'000'000);
    const auto plan = serve::plan_layouts(problem, budget);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->proof, serve::GoodputProof::kOptimal);
    for (std::size_t t = 0; t < plan->layouts.size(); ++t) {
      serve::GpuDeployment gpu;
      for (const serve::LabelledInstance& instance : plan->layouts[t]) {
        const auto placement = static_cast<std::size_t>(instance.placement);
        gpu.instances.push_back({.placed = bench.lattice.placements()[placement].placed,
                                 .occupants = {test::serves(instance.label)}});
      }
      bench.policy.orders[static_cast<std::int64_t>(t)] = {.gpus = {gpu}};
    }
    EXPECT_NEAR(bench.run_well().weighted_goodput, plan->goodput, 1e-9 * plan->goodput);
    for (const char* name : {"septule",
                             "septule-oracle",
                             "migrator",
                             "reactive-greedy",
                             "paris-like",
                             "static-best",
                             "oracle-static"}) {
      const auto run = run_named(bench, name);
      EXPECT_LE(run.weighted_goodput, plan->goodput * (1 + 1e-9)) << name << " seed " << seed;
    }
  }
}

TEST(ServingPolicies, PerfectInformation_BoundsPoliciesOfWholeInstances) {
  // Aim: oracle h, and oracle e with the exact planner's plan.
  check_bounds_policies(HandOver::kNone);
}

TEST(ServingPolicies, PerfectInformationWithHandOvers_BoundsPoliciesOfWholeInstances) {
  // Aim: the same where an instance that stays is handed over.
  check_bounds_policies(HandOver::kRelabel);
}

}  // namespace
}  // namespace septule::sim
