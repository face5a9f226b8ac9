// What holds of Septule whatever happens, on every GPU model, for both aims.
#include <map>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "gpu/partition_checker.hpp"
#include "optimize/placed_assignment.hpp"
#include "sched/policies/due_window.hpp"
#include "sched/policy_registry.hpp"
#include "sched/random_events.hpp"
#include "sched/repartitioning_loop.hpp"
#include "support/policy_loop.hpp"

namespace septule {
namespace {

using job::JobId;
using sched::GpuGoal;
using test::Draws;
using test::PhaseLoop;
using test::WrittenPredictor;
using State = sched::JobView::State;

constexpr std::string_view kNames[] = {"septule", "septule-fair"};

class SeptulePropertiesTest : public ::testing::Test {
 protected:
  struct Scene {
    const gpu::Geometry* geometry = nullptr;
    std::string_view name;
    int gpu_count = 0;
    WrittenPredictor::Knows knows = WrittenPredictor::Knows::kAfterRun;
  };
  PhaseLoop loop(const Scene& scene) const {
    sched::PolicySetup setup;
    setup.geometry = scene.geometry;
    setup.gpu_count = scene.gpu_count;
    setup.jobs_max = PhaseLoop::kJobsMax;
    setup.recharacterise_gap = Duration::milliseconds(60000);
    return PhaseLoop(*scene.geometry,
                     scene.gpu_count,
                     sched::find_policy(scene.name).value()->make(setup),
                     scene.knows,
                     PhaseLoop::Changes::kStartingToo);
  }
  /// Every model with a plain profile of all its compute slices.
  std::vector<const gpu::Geometry*> models() const {
    std::vector<const gpu::Geometry*> found;
    for (const gpu::Geometry& geometry : catalogue_.geometries()) {
      if (geometry.plain_profile(geometry.compute_slices()).has_value()) {
        found.push_back(&geometry);
      }
    }
    return found;
  }

  /// Arrivals, ends, changes of speed, trouble and phases, drawn at random.
  static void happen(PhaseLoop& loop, const gpu::Geometry& geometry, Draws& draws) {
    const std::vector<ProfileIndex> plain = geometry.profiles_in(gpu::ProfileSet::kPlain);
    for (int arrivals = draws.number(4); arrivals > 0; --arrivals) {
      predict::SpeedRow row;
      const ProfileIndex smallest = draws.one_of(plain);
      for (const ProfileIndex profile : plain) {
        row.speed[static_cast<std::size_t>(profile.value())] = 0.1 * draws.number(11);
      }
      const bool is_gang = draws.number(12) == 0;
      loop.submit(smallest, row, is_gang ? 2 + draws.number(2) : 1);
    }
    test::happen_at_random(loop, draws, {.ends = 5, .changes_speed = 10});
  }

  static void expect_legal(const PhaseLoop& loop, const gpu::Geometry& geometry) {
    for (int gpu = 0; gpu < loop.view().gpu_count(); ++gpu) {
      const GpuGoal& goal = loop.goal(GpuId(gpu));
      const gpu::Layout layout(goal.instances.begin(), goal.instances.end());
      const auto faults =
          gpu::check_partition(geometry, gpu::partition_with_full_instances(geometry, layout));
      ASSERT_TRUE(faults.empty()) << geometry.key() << ": " << faults[0].message;
      ASSERT_LE(goal.slots.size(), static_cast<std::size_t>(optimize::kAssignedJobsMax));
    }
  }

