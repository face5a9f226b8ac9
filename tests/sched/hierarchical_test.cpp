// The policy that plans congested queues in windows, with MPS inside MIG instances.
#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "gpu/partition_checker.hpp"
#include "sched/policies/due_window.hpp"
#include "sched/policies/septule_goals.hpp"
#include "sched/policy_registry.hpp"
#include "sched/random_events.hpp"
#include "sched/repartitioning_loop.hpp"
#include "support/policy_loop.hpp"

namespace septule {
namespace {

using job::JobId;
using sched::GoalPurpose;
using sched::GpuGoal;
using test::Draws;
using test::PhaseLoop;
using test::WrittenPredictor;
using Knows = WrittenPredictor::Knows;
using State = sched::JobView::State;

constexpr std::string_view kNames[] = {"hierarchical", "hierarchical-rl"};

class HierarchicalTest : public ::testing::Test {
 protected:
  const gpu::Geometry& a100() const { return **catalogue_.find("A100-40GB"); }
  PhaseLoop loop(std::string_view name,
                 const gpu::Geometry& geometry,
                 int gpu_count,
                 Knows knows,
                 double congested_per_gpu = 0.5) const {
    sched::PolicySetup setup;
    setup.geometry = &geometry;
    setup.gpu_count = gpu_count;
    setup.jobs_max = PhaseLoop::kJobsMax;
    setup.recharacterise_gap = Duration::milliseconds(60000);
    setup.windows.congested_per_gpu = congested_per_gpu;
    setup.windows.window = 6;
    return PhaseLoop(geometry,
                     gpu_count,
                     sched::find_policy(name).value()->make(setup),
                     knows,
                     PhaseLoop::Changes::kStartingToo);
  }
  /// Amdahl's law with this serial part, on the profiles from `smallest` on.
  static predict::SpeedRow row(const gpu::Geometry& geometry,
                               ProfileIndex smallest,
                               double serial) {
    predict::SpeedRow made;
    for (const ProfileIndex index : geometry.profiles_in(gpu::ProfileSet::kPlain)) {
      const auto& profile = geometry.profile(index);
      if (profile.slices >= geometry.profile(smallest).slices) {
        const double share =
            static_cast<double>(profile.slices.value()) / geometry.compute_slices().value();
        made.speed[static_cast<std::size_t>(index.value())] = 1 / (serial + (1 - serial) / share);
      }
    }
    return made;
  }
  enum class Kernels { kKnown, kNotKnown };
  JobId submit(PhaseLoop& loop, double serial, Kernels kernels) const {
    const ProfileIndex smallest = *a100().find_profile("1g.5gb");
    const JobId job = loop.submit(smallest, row(a100(), smallest, serial));
    loop.predictor().write_need(job, Bytes::mebibytes(2000));
    if (kernels == Kernels::kKnown) {
      loop.predictor().write_kernels(job, {.count = 100, .step = Duration::milliseconds(100)});
    }
    return job;
  }

  /// Arrivals, ends, changes of speed, trouble and phases, drawn at random.
  static void happen(PhaseLoop& loop, const gpu::Geometry& geometry, Draws& draws) {
    const std::vector<ProfileIndex> plain = geometry.profiles_in(gpu::ProfileSet::kPlain);
    for (int arrivals = draws.number(9); arrivals > 0; --arrivals) {
      const ProfileIndex smallest = plain[static_cast<std::size_t>(draws.number(2))];
      const bool is_gang = draws.number(20) == 0;
      const JobId job =
          loop.submit(smallest, row(geometry, smallest, 0.1 * draws.number(11)), is_gang ? 2 : 1);
      loop.predictor().write_need(
          job, Bytes::mebibytes(static_cast<std::uint64_t>(200 + draws.number(3000))));
      if (draws.number(3) != 0) {
        loop.predictor().write_kernels(
            job, {.count = 1 + draws.number(500), .step = Duration::milliseconds(100)});
      }
    }
    test::happen_at_random(loop, draws, {.ends = 6, .changes_speed = 30});
  }

