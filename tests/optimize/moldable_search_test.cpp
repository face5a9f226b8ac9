#include "optimize/moldable_search.hpp"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimize/moldable_annealing.hpp"
#include "optimize/moldable_bound.hpp"
#include "optimize/moldable_cases.hpp"
#include "optimize/moldable_exhaustive.hpp"
#include "optimize/moldable_tree.hpp"

namespace septule::optimize {
namespace {

using ::testing::IsEmpty;

MoldableAnswer searched(const MoldableProblem& problem, std::int64_t units = kMoldableUnits) {
  WorkBudget budget(units);
  const Result<MoldableAnswer> answer = search_moldable(problem, budget);
  SEPTULE_CHECK(answer.has_value(), "the test's tasks can be scheduled");
  return *answer;
}

Duration best_baseline(const MoldableAnswer& answer) {
  return std::min(answer.far, answer.best_static.value_or(answer.far));
}

TEST(MoldableSearch, Search_RandomTasks_HoldsAndIsNeverWorse) {
  // Legal, not below the bound, never worse than FAR and the best static partition.
  for (const char* key : {"A30-24GB", "A100-40GB", "H100-80GB-SXM", "RTX-PRO-6000-Blackwell"}) {
    const test::MoldableBench bench(key);
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const MoldableProblem problem = bench.random_problem(seed, 20);
      const MoldableAnswer answer = searched(problem, 20000);
      ASSERT_THAT(test::moldable_faults(problem, answer.schedule), IsEmpty()) << key << " " << seed;
      ASSERT_LE(answer.schedule.makespan, best_baseline(answer)) << key << " " << seed;
      ASSERT_GE(answer.schedule.makespan, moldable_bounds(problem)->best()) << key << " " << seed;
    }
  }
}

TEST(MoldableSearch, Search_TinyCases_AreMostlyOptimal) {
  // Against every timeline of up to four tasks, merges included: never below the optimum, equal to
  // it nearly always (what is missing are timelines whose merges save re-cut time), never 20 % off.
  const test::MoldableBench bench("A30-24GB");
  int optimal = 0;
  constexpr int kCases = 300;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const MoldableProblem problem = bench.random_problem(seed, 4);
    const Duration optimum = test::exhaustive_makespan(problem);
    const Duration found = searched(problem, 20000).schedule.makespan;
    ASSERT_GE(found, optimum) << seed;
    ASSERT_LE(found.to_seconds(), 1.2 * optimum.to_seconds()) << seed;
    optimal += found == optimum ? 1 : 0;
  }
  EXPECT_GE(optimal, kCases * 95 / 100);
}

TEST(MoldableSearch, Search_FreeRecuts_MergesNeverHelp) {
  // Where re-cutting is free, timelines that only split reach the optimum of all timelines: the
  // exchange argument of moldable_annealing.hpp, tried on every tiny case.
  const test::MoldableBench bench("A30-24GB", test::MoldableBench::Costs::kFree);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const MoldableProblem problem = bench.random_problem(seed, 4);
    ASSERT_EQ(searched(problem, 20000).schedule.makespan, test::exhaustive_makespan(problem))
        << seed;
  }
}

TEST(MoldableSearch, Search_TasksForOne4g_LeavesTheOtherSideToWork) {
  // FAR gives tasks their best size 4g, of which there is one place; ours uses 3g beside it.
  const test::MoldableBench bench("A100-40GB");
  const MoldableProblem problem =
      bench.problem(std::vector<std::vector<std::int64_t>>(20, {50000, 24000, 14000, 10000, 9900}));
  const MoldableAnswer answer = searched(problem);
  EXPECT_LT(answer.schedule.makespan.to_seconds(), 0.92 * answer.far.to_seconds());
}

TEST(MoldableSearch, Search_NothingOrOne_IsExact) {
  // No tasks: nothing. One task: the least of creation and time.
  const test::MoldableBench bench("A100-40GB");
  EXPECT_EQ(searched(bench.problem({})).schedule.makespan, Duration());
  EXPECT_EQ(searched(bench.problem({{900, 890, 0, 0, 850}})).schedule.makespan,
            Duration::milliseconds(1060));
}

