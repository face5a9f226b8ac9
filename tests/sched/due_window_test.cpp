// The bound on overtaking in a queue.
#include "sched/policies/due_window.hpp"

#include <deque>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"

namespace septule {
namespace {

using job::JobId;
using sched::DueWindow;

class DueWindowTest : public ::testing::Test {
 protected:
  static constexpr int kJobsMax = 4096;
  JobId submit(int priority = 0) {
    const JobId id(static_cast<int>(specs_.size()));
    specs_.push_back({.id = id, .priority = priority});
    view_.submit(specs_.back(), SimTime());
    return id;
  }
  void place(JobId job) {
    sched::GpuGoal goal = view_.gpu(GpuId(0)).goal;
    goal.slots.clear();
    goal.mode = sched::GpuGoal::Mode::kWholeGpu;
    goal.add({.job = job});
    view_.set_goal(GpuId(0), goal, SimTime());
    view_.apply(sched::JobEnded{.job = job, .gpu = GpuId(0)}, SimTime());
  }

  gpu::Catalogue catalogue_ = gpu::load_builtin_catalogue();
  sched::ClusterView view_{**catalogue_.find("A100-40GB"), 1, kJobsMax};
  std::deque<job::JobSpec> specs_;
  DueWindow window_{kJobsMax};
};

TEST_F(DueWindowTest, Fill_LongQueue_TakesTheFirstInOrder) {
  // Aim: the window has its length at most and starts with the job due first.
  for (int i = 0; i < 100; ++i) {
    submit(i == 70 ? 1 : 0);
  }
  window_.fill(view_);
  EXPECT_EQ(window_.size(), DueWindow::kLength);
  EXPECT_EQ(window_.job(0), JobId(70));
  EXPECT_EQ(window_.job(1), JobId(0));
  EXPECT_FALSE(window_.finish(view_));
}

TEST_F(DueWindowTest, Finish_AllPlaced_SaysThatNobodyWaits) {
  // Aim: the answer counts those behind the window too, and an empty queue.
  window_.fill(view_);
  EXPECT_TRUE(window_.finish(view_));
  submit();
  submit();
  window_.fill(view_);
  window_.placed(1);
  EXPECT_FALSE(window_.finish(view_));
  window_.fill(view_);
  window_.placed(0);
  window_.placed(1);
  EXPECT_TRUE(window_.finish(view_));
}

TEST_F(DueWindowTest, Overtaken_AtTheBound_LetsNobodyPass) {
  // Aim: exactly kOvertakesMax jobs pass; the one in front of all is never held up.
  const JobId head = submit();
  const JobId waiting = submit();
  int passed = 0;
  for (int i = 0; i < 100; ++i) {
    submit();
    window_.fill(view_);
    ASSERT_TRUE(window_.may_place(0));
    if (window_.may_place(2)) {
      window_.placed(2);
      window_.finish(view_);
      place(window_.job(2));
      ++passed;
    } else {
      window_.finish(view_);
    }
  }
  EXPECT_EQ(passed, DueWindow::kOvertakesMax);
  EXPECT_EQ(window_.overtaken(head), DueWindow::kOvertakesMax);
  EXPECT_EQ(window_.overtaken(waiting), DueWindow::kOvertakesMax);
}

TEST_F(DueWindowTest, Placed_InTheSameDecision_IsNotOvertaken) {
  // Aim: order within one decision costs nobody anything; a placed job begins anew.
  const JobId first = submit();
  submit();
  window_.fill(view_);
  window_.placed(1);
  window_.placed(0);
  window_.finish(view_);
  EXPECT_EQ(window_.overtaken(first), 0);
}

TEST_F(DueWindowTest, RandomPlacements_NoJobIsOvertakenBeyondTheBound) {
  // Aim: the bound holds by an independent count, whatever is placed, in whatever order.
  std::mt19937_64 engine(11);
  std::map<JobId, int> overtakes;
  for (int step = 0; step < 600; ++step) {
    for (int i = static_cast<int>(engine() % 4); i > 0; --i) {
      submit(engine() % 16 == 0 ? 1 : 0);
    }
    window_.fill(view_);
    for (int tries = 0; tries < 6 && window_.size() > 0; ++tries) {
      const std::size_t at = engine() % window_.size();
      if (at % 5 != 0 && !window_.is_placed(at) && window_.may_place(at)) {
        window_.placed(at);
      }
    }
    std::vector<JobId> placed;
    int behind = 0;
    for (std::size_t i = window_.size(); i-- > 0;) {
      if (window_.is_placed(i)) {
        placed.push_back(window_.job(i));
        ++behind;
      } else {
        overtakes[window_.job(i)] += behind;
        ASSERT_LE(overtakes[window_.job(i)], DueWindow::kOvertakesMax);
      }
    }
    window_.finish(view_);
    for (const JobId job : placed) {
      place(job);
    }
  }
}

}  // namespace
}  // namespace septule