  gpu::Catalogue catalogue_ = gpu::load_builtin_catalogue();
};

TEST_F(SeptulePropertiesTest, RandomEvents_EveryModel_LegalGoalsAndNoJobLostOrDoubled) {
  // Aim: the checker refuses nothing, every job is where it should be after each decision, layouts
  // with idle instances are legal by the partition checker too, nobody is preempted, all finish.
  for (const gpu::Geometry* geometry : models()) {
    for (const std::string_view name : kNames) {
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE(fmt::format("{} {} seed {}", geometry->key(), name, seed));
        Draws draws(seed);
        PhaseLoop loop = this->loop({.geometry = geometry, .name = name, .gpu_count = 5});
        for (int step = 0; step < 60; ++step) {
          happen(loop, *geometry, draws);
          loop.decide();
          loop.expect_sound();
          expect_legal(loop, *geometry);
        }
        ASSERT_NO_FATAL_FAILURE(test::expect_all_end(loop));
        EXPECT_EQ(loop.preempted_count(), 0);
        if (HasFailure()) {
          return;
        }
      }
    }
  }
}

TEST_F(SeptulePropertiesTest, RandomEvents_RunGoals_LeaveUntouchedJobsAlone) {
  // Aim: a goal that runs jobs has rule kMovedOnly, full ATP and one job per instance, so that a
  // job whose place is the same goes on; and a decision without events changes nothing.
  for (const std::string_view name : kNames) {
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", name, seed));
      Draws draws(seed);
      const gpu::Geometry& geometry = **catalogue_.find("A100-40GB");
      PhaseLoop loop = this->loop({.geometry = &geometry, .name = name, .gpu_count = 4});
      for (int step = 0; step < 60; ++step) {
        happen(loop, geometry, draws);
        for (const sched::SetGoal& set : loop.decide().goals) {
          ASSERT_EQ(set.goal.restart, sched::RestartRule::kMovedOnly);
          for (const sched::Slot& slot : set.goal.slots) {
            ASSERT_TRUE(set.goal.purpose != sched::GoalPurpose::kRun ||
                        slot.atp == ActiveThreadPercentage(100));
          }
        }
        ASSERT_TRUE(loop.decide().goals.empty());
      }
    }
  }
}

TEST_F(SeptulePropertiesTest, RandomEvents_Overtaking_StaysWithinTheBound) {
  // Aim: by an independent count no waiting job sees more than kOvertakesMax jobs behind it placed.
  int most = 0;
  for (const std::string_view name : kNames) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Draws draws(seed);
      const gpu::Geometry& geometry = **catalogue_.find("A100-40GB");
      PhaseLoop loop = this->loop({.geometry = &geometry, .name = name, .gpu_count = 3});
      std::map<JobId, int> overtakes;
      for (int step = 0; step < 250; ++step) {
        happen(loop, geometry, draws);
        const std::vector<JobId> waiting = loop.jobs_in(State::kWaiting);
        loop.decide();
        int behind = 0;
        for (std::size_t i = waiting.size(); i-- > 0;) {
          if (loop.is_placed(waiting[i])) {
            ++behind;
          } else {
            overtakes[waiting[i]] += behind;
            most = std::max(most, overtakes[waiting[i]]);
            ASSERT_LE(overtakes[waiting[i]], sched::DueWindow::kOvertakesMax) << name << seed;
          }
        }
      }
    }
  }
  EXPECT_GT(most, 4) << "the scene is too easy";
}

TEST_F(SeptulePropertiesTest, EqualCalls_DecideEqually) {
  // Aim: a policy is a function of what it was told: two runs give equal goals, order included.
  for (const std::string_view name : kNames) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Draws first_draws(seed);
      Draws second_draws(seed);
      const gpu::Geometry& geometry = **catalogue_.find("H100-80GB-SXM");
      PhaseLoop first = this->loop({.geometry = &geometry, .name = name, .gpu_count = 5});
      PhaseLoop second = this->loop({.geometry = &geometry, .name = name, .gpu_count = 5});
      for (int step = 0; step < 80; ++step) {
        happen(first, geometry, first_draws);
        happen(second, geometry, second_draws);
        const sched::Decisions& left = first.decide();
        const sched::Decisions& right = second.decide();
        SCOPED_TRACE(name);
        ASSERT_NO_FATAL_FAILURE(test::expect_equal_goals(left, right));
      }
    }
  }
}

}  // namespace
}  // namespace septule
