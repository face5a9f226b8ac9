// MISO and its oracle: the engine that both share.
#include "sched/policies/repartitioning.hpp"

#include <limits>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "sched/policy_registry.hpp"
#include "sched/repartitioning_loop.hpp"

namespace septule {
namespace {

using job::JobId;
using sched::GoalPurpose;
using sched::GpuGoal;
using sched::GpuPhase;
using sched::Setting;
using test::PhaseLoop;
using test::WrittenPredictor;
using State = sched::JobView::State;

constexpr std::string_view kNames[] = {"miso", "miso-wide", "oracle", "oracle-wide"};

class RepartitioningTest : public ::testing::Test {
 protected:
  struct Options {
    Setting setting = Setting::kPaper;
    Duration gap;
  };
  const gpu::Geometry& geometry() const { return **catalogue_.find("A100-40GB"); }
  PhaseLoop loop(std::string_view name, int gpu_count, const Options& options) const {
    sched::PolicySetup setup;
    setup.geometry = &geometry();
    setup.gpu_count = gpu_count;
    setup.jobs_max = PhaseLoop::kJobsMax;
    setup.setting = options.setting;
    setup.characterisation = sched::default_characterisation(options.setting);
    setup.recharacterise_gap = options.gap;
    const bool is_oracle = name.starts_with("oracle");
    return PhaseLoop(
        geometry(),
        gpu_count,
        sched::find_policy(name).value()->make(setup),
        is_oracle ? WrittenPredictor::Knows::kEverything : WrittenPredictor::Knows::kAfterRun);
  }
  PhaseLoop loop(std::string_view name, int gpu_count) const { return loop(name, gpu_count, {}); }
  predict::SpeedRow row(const std::array<double, 5>& speeds) const {
    constexpr std::array kSlices{7, 4, 3, 2, 1};
    predict::SpeedRow row;
    for (std::size_t i = 0; i < kSlices.size(); ++i) {
      const auto profile = geometry().plain_profile(ComputeSlices(kSlices[i])).value();
      row.speed[static_cast<std::size_t>(profile.value())] = speeds[i];
    }
    return row;
  }
  ProfileIndex profile(std::string_view name) const {
    return geometry().find_profile(name).value();
  }

