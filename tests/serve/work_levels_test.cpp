#include "serve/work_levels.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "serve/lattice_support.hpp"
#include "serve/window_cases.hpp"

namespace septule::serve {
namespace {

GoodputProblem problem_with(double work_s) {
  return test::make_case(test::a100(), {.steps = 60, .step_s = 5, .work_s = work_s});
}

/// Steps of a random way of working until complete, by seconds and by levels.
struct Steps {
  int in_seconds = 0;
  int in_levels = 0;
};
Steps walk(const GoodputProblem& problem, const WorkLevels& levels, Rng& rng) {
  Steps steps;
  const double work = problem.tenants[0].retraining->work_s;
  double done = 0;
  int idle = 0;
  int count = 0;
  while (steps.in_seconds == 0 || steps.in_levels == 0) {
    const WorkLevels::Speed& speed =
        levels.speeds[static_cast<std::size_t>(rng.below(levels.speeds.size()))];
    int level = speed.resume[static_cast<std::size_t>(idle)];
    for (std::uint64_t run = 1 + rng.below(4); run > 0; --run) {
      ++count;
      done += speed.speed * problem.step.to_seconds();
      level = speed.next[static_cast<std::size_t>(level)];
      if (done >= work * (1 - 1e-9) && steps.in_seconds == 0) {
        steps.in_seconds = count;
      }
      if (level + 1 == static_cast<int>(speed.next.size()) && steps.in_levels == 0) {
        steps.in_levels = count;
      }
    }
    idle = speed.pause[static_cast<std::size_t>(level)];
  }
  return steps;
}

TEST(WorkLevels_Exact, AnyWayOfWorking_CompletesInTheSameStep) {
  // Sizes changed and runs broken off at random: levels and seconds say the same.
  for (const double work_s : {3.0, 10.0, 12.5, 20.0}) {
    const GoodputProblem problem = problem_with(work_s);
    const auto levels = make_exact_levels(problem, 0, 200);
    ASSERT_TRUE(levels.has_value());
    Rng rng = Rng(7).stream("walks");
    for (int i = 0; i < 500; ++i) {
      const Steps steps = walk(problem, *levels, rng);
      ASSERT_EQ(steps.in_levels, steps.in_seconds) << work_s;
    }
  }
}

TEST(WorkLevels_Exact, ManyLevels_AreNotMade) {
  // 30 s in steps of MISO's speeds have 207 levels (counted by another program).
  const GoodputProblem problem = problem_with(30);
  EXPECT_FALSE(make_exact_levels(problem, 0, 206).has_value());
  ASSERT_TRUE(make_exact_levels(problem, 0, 207).has_value());
  EXPECT_EQ(make_exact_levels(problem, 0, 207)->idle_count, 207);
}

TEST(WorkLevels_Bound, AnyWayOfWorking_CompletesNoLater) {
  // What holds in seconds holds in levels, so bounds are bounds; some walks are rounded up.
  int earlier = 0;
  for (const double work_s : {3.0, 10.0, 20.0, 30.0, 77.0}) {
    const GoodputProblem problem = problem_with(work_s);
    for (const int parts : {2, 5, 12, 32}) {
      const WorkLevels levels = make_bound_levels(problem, 0, parts);
      Rng rng = Rng(8).stream("walks");
      for (int i = 0; i < 300; ++i) {
        const Steps steps = walk(problem, levels, rng);
        ASSERT_LE(steps.in_levels, steps.in_seconds) << work_s << " in " << parts;
        earlier += steps.in_levels < steps.in_seconds ? 1 : 0;
      }
    }
  }
  EXPECT_GT(earlier, 0);
}

TEST(WorkLevels_Runs, OneRun_TakesTheStepsOfItsSpeed) {
  // 30 s at 5-s steps: 17, 12, 9, 8 and 6 steps on 1g, 2g, 3g, 4g and 7g; bound levels agree.
  const GoodputProblem problem = problem_with(30);
  const WorkLevels runs = make_run_levels(problem, 0);
  const WorkLevels bound = make_bound_levels(problem, 0, 8);
  const std::vector<int> expected = {17, 12, 9, 8, 6};
  ASSERT_EQ(runs.speeds.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (const WorkLevels* levels : {&runs, &bound}) {
      const std::vector<int>& next = levels->speeds[i].next;
      int level = levels->speeds[i].resume[0];
      int steps = 0;
      for (; level + 1 < static_cast<int>(next.size()); ++steps) {
        level = next[static_cast<std::size_t>(level)];
      }
      EXPECT_EQ(steps, expected[i]);
    }
    EXPECT_EQ(runs.speeds[i].pause[1], -1);
  }
}

}  // namespace
}  // namespace septule::serve
