#include "optimize/moldable_far.hpp"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimize/moldable_bound.hpp"
#include "optimize/moldable_cases.hpp"
#include "optimize/moldable_static.hpp"
#include "optimize/moldable_tree.hpp"

namespace septule::optimize {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto ms = Duration::milliseconds;
constexpr std::int64_t kPlenty = 100000000;

FarAnswer far(const MoldableProblem& problem) {
  WorkBudget budget(kPlenty);
  const Result<FarAnswer> answer = far_schedule(problem, budget);
  SEPTULE_CHECK(answer.has_value(), "FAR schedules the test's tasks");
  return *answer;
}

TEST(Far, Family_TwoTasks_WalksByHand) {
  // A30, sizes 1, 2, 4. Task 0: areas 8, 10, 12; task 1: areas 6, 4, 4. The longest task moves
  // each time: task 0 (8 on 1) to 2 (5), then task 0 again (5 > 2) to 4 (3), where the family ends.
  const test::MoldableBench bench("A30-24GB");
  const MoldableProblem problem = bench.problem({{8, 5, 3}, {6, 2, 1}});
  EXPECT_THAT(far_family(problem),
              ElementsAre(ElementsAre(0, 1), ElementsAre(1, 1), ElementsAre(2, 1)));
}

TEST(Far, Family_TaskWithoutLargerSize_EndsTheFamily) {
  // The longest task fits nothing larger: as at the whole GPU, nothing gets shorter any more.
  const test::MoldableBench bench("A30-24GB");
  EXPECT_THAT(far_family(bench.problem({{9, 0, 0}, {6, 2, 1}})), ElementsAre(ElementsAre(0, 1)));
}

TEST(Far, Family_RandomTasks_IsNeverLongerThanProven) {
  // At most tasks * (sizes - 1) + 1 allotments, each moving one task up.
  const test::MoldableBench bench("A100-40GB");
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const MoldableProblem problem = bench.random_problem(seed, 15);
    const std::vector<MoldableAllotment> family = far_family(problem);
    ASSERT_LE(family.size(), problem.tasks.size() * (bench.gpu().sizes().size() - 1) + 1);
    for (std::size_t at = 1; at < family.size(); ++at) {
      int changed = 0;
      for (std::size_t task = 0; task < problem.tasks.size(); ++task) {
        ASSERT_GE(family[at][task], family[at - 1][task]);
        changed += family[at][task] != family[at - 1][task] ? 1 : 0;
      }
      ASSERT_EQ(changed, 1);
    }
  }
}

TEST(Far, Schedule_OneTask_TakesTheBestOfItsFamily) {
  // Least area on 1 (1000); the family goes on to 4, where it ends at 130 + 300.
  const test::MoldableBench bench("A30-24GB");
  const FarAnswer answer = far(bench.problem({{1000, 600, 300}}));
  EXPECT_EQ(answer.makespan, ms(430));
  EXPECT_EQ(answer.family_size, 3U);
  EXPECT_THAT(answer.assignment, ElementsAre(bench.node(4, 0)));
}

TEST(Far, Schedule_FourEqualTasks_RunsThemBesideOneAnother) {
  // Four tasks that do not scale: one 1g each, created one after another: 4 * 110 + 1000.
  const test::MoldableBench bench("A30-24GB");
  const FarAnswer answer =
      far(bench.problem(std::vector<std::vector<std::int64_t>>(4, {1000, 1000, 1000})));
  EXPECT_EQ(answer.makespan, ms(1440));
}

TEST(Far, Schedule_TwoHalves_EndTogether) {
  // Longest first on two 2g, {7, 4, 4} and {6, 5, 4}: both end at 15, and nothing is left to do.
  const test::MoldableBench bench("A30-24GB", test::MoldableBench::Costs::kFree);
  const FarAnswer answer =
      far(bench.problem({{0, 7, 0}, {0, 6, 0}, {0, 5, 0}, {0, 4, 0}, {0, 4, 0}, {0, 4, 0}}));
  EXPECT_EQ(answer.makespan, ms(15));
}

