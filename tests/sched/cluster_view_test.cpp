#include "sched/cluster_view.hpp"

#include <deque>
#include <vector>

#include <climits>
#include <gtest/gtest.h>

#include "support/policy_loop.hpp"

namespace septule {
namespace {

using job::JobId;
using sched::ClusterView;
using sched::GpuGoal;
using sched::GpuPhase;
using State = sched::JobView::State;

SimTime at(std::int64_t seconds) {
  return SimTime::nanoseconds(seconds * 1000000000);
}

GpuGoal whole_gpu(const std::vector<int>& jobs) {
  GpuGoal goal;
  goal.mode = GpuGoal::Mode::kWholeGpu;
  for (const int job : jobs) {
    goal.add({.job = JobId(job)});
  }
  return goal;
}

class ClusterViewTest : public test::PolicyTest {
 protected:
  const job::JobSpec& spec(int gpus = 1, int priority = 0) {
    specs_.push_back(
        {.id = JobId(static_cast<int>(specs_.size())), .gpus = gpus, .priority = priority});
    return specs_.back();
  }
  std::vector<int> queue(const ClusterView& view) const {
    std::vector<int> ids;
    for (const ClusterView::QueueKey& key : view.queue()) {
      ids.push_back(key.job.value());
    }
    return ids;
  }