  gpu::Catalogue catalogue_ = gpu::load_builtin_catalogue();
};

TEST_F(RepartitioningTest, Arrival_EmptyGpu_RunsAloneOnTheWholeProfile) {
  // Aim: no characterisation for a job alone; empty GPUs first, lowest number.
  for (const std::string_view name : kNames) {
    auto loop = this->loop(name, 2);
    loop.submit("1g.5gb");
    loop.submit("1g.5gb");
    EXPECT_EQ(loop.decide().goals.size(), 2U);
    EXPECT_EQ(loop.text(GpuId(0)), "7g:0");
    EXPECT_EQ(loop.text(GpuId(1)), "7g:1");
    EXPECT_EQ(loop.goal(GpuId(0)).purpose, GoalPurpose::kRun);
    EXPECT_EQ(loop.goal(GpuId(0)).restart, sched::RestartRule::kEverything);
  }
}

TEST_F(RepartitioningTest, Arrival_BusyGpu_MisoMeasuresAndOracleCuts) {
  // Aim: MISO puts all jobs into one whole instance under MPS and cuts afterwards; the oracle cuts
  // at once; both end at the same partition.
  auto miso = this->loop("miso", 1);
  auto oracle = this->loop("oracle", 1);
  for (PhaseLoop* loop : {&miso, &oracle}) {
    loop->submit("1g.5gb");
    loop->settle();
    loop->submit("3g.20gb");
    loop->decide();
  }
  EXPECT_EQ(miso.text(GpuId(0)), "7g:0,1");
  EXPECT_EQ(miso.goal(GpuId(0)).purpose, GoalPurpose::kCharacterise);
  EXPECT_EQ(miso.goal(GpuId(0)).characterisation, sched::default_characterisation(Setting::kPaper));
  EXPECT_EQ(oracle.text(GpuId(0)), "3g:0 3g:1");
  miso.proceed(GpuId(0));
  miso.decide();
  EXPECT_EQ(miso.text(GpuId(0)), "3g:0 3g:1");
  EXPECT_EQ(miso.goal(GpuId(0)).purpose, GoalPurpose::kRun);
  EXPECT_EQ(miso.goal(GpuId(0)).slots[0].atp, ActiveThreadPercentage(100));
}

TEST_F(RepartitioningTest, Wide_MayUseFourBesideThreeAndIdleInstances) {
  // Aim: the wide choice finds 4g+3g; a departure that would gain nothing leaves the GPU alone.
  auto loop = this->loop("oracle-wide", 1);
  const JobId first = loop.submit("1g.5gb");
  loop.settle();
  loop.submit("3g.20gb");
  loop.settle();
  EXPECT_EQ(loop.text(GpuId(0)), "4g:1 3g:0");
  loop.end(first);
  loop.settle();
  EXPECT_EQ(loop.text(GpuId(0)), "7g:1");
}

TEST_F(RepartitioningTest, Arrival_GpuThatChanges_TakesNoJob) {
  // Aim: only settled GPUs take a job; the queue is tried again on every change (bug 2: nobody
  // stops a job that has not started).
  for (const std::string_view name : kNames) {
    auto loop = this->loop(name, 1);
    loop.submit("1g.5gb");
    loop.decide();
    const JobId late = loop.submit("1g.5gb");
    EXPECT_TRUE(loop.decide().goals.empty());
    loop.proceed(GpuId(0));
    EXPECT_TRUE(loop.decide().goals.empty()) << "still starting";
    loop.proceed(GpuId(0));
    loop.decide();
    EXPECT_TRUE(loop.is_placed(late));
  }
}

TEST_F(RepartitioningTest, Arrival_HeadDoesNotFit_EveryoneWaits) {
  // Aim: strict FCFS: a small job does not overtake a large one that must wait.
  for (const std::string_view name : kNames) {
    auto loop = this->loop(name, 1);
    const JobId first = loop.submit("3g.20gb");
    loop.settle();
    loop.submit("3g.20gb");
    loop.settle();
    const JobId head = loop.submit("3g.20gb");
    const JobId small = loop.submit("1g.5gb");
    loop.settle();
    EXPECT_FALSE(loop.is_placed(head));
    EXPECT_FALSE(loop.is_placed(small));
    loop.end(first);
    loop.settle();
    EXPECT_TRUE(loop.is_placed(head));
    EXPECT_FALSE(loop.is_placed(small)) << "two jobs of 3g fill the GPU";
  }
}

TEST_F(RepartitioningTest, Characterised_JobsEndedMeanwhile_TargetIsForTheLiving) {
  // Aim: bug 3: jobs end inside the run; none left = empty, one = alone on 7g, two = a partition.
  for (int ends = 0; ends <= 3; ++ends) {
    auto loop = this->loop("miso", 1);
    for (int job = 0; job < 3; ++job) {
      loop.submit("1g.5gb");
      if (job < 2) {
        loop.settle();
      }
    }
    loop.decide();
    ASSERT_EQ(loop.phase(GpuId(0)), GpuPhase::kCharacterising);
    for (int job = 0; job < ends; ++job) {
      loop.end(JobId(job));
      EXPECT_TRUE(loop.decide().goals.empty()) << "a run in hand is not disturbed";
    }
    loop.settle();
    constexpr std::string_view kTexts[] = {"2g:1 2g:2 3g:0", "3g:1 3g:2", "7g:2", "7g:-"};
    EXPECT_EQ(loop.text(GpuId(0)), kTexts[ends]);
    EXPECT_EQ(loop.goal(GpuId(0)).purpose, GoalPurpose::kRun);
  }
}

TEST_F(RepartitioningTest, Departure_PaperAndArtifact_DifferWhileJobsWait) {
  // Aim: the paper re-optimises when a job ends; the artifact only if no job waits.
  for (const Setting setting : {Setting::kPaper, Setting::kArtifact}) {
    auto loop = this->loop("oracle", 1, {.setting = setting});
    for (int job = 0; job < 4; ++job) {
      loop.submit(job == 0 ? "3g.20gb" : "1g.5gb");
      loop.settle();
    }
    const JobId waits = loop.submit("7g.40gb");
    loop.settle();
    const std::string before = loop.text(GpuId(0));
    loop.end(JobId(1));
    loop.decide();
    EXPECT_FALSE(loop.is_placed(waits));
    EXPECT_EQ(loop.phase(GpuId(0)) == GpuPhase::kSettled, setting == Setting::kArtifact);
    loop.settle();
    EXPECT_EQ(loop.goal(GpuId(0)).instances.size(), setting == Setting::kArtifact ? 4U : 3U)
        << before << " -> " << loop.text(GpuId(0));
  }
}

TEST_F(RepartitioningTest, Departure_WhileTheGpuChanges_IsActedOnLater) {
  // Aim: bug 1: what is due is remembered, and done when the GPU is settled.
  auto loop = this->loop("oracle", 1);
  loop.submit("1g.5gb");
  loop.settle();
  loop.submit("1g.5gb");
  loop.decide();
  loop.end(JobId(0));
  EXPECT_TRUE(loop.decide().goals.empty());
  loop.proceed(GpuId(0));
  EXPECT_TRUE(loop.decide().goals.empty());
  loop.settle();
  EXPECT_EQ(loop.text(GpuId(0)), "7g:1");
}

TEST_F(RepartitioningTest, Departure_SameTarget_LeavesTheGpuAlone) {
  // Aim: a GPU on which no job's place would change is not touched.
  auto loop = this->loop("oracle", 1);
  loop.submit(profile("3g.20gb"), row({1, 0.9, 0.9, 0, 0}));
  loop.settle();
  loop.submit(profile("2g.10gb"), row({1, 0.5, 0.5, 0.5, 0}));
  loop.settle();
  loop.submit(profile("1g.5gb"), row({1, 0.2, 0.2, 0.2, 0.2}));
  loop.settle();
  const JobId last = loop.submit(profile("1g.5gb"), row({1, 0.2, 0.2, 0.2, 0.2}));
  loop.settle();
  EXPECT_EQ(loop.goal(GpuId(0)).slots.size(), 4U);
  loop.end(last);
  loop.settle();
  const std::string three = loop.text(GpuId(0));
  loop.happened(sched::JobSpeedChanged{.job = JobId(0), .gpu = GpuId(0), .factor = 2});
  EXPECT_TRUE(loop.decide().goals.empty()) << "the oracle knows no better: " << three;
}

TEST_F(RepartitioningTest, SpeedChange_BeyondThreshold_IsMeasuredAgainAfterTheGap) {
  // Aim: only beyond the threshold, only MISO, not sooner than the gap, and by a wake-up.
  auto loop = this->loop("miso", 1, {.gap = Duration::milliseconds(60000)});
  loop.submit("1g.5gb");
  loop.settle();
  loop.submit("1g.5gb");
  loop.settle();
  loop.happened(sched::JobSpeedChanged{.job = JobId(1), .gpu = GpuId(0), .factor = 1.19});
  EXPECT_TRUE(loop.decide().goals.empty());
  EXPECT_EQ(loop.predictor().forget_count(), 0);
  loop.advance(Duration::milliseconds(10000));
  loop.happened(sched::JobSpeedChanged{.job = JobId(1), .gpu = GpuId(0), .factor = 0.7});
  const sched::Decisions& early = loop.decide();
  EXPECT_EQ(loop.predictor().forget_count(), 1);
  EXPECT_TRUE(early.goals.empty());
  ASSERT_EQ(early.wakes.size(), 1U);
  EXPECT_EQ(early.wakes[0].time, SimTime() + Duration::milliseconds(60000));
  loop.advance(Duration::milliseconds(50000));
  loop.happened(sched::WokeUp{});
  ASSERT_EQ(loop.decide().goals.size(), 1U);
  EXPECT_EQ(loop.goal(GpuId(0)).purpose, GoalPurpose::kCharacterise);
  loop.settle();
  EXPECT_EQ(loop.text(GpuId(0)), "3g:0 3g:1");
}

TEST_F(RepartitioningTest, SpeedChange_InsideARun_IsNotForgotten) {
  // Aim: the run sees the job as it is now; what it tells stays.
  auto loop = this->loop("miso", 1);
  loop.submit("1g.5gb");
  loop.settle();
  loop.submit("1g.5gb");
  loop.decide();
  ASSERT_EQ(loop.phase(GpuId(0)), GpuPhase::kCharacterising);
  loop.happened(sched::JobSpeedChanged{.job = JobId(1), .gpu = GpuId(0), .factor = 2});
  loop.proceed(GpuId(0));
  loop.decide();
  EXPECT_EQ(loop.predictor().forget_count(), 0);
  EXPECT_EQ(loop.text(GpuId(0)), "3g:0 3g:1");
}

TEST_F(RepartitioningTest, Run_ThatSawNothing_EndsAllTheSame) {
  // Aim: a job that made no step is not measured for ever: its speeds are assumed.
  auto loop = this->loop("miso", 1);
  loop.make_runs_blind();
  for (int job = 0; job < 3; ++job) {
    loop.submit("1g.5gb");
    loop.settle();
  }
  EXPECT_EQ(loop.text(GpuId(0)), "2g:1 2g:2 3g:0");
  EXPECT_EQ(loop.preempted_count(), 0);
}

TEST_F(RepartitioningTest, Belief_ThatServesNoPartition_IsSetAside) {
  // Aim: beliefs in error (all zero, or no numbers) neither crash nor lose a job.
  for (const std::string_view name : kNames) {
    auto loop = this->loop(name, 1);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    loop.submit(profile("1g.5gb"), row({0, 0, 0, 0, 0}));
    loop.settle();
    loop.submit(profile("1g.5gb"), row({nan, nan, nan, nan, -1}));
    loop.settle();
    loop.submit(profile("3g.20gb"), row({1, 0, 0, 0, 0}));
    loop.settle();
    loop.expect_sound();
    EXPECT_EQ(loop.jobs_in(State::kPlaced).size(), 3U) << name;
  }
}

TEST_F(RepartitioningTest, Gang_WaitsForEmptyGpusAndLeavesThemEmpty) {
  // Aim: so many empty GPUs at once, whole and alone, nobody overtakes; then back to 7g.
  for (const std::string_view name : kNames) {
    auto loop = this->loop(name, 3);
    const JobId single = loop.submit("1g.5gb");
    loop.settle();
    const JobId gang = loop.submit("1g.5gb", 3);
    const JobId late = loop.submit("1g.5gb");
    loop.settle();
    EXPECT_FALSE(loop.is_placed(gang));
    EXPECT_FALSE(loop.is_placed(late));
    loop.end(single);
    loop.settle();
    ASSERT_TRUE(loop.is_placed(gang));
    EXPECT_EQ(loop.text(GpuId(2)), "whole");
    EXPECT_FALSE(loop.is_placed(late));
    loop.end(gang);
    loop.settle();
    EXPECT_EQ(loop.text(GpuId(0)), "7g:2");
    EXPECT_EQ(loop.text(GpuId(1)), "7g:-");
    EXPECT_EQ(loop.text(GpuId(2)), "7g:-");
    loop.expect_sound();
  }
}

/// Bugs 1 to 6 of miso.md section 13 as properties: jobs end in any phase, arrivals come close
/// together, GPUs go on in any order, orders fail.
class RandomLoop {
 public:
  RandomLoop(PhaseLoop& loop, std::uint64_t seed) : loop_(&loop), engine_(seed) {}

