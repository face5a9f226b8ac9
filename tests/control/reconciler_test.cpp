#include "control/reconciler.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "control/reconciler_support.hpp"

namespace septule::control {
namespace {

using job::JobId;
using test::gang_goal;
using test::goal;
using Members = Reconciler::Members;

constexpr GpuId kA{0};
constexpr GpuId kB{1};
constexpr GpuId kC{2};
constexpr GpuId kD{3};

std::vector<int> jobs_of(const sched::GpuGoal& of) {
  std::vector<int> jobs;
  for (const sched::Slot& slot : of.slots) {
    jobs.push_back(slot.job.value());
  }
  return jobs;
}

/// All orders due now, by GPU.
std::map<int, GpuOrder> orders(Reconciler& reconciler) {
  std::map<int, GpuOrder> all;
  while (const std::optional<GpuOrder> order = reconciler.next_order()) {
    EXPECT_TRUE(all.emplace(order->gpu.value(), *order).second) << "two orders for one GPU";
  }
  return all;
}

TEST(Reconciler_Desire, IsOrderedOnceAndSettles) {
  // An order per change; none for what is already so.
  Reconciler reconciler(2, 4);
  reconciler.desire(kA, goal({1}), Members::kOwnJobs);
  const auto first = orders(reconciler);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first.at(0).epoch, 1U);
  EXPECT_EQ(first.at(0).goal, goal({1}));
  EXPECT_TRUE(reconciler.is_busy(kA));
  EXPECT_EQ(reconciler.changing_count(), 1);
  EXPECT_TRUE(reconciler.ready(kA, 1));
  EXPECT_FALSE(reconciler.is_busy(kA));
  EXPECT_EQ(reconciler.changing_count(), 0);
  EXPECT_TRUE(orders(reconciler).empty());
  reconciler.desire(kA, goal({1}), Members::kOwnJobs);
  EXPECT_TRUE(orders(reconciler).empty());
}

TEST(Reconciler_BusyGpu, GetsItsNewestGoalOnceItIsReady) {
  // No order while busy; of the goals that came meanwhile only the last, with a larger epoch.
  Reconciler reconciler(1, 4);
  reconciler.desire(kA, goal({0}), Members::kOwnJobs);
  orders(reconciler);
  reconciler.desire(kA, goal({0, 1}), Members::kOwnJobs);
  EXPECT_TRUE(orders(reconciler).empty());
  reconciler.desire(kA, goal({0, 2}), Members::kOwnJobs);
  EXPECT_TRUE(orders(reconciler).empty());
  EXPECT_TRUE(reconciler.ready(kA, 1));
  const auto next = orders(reconciler);
  EXPECT_EQ(next.at(0).epoch, 2U);
  EXPECT_EQ(jobs_of(next.at(0).goal), (std::vector<int>{0, 2}));
}

TEST(Reconciler_JobHeldElsewhere, IsLeftOutUntilItIsReleased) {
  // It may not run on two GPUs; its new GPU is cut meanwhile.
  Reconciler reconciler(2, 4);
  reconciler.desire(kA, goal({0}), Members::kOwnJobs);
  orders(reconciler);
  ASSERT_TRUE(reconciler.ready(kA, 1));
  reconciler.desire(kB, goal({0, 1}), Members::kOwnJobs);
  reconciler.desire(kA, goal({}), Members::kOwnJobs);
  const auto step = orders(reconciler);
  EXPECT_EQ(jobs_of(step.at(0).goal), std::vector<int>());
  EXPECT_EQ(jobs_of(step.at(1).goal), std::vector<int>{1});
  EXPECT_EQ(step.at(1).goal.instances.size(), 2U);
  ASSERT_TRUE(reconciler.ready(kB, 1));
  EXPECT_TRUE(orders(reconciler).empty());
  ASSERT_TRUE(reconciler.ready(kA, 2));
  EXPECT_EQ(jobs_of(orders(reconciler).at(1).goal), (std::vector<int>{0, 1}));
}

TEST(Reconciler_ExchangeOfTwoJobs, DoesNotWaitInACircle) {
  // Each leaves its GPU first; once both have, each is ordered on the other.
  Reconciler reconciler(2, 2);
  reconciler.desire(kA, goal({0}), Members::kOwnJobs);
  reconciler.desire(kB, goal({1}), Members::kOwnJobs);
  orders(reconciler);
  ASSERT_TRUE(reconciler.ready(kA, 1) && reconciler.ready(kB, 1));
  reconciler.desire(kA, goal({1}), Members::kOwnJobs);
  reconciler.desire(kB, goal({0}), Members::kOwnJobs);
  const auto leave = orders(reconciler);
  EXPECT_TRUE(leave.at(0).goal.slots.empty());
  EXPECT_TRUE(leave.at(1).goal.slots.empty());
  ASSERT_TRUE(reconciler.ready(kA, 2));
  EXPECT_TRUE(orders(reconciler).empty());
  ASSERT_TRUE(reconciler.ready(kB, 2));
  const auto take = orders(reconciler);
  EXPECT_EQ(jobs_of(take.at(0).goal), std::vector<int>{1});
  EXPECT_EQ(jobs_of(take.at(1).goal), std::vector<int>{0});
}

TEST(Reconciler_EndOfAJob, InEveryState_FreesItEverywhere) {
  // Wanted only; ordered; running; wanted here while held there; left out of the newest goal.
  const auto begun = [] {
    Reconciler reconciler(2, 2);
    reconciler.desire(kA, goal({0}), Members::kOwnJobs);
    return reconciler;
  };
  Reconciler wanted = begun();
  wanted.job_ended(JobId(0));
  EXPECT_TRUE(orders(wanted).at(0).goal.slots.empty());

  Reconciler ordered = begun();
  orders(ordered);
  ordered.job_ended(JobId(0));
  EXPECT_TRUE(ordered.ready(kA, 1));
  EXPECT_TRUE(orders(ordered).empty());

  Reconciler running = begun();
  orders(running);
  EXPECT_TRUE(running.ready(kA, 1));
  running.job_ended(JobId(0));
  EXPECT_TRUE(orders(running).empty());

  Reconciler moving = begun();
  orders(moving);
  EXPECT_TRUE(moving.ready(kA, 1));
  moving.desire(kA, goal({}), Members::kOwnJobs);
  moving.desire(kB, goal({0}), Members::kOwnJobs);
  orders(moving);
  moving.job_ended(JobId(0));
  EXPECT_TRUE(moving.ready(kA, 2) && moving.ready(kB, 1));
  EXPECT_TRUE(orders(moving).empty());
}

TEST(Reconciler_StaleReports, ChangeNothing) {
  // Of an epoch that is past or never was: refused, and the GPU stays busy.
  Reconciler reconciler(1, 4);
  reconciler.desire(kA, goal({0}), Members::kOwnJobs);
  orders(reconciler);
  ASSERT_TRUE(reconciler.ready(kA, 1));
  reconciler.desire(kA, goal({1}), Members::kOwnJobs);
  orders(reconciler);
  for (const std::uint64_t epoch : {0U, 1U, 3U}) {
    EXPECT_FALSE(reconciler.ready(kA, epoch));
    EXPECT_FALSE(reconciler.characterised(kA, epoch));
    EXPECT_FALSE(reconciler.troubled(kA, epoch));
    EXPECT_FALSE(reconciler.is_current(kA, epoch));
  }
  EXPECT_TRUE(reconciler.is_busy(kA));
  EXPECT_EQ(reconciler.trouble_count(kA), 0);
  EXPECT_TRUE(reconciler.is_current(kA, 2));
}

TEST(Reconciler_Characterisation, KeepsTheGpuBusyUntilItIsOver) {
  // Ready lets a serial controller go on, but the GPU takes no order before the run is over.
  Reconciler reconciler(1, 4);
  reconciler.desire(kA, goal({0}, sched::GoalPurpose::kCharacterise), Members::kOwnJobs);
  orders(reconciler);
  ASSERT_TRUE(reconciler.ready(kA, 1));
  EXPECT_EQ(reconciler.changing_count(), 0);
  reconciler.desire(kA, goal({0, 1}), Members::kOwnJobs);
  EXPECT_TRUE(orders(reconciler).empty());
  ASSERT_TRUE(reconciler.characterised(kA, 1));
  EXPECT_EQ(orders(reconciler).at(0).epoch, 2U);
}

TEST(Reconciler_Trouble, WaitsForRetryThenOrdersTheNewestGoal) {
  // Also if the goal has not changed: what the failed order left behind is not known.
  Reconciler reconciler(1, 4);
  reconciler.desire(kA, goal({0}), Members::kOwnJobs);
  orders(reconciler);
  ASSERT_TRUE(reconciler.troubled(kA, 1));
  EXPECT_EQ(reconciler.trouble_count(kA), 1);
  EXPECT_EQ(reconciler.changing_count(), 0);
  reconciler.desire(kA, goal({0}), Members::kOwnJobs);
  EXPECT_TRUE(orders(reconciler).empty());
  reconciler.retry(kA);
  EXPECT_EQ(orders(reconciler).at(0).goal, goal({0}));
  ASSERT_TRUE(reconciler.troubled(kA, 2));
  EXPECT_EQ(reconciler.trouble_count(kA), 2);
  reconciler.retry(kA);
  orders(reconciler);
  ASSERT_TRUE(reconciler.ready(kA, 3));
  EXPECT_EQ(reconciler.trouble_count(kA), 0);
  reconciler.retry(kA);  // too late: nothing happens
  EXPECT_TRUE(orders(reconciler).empty());
}

TEST(Reconciler_TroubleThenAnEmptyGoal, IsStillOrdered) {
  // Whatever the goal is by then, even that of an untouched GPU in either mode.
  for (const auto mode : {sched::GpuGoal::Mode::kPartitioned, sched::GpuGoal::Mode::kWholeGpu}) {
    Reconciler reconciler(1, 4);
    reconciler.desire(kA, goal({0}), Members::kOwnJobs);
    orders(reconciler);
    ASSERT_TRUE(reconciler.troubled(kA, 1));
    reconciler.retry(kA);
    sched::GpuGoal empty;
    empty.mode = mode;
    reconciler.desire(kA, empty, Members::kOwnJobs);
    EXPECT_EQ(orders(reconciler).size(), 1U);
  }
}

TEST(Reconciler_TroubledGpu, DoesNotKeepTheJobsThatLeaveIt) {
  // The order had stopped job 0 before the device refused: it may go elsewhere at once.
  Reconciler reconciler(2, 4);
  reconciler.desire(kA, goal({0}), Members::kOwnJobs);
  orders(reconciler);
  ASSERT_TRUE(reconciler.ready(kA, 1));
  reconciler.desire(kA, goal({1}), Members::kOwnJobs);
  reconciler.desire(kB, goal({0}), Members::kOwnJobs);
  EXPECT_TRUE(orders(reconciler).at(1).goal.slots.empty());
  ASSERT_TRUE(reconciler.ready(kB, 1));
  ASSERT_TRUE(reconciler.troubled(kA, 2));
  EXPECT_EQ(jobs_of(orders(reconciler).at(1).goal), std::vector<int>{0});
}

TEST(Reconciler_TroubleForEver_WithChangingGoals, StaysWithinItsLimits) {
  // Sixteen other jobs each time: those of failed orders do not pile up.
  Reconciler reconciler(1, 16 * 40);
  for (int round = 0; round < 40; ++round) {
    sched::GpuGoal crowd;
    for (int job = 0; job < 16; ++job) {
      crowd.add({.job = JobId(16 * round + job), .atp = ActiveThreadPercentage(6)});
    }
    crowd.mode = sched::GpuGoal::Mode::kWholeGpu;
    reconciler.desire(kA, crowd, Members::kOwnJobs);
    ASSERT_EQ(orders(reconciler).size(), 1U);
    ASSERT_TRUE(reconciler.troubled(kA, static_cast<std::uint64_t>(round) + 1));
    reconciler.retry(kA);
  }
}

TEST(Reconciler_Gang, IsOrderedOnAllItsGpus) {
  // One job on several GPUs is no double here.
  Reconciler reconciler(3, 4);
  for (const GpuId gpu : {kA, kC}) {
    reconciler.desire(gpu, gang_goal(3), Members::kGang);
  }
  const auto first = orders(reconciler);
  EXPECT_EQ(jobs_of(first.at(0).goal), std::vector<int>{3});
  EXPECT_EQ(jobs_of(first.at(2).goal), std::vector<int>{3});
  ASSERT_TRUE(reconciler.ready(kA, 1) && reconciler.ready(kC, 1));
  reconciler.job_ended(JobId(3));
  EXPECT_TRUE(orders(reconciler).empty());
}

TEST(Reconciler_GangThatMoves, IsStoppedEverywhereFirst) {
  // From A, B to B, C: B has to stop its part too, and nobody starts before both have.
  Reconciler reconciler(4, 4);
  for (const GpuId gpu : {kA, kB}) {
    reconciler.desire(gpu, gang_goal(3), Members::kGang);
  }
  orders(reconciler);
  ASSERT_TRUE(reconciler.ready(kA, 1) && reconciler.ready(kB, 1));
  reconciler.desire(kA, goal({}), Members::kOwnJobs);
  reconciler.desire(kC, gang_goal(3), Members::kGang);
  reconciler.desire(kB, gang_goal(3), Members::kGang);
  const auto leave = orders(reconciler);
  for (const int gpu : {0, 1, 2}) {
    EXPECT_TRUE(leave.at(gpu).goal.slots.empty()) << gpu;
  }
  ASSERT_TRUE(reconciler.ready(kC, 1) && reconciler.ready(kB, 2));
  EXPECT_TRUE(orders(reconciler).empty());
  ASSERT_TRUE(reconciler.ready(kA, 2));
  const auto take = orders(reconciler);
  EXPECT_EQ(jobs_of(take.at(1).goal), std::vector<int>{3});
  EXPECT_EQ(jobs_of(take.at(2).goal), std::vector<int>{3});
  EXPECT_FALSE(take.contains(0));
}

TEST(Reconciler_GangInTwoBatches, WaitsForNobodyTwice) {
  // Requeued, then placed on other GPUs while the old ones are still stopping it.
  Reconciler reconciler(4, 4);
  for (const GpuId gpu : {kA, kB}) {
    reconciler.desire(gpu, gang_goal(3), Members::kGang);
  }
  orders(reconciler);
  ASSERT_TRUE(reconciler.ready(kA, 1) && reconciler.ready(kB, 1));
  for (const GpuId gpu : {kA, kB}) {
    reconciler.desire(gpu, goal({}), Members::kOwnJobs);
  }
  orders(reconciler);
  for (const GpuId gpu : {kC, kD}) {
    reconciler.desire(gpu, gang_goal(3), Members::kGang);
  }
  for (const auto& [gpu, order] : orders(reconciler)) {
    EXPECT_TRUE(order.goal.slots.empty()) << gpu;
  }
  ASSERT_TRUE(reconciler.ready(kC, 1) && reconciler.ready(kD, 1));
  ASSERT_TRUE(reconciler.ready(kA, 2));
  EXPECT_TRUE(orders(reconciler).empty());
  ASSERT_TRUE(reconciler.ready(kB, 2));
  EXPECT_EQ(orders(reconciler).size(), 2U);
}

}  // namespace
}  // namespace septule::control
