// Request mode of sim/serving_sim.hpp.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "sim/serving_support.hpp"
#include "sim/sim_support.hpp"

namespace septule::sim {
namespace {

using test::instance_at;
using test::one_gpu;
using test::serves;
using test::ServingBench;
using test::whole_seconds;

ServingBench& with_requests(ServingBench& bench, std::int64_t seconds) {
  bench.options.mode = ServingMode::kRequest;
  bench.options.length = whole_seconds(seconds);
  return bench;
}

TEST(ServingRequests, LowUtilisation_AgreesWithFluidMode) {
  // Aim: at a third of capacity everybody is answered in time in both modes, and counts agree.
  ServingBench bench;
  bench.add("a", 10, 10);
  bench.add("b", 20, 25);
  with_requests(bench, 1000);
  bench.options.initial = one_gpu({instance_at(bench.lattice, 3, 0, {serves(0)}),
                                   instance_at(bench.lattice, 3, 4, {serves(1)})});
  const auto requests = bench.run_well();
  bench.options.mode = ServingMode::kFluid;
  const auto fluid = bench.run_well();
  EXPECT_NEAR(job::attainment(requests).value_or(0), 1, 0.001);
  EXPECT_DOUBLE_EQ(job::attainment(fluid).value_or(0), 1);
  for (std::size_t i = 0; i < 2; ++i) {
    const double expected = fluid.tenants[i].goodput;
    EXPECT_NEAR(requests.tenants[i].goodput, expected, 4 * std::sqrt(expected));
    EXPECT_FALSE(fluid.tenants[i].p99_ms);
    ASSERT_TRUE(requests.tenants[i].p50_ms && requests.tenants[i].p99_ms);
    EXPECT_LE(*requests.tenants[i].p50_ms, *requests.tenants[i].p99_ms);
    EXPECT_LE(*requests.tenants[i].p99_ms, 400);
  }
}

TEST(ServingRequests, ExactArrivals_GiveTheCountsOfTheTrace) {
  // Aim: whole counts second by second; fractions are carried over.
  ServingBench bench;
  bench.add("a", 10, 2.5);
  with_requests(bench, 8);
  bench.options.arrivals = ArrivalDraw::kExact;
  const auto run = bench.run_well();
  for (std::size_t second = 0; second < 8; ++second) {
    EXPECT_EQ(run.tenants[0].series[second].arrived, second % 2 == 0 ? 2 : 3);
  }
}

TEST(ServingRequests, Overload_ServesCapacityAndLosesTheRest) {
  // Aim: late requests dropped: full batches go on, the excess is lost. Answered late: nobody is in
  // time in the end.
  ServingBench bench;
  bench.add("a", 10, 140);
  with_requests(bench, 200);
  bench.options.initial = one_gpu({instance_at(bench.lattice, 7, 0, {serves(0)})});
  const auto run = bench.run_well();
  EXPECT_NEAR(run.tenants[0].in_slo / 200, 70, 2);
  EXPECT_LE(run.tenants[0].p99_ms.value_or(0), 400 * 1.01);
  bench.options.late = LateAnswers::kAnswered;
  const auto late = bench.run_well();
  EXPECT_LT(late.tenants[0].in_slo / 200, 5);
  EXPECT_GT(late.tenants[0].p99_ms.value_or(0), 10000);
}

TEST(ServingRequests, NobodyReady_HoldsRequestsUntilSomebodyIs) {
  // Aim: requests of the warm-up are lost once late; the last ones before readiness are answered.
  ServingBench bench;
  bench.add("a", 10, 20);
  with_requests(bench, 4);
  bench.options.arrivals = ArrivalDraw::kExact;
  bench.tenants[0].tenant.warm_up = {whole_seconds(2), whole_seconds(2), whole_seconds(2)};
  bench.policy.orders[0] = one_gpu({instance_at(bench.lattice, 7, 0, {serves(0)})});
  const auto run = bench.run_well();
  EXPECT_EQ(run.tenants[0].series[0].in_slo, 0);
  EXPECT_EQ(run.tenants[0].series[1].in_slo, 0);
  EXPECT_GT(run.tenants[0].series[2].in_slo, 15);
  EXPECT_GT(bench.policy.tenants_seen[2].front().waiting, 0);
  EXPECT_GT(bench.policy.tenants_seen[1].front().missed, 0);
}

TEST(ServingRequests, GoneInstance_HandsItsLineOn) {
  // Aim: a crowded instance goes away beside one that stays; everybody is answered by that one.
  ServingBench bench;
  bench.add("a", 10, 30);
  bench.tenants[0].tenant.slo = whole_seconds(30);
  with_requests(bench, 20);
  const auto kept = instance_at(bench.lattice, 4, 0, {serves(0)});
  bench.options.initial = one_gpu({kept, instance_at(bench.lattice, 1, 4, {serves(0)})});
  bench.policy.orders[5] = one_gpu({kept});
  const auto run = bench.run_well();
  EXPECT_NEAR(run.tenants[0].in_slo, run.tenants[0].arrived, 30);
}

TEST(ServingRequests, Slack_FillsTheSmallestInstanceFirst) {
  // Aim: with little load nobody is sent to the large instance; proportional dispatch uses both.
  ServingBench bench;
  bench.add("a", 10, 1);
  with_requests(bench, 300);
  bench.tenants[0].tenant.slo = whole_seconds(2);
  bench.options.initial = one_gpu({instance_at(bench.lattice, 4, 0, {serves(0)}),
                                   instance_at(bench.lattice, 1, 4, {serves(0)})});
  const auto slack = bench.run_well();
  bench.policy.rule = serve::DispatchRule::kProportional;
  const auto proportional = bench.run_well();
  // A batch takes 400 ms on 1g and 100 ms on 4g.
  EXPECT_NEAR(slack.tenants[0].p50_ms.value_or(0), 400, 5);
  EXPECT_NEAR(proportional.tenants[0].p50_ms.value_or(0), 100, 2);
}

TEST(ServingRequests, SharedInstance_IsSlowedByCompany) {
  // Aim: capacity of two tenants on one GPU by MPS is what fluid mode says, within chance.
  ServingBench bench;
  bench.add("a", 10, 200);
  bench.add("b", 10, 200);
  with_requests(bench, 300);
  auto a = serves(0);
  a.share = ActiveThreadPercentage(70);
  auto b = serves(1);
  b.share = ActiveThreadPercentage(30);
  bench.options.initial = one_gpu({{.placed = std::nullopt, .occupants = {a, b}}});
  const auto requests = bench.run_well();
  bench.options.mode = ServingMode::kFluid;
  const auto fluid = bench.run_well();
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(requests.tenants[i].in_slo / fluid.tenants[i].in_slo, 1, 0.03);
  }
}

/// Orders a random legal deployment in some seconds.
void script(ServingBench& bench, Rng& rng, std::int64_t seconds) {
  for (std::int64_t second = 0; second < seconds; ++second) {
    if (!rng.chance(1, 3)) {
      continue;
    }
    std::vector<serve::ServingInstance> instances;
    std::uint32_t bits = 0;
    for (int tries = 0; tries < 6; ++tries) {
      const auto placement = rng.below(bench.lattice.placements().size());
      const std::uint32_t with = bits | 1U << placement;
      if (with == bits || !bench.lattice.is_legal(with)) {
        continue;
      }
      bits = with;
      instances.push_back({.placed = bench.lattice.placements()[placement].placed,
                           .occupants = {serves(static_cast<int>(rng.below(2)))}});
    }
    if (rng.chance(1, 5)) {
      auto a = serves(0);
      auto b = serves(1);
      a.share = ActiveThreadPercentage(static_cast<int>(10 + rng.below(40)));
      b.share = ActiveThreadPercentage(static_cast<int>(10 + rng.below(40)));
      instances = {{.placed = std::nullopt, .occupants = {a, b}}};
    }
    bench.policy.orders[second] = one_gpu(std::move(instances));
  }
}

TEST(ServingRequests, AnyScript_ConservesRequestsAndIsRepeatable) {
  // Aim: the checkers of the simulator stay silent (conservation among them), digests repeat, and
  // another seed gives another run.
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    ServingBench bench;
    bench.add("a", 5 + 10 * rng.uniform(), 60 * rng.uniform());
    bench.add("b", 5 + 10 * rng.uniform(), 60 * rng.uniform());
    with_requests(bench, 40);
    bench.latencies = &test::latencies();
    bench.options.seed = seed;
    bench.options.warm_up = std::nullopt;
    bench.options.warm_up_step = Duration();
    bench.options.late = rng.chance(1, 2) ? LateAnswers::kDropped : LateAnswers::kAnswered;
    bench.options.arrivals = rng.chance(1, 2) ? ArrivalDraw::kPoisson : ArrivalDraw::kExact;
    bench.policy.rule =
        rng.chance(1, 2) ? serve::DispatchRule::kSlack : serve::DispatchRule::kProportional;
    bench.tenants[0].tenant.warm_up = {whole_seconds(1), whole_seconds(2), whole_seconds(5)};
    script(bench, rng, 40);
    const auto one = bench.run_well();
    const auto two = bench.run_well();
    EXPECT_EQ(one.digest, two.digest);
    EXPECT_EQ(one.weighted_goodput, two.weighted_goodput);
    bench.options.seed = seed + 1000;
    EXPECT_NE(bench.run_well().digest, one.digest);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace septule::sim
