#include "optimize/moldable_batches.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimize/moldable_bound.hpp"
#include "optimize/moldable_cases.hpp"

namespace septule::optimize {
namespace {

using ::testing::IsEmpty;

constexpr auto ms = Duration::milliseconds;

BatchesAnswer joined(const MoldableProblem& problem, const std::vector<std::size_t>& sizes) {
  WorkBudget budget(100000000);
  const Result<BatchesAnswer> answer = far_batches(problem, sizes, budget);
  SEPTULE_CHECK(answer.has_value(), "the test's batches can be scheduled");
  return *answer;
}

TEST(FarBatches, Join_TwoAlike_MeetAtTheirSmallInstances) {
  // A30, twice: one task for 4 (1000) and two for 2 (500 each). Forwards 4, then 2 2; reversed 2 2,
  // then 4. The halves go on in their instances: 130 + 1000, 100, 120 and 240 to make the halves,
  // 2 x 500 in each, then both are unmade and the whole is made again.
  const test::MoldableBench bench("A30-24GB");
  const MoldableProblem problem = bench.problem(
      {{0, 0, 1000}, {0, 500, 0}, {0, 500, 0}, {0, 0, 1000}, {0, 500, 0}, {0, 500, 0}});
  const BatchesAnswer answer = joined(problem, {3, 3});
  EXPECT_THAT(test::moldable_faults(problem, answer.schedule), IsEmpty());
  EXPECT_EQ(answer.schedule.instances.size(), 4U);
  EXPECT_EQ(answer.one_by_one, ms(2 * (130 + 1000 + 100 + 240 + 500)));
  EXPECT_EQ(answer.schedule.makespan, ms(130 + 1000 + 100 + 240 + 1000 + 100 + 130 + 1000));
}

TEST(FarBatches, Join_DrawnBatches_HoldAndGain) {
  // Legal, never below the bound of all tasks together, refinement never hurts, and joining beats
  // one batch after another on the whole.
  for (const char* key : {"A30-24GB", "A100-40GB"}) {
    const test::MoldableBench bench(key);
    double joined_s = 0;
    double one_by_one_s = 0;
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
      const MoldableProblem problem = bench.drawn(MoldableMix::kUniform, 24, seed);
      const BatchesAnswer answer = joined(problem, {8, 8, 8});
      ASSERT_THAT(test::moldable_faults(problem, answer.schedule), IsEmpty()) << seed;
      ASSERT_LE(answer.schedule.makespan, answer.before_refinement) << seed;
      ASSERT_GE(answer.schedule.makespan, moldable_bounds(problem)->best()) << seed;
      joined_s += answer.schedule.makespan.to_seconds();
      one_by_one_s += answer.one_by_one.to_seconds();
    }
    EXPECT_LT(joined_s, 0.95 * one_by_one_s) << key;
  }
}

TEST(FarBatches, Join_RandomBatches_TimelineEqualsThePass) {
  // The fast pass of the refinement and the timeline agree also where instances merge: without a
  // budget for refinement the makespan is the one before it.
  const test::MoldableBench bench("A100-40GB");
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const MoldableProblem problem = bench.random_problem(seed, 20);
    const std::size_t half = problem.tasks.size() / 2;
    WorkBudget budget(static_cast<std::int64_t>(problem.tasks.size()) * 200);
    const std::vector<std::size_t> sizes = {half, problem.tasks.size() - half};
    const Result<BatchesAnswer> answer = far_batches(problem, sizes, budget);
    ASSERT_TRUE(answer.has_value());
    ASSERT_THAT(test::moldable_faults(problem, answer->schedule), IsEmpty()) << seed;
    ASSERT_LE(answer->schedule.makespan, answer->before_refinement) << seed;
  }
}

TEST(FarBatches, Join_WrongSizes_AreRefused) {
  // Sizes must add up to the tasks; no batches of no tasks are fine.
  const test::MoldableBench bench("A30-24GB");
  WorkBudget budget(1000);
  const std::vector<std::size_t> wrong = {2};
  EXPECT_EQ(far_batches(bench.problem({{1, 1, 1}}), wrong, budget).error().code,
            ErrorCode::kInvalidInput);
  EXPECT_EQ(joined(bench.problem({}), {}).schedule.makespan, Duration());
  EXPECT_EQ(joined(bench.problem({{1, 1, 1}}), {0, 1, 0}).schedule.runs.size(), 1U);
}

}  // namespace
}  // namespace septule::optimize