TEST(Far, Schedule_UnevenHalves_AreRefinedBySwapping) {
  // Longest first on two 2g: {3, 2, 2} and {3, 2}. The gap is 2; no task is shorter than it, and
  // the swap of 3 for 2 makes both halves 6.
  const test::MoldableBench bench("A30-24GB", test::MoldableBench::Costs::kFree);
  const FarAnswer answer =
      far(bench.problem({{0, 3, 0}, {0, 3, 0}, {0, 2, 0}, {0, 2, 0}, {0, 2, 0}}));
  EXPECT_EQ(answer.before_refinement, ms(7));
  EXPECT_EQ(answer.makespan, ms(6));
}

TEST(Far, Schedule_NoTasks_IsEmpty) {
  // Nothing to do takes no time.
  const test::MoldableBench bench("A30-24GB");
  EXPECT_EQ(far(bench.problem({})).makespan, Duration());
}

TEST(Far, Schedule_BudgetTooSmall_SaysSo) {
  // Not even one allotment fits into the work limit; with one allotment there is an answer.
  const test::MoldableBench bench("A30-24GB");
  const MoldableProblem problem = bench.problem({{8, 5, 3}, {6, 2, 1}});
  WorkBudget none(1);
  EXPECT_EQ(far_schedule(problem, none).error().code, ErrorCode::kTimedOut);
  WorkBudget one(2);
  const Result<FarAnswer> answer = far_schedule(problem, one);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->family_size, 1U);
}

TEST(Far, Schedule_RandomTasks_HoldsBeforeTheJudge) {
  // Legal, as long as it says, not below any bound, not worse than before refinement.
  for (const char* key : {"A30-24GB", "A100-40GB", "H100-80GB-SXM", "RTX-PRO-6000-Blackwell"}) {
    const test::MoldableBench bench(key);
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const MoldableProblem problem = bench.random_problem(seed, 20);
      const FarAnswer answer = far(problem);
      const MoldableSchedule schedule = lay_out(
          problem,
          tree_blocks(
              bench.gpu(), MoldableTimes(problem), answer.assignment, TreeTies::kNodeOrder));
      ASSERT_THAT(test::moldable_faults(problem, schedule), IsEmpty()) << key << " " << seed;
      ASSERT_EQ(schedule.makespan, answer.makespan) << key << " " << seed;
      ASSERT_LE(answer.makespan, answer.before_refinement);
      ASSERT_GE(answer.makespan, moldable_bounds(problem)->best()) << key << " " << seed;
    }
  }
}

TEST(Static, Schedule_ByHand_FollowsItsOrder) {
  // Two 2g: first come: 3, 1 | 2, then 4 where it is free first (the second, at 2): 6 and 4.
  // Longest first: 4 | 3, then 2 to 3, 1 to 4: 5 and 5.
  const test::MoldableBench bench("A30-24GB", test::MoldableBench::Costs::kFree);
  const MoldableProblem problem = bench.problem({{0, 3, 0}, {0, 2, 0}, {0, 4, 0}, {0, 1, 0}});
  const std::vector<std::size_t> halves = {bench.node(2, 0), bench.node(2, 2)};
  EXPECT_EQ(static_schedule(problem, halves, StaticOrder::kFirstComeFirstServed)->makespan, ms(6));
  EXPECT_EQ(static_schedule(problem, halves, StaticOrder::kLongestFirst)->makespan, ms(5));
  EXPECT_EQ(best_static_schedule(problem, StaticOrder::kLongestFirst)->layout, halves);
}

TEST(Static, Schedule_TaskThatFitsNowhere_HasNoAnswer) {
  // A layout without a fitting instance gives nothing; no common layout at all is an error.
  const test::MoldableBench bench("A30-24GB");
  const MoldableProblem problem = bench.problem({{0, 0, 5}, {5, 0, 0}});
  const std::vector<std::size_t> whole = {0};
  EXPECT_FALSE(static_schedule(problem, whole, StaticOrder::kLongestFirst).has_value());
  EXPECT_EQ(best_static_schedule(problem, StaticOrder::kLongestFirst).error().code,
            ErrorCode::kBlocked);
  EXPECT_GT(far(problem).makespan, Duration());
}

}  // namespace
}  // namespace septule::optimize