  gpu::Catalogue catalogue_ = gpu::load_builtin_catalogue();
};

TEST_F(HierarchicalTest, NotCongested_DecidesAsSeptule) {
  // Aim: where the queue never grows, goals are those of `septule`, one by one.
  PhaseLoop ours = loop("hierarchical", a100(), 4, Knows::kAfterRun, 1000);
  PhaseLoop theirs = loop("septule", a100(), 4, Knows::kAfterRun);
  Draws one(3);
  Draws other(3);
  for (int step = 0; step < 80; ++step) {
    happen(ours, a100(), one);
    happen(theirs, a100(), other);
    const sched::Decisions& left = ours.decide();
    const sched::Decisions& right = theirs.decide();
    ASSERT_NO_FATAL_FAILURE(test::expect_equal_goals(left, right));
  }
}

TEST_F(HierarchicalTest, Congested_SerialJobs_ShareInstances) {
  // Aim: jobs that leave the GPU idle most of the time share instances of a partitioned GPU, more
  // of them than there are slices.
  PhaseLoop loop = this->loop("hierarchical", a100(), 1, Knows::kEverything);
  for (int i = 0; i < 24; ++i) {
    submit(loop, 0.9, Kernels::kKnown);
  }
  loop.decide();
  const GpuGoal& goal = loop.goal(GpuId(0));
  EXPECT_EQ(goal.mode, GpuGoal::Mode::kPartitioned);
  EXPECT_TRUE(sched::SeptuleGoals::is_shared(goal));
  EXPECT_GT(goal.slots.size(), 7U);
}

TEST_F(HierarchicalTest, Congested_KernelsNotKnown_ShareWithLimitsOnly) {
  // Aim: without kernel lengths nobody gets a seat under MPS without limits.
  PhaseLoop loop = this->loop("hierarchical", a100(), 2, Knows::kEverything);
  for (int i = 0; i < 40; ++i) {
    submit(loop, 0.9, Kernels::kNotKnown);
  }
  loop.decide();
  for (int gpu = 0; gpu < 2; ++gpu) {
    const GpuGoal& goal = loop.goal(GpuId(gpu));
    for (const sched::Slot& slot : goal.slots) {
      const auto sharing = std::ranges::count(goal.slots, slot.instance, &sched::Slot::instance);
      EXPECT_TRUE(sharing == 1 || slot.atp < ActiveThreadPercentage(100));
    }
  }
}

TEST_F(HierarchicalTest, Refill_OneEnds_NobodyElseIsDisturbedWhereItPaysNot) {
  // Aim: the free seat goes to a due job, and whoever ran keeps instance and limit.
  PhaseLoop loop = this->loop("hierarchical", a100(), 1, Knows::kEverything);
  for (int i = 0; i < 40; ++i) {
    submit(loop, 0.9, Kernels::kKnown);
  }
  loop.settle();
  const GpuGoal before = loop.goal(GpuId(0));
  ASSERT_TRUE(sched::SeptuleGoals::is_shared(before));
  const JobId gone = before.slots[0].job;
  loop.end(gone);
  loop.settle();
  const GpuGoal& after = loop.goal(GpuId(0));
  EXPECT_EQ(after.slots.size(), before.slots.size());
  for (const sched::Slot& slot : before.slots) {
    if (slot.job == gone) {
      continue;
    }
    const sched::Slot* now = after.find(slot.job);
    ASSERT_NE(now, nullptr);
    EXPECT_EQ(after.instances[static_cast<std::size_t>(now->instance)],
              before.instances[static_cast<std::size_t>(slot.instance)]);
    EXPECT_EQ(now->atp, slot.atp);
  }
  EXPECT_EQ(loop.preempted_count(), 0);
}

TEST_F(HierarchicalTest, Congested_UnknownJobs_AreCharacterisedManyAtOnce) {
  // Aim: unknown jobs do not share blindly: they are measured, up to seven at a time.
  PhaseLoop loop = this->loop("hierarchical", a100(), 2, Knows::kAfterRun);
  for (int i = 0; i < 30; ++i) {
    submit(loop, 0.5, Kernels::kKnown);
  }
  loop.decide();
  for (int gpu = 0; gpu < 2; ++gpu) {
    EXPECT_EQ(loop.goal(GpuId(gpu)).purpose, GoalPurpose::kCharacterise);
    EXPECT_EQ(loop.goal(GpuId(gpu)).slots.size(), 7U);
  }
  test::expect_all_end(loop);
}

TEST_F(HierarchicalTest, Congested_GpuInTrouble_TheOthersGoOn) {
  // Aim: a GPU whose order failed takes no jobs until it has rested, and the queue moves on.
  PhaseLoop loop = this->loop("hierarchical", a100(), 2, Knows::kEverything);
  for (int i = 0; i < 60; ++i) {
    submit(loop, 0.5, Kernels::kKnown);
  }
  loop.settle();
  const GpuGoal troubled = loop.goal(GpuId(0));
  loop.happened(sched::GpuTroubled{GpuId(0)});
  loop.end(loop.goal(GpuId(0)).slots[0].job);
  loop.end(loop.goal(GpuId(1)).slots[0].job);
  const sched::Decisions& decided = loop.decide();
  EXPECT_TRUE(std::ranges::none_of(decided.goals,
                                   [](const sched::SetGoal& set) { return set.gpu == GpuId(0); }));
  EXPECT_TRUE(std::ranges::any_of(decided.goals,
                                  [](const sched::SetGoal& set) { return set.gpu == GpuId(1); }));
  EXPECT_LT(loop.goal(GpuId(0)).slots.size(), troubled.slots.size());
  test::expect_all_end(loop);
}

TEST_F(HierarchicalTest, Queue_Empties_TheLastJobGetsTheWholeInstance) {
  // Aim: with few jobs left and nobody waiting, places are chosen as Septule does.
  PhaseLoop loop = this->loop("hierarchical", a100(), 1, Knows::kEverything);
  for (int i = 0; i < 16; ++i) {
    submit(loop, 0.9, Kernels::kKnown);
  }
  loop.settle();
  for (int round = 0; round < 40 && loop.jobs_in(State::kPlaced).size() > 1; ++round) {
    loop.end(loop.jobs_in(State::kPlaced).front());
    loop.advance(Duration::milliseconds(300000));
    loop.settle();
  }
  EXPECT_EQ(loop.text(GpuId(0)), "7g:15");
  EXPECT_FALSE(sched::SeptuleGoals::is_shared(loop.goal(GpuId(0))));
  test::expect_all_end(loop);
}

TEST_F(HierarchicalTest, RandomEvents_EveryModel_LegalGoalsAndNoJobLostOrDoubled) {
  // Aim: the checker refuses nothing, every job is where it should be after each decision, and all
  // jobs end.
  for (const gpu::Geometry& geometry : catalogue_.geometries()) {
    if (!geometry.plain_profile(geometry.compute_slices()).has_value()) {
      continue;
    }
    for (const std::string_view name : kNames) {
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        SCOPED_TRACE(fmt::format("{} {} seed {}", geometry.key(), name, seed));
        Draws draws(seed);
        PhaseLoop loop = this->loop(name, geometry, 3, Knows::kAfterRun);
        for (int step = 0; step < 25; ++step) {
          happen(loop, geometry, draws);
          loop.decide();
          loop.expect_sound(PhaseLoop::Instances::kShared);
        }
        test::expect_all_end(loop);
        if (HasFailure()) {
          return;
        }
      }
    }
  }
}

TEST_F(HierarchicalTest, RandomEvents_Overtaking_StaysWithinTheBound) {
  // Aim: by an independent count no waiting job sees more than kOvertakesMax jobs behind it placed
  // until it is placed itself.
  int most = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Draws draws(seed);
    PhaseLoop loop = this->loop("hierarchical", a100(), 3, Knows::kAfterRun);
    std::map<JobId, int> overtakes;
    for (int step = 0; step < 120; ++step) {
      happen(loop, a100(), draws);
      const std::vector<JobId> waiting = loop.jobs_in(State::kWaiting);
      loop.decide();
      int behind = 0;
      for (std::size_t i = waiting.size(); i-- > 0;) {
        if (loop.is_placed(waiting[i])) {
          ++behind;
          overtakes[waiting[i]] = 0;
        } else {
          overtakes[waiting[i]] += behind;
          most = std::max(most, overtakes[waiting[i]]);
          ASSERT_LE(overtakes[waiting[i]], sched::DueWindow::kOvertakesMax) << seed;
        }
      }
    }
  }
  EXPECT_GT(most, 4) << "the scene is too easy";
}

TEST_F(HierarchicalTest, EqualCalls_DecideEqually_AndNothingWithoutEvents) {
  // Aim: a policy is a function of what it was told; a decision without events changes nothing.
  Draws first_draws(5);
  Draws second_draws(5);
  PhaseLoop first = this->loop("hierarchical", a100(), 3, Knows::kAfterRun);
  PhaseLoop second = this->loop("hierarchical", a100(), 3, Knows::kAfterRun);
  for (int step = 0; step < 60; ++step) {
    happen(first, a100(), first_draws);
    happen(second, a100(), second_draws);
    const sched::Decisions& left = first.decide();
    const sched::Decisions& right = second.decide();
    ASSERT_NO_FATAL_FAILURE(test::expect_equal_goals(left, right));
    ASSERT_TRUE(first.decide().goals.empty());
    ASSERT_TRUE(second.decide().goals.empty());
  }
}

}  // namespace
}  // namespace septule
