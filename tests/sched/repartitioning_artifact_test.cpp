// The artifact's loop: one thing at a time (Setting::kArtifact, Pass::kOneByOne).
#include <random>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "sched/policies/repartitioning.hpp"
#include "sched/policy_registry.hpp"
#include "sched/repartitioning_loop.hpp"

namespace septule {
namespace {

using job::JobId;
using sched::GoalPurpose;
using sched::GpuPhase;
using test::PhaseLoop;
using test::WrittenPredictor;
using State = sched::JobView::State;

class ArtifactLoopTest : public ::testing::Test {
 protected:
  PhaseLoop loop(std::string_view name, int gpu_count) const {
    const gpu::Geometry& geometry = **catalogue_.find("A100-40GB");
    sched::PolicySetup setup;
    setup.geometry = &geometry;
    setup.gpu_count = gpu_count;
    setup.jobs_max = PhaseLoop::kJobsMax;
    setup.setting = sched::Setting::kArtifact;
    setup.pass = sched::Pass::kOneByOne;
    const bool is_oracle = name.starts_with("oracle");
    return {geometry,
            gpu_count,
            sched::find_policy(name).value()->make(setup),
            is_oracle ? WrittenPredictor::Knows::kEverything : WrittenPredictor::Knows::kAfterRun,
            PhaseLoop::Changes::kStartingToo};
  }
  /// Calls the policy until it wants nothing more; the GPUs named by its goals, in order.
  static std::vector<int> pass(PhaseLoop& loop) {
    std::vector<int> gpus;
    for (int call = 0; call < 100; ++call) {
      const sched::Decisions& decisions = loop.decide();
      if (decisions.goals.empty()) {
        return gpus;
      }
      EXPECT_EQ(decisions.goals.size(), 1U);
      gpus.push_back(decisions.goals[0].gpu.value());
    }
    ADD_FAILURE() << "a pass never ends";
    return gpus;
  }
  /// Passes and phases until all is quiet, guards included.
  static void rest(PhaseLoop& loop) {
    for (int round = 0; round < 100; ++round) {
      loop.advance(Duration::milliseconds(10000));
      bool is_moving = !pass(loop).empty();
      for (int gpu = 0; gpu < loop.view().gpu_count(); ++gpu) {
        is_moving = loop.proceed(GpuId(gpu)) || is_moving;
      }
      if (!is_moving) {
        return;
      }
    }
    ADD_FAILURE() << "never comes to rest";
  }

