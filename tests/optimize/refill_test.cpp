#include "optimize/refill.hpp"

#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include "optimize/group_support.hpp"
#include "optimize/local_search.hpp"
#include "optimize/random_windows.hpp"
#include "optimize/window_bound.hpp"
#include "optimize/window_dp.hpp"

namespace septule::optimize {
namespace {

using test::expect_clean;
using test::ModelKind;
using test::random_window;
using test::WindowDrawing;

constexpr std::int64_t kUnits = 20000;

TEST(Refill, EmptyWindow_EmptySchedule) {
  // Aim: no jobs are no error and take no time.
  const auto window = random_window({.jobs = 0}, 1);
  WorkBudget budget(kUnits);
  const auto answer = RefillOptimizer().optimize(window->problem, budget);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->time, Duration());
  EXPECT_TRUE(answer->schedule.runs.empty());
}

TEST(Refill, RandomWindows_CheckerFindsNothingAndBoundHolds) {
  // Aim: whatever the model, rules and costs, the timeline holds and is no shorter than the bound.
  int answered = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const WindowDrawing draw{.jobs = 1 + seed % 9,
                             .model = seed % 3 == 0 ? ModelKind::kChance : ModelKind::kLaws,
                             .has_costs = seed % 4 == 1,
                             .fairness = seed % 5 == 2 ? 0.25 : 0.0,
                             .has_users = seed % 7 == 3};
    const auto window = random_window(draw, seed);
    WorkBudget budget(kUnits);
    const auto answer = RefillOptimizer().optimize(window->problem, budget);
    if (!answer.has_value()) {
      EXPECT_EQ(answer.error().code, ErrorCode::kBlocked) << answer.error().message;
      continue;
    }
    ++answered;
    SCOPED_TRACE(seed);
    expect_clean(window->problem, *answer);
    WorkBudget more(INT64_MAX);
    const auto bound = bound_window(window->problem, more);
    ASSERT_TRUE(bound.has_value());
    ASSERT_TRUE(bound->has_value());
    EXPECT_LE((*bound)->lower_bound, answer->time);
  }
  EXPECT_GT(answered, 120);
}

TEST(Refill, Groups_NeverBeatIt) {
  // Aim: seats that are refilled take no longer than the groups that it starts from.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto window = random_window({.jobs = 4 + seed % 8, .has_costs = seed % 2 == 0}, seed);
    window->problem.clock = GroupClock::kSpeedUp;
    WorkBudget one(10 * kUnits);
    WorkBudget two(kUnits);
    const auto refilled = RefillOptimizer().optimize(window->problem, one);
    const auto groups = LocalOptimizer().optimize(window->problem, two);
    ASSERT_TRUE(refilled.has_value());
    ASSERT_TRUE(groups.has_value());
    EXPECT_LE(refilled->time.to_seconds(), groups->time.to_seconds() * 1.02) << seed;
  }
}

TEST(Refill, TwoSeats_NextJobStartsWhereOneEnded) {
  // Aim: by hand: a long job and three short ones that do not slow each other down on two
  // instances take as long as the long one, without a barrier.
  const gpu::Geometry& geometry = test::gpu_of("A100-40GB");
  auto catalogue = gpu::make_sharing_catalogue(
      geometry, {.concurrency_max = 2, .families = {gpu::SharingFamily::kMigPrivate}});
  ASSERT_TRUE(catalogue.has_value());
  const test::PlainCoRun model({{}, {}, {}, {}});
  const std::vector<plan::WindowJob> jobs = {test::window_job("long", 9),
                                             test::window_job("a", 3),
                                             test::window_job("b", 3),
                                             test::window_job("c", 3)};
  WindowProblem problem;
  problem.jobs = jobs;
  problem.model = &model;
  problem.catalogue = &*catalogue;
  WorkBudget budget(kUnits);
  const auto answer = RefillOptimizer().optimize(problem, budget);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->time, seconds_to_duration(9));
  expect_clean(problem, *answer);
  WorkBudget exact_budget(1000000);
  const auto exact = WindowDp().optimize(problem, exact_budget);
  ASSERT_TRUE(exact.has_value());
  EXPECT_EQ(exact->time, seconds_to_duration(12));
}

TEST(Refill, EqualProblems_EqualAnswers) {
  // Aim: chance is seeded: two runs give the same timeline.
  const auto window = random_window({.jobs = 9}, 5);
  test::expect_same_answer_twice(RefillOptimizer(), *window, kUnits);
}

TEST(Refill, JobThatFitsNowhere_BlockedAndNamed) {
  // Aim: a job larger than the GPU is named; nothing else happens.
  const auto window = random_window({.jobs = 3}, 2);
  window->jobs[1].memory = Bytes::mebibytes(999999);
  window->jobs[1].name = "giant";
  WorkBudget budget(kUnits);
  const auto answer = RefillOptimizer().optimize(window->problem, budget);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kBlocked);
  EXPECT_NE(answer.error().message.find("giant"), std::string::npos);
}

TEST(Refill, HostileProblems_AreRefused) {
  // Aim: what no caller may hand over is an error, not a crash.
  const auto window = random_window({.jobs = 3}, 3);
  WindowProblem problem = window->problem;
  problem.rules.fairness = 2;
  WorkBudget budget(kUnits);
  EXPECT_EQ(RefillOptimizer().optimize(problem, budget).error().code, ErrorCode::kInvalidInput);
  problem = window->problem;
  problem.model = nullptr;
  EXPECT_EQ(RefillOptimizer().optimize(problem, budget).error().code, ErrorCode::kInvalidInput);
  window->jobs[0].solo = Duration();
  EXPECT_EQ(RefillOptimizer().optimize(window->problem, budget).error().code,
            ErrorCode::kInvalidInput);
}

TEST(Refill, NoBudget_StillAnAnswer) {
  // Aim: a budget that is used up at once gives the first plan that was built.
  const auto window = random_window({.jobs = 7}, 4);
  WorkBudget budget(0);
  const auto answer = RefillOptimizer().optimize(window->problem, budget);
  ASSERT_TRUE(answer.has_value());
  expect_clean(window->problem, *answer);
}

TEST(Refill, VeryLongAndVeryShortJobs_Hold) {
  // Aim: times from a nanosecond to years in one window do not overflow or lose work.
  const auto window = random_window({.jobs = 4}, 6);
  window->jobs[0].solo = Duration::nanoseconds(1);
  window->jobs[1].solo = Duration::nanoseconds(INT64_C(1000000000) * 86400 * 365 * 3);
  WorkBudget budget(kUnits);
  const auto answer = RefillOptimizer().optimize(window->problem, budget);
  ASSERT_TRUE(answer.has_value());
  expect_clean(window->problem, *answer);
}

}  // namespace
}  // namespace septule::optimize
