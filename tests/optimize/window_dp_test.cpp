#include "optimize/window_dp.hpp"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "optimize/naive_window.hpp"
#include "optimize/window_support.hpp"

namespace septule::optimize {
namespace {

using test::NaiveWindow;
using test::random_window;
using test::wrong_with;

constexpr std::int64_t kUnits = 1'000'000'000;
/// Nanoseconds by which two ways of adding up may differ.
constexpr double kRounding = 200;

/// Compares one answer with brute force and the checker. Returns whether the window can run.
bool expect_best(const test::WindowShape& shape, std::uint64_t seed) {
  const auto window = random_window(shape, seed);
  const WindowProblem& problem = window->problem;
  WorkBudget budget(kUnits);
  const Result<WindowAnswer> answer = WindowDp().optimize(problem, budget);
  const std::optional<double> best = NaiveWindow(problem).best();
  EXPECT_EQ(answer.has_value(), best.has_value()) << "seed " << seed;
  if (!answer.has_value() || !best.has_value()) {
    EXPECT_EQ(answer.error().code, ErrorCode::kBlocked) << "seed " << seed;
    return false;
  }
  EXPECT_NEAR(static_cast<double>(answer->time.to_nanoseconds()), *best, kRounding)
      << "seed " << seed;
  EXPECT_EQ(answer->certificate.proof, plan::Proof::kOptimal);
  EXPECT_EQ(wrong_with(problem, *answer), "") << "seed " << seed;
  return true;
}

void expect_best_of_many(const test::WindowShape& shape, std::uint64_t first, std::uint64_t count) {
  std::uint64_t ran = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    ran += expect_best(shape, seed) ? 1U : 0U;
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(ran, count / 2);
}

TEST(WindowDp, TwoJobsAllTemplates_EqualsBruteForce) {
  // Aim: the best of all templates of an A100, with switches, memory, rules and all clocks.
  expect_best_of_many({.jobs = 2}, 0, 900);
}

TEST(WindowDp, ThreeJobsAllTemplates_EqualsBruteForce) {
  // Aim: the same with groups of three.
  expect_best_of_many({.jobs = 3}, 1000, 500);
}

TEST(WindowDp, FourJobsSomeTemplates_EqualsBruteForce) {
  // Aim: catalogues in which combinations of choices are missing, four jobs in a group.
  expect_best_of_many({.jobs = 4, .templates = 12}, 2000, 900);
}

TEST(WindowDp, FiveJobsSomeTemplates_EqualsBruteForce) {
  // Aim: several groups in sequence, where the order of cuts counts.
  expect_best_of_many({.jobs = 5, .templates = 9}, 3000, 400);
}

TEST(WindowDp, SixJobsSomeTemplates_EqualsBruteForce) {
  // Aim: the largest windows that brute force can do.
  expect_best_of_many({.jobs = 6, .templates = 6}, 4000, 150);
}

TEST(WindowDp, A30AllTemplates_EqualsBruteForce) {
  // Aim: another geometry, with its own cuts.
  expect_best_of_many({.gpu = "A30-24GB", .jobs = 3}, 5000, 200);
}

TEST(WindowDp, NoJob_IsEmptySchedule) {
  // Aim: an empty window is answered, not refused.
  const auto window = random_window({.jobs = 0}, 1);
  WorkBudget budget(kUnits);
  const auto answer = WindowDp().optimize(window->problem, budget);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->time, Duration());
  EXPECT_TRUE(answer->schedule.groups.empty());
}

TEST(WindowDp, SeventeenJobs_NamesLimitAndMethod) {
  // Aim: a window beyond the tables is refused with a way out.
  const auto window = random_window({.jobs = 17}, 1);
  WorkBudget budget(kUnits);
  const auto answer = WindowDp().optimize(window->problem, budget);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(answer.error().message.find("16"), std::string::npos) << answer.error().message;
  EXPECT_NE(answer.error().message.find("local"), std::string::npos) << answer.error().message;
}

TEST(WindowDp, JobTooLarge_IsNamed) {
  // Aim: who cannot run anywhere is said by name, with what it needs.
  const auto window = random_window({.jobs = 3}, 5);
  window->jobs[1].memory = Bytes::mebibytes(200 * 1024);
  WorkBudget budget(kUnits);
  const auto answer = WindowDp().optimize(window->problem, budget);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kBlocked);
  EXPECT_NE(answer.error().message.find("job1"), std::string::npos) << answer.error().message;
  EXPECT_NE(answer.error().message.find("200.0 GiB"), std::string::npos) << answer.error().message;
}

