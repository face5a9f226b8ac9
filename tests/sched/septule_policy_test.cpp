// Septule's decisions, case by case.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "sched/policies/septule.hpp"
#include "sched/policy_registry.hpp"
#include "sched/repartitioning_loop.hpp"
#include "support/policy_loop.hpp"

namespace septule {
namespace {

using job::JobId;
using sched::GoalPurpose;
using sched::GpuPhase;
using test::PhaseLoop;
using test::WrittenPredictor;
using Knows = WrittenPredictor::Knows;
using State = sched::JobView::State;

class SeptuleMemoryTest : public test::PolicyTest {};

class SeptulePolicyTest : public ::testing::Test {
 protected:
  const gpu::Geometry& geometry() const { return **catalogue_.find("A100-40GB"); }
  PhaseLoop loop(int gpu_count, Knows knows, Duration gap = {}) const {
    sched::PolicySetup setup;
    setup.geometry = &geometry();
    setup.gpu_count = gpu_count;
    setup.jobs_max = PhaseLoop::kJobsMax;
    setup.characterisation = sched::default_characterisation(sched::Setting::kPaper);
    setup.recharacterise_gap = gap;
    return PhaseLoop(
        geometry(), gpu_count, sched::make_septule(setup), knows, PhaseLoop::Changes::kStartingToo);
  }
  /// As the measured jobs are: half the slices, 0.7 of the speed.
  predict::SpeedRow concave() const {
    predict::SpeedRow row;
    for (const ProfileIndex profile : geometry().profiles_in(gpu::ProfileSet::kPlain)) {
      row.speed[static_cast<std::size_t>(profile.value())] =
          std::sqrt(geometry().profile(profile).slices.value() / 7.0);
    }
    return row;
  }
  static Duration seconds(int count) { return Duration::milliseconds(1000LL * count); }

