#include "sched/policies/nopart.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "support/policy_loop.hpp"

namespace septule {
namespace {

using job::JobId;
using sched::GpuGoal;

class NopartTest : public test::PolicyTest {};

TEST_F(NopartTest, Arrivals_MoreJobsThanGpus_TakeLowestFreeGpusInOrder) {
  // Aim: one job per whole GPU, lowest ids first, the rest waits in order.
  auto loop = this->loop("nopart", 2);
  for (int i = 0; i < 4; ++i) {
    loop.submit({});
  }
  loop.decide();
  EXPECT_EQ(loop.gpu_of(JobId(0)), GpuId(0));
  EXPECT_EQ(loop.gpu_of(JobId(1)), GpuId(1));
  EXPECT_EQ(loop.view().queue().size(), 2U);
  const GpuGoal& goal = loop.view().gpu(GpuId(0)).goal;
  EXPECT_EQ(goal.mode, GpuGoal::Mode::kWholeGpu);
  EXPECT_TRUE(goal.instances.empty());
  EXPECT_EQ(goal.slots[0].atp, ActiveThreadPercentage(100));
  loop.end(JobId(1));
  loop.decide();
  EXPECT_EQ(loop.gpu_of(JobId(2)), GpuId(1));
  EXPECT_FALSE(loop.is_placed(JobId(3)));
}

TEST_F(NopartTest, Decide_NothingHappened_DecidesNothing) {
  // Aim: no free GPU or no waiting job means no goal.
  auto loop = this->loop("nopart", 1);
  EXPECT_TRUE(loop.decide().goals.empty());
  loop.submit({});
  EXPECT_EQ(loop.decide().goals.size(), 1U);
  loop.submit({});
  EXPECT_TRUE(loop.decide().goals.empty());
  loop.happened(sched::WokeUp{});
  EXPECT_TRUE(loop.decide().goals.empty());
}

TEST_F(NopartTest, Gang_TooFewFreeGpus_WaitsAndIsNotOvertaken) {
  // Aim: a gang gets all its GPUs at once, and strict order holds while it waits.
  auto loop = this->loop("nopart", 3);
  const JobId single = loop.submit({});
  const JobId gang = loop.submit({.gpus = 3});
  const JobId late = loop.submit({});
  loop.decide();
  EXPECT_TRUE(loop.is_placed(single));
  EXPECT_FALSE(loop.is_placed(gang));
  EXPECT_FALSE(loop.is_placed(late));
  loop.end(single);
  loop.decide();
  EXPECT_EQ(loop.view().gpus_of(gang), (std::vector<GpuId>{GpuId(0), GpuId(1), GpuId(2)}));
  EXPECT_FALSE(loop.is_placed(late));
  loop.end(gang);
  loop.submit({.gpus = 2});
  loop.decide();
  EXPECT_EQ(loop.gpu_of(late), GpuId(0));
  EXPECT_EQ(loop.view().gpus_of(JobId(3)), (std::vector<GpuId>{GpuId(1), GpuId(2)}));
}

TEST_F(NopartTest, Priority_UrgentJob_GoesFirst) {
  // Aim: the queue's order is the order of placement.
  auto loop = this->loop("nopart", 1);
  loop.submit({});
  const JobId urgent = loop.submit({.priority = 1});
  loop.decide();
  EXPECT_TRUE(loop.is_placed(urgent));
  EXPECT_FALSE(loop.is_placed(JobId(0)));
}

}  // namespace
}  // namespace septule
