#include "learn/window_agent.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learn/window_support.hpp"
#include "optimize/window_dp.hpp"
#include "support/window_faults.hpp"

namespace septule::learn {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kUnits = std::int64_t{1} << 40U;

const test::WindowGpu& a100() {
  static const test::WindowGpu gpu;
  return gpu;
}

std::unique_ptr<WindowAgent> agent_of(std::uint64_t seed) {
  auto made = WindowAgent::make(test::drawn_window_net(seed));
  SEPTULE_CHECK(made.has_value(), "drawn weights are valid");
  return std::move(made).value();
}

Duration time_sharing(const optimize::WindowProblem& problem) {
  Duration sum;
  for (const plan::WindowJob& job : problem.jobs) {
    sum += job.solo;
  }
  return sum;
}

TEST(WindowAgent, Answers_HoldBeforeTheChecker) {
  // Aim: whatever the weights, windows of 0 to 30 jobs get a valid schedule that is no slower than
  // one job after another.
  for (std::uint64_t seed = 0; seed <= 30; ++seed) {
    const test::GeneratedWindow window(a100(), seed, seed);
    WorkBudget budget(kUnits);
    const auto answer = agent_of(seed)->optimize(window.problem, budget);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(test::wrong_with(window.problem, *answer), "");
    EXPECT_LE(answer->time, time_sharing(window.problem));
    EXPECT_EQ(answer->method, "rl");
    EXPECT_EQ(answer->certificate.proof, plan::Proof::kNone);
  }
}

TEST(WindowAgent, Schedules_TakeWhatTheEpisodeSaid) {
  // Aim: templates, percentages and seats of the answer are those of the times that the agent
  // decided by: both add up to the same.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const test::GeneratedWindow window(a100(), 300 + seed, 12);
    test::EpisodeBench bench(a100(), window.problem);
    const auto agent = agent_of(seed);
    WorkBudget budget(kUnits);
    double sum = 0;
    for (const ClosedGroup& group : agent->roll_out(bench.times, budget)) {
      sum += static_cast<double>(group.time);
    }
    const auto answer = agent->optimize(window.problem, budget);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_NEAR(answer->time.to_seconds(), sum, 1e-5 * sum);
  }
}

TEST(WindowAgent, OtherGpusOfTheGrid_AreTaken) {
  // Aim: H100 and A100-40GB have the grid that was trained; their answers hold too.
  for (const char* const name : {"H100-80GB-SXM", "A100-40GB"}) {
    const test::WindowGpu gpu(name);
    const test::GeneratedWindow window(gpu, 3, 12);
    WorkBudget budget(kUnits);
    const auto answer = agent_of(3)->optimize(window.problem, budget);
    if (!answer.has_value()) {
      EXPECT_EQ(answer.error().code, ErrorCode::kBlocked) << answer.error().message;
      continue;
    }
    EXPECT_EQ(test::wrong_with(window.problem, *answer), "");
  }
}

TEST(WindowAgent, GpuOfAnotherGrid_IsRefusedByName) {
  // Aim: an A30 has four slices; the message says so and names methods that take it.
  const test::WindowGpu gpu("A30-24GB");
  const test::GeneratedWindow window(gpu, 1, 2);
  WorkBudget budget(kUnits);
  const auto answer = agent_of(1)->optimize(window.problem, budget);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(answer.error().message, HasSubstr("A30"));
  EXPECT_THAT(answer.error().message, HasSubstr("exact"));
}

TEST(WindowAgent, MissingTraits_AreRefused) {
  // Aim: a window without traits is an input fault with both counts.
  test::GeneratedWindow window(a100(), 1, 3);
  window.problem.traits = {};
  WorkBudget budget(kUnits);
  const auto answer = agent_of(1)->optimize(window.problem, budget);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(answer.error().message, HasSubstr("0 of 3"));
}

TEST(WindowAgent, JobThatFitsNowhere_IsBlockedByName) {
  // Aim: 200 GiB fit no A100.
  test::GeneratedWindow window(a100(), 1, 3);
  window.jobs[1].memory = Bytes::mebibytes(200 * 1024);
  WorkBudget budget(kUnits);
  const auto answer = agent_of(1)->optimize(window.problem, budget);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kBlocked);
  EXPECT_THAT(answer.error().message, HasSubstr(window.jobs[1].name));
}

TEST(WindowAgent, WhatIsNotKnown_IsNotGuessed) {
  // Aim: jobs without memory, traits or kernel lengths, with rules: the answer still holds.
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    test::GeneratedWindow window(a100(), 40 + seed, 12);
    for (std::size_t i = 0; i < window.jobs.size(); ++i) {
      if (i % 3 == 0) {
        window.jobs[i].memory = std::nullopt;
        window.traits[i] = {.solo = window.jobs[i].solo};
      }
      window.jobs[i].trust = i % 2 == 0 ? "a" : "b";
    }
    window.problem.rules.fairness = 0.3;
    WorkBudget budget(kUnits);
    const auto answer = agent_of(seed)->optimize(window.problem, budget);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(test::wrong_with(window.problem, *answer), "");
  }
}

TEST(WindowAgent, OtherClocks_GetValidAnswers) {
  // Aim: each clock of the problem gives a schedule that holds by that clock.
  for (const optimize::GroupClock clock : {optimize::GroupClock::kIdle,
                                           optimize::GroupClock::kSteadyState,
                                           optimize::GroupClock::kRefill}) {
    test::GeneratedWindow window(a100(), 8, 12);
    window.problem.clock = clock;
    WorkBudget budget(kUnits);
    const auto answer = agent_of(2)->optimize(window.problem, budget);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(answer->schedule.runs.size(), 12U);
  }
}

TEST(WindowAgent, Answers_AreEqualForEqualProblems) {
  // Aim: the same window in another order of jobs gets the same time; asked twice, the same answer.
  const test::GeneratedWindow window(a100(), 11, 12);
  const auto agent = agent_of(5);
  WorkBudget budget(kUnits);
  const auto first = agent->optimize(window.problem, budget);
  const auto again = agent->optimize(window.problem, budget);
  ASSERT_TRUE(first.has_value());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(first->time, again->time);
  EXPECT_EQ(first->units_spent, again->units_spent);
  ASSERT_EQ(first->schedule.groups.size(), again->schedule.groups.size());
  for (std::size_t i = 0; i < first->schedule.groups.size(); ++i) {
    EXPECT_EQ(first->schedule.groups[i].jobs, again->schedule.groups[i].jobs);
  }
}

TEST(WindowAgent, NoBudget_RunsOneAfterAnother) {
  // Aim: without any work allowed there is still an answer, and it is time sharing.
  const test::GeneratedWindow window(a100(), 11, 12);
  WorkBudget budget(0);
  const auto answer = agent_of(5)->optimize(window.problem, budget);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(test::wrong_with(window.problem, *answer), "");
  EXPECT_EQ(answer->time, time_sharing(window.problem));
}

TEST(WindowAgent, FewTemplates_AreEnough) {
  // Aim: with time sharing only, or one family, the agent takes what the catalogue has.
  for (const gpu::SharingFamily family :
       {gpu::SharingFamily::kTimeSharing, gpu::SharingFamily::kMigPrivate}) {
    gpu::SharingOptions options;
    options.families = {family};
    const test::WindowGpu gpu("A100-80GB", options);
    const test::GeneratedWindow window(gpu, 4, 9);
    WorkBudget budget(kUnits);
    const auto answer = agent_of(4)->optimize(window.problem, budget);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(test::wrong_with(window.problem, *answer), "");
  }
}

}  // namespace
}  // namespace septule::learn