  gpu::Catalogue catalogue_ = gpu::load_builtin_catalogue();
};

TEST_F(SeptulePolicyTest, KnownJob_EmptyGpu_RunsOnTheWholeInstanceAtOnce) {
  // Aim: nothing is measured that is known, and MIG stays on.
  PhaseLoop loop = this->loop(2, Knows::kEverything);
  loop.submit("1g.5gb");
  loop.decide();
  EXPECT_EQ(loop.text(GpuId(0)), "7g:0");
  EXPECT_EQ(loop.goal(GpuId(0)).purpose, GoalPurpose::kRun);
  EXPECT_EQ(loop.goal(GpuId(1)).slots.size(), 0U);
}

TEST_F(SeptulePolicyTest, UnknownJob_EmptyGpuIsPreferred_ThenCharacterisedOnce) {
  // Aim: a busy GPU is left alone while an empty one can measure; afterwards the job runs.
  PhaseLoop loop = this->loop(2, Knows::kAfterRun);
  const JobId first = loop.submit("1g.5gb");
  loop.decide();
  EXPECT_EQ(loop.goal(loop.gpu_of(first)).purpose, GoalPurpose::kCharacterise);
  loop.settle();
  const sched::GpuGoal before = loop.goal(loop.gpu_of(first));
  EXPECT_EQ(before.purpose, GoalPurpose::kRun);
  const JobId second = loop.submit("1g.5gb");
  loop.decide();
  EXPECT_NE(loop.gpu_of(second), loop.gpu_of(first));
  EXPECT_EQ(loop.goal(loop.gpu_of(first)), before);
  loop.settle();
  EXPECT_EQ(loop.preempted_count(), 0);
}

TEST_F(SeptulePolicyTest, UnknownJobsTogether_NoOtherEmptyGpu_ShareOneRun) {
  // Aim: what waits in one decision is measured in one run where the memory of all fits; else not.
  PhaseLoop loop = this->loop(1, Knows::kAfterRun);
  for (int i = 0; i < 4; ++i) {
    loop.submit("1g.5gb");
  }
  const JobId large = loop.submit("4g.20gb");
  loop.decide();
  EXPECT_EQ(loop.goal(GpuId(0)).purpose, GoalPurpose::kCharacterise);
  // Large first, then three of the others fit beside its four slices.
  EXPECT_EQ(loop.goal(GpuId(0)).slots.size(), 4U);
  EXPECT_TRUE(loop.is_placed(large));
  EXPECT_EQ(loop.jobs_in(State::kWaiting).size(), 1U);
  loop.settle();
  loop.expect_sound();
  EXPECT_EQ(loop.goal(GpuId(0)).purpose, GoalPurpose::kRun);
}

TEST_F(SeptulePolicyTest, JobUnknownAfterItsRun_RunsOnAssumedSpeeds) {
  // Aim: a run that saw nothing is not repeated for ever.
  PhaseLoop loop = this->loop(1, Knows::kAfterRun);
  loop.make_runs_blind();
  loop.submit("1g.5gb");
  loop.submit("2g.10gb");
  loop.settle();
  EXPECT_EQ(loop.goal(GpuId(0)).purpose, GoalPurpose::kRun);
  EXPECT_EQ(loop.goal(GpuId(0)).slots.size(), 2U);
}

TEST_F(SeptulePolicyTest, Arrival_NextToSmallJobs_DisturbsNobodyWithoutGain) {
  // Aim: jobs that are as fast on a small instance keep place and process when one more comes.
  PhaseLoop loop = this->loop(1, Knows::kEverything);
  predict::SpeedRow flat;
  flat.speed.fill(1);
  const ProfileIndex smallest = geometry().find_profile("1g.5gb").value();
  std::vector<std::pair<JobId, gpu::PlacedProfile>> places;
  for (int i = 0; i < 7; ++i) {
    loop.advance(seconds(100));
    const JobId job = loop.submit(smallest, flat);
    loop.settle();
    ASSERT_TRUE(loop.is_placed(job)) << i;
    const sched::GpuGoal& goal = loop.goal(GpuId(0));
    EXPECT_EQ(goal.restart, sched::RestartRule::kMovedOnly);
  }
  EXPECT_EQ(loop.goal(GpuId(0)).slots.size(), 7U);
  const sched::GpuGoal before = loop.goal(GpuId(0));
  loop.end(JobId(3));
  loop.settle();
  for (const sched::Slot& slot : loop.goal(GpuId(0)).slots) {
    EXPECT_EQ(loop.goal(GpuId(0)).instances[static_cast<std::size_t>(slot.instance)],
              before.instances[static_cast<std::size_t>(before.find(slot.job)->instance)]);
  }
}

TEST_F(SeptulePolicyTest, Departure_LargeGain_JobMovesUp) {
  // Aim: whoever is left alone gets the whole GPU when it runs seven times as fast there.
  PhaseLoop loop = this->loop(1, Knows::kEverything);
  const JobId first = loop.submit("1g.5gb");
  const JobId second = loop.submit("1g.5gb");
  loop.settle();
  EXPECT_NE(loop.text(GpuId(0)), "7g:1");
  loop.end(first);
  loop.settle();
  EXPECT_EQ(loop.text(GpuId(0)), "7g:1");
  EXPECT_TRUE(loop.is_placed(second));
}

TEST_F(SeptulePolicyTest, Relief_EmptiedGpu_PullsAJobUnlessSomeoneWaits) {
  // Aim: a GPU that falls empty takes a job off the crowded one; not while a gang wants GPUs.
  for (const bool is_waited_for : {false, true}) {
    PhaseLoop loop = this->loop(2, Knows::kEverything);
    for (int i = 0; i < 5; ++i) {
      loop.submit(geometry().find_profile("1g.5gb").value(), concave());
      loop.settle();
    }
    const GpuId crowded = loop.goal(GpuId(0)).slots.size() == 3 ? GpuId(0) : GpuId(1);
    const GpuId other(1 - crowded.value());
    ASSERT_EQ(loop.goal(crowded).slots.size(), 3U);
    if (is_waited_for) {
      loop.submit("7g.40gb", 2);
      loop.settle();
    }
    const auto slots = loop.goal(other).slots;
    for (const sched::Slot& slot : slots) {
      loop.end(slot.job);
    }
    loop.settle();
    EXPECT_EQ(loop.goal(other).slots.size(), is_waited_for ? 0U : 1U);
    EXPECT_EQ(loop.preempted_count(), 0);
    loop.expect_sound();
  }
}

TEST_F(SeptulePolicyTest, Backfill_LargeJobWaits_OvertakenUpToTheBoundThenServed) {
  // Aim: small jobs pass a job that needs the whole GPU, but not for ever.
  PhaseLoop loop = this->loop(1, Knows::kEverything);
  loop.submit("1g.5gb");
  loop.settle();
  const JobId large = loop.submit("7g.40gb");
  int passed = 0;
  for (int round = 0; round < 200 && !loop.is_placed(large); ++round) {
    const JobId small = loop.submit("1g.5gb");
    loop.settle();
    passed += loop.is_placed(small) && !loop.is_placed(large) ? 1 : 0;
    const auto running = loop.goal(GpuId(0)).slots;
    if (running.size() > 1 || !loop.is_placed(small)) {
      loop.end(running[0].job);
      loop.settle();
    }
  }
  EXPECT_TRUE(loop.is_placed(large));
  EXPECT_EQ(passed, sched::DueWindow::kOvertakesMax);
}

TEST_F(SeptulePolicyTest, Gang_WaitsForEmptyGpusAndHoldsThemWhole) {
  // Aim: a gang gets whole GPUs, alone, and gives all of them back.
  PhaseLoop loop = this->loop(3, Knows::kEverything);
  const JobId small = loop.submit("1g.5gb");
  loop.settle();
  const JobId gang = loop.submit("7g.40gb", 3);
  loop.settle();
  EXPECT_FALSE(loop.is_placed(gang));
  loop.end(small);
  loop.settle();
  for (int gpu = 0; gpu < 3; ++gpu) {
    EXPECT_EQ(loop.text(GpuId(gpu)), "whole");
  }
  loop.end(gang);
  loop.settle();
  loop.submit("1g.5gb");
  loop.submit("1g.5gb");
  loop.submit("1g.5gb");
  loop.settle();
  EXPECT_TRUE(loop.jobs_in(State::kWaiting).empty());
}

TEST_F(SeptulePolicyTest, SpeedChanged_JobAlone_IsForgottenButNotDisturbed) {
  // Aim: alone on the whole GPU every curve has the same answer, so nothing is measured.
  PhaseLoop loop = this->loop(1, Knows::kAfterRun);
  const JobId job = loop.submit("1g.5gb");
  loop.settle();
  loop.advance(seconds(1000));
  loop.happened(sched::JobSpeedChanged{.job = job, .gpu = GpuId(0), .factor = 0.5});
  EXPECT_TRUE(loop.decide().goals.empty());
  EXPECT_EQ(loop.predictor().forget_count(), 1);
}

TEST_F(SeptulePolicyTest, SpeedChanged_WithinThreshold_IsIgnored) {
  // Aim: small changes void nothing; a factor that is no number does.
  PhaseLoop loop = this->loop(1, Knows::kAfterRun);
  const JobId job = loop.submit("1g.5gb");
  loop.settle();
  for (const double factor : {0.81, 1.0, 1.19}) {
    loop.happened(sched::JobSpeedChanged{.job = job, .gpu = GpuId(0), .factor = factor});
    loop.decide();
  }
  EXPECT_EQ(loop.predictor().forget_count(), 0);
  loop.happened(sched::JobSpeedChanged{
      .job = job, .gpu = GpuId(0), .factor = std::numeric_limits<double>::quiet_NaN()});
  loop.decide();
  EXPECT_EQ(loop.predictor().forget_count(), 1);
}

TEST_F(SeptulePolicyTest, SpeedChanged_WhileCharacterised_IsNotForgotten) {
  // Aim: the run sees the job as it is now.
  PhaseLoop loop = this->loop(1, Knows::kAfterRun);
  const JobId job = loop.submit("1g.5gb");
  loop.decide();
  loop.happened(sched::JobSpeedChanged{.job = job, .gpu = GpuId(0), .factor = 3});
  loop.decide();
  loop.proceed(GpuId(0));
  loop.happened(sched::JobSpeedChanged{.job = job, .gpu = GpuId(0), .factor = 3});
  loop.decide();
  EXPECT_EQ(loop.predictor().forget_count(), 0);
}

TEST_F(SeptulePolicyTest, Trouble_OnlyGpu_NoJobIsLostAndTheQueueGoesOn) {
  // Aim: a GPU in trouble gets nothing new, asks to be woken, and is used again afterwards.
  PhaseLoop loop = this->loop(1, Knows::kEverything);
  const JobId first = loop.submit("1g.5gb");
  loop.settle();
  loop.happened(sched::GpuTroubled{GpuId(0)});
  const JobId second = loop.submit("1g.5gb");
  const sched::Decisions& decisions = loop.decide();
  EXPECT_TRUE(decisions.goals.empty());
  ASSERT_EQ(decisions.wakes.size(), 1U);
  EXPECT_TRUE(loop.is_placed(first));
  loop.expect_sound();
  loop.advance(decisions.wakes[0].time - SimTime());
  loop.happened(sched::WokeUp{});
  loop.settle();
  EXPECT_TRUE(loop.is_placed(second));
}

TEST_F(SeptulePolicyTest, Trouble_AgainAndAgain_PausesGrowToALimit) {
  // Aim: the pause doubles from 1 s to 64 s, and other GPUs serve the queue meanwhile.
  PhaseLoop loop = this->loop(2, Knows::kEverything);
  for (int i = 0; i < 9; ++i) {
    loop.happened(sched::GpuTroubled{GpuId(0)});
    const sched::Decisions& decisions = loop.decide();
    ASSERT_EQ(decisions.wakes.size(), 1U);
    EXPECT_EQ(decisions.wakes[0].time, SimTime() + seconds(1 << std::min(i, 6)));
  }
  const JobId job = loop.submit("1g.5gb");
  loop.settle();
  EXPECT_EQ(loop.gpu_of(job), GpuId(1));
}

TEST_F(SeptulePolicyTest, StartingGpu_TakesMoreJobs) {
  // Aim: nobody waits for another's first step.
  PhaseLoop loop = this->loop(1, Knows::kEverything);
  loop.submit("1g.5gb");
  loop.decide();
  const JobId second = loop.submit("1g.5gb");
  loop.decide();
  EXPECT_FALSE(loop.is_placed(second));  // being cut
  loop.proceed(GpuId(0));
  ASSERT_EQ(loop.phase(GpuId(0)), GpuPhase::kStarting);
  loop.decide();
  EXPECT_TRUE(loop.is_placed(second));
}

TEST_F(SeptuleMemoryTest, UnknownJobsTogether_NeedMoreThanTheirProfiles_AreLimitedByMemory) {
  // Aim: what jobs need together under MPS counts, not only the instances that they fit later.
  test::PolicyLoop loop = this->loop("septule", 1);
  for (int i = 0; i < 5; ++i) {
    loop.submit({.smallest = "1g.5gb", .need = Bytes::mebibytes(12000)});
  }
  loop.decide();
  EXPECT_EQ(loop.jobs_in(State::kPlaced).size(), 3U);
  EXPECT_EQ(loop.jobs_in(State::kWaiting).size(), 2U);
}

}  // namespace
}  // namespace septule