  std::deque<job::JobSpec> specs_;
};

TEST_F(ClusterViewTest, Submit_Priorities_QueueByPriorityThenId) {
  // Aim: larger priorities first, equal ones by submission, extreme ones without overflow.
  ClusterView view(geometry(), 1, 8);
  for (const int priority : {0, 5, INT_MIN, INT_MAX, 5, -1}) {
    view.submit(spec(1, priority), at(1));
  }
  EXPECT_EQ(queue(view), (std::vector<int>{3, 1, 4, 0, 5, 2}));
  view.reject(JobId(1), at(2));
  EXPECT_EQ(queue(view), (std::vector<int>{3, 4, 0, 5, 2}));
  EXPECT_EQ(view.job(JobId(1)).state, State::kRejected);
  EXPECT_EQ(view.job(JobId(1)).since, at(2));
}

TEST_F(ClusterViewTest, SetGoal_Placement_TakesTheJobOutOfTheQueue) {
  // Aim: placement sets state, GPU and first placement; a later goal keeps the first placement.
  ClusterView view(geometry(), 2, 4);
  view.submit(spec(), at(1));
  EXPECT_FALSE(view.is_placed(JobId(0)));
  EXPECT_TRUE(view.gpus_of(JobId(0)).empty());
  view.set_goal(GpuId(1), whole_gpu({0}), at(3));
  EXPECT_TRUE(queue(view).empty());
  EXPECT_EQ(view.job(JobId(0)).state, State::kPlaced);
  EXPECT_EQ(view.job(JobId(0)).gpu, GpuId(1));
  EXPECT_EQ(view.job(JobId(0)).since, at(3));
  EXPECT_TRUE(view.job(JobId(0)).was_placed);
  view.set_goal(GpuId(1), whole_gpu({0}), at(5));
  EXPECT_EQ(view.job(JobId(0)).since, at(3));
  EXPECT_EQ(view.job(JobId(0)).placed_first, at(3));
  EXPECT_EQ(view.gpus_of(JobId(0)), std::vector<GpuId>{GpuId(1)});
}

TEST_F(ClusterViewTest, SetGoal_MoveBetweenGpus_WorksInEitherOrder) {
  // Aim: two jobs swap GPUs; the goals of the batch may be applied in any order.
  for (const bool is_first_first : {true, false}) {
    ClusterView view(geometry(), 2, 4);
    specs_.clear();
    view.submit(spec(), at(0));
    view.submit(spec(), at(0));
    view.set_goal(GpuId(0), whole_gpu({0}), at(1));
    view.set_goal(GpuId(1), whole_gpu({1}), at(1));
    const GpuId first(is_first_first ? 0 : 1);
    const GpuId second(is_first_first ? 1 : 0);
    view.set_goal(first, whole_gpu({1 - first.value()}), at(2));
    view.set_goal(second, whole_gpu({1 - second.value()}), at(2));
    EXPECT_TRUE(view.is_placed(JobId(0)));
    EXPECT_TRUE(view.is_placed(JobId(1)));
    EXPECT_EQ(view.job(JobId(0)).gpu, GpuId(1));
    EXPECT_EQ(view.job(JobId(1)).gpu, GpuId(0));
  }
}

TEST_F(ClusterViewTest, SetGoal_MoveToOneGpu_WorksInEitherOrder) {
  // Aim: a job that leaves A for B is never "placed nowhere" once both goals are applied.
  for (const int first : {0, 1}) {
    ClusterView view(geometry(), 2, 4);
    specs_.clear();
    view.submit(spec(), at(0));
    view.set_goal(GpuId(0), whole_gpu({0}), at(1));
    for (const int gpu : {first, 1 - first}) {
      view.set_goal(GpuId(gpu), gpu == 0 ? whole_gpu({}) : whole_gpu({0}), at(2));
    }
    EXPECT_TRUE(view.is_placed(JobId(0)));
    EXPECT_EQ(view.gpus_of(JobId(0)), std::vector<GpuId>{GpuId(1)});
  }
}

TEST_F(ClusterViewTest, Requeue_PreemptedJob_KeepsItsPlaceInTheQueue) {
  // Aim: a preempted job waits anew, but before later submissions, and may be placed again.
  ClusterView view(geometry(), 1, 4);
  view.submit(spec(), at(0));
  view.set_goal(GpuId(0), whole_gpu({0}), at(1));
  view.submit(spec(), at(2));
  view.set_goal(GpuId(0), whole_gpu({}), at(3));
  EXPECT_EQ(view.job(JobId(0)).state, State::kPlaced);
  EXPECT_FALSE(view.is_placed(JobId(0)));
  view.requeue(JobId(0), at(3));
  EXPECT_EQ(queue(view), (std::vector<int>{0, 1}));
  EXPECT_EQ(view.job(JobId(0)).since, at(3));
  EXPECT_EQ(view.job(JobId(0)).placed_first, at(1));
}

TEST_F(ClusterViewTest, Apply_JobEnded_EmptiesSlotsAndKeepsInstances) {
  // Aim: an ended job leaves its goal at once; the instances stay as ordered.
  ClusterView view(geometry(), 1, 4);
  view.submit(spec(), at(0));
  GpuGoal goal;
  goal.instances.push_back(placed("3g.20gb", 0));
  goal.add({.job = JobId(0), .instance = 0});
  view.set_goal(GpuId(0), goal, at(1));
  view.apply(sched::JobEnded{.job = JobId(0), .gpu = GpuId(0)}, at(9));
  EXPECT_TRUE(view.gpu(GpuId(0)).goal.slots.empty());
  EXPECT_EQ(view.gpu(GpuId(0)).goal.instances.size(), 1U);
  EXPECT_EQ(view.job(JobId(0)).state, State::kEnded);
  EXPECT_EQ(view.job(JobId(0)).since, at(9));
}

TEST_F(ClusterViewTest, Apply_JobEndedWhileMovedOrPreempted_IsFoundWhereTheViewHasIt) {
  // Aim: a job may end on its old GPU after its move or preemption was decided.
  ClusterView view(geometry(), 2, 4);
  view.submit(spec(), at(0));
  view.submit(spec(), at(0));
  view.set_goal(GpuId(0), whole_gpu({0, 1}), at(1));
  view.set_goal(GpuId(0), whole_gpu({}), at(2));
  view.set_goal(GpuId(1), whole_gpu({0}), at(2));
  view.requeue(JobId(1), at(2));
  view.apply(sched::JobEnded{.job = JobId(0), .gpu = GpuId(0)}, at(3));
  view.apply(sched::JobEnded{.job = JobId(1), .gpu = GpuId(0)}, at(3));
  EXPECT_TRUE(view.gpu(GpuId(1)).goal.slots.empty());
  EXPECT_TRUE(queue(view).empty());
  EXPECT_EQ(view.job(JobId(1)).state, State::kEnded);
}

TEST_F(ClusterViewTest, Gang_PlacedMovedEnded_IsOnAllItsGpusAndNoOther) {
  // Aim: a gang's GPUs follow its goals in any order, and its end empties all of them.
  ClusterView view(geometry(), 4, 4);
  view.submit(spec(2), at(0));
  view.set_goal(GpuId(3), whole_gpu({0}), at(1));
  view.set_goal(GpuId(1), whole_gpu({0}), at(1));
  EXPECT_EQ(view.job(JobId(0)).gpu, GpuId(1));
  EXPECT_EQ(view.gpus_of(JobId(0)), (std::vector<GpuId>{GpuId(1), GpuId(3)}));
  // To GPUs 0 and 3: the leaving goal last.
  view.set_goal(GpuId(0), whole_gpu({0}), at(2));
  view.set_goal(GpuId(1), whole_gpu({}), at(2));
  EXPECT_EQ(view.gpus_of(JobId(0)), (std::vector<GpuId>{GpuId(0), GpuId(3)}));
  EXPECT_EQ(view.job(JobId(0)).gpu, GpuId(0));
  view.apply(sched::JobEnded{.job = JobId(0), .gpu = GpuId(0)}, at(3));
  for (int gpu = 0; gpu < 4; ++gpu) {
    EXPECT_TRUE(view.gpu(GpuId(gpu)).goal.slots.empty());
  }
  EXPECT_TRUE(view.gpus_of(JobId(0)).empty());
}

TEST_F(ClusterViewTest, Gang_Preempted_GoesBackToTheQueueOnce) {
  // Aim: a gang left out of all its goals waits again and can be placed elsewhere.
  ClusterView view(geometry(), 4, 4);
  view.submit(spec(2), at(0));
  view.set_goal(GpuId(0), whole_gpu({0}), at(1));
  view.set_goal(GpuId(1), whole_gpu({0}), at(1));
  view.set_goal(GpuId(0), whole_gpu({}), at(2));
  EXPECT_TRUE(view.is_placed(JobId(0)));
  view.set_goal(GpuId(1), whole_gpu({}), at(2));
  EXPECT_FALSE(view.is_placed(JobId(0)));
  view.requeue(JobId(0), at(2));
  EXPECT_EQ(queue(view), std::vector<int>{0});
  view.set_goal(GpuId(2), whole_gpu({0}), at(3));
  view.set_goal(GpuId(3), whole_gpu({0}), at(3));
  EXPECT_EQ(view.gpus_of(JobId(0)), (std::vector<GpuId>{GpuId(2), GpuId(3)}));
}

TEST_F(ClusterViewTest, Apply_GpuEvents_SetThePhaseAndItsBeginning) {
  // Aim: each report has its phase; a report that changes nothing does not restart the phase.
  ClusterView view(geometry(), 2, 1);
  view.set_phase(GpuId(1), GpuPhase::kChanging, at(1));
  EXPECT_EQ(view.gpu(GpuId(1)).phase, GpuPhase::kChanging);
  view.apply(sched::GpuReady{GpuId(1)}, at(2));
  EXPECT_EQ(view.gpu(GpuId(1)).phase, GpuPhase::kStarting);
  view.apply(sched::GpuSettled{GpuId(1)}, at(3));
  view.apply(sched::GpuSettled{GpuId(1)}, at(4));
  EXPECT_EQ(view.gpu(GpuId(1)).phase, GpuPhase::kSettled);
  EXPECT_EQ(view.gpu(GpuId(1)).phase_since, at(3));
  view.set_phase(GpuId(1), GpuPhase::kCharacterising, at(5));
  view.apply(sched::GpuTroubled{GpuId(1)}, at(6));
  view.apply(sched::WokeUp{}, at(6));
  view.apply(sched::JobSpeedChanged{.job = JobId(0), .gpu = GpuId(1), .factor = 2}, at(6));
  EXPECT_EQ(view.gpu(GpuId(1)).phase, GpuPhase::kCharacterising);
  view.apply(sched::GpuCharacterised{GpuId(1)}, at(7));
  EXPECT_EQ(view.gpu(GpuId(1)).phase, GpuPhase::kSettled);
  EXPECT_EQ(view.gpu(GpuId(0)).phase, GpuPhase::kSettled);
}

TEST_F(ClusterViewTest, SetGoal_RandomBatches_AgreeWithAPlainModel) {
  // Aim: over random batches of moves, preemptions and ends the view equals a map job -> GPU.
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    test::Draws draws(seed);
    specs_.clear();
    constexpr int kGpus = 4;
    constexpr int kJobs = 12;
    ClusterView view(geometry(), kGpus, kJobs);
    std::vector<int> gpu_of(kJobs, -1);  // -1 waiting, -2 over
    for (int job = 0; job < kJobs; ++job) {
      view.submit(spec(), at(0));
    }
    for (int round = 1; round <= 30; ++round) {
      for (int& gpu : gpu_of) {
        if (gpu != -2) {
          gpu = draws.number(kGpus + 1) - 1;
        }
      }
      std::vector<int> order = {0, 1, 2, 3};
      std::ranges::shuffle(order, std::mt19937_64(seed + static_cast<std::uint64_t>(round)));
      for (const int gpu : order) {
        GpuGoal goal;
        goal.mode = GpuGoal::Mode::kWholeGpu;
        for (int job = 0; job < kJobs; ++job) {
          if (gpu_of[static_cast<std::size_t>(job)] == gpu) {
            goal.add({.job = JobId(job)});
          }
        }
        view.set_goal(GpuId(gpu), goal, at(round));
      }
      for (int job = 0; job < kJobs; ++job) {
        if (view.job(JobId(job)).state == State::kPlaced && !view.is_placed(JobId(job))) {
          view.requeue(JobId(job), at(round));
        }
      }
      const int ending = draws.number(3 * kJobs);
      if (ending < kJobs && gpu_of[static_cast<std::size_t>(ending)] != -2) {
        view.apply(sched::JobEnded{.job = JobId(ending), .gpu = GpuId(0)}, at(round));
        gpu_of[static_cast<std::size_t>(ending)] = -2;
      }
      for (int job = 0; job < kJobs; ++job) {
        const int gpu = gpu_of[static_cast<std::size_t>(job)];
        ASSERT_EQ(view.is_placed(JobId(job)), gpu >= 0) << "seed " << seed;
        ASSERT_EQ(view.queue().contains({.job = JobId(job)}), gpu == -1) << "seed " << seed;
        if (gpu >= 0) {
          ASSERT_EQ(view.job(JobId(job)).gpu, GpuId(gpu)) << "seed " << seed;
        }
      }
    }
  }
}

TEST_F(ClusterViewTest, Misuse_ProgrammerErrors_StopTheProgram) {
  // Aim: double submission, placing an ended job and requeueing a placed one are refused loudly.
  ClusterView view(geometry(), 1, 2);
  view.submit(spec(), at(0));
  EXPECT_DEATH(view.submit(specs_[0], at(0)), "submitted once");
  view.set_goal(GpuId(0), whole_gpu({0}), at(1));
  EXPECT_DEATH(view.requeue(JobId(0), at(1)), "every goal leaves out");
  EXPECT_DEATH(view.reject(JobId(0), at(1)), "waiting job");
  view.apply(sched::JobEnded{.job = JobId(0), .gpu = GpuId(0)}, at(2));
  EXPECT_DEATH(view.set_goal(GpuId(0), whole_gpu({0}), at(3)), "wait or are placed");
  EXPECT_DEATH(view.apply(sched::JobEnded{.job = JobId(0), .gpu = GpuId(0)}, at(3)), "not ended");
}

}  // namespace
}  // namespace septule
