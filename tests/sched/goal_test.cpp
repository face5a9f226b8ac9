#include "sched/goal.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "support/policy_loop.hpp"

namespace septule {
namespace {

using job::JobId;
using sched::GpuGoal;
using sched::Slot;

class GoalTest : public test::PolicyTest {};

TEST_F(GoalTest, Add_EveryOrder_KeepsJobsAscending) {
  // Aim: slots stand by job id whatever the order in which jobs come (all 120 orders of 5).
  std::vector<int> order(5);
  std::iota(order.begin(), order.end(), 0);
  do {
    GpuGoal goal;
    for (const int job : order) {
      goal.add({.job = JobId(job), .instance = job});
    }
    ASSERT_EQ(goal.slots.size(), 5U);
    for (int job = 0; job < 5; ++job) {
      ASSERT_EQ(goal.slots[static_cast<std::size_t>(job)].job, JobId(job));
      ASSERT_EQ(goal.find(JobId(job))->instance, job);
    }
  } while (std::ranges::next_permutation(order).found);
}

TEST_F(GoalTest, Remove_PresentOrAbsent_LeavesTheOthersInOrder) {
  // Aim: removal keeps order; removing who is not there changes nothing.
  GpuGoal goal;
  for (const int job : {2, 4, 6}) {
    goal.add({.job = JobId(job)});
  }
  const GpuGoal before = goal;
  goal.remove(JobId(5));
  EXPECT_EQ(goal, before);
  goal.remove(JobId(4));
  ASSERT_EQ(goal.slots.size(), 2U);
  EXPECT_EQ(goal.slots[0].job, JobId(2));
  EXPECT_EQ(goal.slots[1].job, JobId(6));
  EXPECT_EQ(goal.find(JobId(4)), nullptr);
}

TEST_F(GoalTest, Text_EachKind_SaysWhoRunsWhere) {
  // Aim: stories show instances with places, jobs, ATP, the whole GPU and characterisations.
  GpuGoal goal;
  EXPECT_EQ(sched::goal_text(geometry(), goal), "empty");
  goal.instances.push_back(placed("3g.20gb", 0));
  goal.instances.push_back(placed("1g.5gb", 4));
  goal.add({.job = JobId(17), .instance = 0});
  EXPECT_EQ(sched::goal_text(geometry(), goal), "3g.20gb@0: 17; 1g.5gb@4: -");

  GpuGoal whole;
  whole.mode = GpuGoal::Mode::kWholeGpu;
  EXPECT_EQ(sched::goal_text(geometry(), whole), "whole GPU: -");
  whole.add({.job = JobId(3), .atp = ActiveThreadPercentage(33)});
  whole.add({.job = JobId(1)});
  EXPECT_EQ(sched::goal_text(geometry(), whole), "whole GPU: 1, 3 (33 %)");

  goal.purpose = sched::GoalPurpose::kCharacterise;
  goal.characterisation = sched::default_characterisation(sched::Setting::kPaper);
  EXPECT_EQ(sched::goal_text(geometry(), goal),
            "characterise at 100, 50, 14 %: 3g.20gb@0: 17; 1g.5gb@4: -");
}

}  // namespace
}  // namespace septule