TEST(MoldableSearch, Search_AnyBudget_KeepsItAndHasAnAnswer) {
  // A small budget ends the search within a step of work; the answer is still never worse.
  const test::MoldableBench bench("A100-40GB");
  const MoldableProblem problem = bench.drawn(MoldableMix::kGood, 30, 3);
  for (const std::int64_t units : {30, 100, 1000, 10000, 100000}) {
    WorkBudget budget(units);
    const Result<MoldableAnswer> answer = search_moldable(problem, budget);
    ASSERT_TRUE(answer.has_value());
    EXPECT_LE(budget.units_spent(), units + 200);
    EXPECT_LE(answer->schedule.makespan, best_baseline(*answer));
  }
  WorkBudget none(1);
  EXPECT_EQ(search_moldable(problem, none).error().code, ErrorCode::kTimedOut);
}

TEST(MoldableSearch, Search_Twice_GivesTheSame) {
  // Deterministic, and the seed matters only to the search.
  const test::MoldableBench bench("A100-40GB");
  const MoldableProblem problem = bench.drawn(MoldableMix::kUniform, 40, 7);
  EXPECT_EQ(searched(problem).assignment, searched(problem).assignment);
}

TEST(MoldableSearch, Search_PermutedTasks_IsAboutAsGood) {
  // Nothing hangs on the order of the tasks but chance.
  const test::MoldableBench bench("A100-40GB");
  MoldableProblem problem = bench.drawn(MoldableMix::kUniform, 30, 5);
  const double before = searched(problem).schedule.makespan.to_seconds();
  std::reverse(problem.tasks.begin(), problem.tasks.end());
  EXPECT_NEAR(searched(problem).schedule.makespan.to_seconds() / before, 1, 0.03);
}

TEST(MoldableSearch, Search_BadInput_IsRefused) {
  // As check_moldable_problem() says.
  const test::MoldableBench bench("A100-40GB");
  WorkBudget budget(1000);
  EXPECT_EQ(search_moldable(bench.problem({{0, 0, 0, 0, 0}}), budget).error().code,
            ErrorCode::kBlocked);
}

TEST(Annealing, Anneal_NoSteps_GivesTheStart) {
  // Without steps nothing changes.
  const test::MoldableBench bench("A100-40GB");
  const MoldableProblem problem = bench.drawn(MoldableMix::kGood, 10, 3);
  const MoldableAssignment start(10, 0);
  EXPECT_EQ(anneal(bench.gpu(), MoldableTimes(problem), start, {.seed = 1, .steps = 0}), start);
}

TEST(MoldableGenerator, Draw_EveryMix_IsWithinItsRules) {
  // Times of one slice are in range, times never grow with size by the generator's rules, and one
  // name and seed gives the same tasks.
  const test::MoldableBench bench("A100-40GB");
  for (int mix = 0; mix < kMoldableMixCount; ++mix) {
    const MoldableProblem problem = bench.drawn(static_cast<MoldableMix>(mix), 500, 11);
    ASSERT_EQ(problem.tasks.size(), 500U);
    for (const MoldableTask& task : problem.tasks) {
      EXPECT_GE(*task.times[0], Duration::milliseconds(1000));
      EXPECT_LE(*task.times[0], Duration::milliseconds(100000));
      for (std::size_t size = 1; size < task.times.size(); ++size) {
        EXPECT_LE(*task.times[size], *task.times[size - 1]);
      }
    }
    const MoldableProblem again = bench.drawn(static_cast<MoldableMix>(mix), 500, 11);
    EXPECT_EQ(again.tasks[499].times, problem.tasks[499].times);
  }
}

TEST(MoldableGenerator, Draw_GoodAndBad_ScaleAsNamed) {
  // The mean speed-up of the whole GPU: tasks of the good mix use it, those of the bad one do not.
  const test::MoldableBench bench("A100-40GB");
  const auto mean_speedup = [&](MoldableMix mix) {
    double sum = 0;
    const MoldableProblem problem = bench.drawn(mix, 1000, 13);
    for (const MoldableTask& task : problem.tasks) {
      sum += task.times.front()->to_seconds() / task.times.back()->to_seconds();
    }
    return sum / 1000;
  };
  EXPECT_GT(mean_speedup(MoldableMix::kGood), 5);
  EXPECT_LT(mean_speedup(MoldableMix::kBad), 2.5);
  EXPECT_GT(mean_speedup(MoldableMix::kUniform), mean_speedup(MoldableMix::kBad));
}

}  // namespace
}  // namespace septule::optimize
