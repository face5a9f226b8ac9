#include "serve/built_in_milp.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "support/milp_cases.hpp"

namespace septule::serve {
namespace {

using port::kMilpUnlimited;
using port::MilpGoal;
using port::MilpLimits;
using port::MilpOutcome;
using port::MilpProblem;
using port::MilpSolution;
using test::integer_column;
using test::milp_row;

MilpSolution solve(const MilpProblem& problem,
                   const MilpLimits& limits = {},
                   const std::vector<double>& seed = {}) {
  auto solution = BuiltInMilp().solve(problem, limits, seed);
  EXPECT_TRUE(solution) << (solution ? "" : solution.error().message);
  return solution ? *solution : MilpSolution{};
}

TEST(BuiltInMilp, SmallProblems_KnownAnswers) {
  // Aim: both goals, mixed columns, odd shapes and the four outcomes, by hand.
  EXPECT_EQ(BuiltInMilp().name(), "built-in");
  MilpProblem knapsack;
  knapsack.goal = MilpGoal::kMaximise;
  knapsack.columns = {integer_column(5, 0, 1), integer_column(4, 0, 2)};
  knapsack.rows = {milp_row(-kMilpUnlimited, 6, {{0, 3}, {1, 2}})};
  MilpSolution found = solve(knapsack);
  EXPECT_EQ(found.outcome, MilpOutcome::kOptimal);
  EXPECT_EQ(found.objective, 9);
  EXPECT_EQ(found.bound, 9);

  // min 3 x + 2 y, x whole, y continuous, x + y = 3.5, y <= 1.2: x = 3, y = 0.5.
  MilpProblem mixed;
  mixed.columns = {integer_column(3, 0, 9),
                   {.cost = 2, .lower = 0, .upper = 1.2, .is_integer = false}};
  mixed.rows = {milp_row(3.5, 3.5, {{0, 1}, {1, 1}})};
  found = solve(mixed);
  EXPECT_EQ(found.outcome, MilpOutcome::kOptimal);
  EXPECT_EQ(found.values[0], 3);
  EXPECT_NEAR(found.values[1], 0.5, 1e-7);

  MilpProblem parity;
  parity.columns = {integer_column(1, 0, 50), integer_column(1, 0, 50)};
  parity.rows = {milp_row(31, 31, {{0, 2}, {1, 4}})};
  EXPECT_EQ(solve(parity).outcome, MilpOutcome::kInfeasible);
  MilpProblem open;
  open.columns = {integer_column(-1, 0, kMilpUnlimited)};
  EXPECT_EQ(solve(open).outcome, MilpOutcome::kUnbounded);
  EXPECT_EQ(solve({}).outcome, MilpOutcome::kOptimal);
  open.columns[0] = integer_column(0, 0.2, 0.8);
  EXPECT_EQ(solve(open).outcome, MilpOutcome::kInfeasible);
}

TEST(BuiltInMilp, MalformedInput_Refused) {
  // Aim: errors of the input are errors, not outcomes.
  MilpProblem problem;
  problem.columns = {integer_column(1, 2, 1)};
  EXPECT_FALSE(BuiltInMilp().solve(problem, {}, {}));
  problem.columns = {integer_column(1, 0, 1)};
  EXPECT_FALSE(BuiltInMilp().solve(problem, {}, std::vector<double>{1, 2}));
}

TEST(BuiltInMilp, RandomPrograms_AsBruteForce) {
  // Aim: outcome and optimum are those of trying everything, for 600 small programs.
  BuiltInMilp solver;
  EXPECT_GT(test::expect_as_brute_force(solver, 600), 20);
}

TEST(BuiltInMilp, EqualCalls_EqualAnswers) {
  // Aim: reproducible, and the elapsed limit is not looked at.
  const MilpProblem problem = test::fleet_program(8, 1, 9);
  const MilpSolution first = solve(problem);
  const MilpSolution second = solve(problem, {.elapsed = Duration()});
  EXPECT_EQ(first.values, second.values);
  EXPECT_EQ(first.nodes, second.nodes);
  EXPECT_EQ(first.bound, second.bound);
}

TEST(BuiltInMilp, NodeLimits_BoundBracketsTheOptimum) {
  // Aim: however early the search ends, the bound is below and the solution above the optimum; more
  // nodes never make them worse.
  const MilpProblem problem = test::fleet_program(5, 1, 4);
  const MilpSolution full = solve(problem);
  ASSERT_EQ(full.outcome, MilpOutcome::kOptimal);
  double last_bound = 0;
  double last_objective = kMilpUnlimited;
  for (const std::int64_t nodes : {0, 1, 2, 5, 20, 100, 1000}) {
    const MilpSolution some = solve(problem, {.nodes = nodes});
    EXPECT_LE(some.nodes, nodes);
    if (some.bound) {
      EXPECT_LE(*some.bound, full.objective + 1e-6);
      EXPECT_GE(*some.bound, last_bound - 1e-6);
      last_bound = *some.bound;
    }
    if (!some.values.empty()) {
      EXPECT_GE(some.objective, full.objective - 1e-6);
      EXPECT_LE(some.objective, last_objective);
      last_objective = some.objective;
    }
  }
  EXPECT_GT(last_bound, 1);
  EXPECT_LT(last_objective, kMilpUnlimited);
}

TEST(BuiltInMilp, Gaps_KeptByABoundThatHolds) {
  // Aim: an answer within a gap says so, and its bound is still below the optimum.
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const MilpProblem problem = test::fleet_program(6, 3, seed);
    const MilpSolution exact = solve(problem);
    const MilpSolution rough = solve(problem, {.gap_relative = 0.1});
    ASSERT_EQ(rough.outcome, MilpOutcome::kOptimal);
    ASSERT_TRUE(rough.bound);
    EXPECT_LE(rough.objective - *rough.bound, 0.1 * rough.objective + 1e-6);
    if (exact.outcome == MilpOutcome::kOptimal) {
      EXPECT_LE(*rough.bound, exact.objective + 1e-6);
    }
  }
}

TEST(BuiltInMilp, Seed_KeptIfFeasibleOnly) {
  // Aim: the optimum as a seed is given back; a seed that is no solution does no harm.
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const MilpProblem problem = test::random_program(seed);
    const MilpSolution plain = solve(problem);
    if (plain.values.empty()) {
      continue;
    }
    EXPECT_EQ(solve(problem, {}, plain.values).values, plain.values) << "seed " << seed;
    const MilpSolution none = solve(problem, {.nodes = 0}, plain.values);
    EXPECT_EQ(none.outcome, MilpOutcome::kFeasible);
    EXPECT_EQ(none.values, plain.values);
    const std::vector<double> wrong(problem.columns.size(), 1000);
    EXPECT_NEAR(solve(problem, {}, wrong).objective, plain.objective, 1e-6);
  }
}

}  // namespace
}  // namespace septule::serve