  gpu::Catalogue catalogue_ = gpu::load_builtin_catalogue();
};

TEST_F(ArtifactLoopTest, Pass_GivesOneGoalACall) {
  // Aim: four jobs at one instant are four calls, to the least crowded GPUs in order.
  auto loop = this->loop("oracle", 4);
  for (int job = 0; job < 4; ++job) {
    loop.submit("1g.5gb");
  }
  EXPECT_EQ(pass(loop), (std::vector{0, 1, 2, 3}));
}

TEST_F(ArtifactLoopTest, DepartureAndArrival_DepartureComesFirstAndTakesNobody) {
  // Aim: a GPU that lost a job is cut for the rest before the new job is looked at, and the guard
  // then sends the job to the other GPU.
  auto loop = this->loop("oracle", 2);
  std::vector<JobId> jobs;
  for (int job = 0; job < 5; ++job) {
    jobs.push_back(loop.submit("1g.5gb"));
    rest(loop);
  }
  ASSERT_EQ(loop.goal(GpuId(0)).slots.size(), 3U);
  loop.end(jobs[0]);
  const JobId late = loop.submit("1g.5gb");
  EXPECT_EQ(pass(loop), (std::vector{0, 1}));
  EXPECT_EQ(loop.goal(GpuId(0)).slots.size(), 2U);
  EXPECT_EQ(loop.gpu_of(late), GpuId(1));
}

TEST_F(ArtifactLoopTest, Arrival_WithinTheGuard_WaitsAndAsksToBeWoken) {
  // Aim: no job comes to a GPU within 4 s of its last change, and the wait ends by itself.
  auto loop = this->loop("oracle", 1);
  loop.submit("1g.5gb");
  rest(loop);
  loop.submit("1g.5gb");
  EXPECT_EQ(pass(loop), (std::vector{0}));
  loop.proceed(GpuId(0));  // launched: would do for the artifact
  const JobId third = loop.submit("1g.5gb");
  loop.advance(Duration::milliseconds(3000));
  const sched::Decisions& decisions = loop.decide();
  EXPECT_TRUE(decisions.goals.empty());
  ASSERT_EQ(decisions.wakes.size(), 1U);
  loop.advance(Duration::milliseconds(1000));
  loop.happened(sched::WokeUp{});
  EXPECT_EQ(pass(loop), (std::vector{0}));
  EXPECT_TRUE(loop.is_placed(third));
}

TEST_F(ArtifactLoopTest, JobEndsInTheRun_LeavesItsInstanceEmptyUntilTheNextPass) {
  // Aim: the partition after a run is that for the jobs that began it; the next pass cuts anew.
  auto loop = this->loop("miso", 1);
  loop.submit("1g.5gb");
  rest(loop);
  loop.submit("1g.5gb");
  rest(loop);
  const JobId third = loop.submit("1g.5gb");
  loop.advance(Duration::milliseconds(10000));
  EXPECT_EQ(pass(loop), (std::vector{0}));
  ASSERT_EQ(loop.phase(GpuId(0)), GpuPhase::kCharacterising);
  loop.end(third);
  EXPECT_TRUE(pass(loop).empty());
  loop.proceed(GpuId(0));
  EXPECT_EQ(loop.decide().goals.size(), 1U);
  EXPECT_EQ(loop.goal(GpuId(0)).purpose, GoalPurpose::kRun);
  EXPECT_EQ(loop.goal(GpuId(0)).instances.size(), 3U);
  EXPECT_EQ(loop.goal(GpuId(0)).slots.size(), 2U);
  rest(loop);
  EXPECT_EQ(loop.goal(GpuId(0)).instances.size(), 2U);
}

TEST_F(ArtifactLoopTest, AllJobsEndInTheRun_TheGpuTakesJobsAgain) {
  // Aim: nothing that ends during a run leaves the GPU out of the books.
  auto loop = this->loop("miso", 1);
  const JobId first = loop.submit("1g.5gb");
  rest(loop);
  const JobId second = loop.submit("1g.5gb");
  EXPECT_EQ(pass(loop), (std::vector{0}));
  loop.end(first);
  loop.end(second);
  rest(loop);
  const JobId third = loop.submit("3g.20gb");
  rest(loop);
  EXPECT_TRUE(loop.is_placed(third));
}

TEST_F(ArtifactLoopTest, RandomEvents_NoJobLostAndAllEnd) {
  // Aim: legal goals only, and whatever happens in whatever phase, no job waits for ever.
  for (const std::string_view name : {"miso", "miso-wide", "oracle", "oracle-wide"}) {
    for (unsigned seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", name, seed));
      PhaseLoop loop = this->loop(name, 1 + static_cast<int>(seed % 4));
      std::mt19937 random(seed);
      constexpr std::string_view kSmallest[] = {"1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"};
      for (int step = 0; step < 200; ++step) {
        const auto placed = loop.jobs_in(State::kPlaced);
        switch (random() % 5) {
          case 0:
            if (step < 120) {
              loop.submit(kSmallest[random() % 4]);
            }
            break;
          case 1:
            if (!placed.empty()) {
              loop.end(placed[random() % placed.size()]);
            }
            break;
          case 2:
            loop.advance(Duration::milliseconds(1 + random() % 8000));
            break;
          default:
            loop.proceed(GpuId(static_cast<int>(random() % (1 + seed % 4))));
            break;
        }
        loop.decide();
        loop.expect_sound();
      }
      for (std::size_t round = 0; round <= loop.job_count(); ++round) {
        rest(loop);
        for (const JobId job : loop.jobs_in(State::kPlaced)) {
          loop.end(job);
        }
      }
      EXPECT_EQ(loop.jobs_in(State::kEnded).size(), loop.job_count());
      ASSERT_FALSE(HasFailure());
    }
  }
}

}  // namespace
}  // namespace septule
