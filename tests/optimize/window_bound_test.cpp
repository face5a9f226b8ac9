#include "optimize/window_bound.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "optimize/group_support.hpp"
#include "optimize/local_search.hpp"
#include "optimize/random_windows.hpp"
#include "optimize/window_dp.hpp"

namespace septule::optimize {
namespace {

using test::ModelKind;
using test::random_window;
using test::WindowDrawing;

WindowBound bound_of(const WindowProblem& problem) {
  WorkBudget budget(INT64_MAX);
  const auto bound = bound_window(problem, budget);
  SEPTULE_CHECK(bound.has_value(), "the window is valid");
  return checked_value(bound.value(), "there is a bound");
}

TEST(WindowBound, TwoJobsThatDoNotDisturb_HalfTheTime) {
  // Aim: by hand: two equal jobs at full speed together take one solo time, and no less.
  auto catalogue = gpu::make_sharing_catalogue(test::gpu_of("A100-40GB"), {.concurrency_max = 2});
  ASSERT_TRUE(catalogue.has_value());
  const test::PlainCoRun model({{}, {}});
  const std::vector<plan::WindowJob> jobs = {test::window_job("a", 5), test::window_job("b", 5)};
  WindowProblem problem;
  problem.jobs = jobs;
  problem.model = &model;
  problem.catalogue = &*catalogue;
  const WindowBound bound = bound_of(problem);
  EXPECT_NEAR(bound.lower_bound.to_seconds(), 5, 1e-6);
  EXPECT_LE(bound.lower_bound, seconds_to_duration(5));
  EXPECT_TRUE(bound.is_converged);
}

TEST(WindowBound, ThreeJobsTwoSeats_FractionsCount) {
  // Aim: by hand: three equal jobs, two at a time: 1.5 solo times, which no groups reach.
  auto catalogue = gpu::make_sharing_catalogue(
      test::gpu_of("A100-40GB"),
      {.concurrency_max = 2, .families = {gpu::SharingFamily::kMigPrivate}});
  ASSERT_TRUE(catalogue.has_value());
  const test::PlainCoRun model({{}, {}, {}});
  const std::vector<plan::WindowJob> jobs = {
      test::window_job("a", 4), test::window_job("b", 4), test::window_job("c", 4)};
  WindowProblem problem;
  problem.jobs = jobs;
  problem.model = &model;
  problem.catalogue = &*catalogue;
  EXPECT_NEAR(bound_of(problem).lower_bound.to_seconds(), 6, 1e-6);
  problem.clock = GroupClock::kSteadyState;
  EXPECT_NEAR(bound_of(problem).lower_bound.to_seconds(), 6, 1e-6);
}

TEST(WindowBound, ExactGroups_NeverBelowIt) {
  // Aim: on a thousand random windows and every clock, the best groups take at least the bound.
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const WindowDrawing draw{.jobs = 1 + seed % 6,
                             .model = seed % 2 == 0 ? ModelKind::kChance : ModelKind::kLaws,
                             .templates_of_ten = 1 + static_cast<int>(seed % 3),
                             .has_costs = seed % 5 == 0,
                             .fairness = seed % 11 == 0 ? 0.2 : 0.0,
                             .has_users = seed % 7 == 0};
    const auto window = random_window(draw, seed);
    window->problem.clock = seed % 3 == 0   ? GroupClock::kSteadyState
                            : seed % 3 == 1 ? GroupClock::kIdle
                                            : GroupClock::kSpeedUp;
    WorkBudget budget(INT64_MAX);
    const auto exact = WindowDp().optimize(window->problem, budget);
    if (!exact.has_value()) {
      continue;
    }
    ++compared;
    EXPECT_LE(bound_of(window->problem).lower_bound, exact->time) << seed;
  }
  EXPECT_GT(compared, 700);
}

TEST(WindowBound, Prices_AddUpToIt) {
  // Aim: the prices handed out are those of the proof.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto window = random_window({.jobs = 5}, seed);
    const WindowBound bound = bound_of(window->problem);
    double sum = 0;
    for (std::size_t j = 0; j < window->jobs.size(); ++j) {
      EXPECT_GE(bound.prices[j], 0);
      sum += bound.prices[j] * window->jobs[j].solo.to_seconds();
    }
    EXPECT_LE(sum, bound.lower_bound.to_seconds() * (1 + 1e-6)) << seed;
  }
}

TEST(WindowBound, MoreTemplates_NeverRaiseIt) {
  // Aim: what may be done with more templates takes no longer.
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto window = random_window({.jobs = 6, .templates_of_ten = 10}, seed);
    const WindowBound all = bound_of(window->problem);
    while (window->catalogue.templates.size() > 8) {
      window->catalogue.templates.pop_back();
    }
    EXPECT_LE(all.lower_bound.to_seconds(),
              bound_of(window->problem).lower_bound.to_seconds() * (1 + 1e-4))
        << seed;
  }
}

TEST(WindowBound, SmallBudget_StillABound) {
  // Aim: a search that is cut short proves less, never too much.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto window = random_window({.jobs = 6}, seed);
    WorkBudget little(1);
    const auto early = bound_window(window->problem, little);
    ASSERT_TRUE(early.has_value());
    ASSERT_TRUE(early->has_value());
    EXPECT_LE((*early)->lower_bound.to_seconds(),
              bound_of(window->problem).lower_bound.to_seconds() * (1 + 1e-6));
  }
}

TEST(WindowBound, EmptyAndHostileWindows_AreClear) {
  // Aim: no jobs take no time; invalid problems and jobs that run nowhere are errors.
  const auto empty = random_window({.jobs = 0}, 1);
  EXPECT_EQ(bound_of(empty->problem).lower_bound, Duration());
  const auto window = random_window({.jobs = 2}, 1);
  WorkBudget budget(1000);
  window->jobs[1].memory = Bytes::mebibytes(9999999);
  EXPECT_EQ(bound_window(window->problem, budget).error().code, ErrorCode::kBlocked);
  WindowProblem problem = window->problem;
  problem.catalogue = nullptr;
  EXPECT_EQ(bound_window(problem, budget).error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace septule::optimize
