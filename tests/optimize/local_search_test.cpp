#include "optimize/local_search.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "optimize/random_windows.hpp"
#include "optimize/window_dp.hpp"

namespace septule::optimize {
namespace {

using test::expect_clean;
using test::ModelKind;
using test::random_window;
using test::WindowDrawing;

constexpr std::int64_t kUnits = 30000;

TEST(LocalSearch, RandomWindows_CheckerFindsNothingAndExactIsNeverWorse) {
  // Aim: on every clock the groups hold; they are never better than the exact answer where that
  // knows the same groups (no seat empty), and often as good.
  int compared = 0;
  int equal = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const WindowDrawing draw{.jobs = 1 + seed % 8,
                             .model = seed % 4 == 0 ? ModelKind::kChance : ModelKind::kLaws,
                             .templates_of_ten = 4,
                             .has_costs = seed % 5 == 1,
                             .fairness = seed % 6 == 2 ? 0.2 : 0.0,
                             .has_users = seed % 7 == 3};
    const auto window = random_window(draw, seed);
    window->problem.clock = seed % 3 == 0   ? GroupClock::kSteadyState
                            : seed % 3 == 1 ? GroupClock::kIdle
                                            : GroupClock::kSpeedUp;
    WorkBudget budget(kUnits);
    const auto local = LocalOptimizer().optimize(window->problem, budget);
    WorkBudget exact_budget(INT64_MAX);
    const auto exact = WindowDp().optimize(window->problem, exact_budget);
    if (!local.has_value()) {
      EXPECT_FALSE(exact.has_value()) << seed << local.error().message;
      continue;
    }
    SCOPED_TRACE(seed);
    expect_clean(window->problem, *local);
    EXPECT_EQ(local->schedule.groups.empty(), false);
    if (!exact.has_value()) {
      continue;
    }
    ++compared;
    const double ratio = local->time.to_seconds() / exact->time.to_seconds();
    equal += ratio < 1 + 1e-6 ? 1 : 0;
    if (draw.model == ModelKind::kLaws) {
      EXPECT_LT(ratio, 1.15);
    }
  }
  EXPECT_GT(compared, 120);
  EXPECT_GT(equal * 10, compared * 6);
}

TEST(LocalSearch, LargeWindow_HoldsAndSavesTime) {
  // Aim: 60 jobs: the groups hold, and take less than time sharing.
  const auto window = random_window({.jobs = 60, .templates_of_ten = 10}, 9);
  window->problem.clock = GroupClock::kSpeedUp;
  WorkBudget budget(200000);
  const auto answer = LocalOptimizer().optimize(window->problem, budget);
  ASSERT_TRUE(answer.has_value());
  expect_clean(window->problem, *answer);
  Duration solo;
  for (const plan::WindowJob& job : window->jobs) {
    solo += job.solo;
  }
  EXPECT_LT(answer->time.to_seconds(), solo.to_seconds() * 0.9);
}

TEST(LocalSearch, EqualProblems_EqualAnswers) {
  // Aim: chance is seeded by the method alone.
  const auto window = random_window({.jobs = 18}, 5);
  test::expect_same_answer_twice(LocalOptimizer(), *window, kUnits);
}

TEST(LocalSearch, NoBudgetEmptyWindowGiantJob_AreClear) {
  // Aim: no budget: the first groups; no jobs: no time; a job that fits nowhere is named.
  const auto window = random_window({.jobs = 5}, 3);
  WorkBudget none(0);
  const auto answer = LocalOptimizer().optimize(window->problem, none);
  ASSERT_TRUE(answer.has_value());
  expect_clean(window->problem, *answer);
  const auto empty = random_window({.jobs = 0}, 3);
  EXPECT_EQ(LocalOptimizer().optimize(empty->problem, none)->time, Duration());
  window->jobs[2].memory = Bytes::mebibytes(999999);
  window->jobs[2].name = "giant";
  const auto refused = LocalOptimizer().optimize(window->problem, none);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kBlocked);
  EXPECT_NE(refused.error().message.find("giant"), std::string::npos);
}

}  // namespace
}  // namespace septule::optimize
