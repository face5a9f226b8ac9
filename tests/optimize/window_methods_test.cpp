#include "optimize/window_methods.hpp"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "optimize/window_baselines.hpp"
#include "optimize/window_dp.hpp"
#include "optimize/window_heuristics.hpp"
#include "optimize/window_support.hpp"

namespace septule::optimize {
namespace {

using test::random_window;
using test::wrong_with;

constexpr std::int64_t kUnits = 1'000'000'000;

/// Says what it is told to.
class Fixed final : public WindowOptimizer {
 public:
  Fixed(std::string_view name, Result<WindowAnswer> answer)
      : name_(name), answer_(std::move(answer)) {}
  std::string_view name() const override { return name_; }
  Result<WindowAnswer> optimize(const WindowProblem& /*problem*/,
                                WorkBudget& budget) const override {
    budget.spend(7);
    return answer_;
  }

 private:
  std::string_view name_;
  Result<WindowAnswer> answer_;
};

WindowAnswer answer_of(int seconds, plan::Proof proof = plan::Proof::kNone) {
  WindowAnswer answer;
  answer.time = Duration::milliseconds(1000 * seconds);
  answer.certificate.proof = proof;
  return answer;
}

std::unique_ptr<WindowOptimizer> fixed(std::string_view name, Result<WindowAnswer> answer) {
  return std::make_unique<Fixed>(name, std::move(answer));
}

TEST(WindowMethods, SmallWindows_ValidAndNotBelowExact) {
  // Aim: every method's schedule holds, and none is better than the exact one (groups only).
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto window = random_window({.jobs = 6}, seed);
    WorkBudget budget(kUnits);
    const auto exact = WindowDp().optimize(window->problem, budget);
    if (!exact.has_value()) {
      continue;
    }
    for (const std::string_view name :
         {"time-sharing", "mps-only", "mig-only", "mig-mps-default", "greedy", "beam"}) {
      const auto method = make_window_method(name, {});
      ASSERT_TRUE(method.has_value());
      const auto answer = (*method)->optimize(window->problem, budget);
      ASSERT_TRUE(answer.has_value()) << name << ": " << answer.error().message;
      EXPECT_GE(answer->time, exact->time) << name << " seed " << seed;
      EXPECT_EQ(answer->method, name);
      EXPECT_EQ(wrong_with(window->problem, *answer), "") << name << " seed " << seed;
    }
  }
}

TEST(WindowMethods, Timelines_HoldOrSayWhyNot) {
  // Aim: methods without barriers, and those for larger windows, pass the checker too.
  for (std::uint64_t seed = 200; seed < 240; ++seed) {
    const auto window = random_window({.jobs = 5, .templates = 20}, seed);
    for (const std::string_view name : {"static", "far", "moldable", "local", "refill"}) {
      const auto method = make_window_method(name, {});
      ASSERT_TRUE(method.has_value());
      WorkBudget budget(100'000);
      const auto answer = (*method)->optimize(window->problem, budget);
      if (answer.has_value()) {
        EXPECT_EQ(wrong_with(window->problem, *answer), "") << name << " seed " << seed;
        EXPECT_EQ(answer->method, name);
      } else {
        EXPECT_NE(answer.error().message, "") << name;
      }
    }
  }
}

TEST(WindowMethods, Baselines_UseTheirTemplatesOnly) {
  // Aim: what a baseline stands for is what it uses; time sharing is the sum of the solo times.
  const auto window = random_window({.jobs = 8, .clock = GroupClock::kSpeedUp}, 12);
  window->problem.initial = std::nullopt;
  WorkBudget budget(kUnits);
  const auto sharing = BaselineOptimizer(Baseline::kTimeSharing).optimize(window->problem, budget);
  ASSERT_TRUE(sharing.has_value());
  Duration sum;
  for (const plan::WindowJob& job : window->jobs) {
    sum += job.solo;
  }
  EXPECT_EQ(sharing->time, sum);
  EXPECT_EQ(sharing->certificate.proof, plan::Proof::kOptimal);
  const auto mig = BaselineOptimizer(Baseline::kMigOnly).optimize(window->problem, budget);
  ASSERT_TRUE(mig.has_value());
  EXPECT_LE(mig->time, sum);
  for (const plan::ScheduledRun& run : mig->schedule.runs) {
    EXPECT_FALSE(run.atp.has_value());
  }
  const auto mps = BaselineOptimizer(Baseline::kMpsOnly).optimize(window->problem, budget);
  ASSERT_TRUE(mps.has_value());
  for (const plan::ScheduledInstance& instance : mps->schedule.instances) {
    EXPECT_FALSE(instance.placed.has_value());
  }
}

TEST(WindowMethods, LargeWindow_AllJobsRun) {
  // Aim: windows beyond one table are answered in pieces, valid as a whole.
  const auto window = random_window({.jobs = 40, .templates = 20, .can_lack_memory = false}, 21);
  WorkBudget budget(kUnits);
  for (const std::string_view name : {"time-sharing", "mig-only", "greedy", "beam"}) {
    const auto method = make_window_method(name, {});
    ASSERT_TRUE(method.has_value());
    const auto answer = (*method)->optimize(window->problem, budget);
    ASSERT_TRUE(answer.has_value()) << name << ": " << answer.error().message;
    EXPECT_EQ(wrong_with(window->problem, *answer), "") << name;
    EXPECT_EQ(answer->schedule.runs.size(), 40U);
    EXPECT_EQ(answer->certificate.proof, plan::Proof::kNone);
  }
}

TEST(BeamOptimizer, GreatWidth_FindsTheOptimumWithoutSwitches) {
  // Aim: where order does not matter, a beam that drops nothing is exact.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto window = random_window({.jobs = 5, .templates = 15}, seed);
    window->problem.costs = nullptr;
    WorkBudget budget(kUnits);
    const auto exact = WindowDp().optimize(window->problem, budget);
    const auto beam = BeamOptimizer(BeamOptimizer::kWidthMax).optimize(window->problem, budget);
    ASSERT_EQ(exact.has_value(), beam.has_value());
    if (exact.has_value()) {
      EXPECT_EQ(beam->time, exact->time) << "seed " << seed;
    }
  }
}

TEST(WindowMethods, EachName_IsMadeAndFound) {
  // Aim: the list, the names of methods and the lookup agree; unknown names get near ones.
  std::set<std::string_view> names;
  for (const WindowMethod& method : window_methods()) {
    EXPECT_TRUE(names.insert(method.name).second);
    const Fixed learned("rl", answer_of(1));
    const auto made = make_window_method(method.name, {.learned = &learned});
    ASSERT_TRUE(made.has_value()) << method.name;
    EXPECT_EQ((*made)->name(), method.name);
  }
  EXPECT_TRUE(names.contains("exact"));
  const auto wrong = make_window_method("exactly", {});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, ErrorCode::kNotFound);
  EXPECT_NE(wrong.error().message.find("exact"), std::string::npos);
  EXPECT_EQ(make_window_method("rl", {}).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(make_window_method("beam", {.beam_width = 0}).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(make_window_portfolio({.beam_width = BeamOptimizer::kWidthMax + 1}).error().code,
            ErrorCode::kInvalidInput);
}

TEST(WindowPortfolio, RandomWindows_NeverWorseThanAnyMethod) {
  // Aim: the guard, and that its report tells every method's time.
  for (std::uint64_t seed = 100; seed < 110; ++seed) {
    const auto window = random_window({.jobs = 6, .templates = 25}, seed);
    WorkBudget budget(kUnits);
    const auto all = make_window_portfolio({});
    ASSERT_TRUE(all.has_value());
    const auto report = (*all)->run(window->problem, budget);
    if (!report.has_value()) {
      EXPECT_EQ(report.error().code, ErrorCode::kBlocked);
      continue;
    }
    EXPECT_EQ(wrong_with(window->problem, report->answer), "")
        << report->answer.method << ", seed " << seed;
    for (const MethodOutcome& outcome : report->outcomes) {
      EXPECT_EQ(outcome.time.has_value(), !outcome.error.has_value());
      if (outcome.time.has_value()) {
        EXPECT_LE(report->answer.time, *outcome.time) << outcome.name;
      }
    }
    EXPECT_EQ(report->outcomes[report->winner].name, report->answer.method);
    EXPECT_EQ(report->outcomes[report->winner].time, report->answer.time);
    if (report->answer.certificate.lower_bound.has_value()) {
      EXPECT_LE(*report->answer.certificate.lower_bound, report->answer.time);
    }
  }
}

TEST(WindowPortfolio, EqualTimes_ProofThenOrder) {
  // Aim: who wins a tie is settled.
  const auto window = random_window({.jobs = 2}, 3);
  std::vector<WindowPortfolio::Entry> methods;
  methods.push_back({.method = fixed("a", answer_of(5))});
  methods.push_back({.method = fixed("b", answer_of(4))});
  methods.push_back({.method = fixed("c", answer_of(4, plan::Proof::kOptimal))});
  methods.push_back({.method = fixed("d", answer_of(4, plan::Proof::kOptimal))});
  WorkBudget budget(kUnits);
  const WindowPortfolio portfolio(std::move(methods), WindowPortfolio::Bounds::kNotAsked);
  const auto report = portfolio.run(window->problem, budget);
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->winner, 2U);
  EXPECT_EQ(report->answer.units_spent, 28);
}

TEST(WindowPortfolio, SomeFail_OthersCountAllFailIsTheFirst) {
  // Aim: a failure is reported and does no harm; without any answer the first error is handed on.
  const auto window = random_window({.jobs = 2}, 3);
  const Error first{ErrorCode::kInvalidInput, "too many jobs"};
  const Error second{ErrorCode::kTimedOut, "no time"};
  {
    std::vector<WindowPortfolio::Entry> methods;
    methods.push_back({.method = fixed("a", first)});
    methods.push_back({.method = fixed("b", answer_of(4))});
    WorkBudget budget(kUnits);
    const WindowPortfolio portfolio(std::move(methods), WindowPortfolio::Bounds::kNotAsked);
    const auto report = portfolio.run(window->problem, budget);
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->winner, 1U);
    EXPECT_EQ(report->outcomes[0].error, first);
  }
  std::vector<WindowPortfolio::Entry> methods;
  methods.push_back({.method = fixed("a", first)});
  methods.push_back({.method = fixed("b", second)});
  WorkBudget budget(kUnits);
  const WindowPortfolio portfolio(std::move(methods), WindowPortfolio::Bounds::kNotAsked);
  const auto report = portfolio.optimize(window->problem, budget);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error(), first);
}

}  // namespace
}  // namespace septule::optimize