  int number(int below) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(below)); }

  void happen(int arrivals_max) {
    constexpr std::string_view kProfiles[] = {"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"};
    for (int count = number(arrivals_max + 1); count > 0; --count) {
      const int gpus = number(12) == 0 ? 2 : 1;
      loop_->submit(kProfiles[number(5)], gpus);
    }
    for (const JobId job : loop_->jobs_in(State::kPlaced)) {
      if (number(5) == 0) {
        loop_->end(job);
      } else if (number(10) == 0) {
        loop_->happened(sched::JobSpeedChanged{
            .job = job, .gpu = loop_->gpu_of(job), .factor = 0.5 + 0.1 * number(11)});
      }
    }
    for (int gpu = 0; gpu < loop_->view().gpu_count(); ++gpu) {
      const bool is_changing = loop_->phase(GpuId(gpu)) != GpuPhase::kSettled;
      if (is_changing && number(15) == 0) {
        loop_->happened(sched::GpuTroubled{GpuId(gpu)});
      } else if (number(2) == 0) {
        loop_->proceed(GpuId(gpu));
      }
    }
    loop_->advance(Duration::milliseconds(1000 * number(10)));
    if (number(6) == 0) {
      loop_->happened(sched::WokeUp{});
    }
  }

 private:
  PhaseLoop* loop_;
  std::mt19937_64 engine_;
};

