#include "sim/serving_sim.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/serving_support.hpp"
#include "sim/sim_support.hpp"

namespace septule::sim {
namespace {

using test::instance_at;
using test::one_gpu;
using test::retrains;
using test::serves;
using test::ServingBench;
using test::whole_seconds;

double in_slo(const job::ServingRecord& run, std::size_t tenant, std::size_t second) {
  return run.tenants[tenant].series[second].in_slo;
}

TEST(ServingSim, PolicyThatDoesNothing_ServesNobody) {
  // Aim: an empty GPU answers nothing, costs nothing, and nothing divides by it.
  ServingBench bench;
  bench.add("a", 10, 5);
  bench.options.length = whole_seconds(20);
  const auto run = bench.run_well();
  EXPECT_DOUBLE_EQ(run.tenants[0].arrived, 100);
  EXPECT_EQ(run.tenants[0].in_slo, 0);
  EXPECT_EQ(run.moves, 0);
  EXPECT_EQ(run.gpu_seconds_used, 0);
  EXPECT_EQ(run.weighted_goodput, 0);
  EXPECT_DOUBLE_EQ(job::attainment(run).value_or(-1), 0);
  EXPECT_FALSE(job::mean_accuracy(run));
  EXPECT_FALSE(job::overhead_hidden(run));
}

TEST(ServingSim, NewOccupant_YieldsNothingWhileItWarmsUp) {
  // Aim: warm-up of 3 s from the order on; then capacity bounds what is answered.
  ServingBench bench;
  bench.add("a", 10, 25);
  bench.tenants[0].tenant.warm_up = {whole_seconds(1), whole_seconds(3), whole_seconds(9)};
  bench.tenants[0].tenant.accuracy = 0.5;
  bench.tenants[0].tenant.weight = 2;
  bench.options.length = whole_seconds(10);
  bench.policy.orders[2] = one_gpu({instance_at(bench.lattice, 2, 0, {serves(0)})});
  const auto run = bench.run_well();
  for (std::size_t second = 0; second < 10; ++second) {
    EXPECT_DOUBLE_EQ(in_slo(run, 0, second), second < 5 ? 0 : 20) << second;
  }
  EXPECT_DOUBLE_EQ(run.tenants[0].goodput, 50);
  EXPECT_DOUBLE_EQ(run.weighted_goodput, 100);
  EXPECT_DOUBLE_EQ(run.gpu_seconds_used, 8);
  EXPECT_EQ(run.moves, 1);
}

TEST(ServingSim, KeptOccupant_IsNotDisturbedByItsNeighbour) {
  // Aim: creating and destroying beside an instance changes nothing for it.
  ServingBench bench;
  bench.add("a", 10, 100);
  bench.add("b", 10, 100);
  bench.options.length = whole_seconds(10);
  const auto kept = instance_at(bench.lattice, 3, 0, {serves(0)});
  bench.policy.orders[0] = one_gpu({kept});
  bench.policy.orders[3] = one_gpu({kept, instance_at(bench.lattice, 3, 4, {serves(1)})});
  bench.policy.orders[6] = one_gpu({kept, instance_at(bench.lattice, 1, 4, {serves(1)})});
  const auto run = bench.run_well();
  for (std::size_t second = 1; second < 10; ++second) {
    EXPECT_DOUBLE_EQ(in_slo(run, 0, second), 30);
  }
  const std::vector<double> other = {0, 0, 0, 0, 30, 30, 0, 10, 10, 10};
  for (std::size_t second = 0; second < 10; ++second) {
    EXPECT_DOUBLE_EQ(in_slo(run, 1, second), other[second]) << second;
  }
}

/// Tenant 0 has an instance, which tenant 1 (warm-up 3 s) gets in second 4.
void script_hand_over(ServingBench& bench) {
  bench.add("a", 10, 100);
  bench.add("b", 10, 100);
  bench.tenants[1].tenant.warm_up = {whole_seconds(3), whole_seconds(3), whole_seconds(3)};
  bench.options.length = whole_seconds(10);
  bench.policy.orders[0] = one_gpu({instance_at(bench.lattice, 2, 0, {serves(0)})});
  bench.policy.orders[4] = one_gpu({instance_at(bench.lattice, 2, 0, {serves(1)})});
}

TEST(ServingSim, InstanceThatStays_IsHandedOverOnceTheNewcomerIsWarm) {
  // Aim: the old occupant serves during the warm-up of the new one, then never again; the policy
  // sees only what it ordered, and the move counts as one with a free slot.
  ServingBench bench;
  script_hand_over(bench);
  const auto run = bench.run_well();
  for (std::size_t second = 1; second < 10; ++second) {
    EXPECT_DOUBLE_EQ(in_slo(run, 0, second), second < 7 ? 20 : 0) << second;
    EXPECT_DOUBLE_EQ(in_slo(run, 1, second), second < 7 ? 0 : 20) << second;
  }
  ASSERT_EQ(bench.policy.seen[5].size(), 1U);
  ASSERT_EQ(bench.policy.seen[5][0].instance.occupants.size(), 1U);
  EXPECT_EQ(bench.policy.seen[5][0].instance.occupants[0].tenant, 1);
  EXPECT_EQ(run.moves_with_free_slot, 2);
}

TEST(ServingSim, HandOver_OnlyWithinATrustGroupAndTheMemory) {
  // Aim: strangers never share an MPS server, not even for a moment, nor two that do not fit.
  for (const int fault : {0, 1, 2}) {
    ServingBench bench;
    script_hand_over(bench);
    if (fault == 0) {
      bench.tenants[1].tenant.trust_group = "other";
    } else if (fault == 1) {
      for (serve::AdmittedTenant& tenant : bench.tenants) {
        for (auto& point : tenant.serving) {
          if (point) {
            point->memory = Bytes::mebibytes(15000);  // twice this is more than 2g has
          }
        }
      }
    } else {
      bench.options.hand_over = HandOver::kNone;
    }
    const auto run = bench.run_well();
    for (std::size_t second = 4; second < 7; ++second) {
      EXPECT_DOUBLE_EQ(in_slo(run, 0, second) + in_slo(run, 1, second), 0) << fault;
    }
    EXPECT_EQ(run.moves_with_free_slot, 1) << fault;
  }
}

TEST(ServingSim, HandOverTakenBack_TheOldOneGoesOnUndisturbed) {
  // Aim: an order that returns to the old occupant before the new one is ready costs nothing.
  ServingBench bench;
  script_hand_over(bench);
  bench.policy.orders[5] = bench.policy.orders[0];
  const auto run = bench.run_well();
  for (std::size_t second = 1; second < 10; ++second) {
    EXPECT_DOUBLE_EQ(in_slo(run, 0, second), 20) << second;
    EXPECT_DOUBLE_EQ(in_slo(run, 1, second), 0) << second;
  }
}

TEST(ServingSim, ChangedShare_KeepsTheOldOneUntilTheNewIsReady) {
  // Aim: no gap; the new share counts from the time it is ready.
  ServingBench bench;
  bench.add("a", 10, 100);
  bench.tenants[0].tenant.warm_up = {whole_seconds(2), whole_seconds(2), whole_seconds(2)};
  bench.options.length = whole_seconds(8);
  auto half = serves(0);
  half.share = ActiveThreadPercentage(50);
  bench.options.initial = one_gpu({instance_at(bench.lattice, 7, 0, {serves(0)})});
  bench.policy.orders[3] = one_gpu({instance_at(bench.lattice, 7, 0, {half})});
  const auto run = bench.run_well();
  const double kept = serve::MpsShareModel::kept(ActiveThreadPercentage(50), 4);
  for (std::size_t second = 0; second < 8; ++second) {
    EXPECT_NEAR(in_slo(run, 0, second), second < 5 ? 70 : 70 * kept, 1e-9) << second;
  }
  EXPECT_EQ(run.moves, 1);
  EXPECT_EQ(run.moves_with_free_slot, 1);
  EXPECT_EQ(run.capacity_lost, 0);
}

TEST(ServingSim, ChangedBatch_TakesNoTime) {
  // Aim: only the row that counts is another one.
  ServingBench bench;
  bench.add("a", 10, 100);
  bench.tenants[0].tenant.profile.rows.push_back({.slices = ComputeSlices(7),
                                                  .batch = 2,
                                                  .throughput_rps = 40,
                                                  .latency = Duration::milliseconds(50)});
  bench.options.length = whole_seconds(4);
  auto smaller = serves(0);
  smaller.batch = 2;
  bench.options.initial = one_gpu({instance_at(bench.lattice, 7, 0, {serves(0)})});
  bench.policy.orders[2] = one_gpu({instance_at(bench.lattice, 7, 0, {smaller})});
  const auto run = bench.run_well();
  EXPECT_DOUBLE_EQ(in_slo(run, 0, 1), 70);
  EXPECT_DOUBLE_EQ(in_slo(run, 0, 2), 40);
  EXPECT_EQ(run.moves, 0);
}

TEST(ServingSim, SharedGpu_YieldsByShareAndCompany) {
  // Aim: whole-GPU MPS: kept share x phi once both are ready, without phi while one warms up.
  ServingBench bench;
  bench.add("a", 10, 1000);
  bench.add("b", 10, 1000);
  bench.tenants[1].tenant.warm_up = {whole_seconds(3), whole_seconds(3), whole_seconds(3)};
  bench.options.length = whole_seconds(6);
  auto a = serves(0);
  a.share = ActiveThreadPercentage(60);
  auto b = serves(1);
  b.share = ActiveThreadPercentage(40);
  bench.policy.orders[0] = one_gpu({{.placed = std::nullopt, .occupants = {a, b}}});
  const auto run = bench.run_well();
  const double kept = 70 * serve::MpsShareModel::kept(ActiveThreadPercentage(60), 4);
  EXPECT_NEAR(in_slo(run, 0, 2), kept, 1e-9);
  EXPECT_NEAR(in_slo(run, 0, 4), kept * 0.76, 1e-9);
  EXPECT_NEAR(in_slo(run, 1, 4),
              70 * serve::MpsShareModel::kept(ActiveThreadPercentage(40), 4) * 0.76,
              1e-9);
}

TEST(ServingSim, SlowBatch_AnswersOnlyWhatComesLateEnough) {
  // Aim: a row with latency between half of the SLO and the SLO yields slo / latency - 1.
  ServingBench bench;
  bench.add("a", 10, 1000);
  bench.tenants[0].tenant.profile.rows.push_back({.slices = ComputeSlices(7),
                                                  .batch = 32,
                                                  .throughput_rps = 100,
                                                  .latency = Duration::milliseconds(320)});
  auto slow = serves(0);
  slow.batch = 32;
  bench.options.initial = one_gpu({instance_at(bench.lattice, 7, 0, {slow})});
  bench.options.length = whole_seconds(1);
  EXPECT_NEAR(in_slo(bench.run_well(), 0, 0), 25, 1e-9);
}

TEST(ServingSim, Retraining_SwitchesAccuracyInTheSecondAfterItsCompletion) {
  // Aim: progress by speed, one warm-up, release, and the switch.
  ServingBench bench;
  bench.add("a", 10, 10);
  bench.tenants[0].tenant.accuracy = 0.5;
  bench.tenants[0].tenant.retraining =
      serve::RetrainingJob{.work_s = 3 * 3 / 7.0, .accuracy_after = 1, .release = whole_seconds(2)};
  bench.options.length = whole_seconds(10);
  bench.options.initial = one_gpu({instance_at(bench.lattice, 3, 0, {serves(0)}),
                                   instance_at(bench.lattice, 3, 4, {retrains(0)})});
  const auto run = bench.run_well();
  for (std::size_t second = 0; second < 10; ++second) {
    EXPECT_DOUBLE_EQ(run.tenants[0].series[second].goodput, second < 5 ? 5 : 10) << second;
  }
  EXPECT_EQ(run.tenants[0].retrainings_done, 1);
  ASSERT_EQ(run.tenants[0].retraining.size(), 1U);
  EXPECT_EQ(run.tenants[0].retraining[0].first, test::at_s(2));
  EXPECT_EQ(run.tenants[0].retraining[0].second, test::at_s(5));
  EXPECT_EQ(bench.policy.tenants_seen[4].front().is_retrained, false);
  EXPECT_EQ(bench.policy.tenants_seen[5].front().is_retrained, true);
  EXPECT_EQ(bench.policy.tenants_seen[5].front().retraining_left_s, 0);
}

TEST(ServingSim, PeriodicRetraining_FallsBackAndMissesDeadlines) {
  // Aim: each period asks for all of the work again; what is not done in time is missed.
  ServingBench bench;
  bench.add("a", 10, 10);
  bench.tenants[0].tenant.accuracy = 0.5;
  bench.tenants[0].tenant.retraining = serve::RetrainingJob{
      .work_s = 2, .accuracy_after = 1, .deadline = whole_seconds(4), .period = whole_seconds(5)};
  bench.options.length = whole_seconds(15);
  const auto serving = instance_at(bench.lattice, 3, 0, {serves(0)});
  bench.tenants[0].retraining_speed.fill(1);
  bench.options.initial = one_gpu({serving, instance_at(bench.lattice, 3, 4, {retrains(0)})});
  bench.policy.orders[6] = one_gpu({serving});
  bench.policy.orders[10] = bench.options.initial;
  const auto run = bench.run_well();
  // Period 0: done at 2. Period 1: one second of work, then stopped. Period 2: ready at 11, done at
  // 13.
  for (std::size_t second = 0; second < 15; ++second) {
    const bool is_retrained = (second >= 2 && second < 5) || second >= 13;
    EXPECT_DOUBLE_EQ(run.tenants[0].series[second].goodput, is_retrained ? 10 : 5) << second;
  }
  EXPECT_EQ(run.tenants[0].retrainings_done, 2);
  EXPECT_EQ(run.tenants[0].retrainings_missed, 1);
}

TEST(ServingSim, DriverTimes_ComeOnTopOfTheWarmUp) {
  // Aim: destroy + create of the driver push readiness past the second; exact and rounded.
  ServingBench bench;
  bench.add("a", 10, 70);
  bench.latencies = &test::latencies();
  bench.options.length = whole_seconds(8);
  bench.options.initial = one_gpu({instance_at(bench.lattice, 3, 0, {serves(0)})});
  bench.policy.orders[1] = one_gpu({instance_at(bench.lattice, 7, 0, {serves(0)})});
  const auto rounded = bench.run_well();
  EXPECT_DOUBLE_EQ(in_slo(rounded, 0, 1), 0);
  EXPECT_DOUBLE_EQ(in_slo(rounded, 0, 2), 0);
  EXPECT_DOUBLE_EQ(in_slo(rounded, 0, 3), 70);
  bench.options.warm_up_step = Duration();
  const auto exact = bench.run_well();
  const auto& table = test::latencies();
  const double driver = (table.gpu_instance_destroy("A100-80GB", ComputeSlices(3)).duration +
                         table.compute_instance_destroy("A100-80GB").duration +
                         table.gpu_instance_create("A100-80GB", ComputeSlices(7)).duration +
                         table.compute_instance_create("A100-80GB").duration)
                            .to_seconds();
  EXPECT_GT(driver, 0);
  EXPECT_NEAR(in_slo(exact, 0, 2), 70 * (1 - driver), 1e-6);
}

TEST(ServingSim, ModeChange_CostsTheDriversToggle) {
  // Aim: from MIG to the whole GPU and back.
  ServingBench bench;
  bench.add("a", 10, 70);
  bench.latencies = &test::latencies();
  bench.options.warm_up_step = Duration();
  bench.options.length = whole_seconds(40);
  bench.options.initial = one_gpu({instance_at(bench.lattice, 7, 0, {serves(0)})});
  bench.policy.orders[1] = one_gpu({{.placed = std::nullopt, .occupants = {serves(0)}}});
  bench.run_well();
  const Duration toggle = test::latencies().mig_mode_toggle("A100-80GB").duration;
  ASSERT_EQ(bench.policy.seen[2].size(), 1U);
  EXPECT_GE(bench.policy.seen[2][0].ready[0], test::at_s(2) + toggle);
}

TEST(ServingSim, StartReady_NeedsNoWarmUpAtTheFirstSecondOnly) {
  // Aim: the first order is there at once and counts as no move; the next is not.
  ServingBench bench;
  bench.add("a", 10, 10);
  bench.options.length = whole_seconds(6);
  bench.options.start = ServingStart::kReady;
  bench.policy.orders[0] = one_gpu({instance_at(bench.lattice, 1, 0, {serves(0)})});
  bench.policy.orders[3] = one_gpu({instance_at(bench.lattice, 1, 1, {serves(0)})});
  const auto run = bench.run_well();
  const std::vector<double> expected = {10, 10, 10, 0, 10, 10};
  for (std::size_t second = 0; second < 6; ++second) {
    EXPECT_DOUBLE_EQ(in_slo(run, 0, second), expected[second]);
  }
  EXPECT_EQ(run.moves, 1);
}

TEST(ServingSim, IllegalOrders_AreRefusedWithAReason) {
  // Aim: each rule of an order, and that what stands goes on.
  ServingBench bench;
  bench.add("a", 10, 10);
  bench.add("b", 10, 10);
  bench.tenants[1].tenant.trust_group = "other";
  bench.options.length = whole_seconds(12);
  const auto& lattice = bench.lattice;
  const auto good = instance_at(lattice, 3, 0, {serves(0)});
  auto greedy = serves(0);
  greedy.share = ActiveThreadPercentage(60);
  auto second = retrains(0);
  second.share = ActiveThreadPercentage(60);
  auto none = serves(0);
  none.processes = 0;
  bench.options.initial = one_gpu({good});
  bench.policy.orders = {
      {1, one_gpu({good, instance_at(lattice, 4, 0, {serves(1)})})},  // overlap
      {2, one_gpu({instance_at(lattice, 3, 0, {greedy, second})})},   // shares, nothing to retrain
      {3, one_gpu({instance_at(lattice, 3, 0, {serves(7)})})},        // tenant
      {4, {}},                                                        // GPUs
      {5, one_gpu({good, {.placed = std::nullopt, .occupants = {serves(1)}}})},
      {6, one_gpu({instance_at(lattice, 3, 0, {none})})},
      {7, one_gpu({instance_at(lattice, 3, 0, {serves(0), serves(0)})})}};
  auto shared = serves(0);
  shared.share = ActiveThreadPercentage(50);
  auto other = serves(1);
  other.share = ActiveThreadPercentage(50);
  bench.policy.orders[8] = one_gpu({instance_at(lattice, 3, 0, {shared, other})});
  const auto run = bench.run(bench.policy);
  ASSERT_TRUE(run);
  std::string all;
  for (const std::string& violation : run->violations) {
    all += violation + "\n";
  }
  for (const char* text :
       {"1 s: GPU 0:",
        "2 s: GPU 0: the shares of an instance are 120 %",
        "2 s: GPU 0: a has nothing to retrain",
        "3 s: GPU 0: there is no tenant 7",
        "4 s: the order names 0 GPUs, there are 1",
        "5 s: GPU 0: the whole GPU is no instance beside others",
        "6 s: GPU 0: a has batch 4, 0 processes",
        "7 s: GPU 0: a is twice in one instance",
        "8 s: GPU 0: b (trust group other) would share an instance with a (no trust group)"}) {
    EXPECT_THAT(all, testing::HasSubstr(text));
  }
  EXPECT_DOUBLE_EQ(run->tenants[0].in_slo, 120);
  EXPECT_EQ(run->moves, 0);
}

TEST(ServingSim, TwoRetrainingInstancesOfOneTenant_AreRefused) {
  // Aim: at most one, over all GPUs.
  ServingBench bench;
  bench.add("a", 10, 10);
  bench.tenants[0].tenant.retraining = serve::RetrainingJob{.work_s = 5, .accuracy_after = 1};
  bench.gpu_count = 2;
  bench.options.length = whole_seconds(2);
  const auto retraining = instance_at(bench.lattice, 1, 0, {retrains(0)});
  bench.policy.orders[0] = {.gpus = {{.instances = {retraining}}, {.instances = {retraining}}}};
  const auto run = bench.run(bench.policy);
  ASSERT_TRUE(run);
  EXPECT_THAT(run->violations,
              testing::ElementsAre(testing::HasSubstr("a retrains in 2 instances")));
}

TEST(ServingSim, InvalidSetup_IsNamed) {
  // Aim: each field that may be wrong.
  ServingBench bench;
  bench.add("a", 10, 10);
  bench.options.length = Duration::milliseconds(1500);
  EXPECT_THAT(bench.run(bench.policy).error().message, testing::HasSubstr("whole number of sec"));
  bench.options.length = whole_seconds(1);
  bench.rates[0].values = {-1};
  EXPECT_THAT(bench.run(bench.policy).error().message, testing::HasSubstr("a needs request rates"));
  bench.rates.clear();
  EXPECT_THAT(bench.run(bench.policy).error().message, testing::HasSubstr("1 tenants but"));
  bench.rates = {test::constant_rate(1)};
  bench.options.phi = 0;
  EXPECT_EQ(bench.run(bench.policy).error().code, ErrorCode::kInvalidInput);
  bench.options.phi = 1;
  bench.options.warm_up_step = Duration::milliseconds(-1);
  EXPECT_THAT(bench.run(bench.policy).error().message, testing::HasSubstr("rounded up"));
  bench.tenants.clear();
  EXPECT_THAT(bench.run(bench.policy).error().message, testing::HasSubstr("at least one tenant"));
}

TEST(ServingSim, Timeline_TellsWhoWasWhereAndWarming) {
  // Aim: spans follow each other without gap and say what stood there.
  ServingBench bench;
  bench.add("a", 10, 10);
  bench.options.length = whole_seconds(9);
  bench.options.timeline = ServingTimeline::kOn;
  bench.policy.orders[2] = one_gpu({instance_at(bench.lattice, 3, 4, {serves(0)})});
  bench.policy.orders[6] = one_gpu({});
  const auto run = bench.run_well();
  ASSERT_EQ(run.timeline.size(), 4U);
  EXPECT_TRUE(run.timeline[0].uses.empty());
  EXPECT_EQ(run.timeline[1].begin, test::at_s(2));
  EXPECT_TRUE(run.timeline[1].uses[0].is_warming_up);
  EXPECT_EQ(run.timeline[1].uses[0].label, "a");
  EXPECT_EQ(run.timeline[1].uses[0].start, 4);
  EXPECT_EQ(run.timeline[1].uses[0].size, 4);
  EXPECT_EQ(run.timeline[2].begin, test::at_s(3));
  EXPECT_FALSE(run.timeline[2].uses[0].is_warming_up);
  EXPECT_EQ(run.timeline[3].end, test::at_s(9));
}

TEST(ServingSim, LongSeries_IsCoarsened) {
  // Aim: sums stay; the number of points is bounded.
  ServingBench bench;
  bench.add("a", 10, 10);
  bench.options.length = whole_seconds(100);
  bench.options.series_points_max = 30;
  bench.options.initial = one_gpu({instance_at(bench.lattice, 1, 0, {serves(0)})});
  const auto run = bench.run_well();
  ASSERT_EQ(run.tenants[0].series.size(), 25U);
  EXPECT_DOUBLE_EQ(run.tenants[0].series[7].in_slo, 40);
  EXPECT_EQ(run.tenants[0].series[7].begin, test::at_s(28));
}

}  // namespace
}  // namespace septule::sim