TEST(WindowDp, BudgetEnds_IsUnprovenOrTimedOut) {
  // Aim: too little work gives a valid answer without proof, or says that there is none.
  const auto window = random_window({.jobs = 10, .can_lack_memory = false}, 3);
  bool has_unproven = false;
  for (const std::int64_t units : {1, 1000, 20000, 60000}) {
    WorkBudget budget(units);
    const auto answer = WindowDp().optimize(window->problem, budget);
    if (!answer.has_value()) {
      EXPECT_EQ(answer.error().code, ErrorCode::kTimedOut) << answer.error().message;
      continue;
    }
    has_unproven = has_unproven || answer->certificate.proof == plan::Proof::kNone;
    EXPECT_EQ(wrong_with(window->problem, *answer), "");
  }
  EXPECT_TRUE(has_unproven);
}

TEST(WindowDp, InvalidProblem_IsRefused) {
  // Aim: what no caller may hand over is told, field by field.
  const auto refused = [](const auto& spoil) {
    const auto window = random_window({.jobs = 3}, 4);
    spoil(*window);
    WorkBudget budget(kUnits);
    const auto answer = WindowDp().optimize(window->problem, budget);
    return !answer.has_value() && answer.error().code == ErrorCode::kInvalidInput;
  };
  EXPECT_TRUE(refused([](auto& window) { window.problem.model = nullptr; }));
  EXPECT_TRUE(refused([](auto& window) { window.problem.catalogue = nullptr; }));
  EXPECT_TRUE(refused([](auto& window) { window.problem.jobs = window.problem.jobs.first(2); }));
  EXPECT_TRUE(refused([](auto& window) { window.jobs[2].solo = Duration(); }));
  EXPECT_TRUE(refused([](auto& window) { window.jobs[2].name = window.jobs[0].name; }));
  EXPECT_TRUE(refused([](auto& window) { window.problem.rules.fairness = 1.5; }));
  EXPECT_TRUE(refused([](auto& window) { window.problem.rules.fairness = std::nan(""); }));
}

TEST(WindowDp, SameWindow_SameAnswer) {
  // Aim: equal problems get equal answers.
  const auto window = random_window({.jobs = 9}, 8);
  WorkBudget one(kUnits);
  WorkBudget two(kUnits);
  const auto a = WindowDp().optimize(window->problem, one);
  const auto b = WindowDp().optimize(window->problem, two);
  ASSERT_EQ(a.has_value(), b.has_value());
  if (a.has_value()) {
    EXPECT_EQ(a->time, b->time);
    EXPECT_EQ(a->units_spent, b->units_spent);
    ASSERT_EQ(a->schedule.groups.size(), b->schedule.groups.size());
    for (std::size_t i = 0; i < a->schedule.groups.size(); ++i) {
      EXPECT_EQ(a->schedule.groups[i].jobs, b->schedule.groups[i].jobs);
      EXPECT_EQ(a->schedule.groups[i].template_name, b->schedule.groups[i].template_name);
    }
  }
}

TEST(GroupClockName, EachClock_ReadsBack) {
  // Aim: names and clocks belong together.
  for (const GroupClock clock :
       {GroupClock::kSteadyState, GroupClock::kIdle, GroupClock::kSpeedUp, GroupClock::kRefill}) {
    EXPECT_EQ(parse_group_clock(group_clock_name(clock)), clock);
  }
  EXPECT_FALSE(parse_group_clock("lazy").has_value());
}

}  // namespace
}  // namespace septule::optimize
