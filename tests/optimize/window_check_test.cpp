#include "optimize/window_check.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "optimize/refill.hpp"
#include "optimize/window_heuristics.hpp"
#include "optimize/window_support.hpp"

namespace septule::optimize {
namespace {

using plan::ScheduleViolation;
using plan::ScheduleViolationKind;
using test::random_window;

bool has(const std::vector<ScheduleViolation>& found, ScheduleViolationKind kind) {
  return std::ranges::find(found, kind, &ScheduleViolation::kind) != found.end();
}

/// An answer to a window with costs and rates, by clock.
struct Case {
  std::unique_ptr<test::RandomWindow> window;
  WindowAnswer answer;
};
std::vector<Case> cases(GroupClock clock) {
  std::vector<Case> out;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    auto window = random_window({.jobs = 5}, seed);
    window->problem.clock = clock;
    WorkBudget budget(100'000'000);
    auto answer = GreedyOptimizer().optimize(window->problem, budget);
    if (answer.has_value()) {
      out.push_back({std::move(window), *std::move(answer)});
    }
  }
  return out;
}

TEST(WindowCheck, AnswersOfAMethod_Pass) {
  // Aim: what holds is not refused, whatever the clock.
  for (const GroupClock clock :
       {GroupClock::kSpeedUp, GroupClock::kIdle, GroupClock::kRefill, GroupClock::kSteadyState}) {
    const std::vector<Case> all = cases(clock);
    EXPECT_FALSE(all.empty());
    for (const Case& one : all) {
      const auto found = check_window_answer(one.window->problem, one.answer);
      EXPECT_TRUE(found.empty()) << group_clock_name(clock) << ": " << found.front().message;
    }
  }
}

TEST(WindowCheck, TimelineWithoutGroups_PassesOnAnyClock) {
  // Aim: seats that are refilled have the rates of the present company, also where the clock says
  // that ended jobs leave theirs idle.
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto window = random_window({.jobs = 6}, seed);
    window->problem.clock = seed % 2 == 0 ? GroupClock::kIdle : GroupClock::kSteadyState;
    WorkBudget budget(20000);
    const auto answer = RefillOptimizer().optimize(window->problem, budget);
    if (answer.has_value()) {
      ++seen;
      EXPECT_EQ(test::wrong_with(window->problem, *answer), "") << seed;
    }
  }
  EXPECT_GT(seen, 0);
}

TEST(WindowCheck, BrokenAnswers_AreFound) {
  // Aim: a time, a rate, a job and a cost that are not true are each seen.
  for (Case& one : cases(GroupClock::kSpeedUp)) {
    const WindowProblem& problem = one.window->problem;
    WindowAnswer broken = one.answer;
    broken.time = broken.time + Duration::milliseconds(1);
    EXPECT_TRUE(has(check_window_answer(problem, broken), ScheduleViolationKind::kTotals));
    broken = one.answer;
    broken.schedule.runs.pop_back();
    EXPECT_TRUE(has(check_window_answer(problem, broken), ScheduleViolationKind::kJobs));
    broken = one.answer;
    broken.schedule.runs.front().pieces.front().rate *= 1.5;
    const auto found = check_window_answer(problem, broken);
    EXPECT_TRUE(has(found, ScheduleViolationKind::kRate));
    EXPECT_TRUE(has(found, ScheduleViolationKind::kWork));
  }
}

TEST(WindowCheck, SwitchWithoutItsTime_IsFound) {
  // Aim: costs are asked of the schedule that was made without them.
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto window = random_window({.jobs = 5}, seed);
    WindowProblem free = window->problem;
    free.costs = nullptr;
    WorkBudget budget(100'000'000);
    const auto answer = GreedyOptimizer().optimize(free, budget);
    if (!answer.has_value()) {
      continue;
    }
    EXPECT_TRUE(check_window_answer(free, *answer).empty());
    SwitchCosts costs;
    costs.create.assign(free.catalogue->geometry->profiles().size(), Duration::milliseconds(200));
    costs.destroy = costs.create;
    costs.mig_toggle = Duration::milliseconds(4000);
    WindowProblem dear = free;
    dear.costs = &costs;
    const auto found = check_window_answer(dear, *answer);
    seen += has(found, ScheduleViolationKind::kRecut) ? 1 : 0;
  }
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace septule::optimize
