#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "optimize/random_windows.hpp"
#include "optimize/window_check.hpp"
#include "optimize/window_limits.hpp"
#include "optimize/window_methods.hpp"
#include "plan/schedule_checker.hpp"

namespace septule::optimize {
namespace {

using test::random_window;

constexpr std::array kClocks{
    GroupClock::kSteadyState, GroupClock::kIdle, GroupClock::kSpeedUp, GroupClock::kRefill};

/// Answers of all methods to the problem; those that say why not are not counted.
int hold_or_say_why_not(const WindowProblem& problem, const std::string& label) {
  int answers = 0;
  for (const WindowMethod& method : window_methods()) {
    if (method.needs_learned) {
      continue;
    }
    const auto optimizer = make_window_method(method.name, {});
    EXPECT_TRUE(optimizer.has_value());
    WorkBudget budget(50'000);
    const auto answer = (*optimizer)->optimize(problem, budget);
    if (!answer.has_value()) {
      EXPECT_NE(answer.error().message, "") << method.name;
      continue;
    }
    ++answers;
    const auto found = check_window_answer(problem, *answer);
    EXPECT_TRUE(found.empty()) << label << ", " << method.name << ": " << found.front().message;
  }
  return answers;
}

TEST(WindowClocks, AllMethods_HoldOrSayWhyNot) {
  // Aim: whatever the metric of groups, the checker of answers refuses no method's.
  for (const GroupClock clock : kClocks) {
    int answers = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      const auto window = random_window({.jobs = 6, .has_costs = seed % 2 == 0}, seed);
      window->problem.clock = clock;
      answers += hold_or_say_why_not(window->problem,
                                     fmt::format("{}, seed {}", group_clock_name(clock), seed));
    }
    EXPECT_GT(answers, 60) << group_clock_name(clock);
  }
}

TEST(WindowClocks, LongestWindows_HoldOrSayWhyNot) {
  // Aim: jobs of ten years together, slow where they share, never leave the times there are.
  int answers = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto kind = seed % 2 == 0 ? test::ModelKind::kLaws : test::ModelKind::kChance;
    const auto window = random_window({.jobs = 6, .model = kind, .has_costs = true}, seed);
    for (plan::WindowJob& job : window->jobs) {
      job.solo = Duration::nanoseconds(kWindowTimeMax.to_nanoseconds() / 6);
    }
    answers += hold_or_say_why_not(window->problem, fmt::format("seed {}", seed));
  }
  EXPECT_GT(answers, 30);
}

/// Everybody runs everywhere, at next to no speed but alone on the whole GPU.
class SlowCoRun final : public predict::CoRunModel {
 public:
  SlowCoRun(std::size_t job_count, double speed) : job_count_(job_count), speed_(speed) {}
  std::size_t job_count() const override { return job_count_; }
  void rates(const predict::CoRunPlace& /*place*/,
             std::span<const predict::CoRunClient> /*clients*/,
             std::span<double> out) const override {
    std::fill(out.begin(), out.end(), speed_);
  }

 private:
  std::size_t job_count_;
  double speed_;
};

TEST(WindowClocks, NextToNoSpeed_HoldOrSayWhyNot) {
  // Aim: a group may end in time while all groups together do not; nobody overflows.
  for (const double speed : {1e-3, 1e-6, 1e-9, 1e-12, 1e-300}) {
    const auto window = random_window({.jobs = 6}, 1);
    const SlowCoRun model(6, speed);
    window->problem.model = &model;
    for (plan::WindowJob& job : window->jobs) {
      job.solo = Duration::milliseconds(1'000'000);
    }
    hold_or_say_why_not(window->problem, fmt::format("speed {}", speed));
  }
}

TEST(WindowClocks, TimesBeyondTheLimit_RefusedByAll) {
  // Aim: the job with which they are too long is named, by every method.
  const auto window = random_window({.jobs = 3}, 1);
  window->jobs[0].solo = Duration::milliseconds(1);
  window->jobs[1].solo = kWindowTimeMax - Duration::milliseconds(1);
  window->jobs[2].solo = Duration::nanoseconds(1);
  const Status status = check_window_problem(window->problem);
  ASSERT_FALSE(status.is_ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(status.error().message.find(window->jobs[2].name), std::string::npos)
      << status.error().message;
  EXPECT_EQ(hold_or_say_why_not(window->problem, "too long"), 0);
  window->problem.jobs = std::span(window->jobs).first(2);
  const SlowCoRun model(2, 1);
  window->problem.model = &model;
  EXPECT_TRUE(check_window_problem(window->problem).is_ok());
}

TEST(WindowClocks, FairnessFloor_ThatOfTheRulesUnlessTooSlow) {
  // Aim: usual windows keep their floor; of the longest ones more than half of the speed is asked.
  const auto window = random_window({.jobs = 2, .fairness = 0.1}, 1);
  EXPECT_EQ(fairness_floor(window->problem), 0.1);
  window->jobs[0].solo = kWindowTimeMax;
  EXPECT_NEAR(fairness_floor(window->problem), 0.547, 0.001);
}

}  // namespace
}  // namespace septule::optimize
