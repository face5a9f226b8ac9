#include <set>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/policy_loop.hpp"

namespace septule {
namespace {

using job::JobId;
using sched::ClusterView;
using sched::Setting;
using State = sched::JobView::State;

/// The baselines, all of which place jobs and preempt nobody.
constexpr std::string_view kNames[] = {
    "nopart", "optsta", "optsta-promote", "optsta-on-trace", "mps-only", "mps-only-pack"};

class PolicyPropertiesTest : public test::PolicyTest {
 protected:
  /// Submits or ends some jobs of `loop`, drawn at random.
  static void happen(test::PolicyLoop& loop, test::Draws& draws, int arrivals_max) {
    static const std::vector<std::string_view> profiles = {
        "1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"};
    for (int arrivals = draws.number(arrivals_max + 1); arrivals > 0; --arrivals) {
      loop.submit({.smallest = draws.one_of(profiles),
                   .gpus = draws.number(8) == 0 ? 1 + draws.number(3) : 1,
                   .priority = draws.number(6) == 0 ? draws.number(3) : 0});
    }
    for (const JobId job : loop.jobs_in(State::kPlaced)) {
      if (draws.number(4) == 0) {
        loop.end(job);
      }
    }
  }
  static std::vector<JobId> queue(const ClusterView& view) {
    std::vector<JobId> jobs;
    for (const ClusterView::QueueKey& key : view.queue()) {
      jobs.push_back(key.job);
    }
    return jobs;
  }
};

TEST_F(PolicyPropertiesTest, RandomEvents_EveryPolicy_LosesAndDoublesNoJobAndFinishes) {
  // Aim: legal decisions throughout (the loop asks the checker), every job exactly where it should
  // be after each one, and all jobs done in the end.
  for (const std::string_view name : kNames) {
    for (const Setting setting : {Setting::kPaper, Setting::kArtifact}) {
      for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        SCOPED_TRACE(fmt::format("{} seed {}", name, seed));
        test::Draws draws(seed);
        const int gpu_count = 3 + draws.number(4);
        const bool looks_at_memory = setting == Setting::kPaper || name != "mps-only-pack";
        test::PolicyLoop loop(
            geometry(),
            gpu_count,
            policy(name, setup(gpu_count, setting)),
            looks_at_memory ? sched::MemoryRule::kChecked : sched::MemoryRule::kIgnored);
        for (int step = 0; step < 60; ++step) {
          happen(loop, draws, step < 40 ? 3 : 0);
          loop.advance(Duration::milliseconds(1000));
          loop.decide();
          loop.expect_sound();
        }
        for (std::size_t left = loop.job_count(); left > 0; --left) {
          for (const JobId job : loop.jobs_in(State::kPlaced)) {
            loop.end(job);
          }
          loop.decide();
        }
        ASSERT_EQ(loop.jobs_in(State::kEnded).size(), loop.job_count());
        if (HasFailure()) {
          return;
        }
      }
    }
  }
}

TEST_F(PolicyPropertiesTest, RandomEvents_StrictPolicies_PlaceAPrefixOfTheQueue) {
  // Aim: first come, first served: whoever is placed stood before whoever still waits.
  for (const std::string_view name : kNames) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
      test::Draws draws(seed);
      auto loop = this->loop(name, 4);
      for (int step = 0; step < 60; ++step) {
        happen(loop, draws, 3);
        const std::vector<JobId> before = queue(loop.view());
        loop.decide();
        bool does_one_wait = false;
        for (const JobId job : before) {
          const bool is_waiting = !loop.is_placed(job);
          ASSERT_TRUE(is_waiting || !does_one_wait)
              << name << " seed " << seed << " job " << job.value() << " overtook";
          does_one_wait = does_one_wait || is_waiting;
        }
      }
    }
  }
}

TEST_F(PolicyPropertiesTest, RandomEvents_BaselinesWithoutPromotion_NeverMoveAJob) {
  // Aim: once placed, a job keeps GPU, instance and ATP to its end, so nobody is restarted.
  for (const std::string_view name : kNames) {
    if (name == "optsta-promote") {
      continue;
    }
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
      test::Draws draws(seed);
      auto loop = this->loop(name, 4);
      std::map<JobId, std::pair<GpuId, sched::Slot>> places;
      for (int step = 0; step < 60; ++step) {
        happen(loop, draws, 2);
        loop.decide();
        for (const JobId job : loop.jobs_in(State::kPlaced)) {
          const auto [place, is_new] =
              places.emplace(job, std::pair(loop.gpu_of(job), loop.slot_of(job)));
          ASSERT_TRUE(is_new || place->second == std::pair(loop.gpu_of(job), loop.slot_of(job)))
              << name << " seed " << seed << " job " << job.value();
        }
      }
    }
  }
}

TEST_F(PolicyPropertiesTest, EqualCalls_EveryPolicy_DecideEqually) {
  // Aim: a policy is a function of what it was told: two runs give equal goals, order included.
  for (const std::string_view name : kNames) {
    test::Draws first_draws(7);
    test::Draws second_draws(7);
    auto first = this->loop(name, 5);
    auto second = this->loop(name, 5);
    for (int step = 0; step < 80; ++step) {
      happen(first, first_draws, 3);
      happen(second, second_draws, 3);
      const sched::Decisions& left = first.decide();
      const sched::Decisions& right = second.decide();
      ASSERT_EQ(left.goals.size(), right.goals.size()) << name;
      for (std::size_t i = 0; i < left.goals.size(); ++i) {
        ASSERT_EQ(left.goals[i].gpu, right.goals[i].gpu) << name;
        ASSERT_EQ(left.goals[i].goal, right.goals[i].goal) << name;
      }
    }
  }
}

}  // namespace
}  // namespace septule
