#include "sim/warm_up_ledger.hpp"

#include <gtest/gtest.h>

#include "sim/serving_support.hpp"

namespace septule::sim {
namespace {

using test::instance_at;
using test::one_gpu;
using test::serves;
using test::ServingBench;
using test::whole_seconds;

/// Two tenants of 10 requests per second and slice; `b` warms up for 2 s.
struct LedgerBench : ServingBench {
  LedgerBench() {
    add("a", 10, 30);
    add("b", 10, 0);
    tenants[1].tenant.warm_up = {whole_seconds(2), whole_seconds(2), whole_seconds(2)};
    options.length = whole_seconds(12);
  }
  void set_rate(std::size_t tenant, std::vector<double> values) {
    rates[tenant] = {.step = whole_seconds(1), .values = std::move(values)};
  }
};

TEST(WarmUpLedger, InstanceMadeInTime_IsHiddenWhole) {
  // Aim: warmed up in a free slot before its tenant's load comes: nothing lost, in place 2 s of it.
  LedgerBench bench;
  bench.set_rate(1, {0, 0, 0, 0, 25});
  const auto kept = instance_at(bench.lattice, 3, 0, {serves(0)});
  bench.options.initial = one_gpu({kept});
  bench.policy.orders[2] = one_gpu({kept, instance_at(bench.lattice, 3, 4, {serves(1)})});
  const auto run = bench.run_well();
  EXPECT_EQ(run.moves, 1);
  EXPECT_EQ(run.moves_with_free_slot, 1);
  EXPECT_DOUBLE_EQ(run.needed_lost, 0);
  EXPECT_DOUBLE_EQ(run.needed_lost_in_place, 50);
  EXPECT_DOUBLE_EQ(job::needed_hidden(run).value_or(-1), 1);
}

TEST(WarmUpLedger, InstanceMadeTooLate_HidesNothing) {
  // Aim: a free slot alone does not count as hidden when requests are missed meanwhile.
  LedgerBench bench;
  bench.set_rate(1, {0, 0, 25});
  const auto kept = instance_at(bench.lattice, 3, 0, {serves(0)});
  bench.options.initial = one_gpu({kept});
  bench.policy.orders[2] = one_gpu({kept, instance_at(bench.lattice, 3, 4, {serves(1)})});
  const auto run = bench.run_well();
  EXPECT_EQ(run.moves_with_free_slot, 1);
  EXPECT_DOUBLE_EQ(run.needed_lost, 50);
  EXPECT_DOUBLE_EQ(run.needed_lost_in_place, 50);
  EXPECT_DOUBLE_EQ(job::needed_hidden(run).value_or(-1), 0);
}

TEST(WarmUpLedger, MoveIntoTakenSlots_CountsWhatTheStoppedOneCouldHaveServed) {
  // Aim: b is not needed before it is ready, but a was stopped for it and lacks capacity.
  LedgerBench bench;
  bench.options.hand_over = HandOver::kNone;  // which takes no slot
  bench.set_rate(1, {0, 0, 0, 0, 20});
  bench.options.initial = one_gpu({instance_at(bench.lattice, 3, 0, {serves(0)})});
  bench.policy.orders[2] = one_gpu({instance_at(bench.lattice, 3, 0, {serves(1)})});
  const auto run = bench.run_well();
  EXPECT_EQ(run.moves_with_free_slot, 0);
  EXPECT_DOUBLE_EQ(run.capacity_lost, 60);
  EXPECT_DOUBLE_EQ(run.capacity_lost_in_place, 60);
  EXPECT_DOUBLE_EQ(run.needed_lost, 60);
  EXPECT_DOUBLE_EQ(run.needed_lost_in_place, 60);
}

TEST(WarmUpLedger, SpareCapacity_IsNotLost) {
  // Aim: what nobody needs is neither lost nor would have been.
  LedgerBench bench;
  bench.set_rate(0, {10});
  const auto kept = instance_at(bench.lattice, 3, 0, {serves(0)});
  bench.options.initial = one_gpu({kept, instance_at(bench.lattice, 3, 4, {serves(0)})});
  bench.policy.orders[2] = one_gpu({kept, instance_at(bench.lattice, 3, 4, {serves(1)})});
  const auto run = bench.run_well();
  EXPECT_EQ(run.moves, 1);
  EXPECT_EQ(run.needed_lost, 0);
  EXPECT_FALSE(job::needed_hidden(run));
}

TEST(WarmUpLedger, WarmUpCutShort_CountsForAsLongAsItLasted) {
  // Aim: the next order ends it.
  LedgerBench bench;
  bench.set_rate(1, {25});
  const auto kept = instance_at(bench.lattice, 3, 0, {serves(0)});
  bench.options.initial = one_gpu({kept});
  bench.policy.orders[2] = one_gpu({kept, instance_at(bench.lattice, 3, 4, {serves(1)})});
  bench.policy.orders[3] = one_gpu({kept});
  const auto run = bench.run_well();
  EXPECT_DOUBLE_EQ(run.needed_lost, 25);
}

TEST(WarmUpLedger, SeveralNewcomers_ShareTheShortage) {
  // Aim: the shortage of a second is not counted twice.
  LedgerBench bench;
  bench.set_rate(1, {25});
  bench.policy.orders[0] = one_gpu({instance_at(bench.lattice, 2, 0, {serves(1)}),
                                    instance_at(bench.lattice, 2, 2, {serves(1)})});
  const auto run = bench.run_well();
  EXPECT_DOUBLE_EQ(run.needed_lost, 2 * 25);
}

TEST(WarmUpLedger, MoveAheadOfNeedIntoTakenSlots_IsHidden) {
  // Aim: nobody lacked anything while it warmed up, and its tenant needed it from then on; by
  // capacity it was made in place.
  LedgerBench bench;
  bench.options.hand_over = HandOver::kNone;  // which takes no slot
  bench.set_rate(0, {10});
  bench.set_rate(1, {0, 0, 0, 0, 25});
  const auto kept = instance_at(bench.lattice, 3, 0, {serves(0)});
  bench.options.initial = one_gpu({kept, instance_at(bench.lattice, 3, 4, {serves(0)})});
  bench.policy.orders[2] = one_gpu({kept, instance_at(bench.lattice, 3, 4, {serves(1)})});
  const auto run = bench.run_well();
  EXPECT_EQ(run.needed_lost, 0);
  EXPECT_DOUBLE_EQ(run.needed_lost_in_place, 50);
  EXPECT_DOUBLE_EQ(job::overhead_hidden(run).value_or(-1), 0);
}

TEST(WarmUpLedger, Capacity_IsLostOnlyWhereSomebodyWasStopped) {
  // Aim: a free slot, a changed share and taken slots.
  LedgerBench bench;
  const auto kept = instance_at(bench.lattice, 3, 4, {serves(0)});
  bench.policy.orders[0] = one_gpu({kept});
  auto half = serves(0);
  half.share = ActiveThreadPercentage(50);
  bench.policy.orders[3] = one_gpu({instance_at(bench.lattice, 3, 4, {half})});
  const auto run = bench.run_well();
  const double share = serve::MpsShareModel::kept(ActiveThreadPercentage(50), 4);
  EXPECT_EQ(run.moves_with_free_slot, 2);
  EXPECT_EQ(run.capacity_lost, 0);
  EXPECT_NEAR(run.capacity_lost_in_place, 30 + 30 * share, 1e-9);
  bench.policy.orders[6] = one_gpu({instance_at(bench.lattice, 2, 4, {serves(1)})});
  const auto taken = bench.run_well();
  EXPECT_DOUBLE_EQ(taken.capacity_lost, 2 * 20);
}

}  // namespace
}  // namespace septule::sim