TEST_F(RepartitioningTest, RandomEvents_NoJobLostAndOrderKept) {
  // Aim: legal goals only (the loop asks the checker), no job lost or doubled, no job preempted or
  // moved to another GPU, who is placed stood before whoever waits, and all jobs end.
  for (const std::string_view name : kNames) {
    for (const Setting setting : {Setting::kPaper, Setting::kArtifact}) {
      for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(fmt::format("{} seed {}", name, seed));
        PhaseLoop loop = this->loop(name,
                                    2 + static_cast<int>(seed % 5),
                                    {.setting = setting, .gap = Duration::milliseconds(20000)});
        if (setting == Setting::kArtifact) {
          loop.allow_starting();
        }
        RandomLoop random(loop, seed);
        std::map<JobId, GpuId> homes;
        for (int step = 0; step < 150; ++step) {
          random.happen(step < 120 ? 2 : 0);
          std::vector<JobId> due;
          for (const sched::ClusterView::QueueKey& key : loop.view().queue()) {
            due.push_back(key.job);
          }
          loop.decide();
          loop.expect_sound();
          bool does_one_wait = false;
          for (const JobId job : due) {
            EXPECT_TRUE(!loop.is_placed(job) || !does_one_wait) << job.value() << " overtook";
            does_one_wait = does_one_wait || !loop.is_placed(job);
          }
          for (const JobId job : loop.jobs_in(State::kPlaced)) {
            EXPECT_EQ(homes.emplace(job, loop.gpu_of(job)).first->second, loop.gpu_of(job));
          }
          ASSERT_FALSE(HasFailure());
        }
        for (std::size_t round = 0; round <= loop.job_count(); ++round) {
          loop.happened(sched::WokeUp{});
          loop.advance(Duration::milliseconds(20000));
          loop.settle();
          for (const JobId job : loop.jobs_in(State::kPlaced)) {
            loop.end(job);
          }
        }
        EXPECT_EQ(loop.jobs_in(State::kEnded).size(), loop.job_count());
        EXPECT_EQ(loop.preempted_count(), 0);
        ASSERT_FALSE(HasFailure());
      }
    }
  }
}

TEST_F(RepartitioningTest, RandomEvents_Repeated_GiveEqualDecisions) {
  // Aim: no hidden state, chance or order: two runs of one seed make equal goals.
  for (const std::string_view name : kNames) {
    std::array<std::vector<std::string>, 2> stories;
    for (std::vector<std::string>& story : stories) {
      PhaseLoop loop = this->loop(name, 4);
      RandomLoop random(loop, 7);
      for (int step = 0; step < 100; ++step) {
        random.happen(2);
        for (const sched::SetGoal& set : loop.decide().goals) {
          story.push_back(fmt::format(
              "{} {} {}", set.gpu.value(), set.reason, sched::goal_text(geometry(), set.goal)));
        }
      }
    }
    EXPECT_GT(stories[0].size(), 30U);
    EXPECT_EQ(stories[0], stories[1]);
  }
}

}  // namespace
}  // namespace septule
