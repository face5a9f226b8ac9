#include "optimize/linear_program.hpp"

#include <array>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace septule::optimize {
namespace {

/// maximise 3x + 2y with x + y <= 4, x + 3y <= 7, x <= 3: x = 3, y = 1, objective 11.
LinearProgram textbook() {
  LinearProgram program(LinearGoal::kMaximise);
  program.add_rows(std::vector<LinearRow>{{.upper = 4}, {.upper = 7}});
  program.add_columns(
      std::vector<LinearColumn>{{.cost = 3, .upper = 3, .entries = {{0, 1}, {1, 1}}},
                                {.cost = 2, .entries = {{0, 1}, {1, 3}}}});
  return program;
}

LinearSolution solved(LinearProgram& program) {
  const Result<LinearSolution> solution = program.solve();
  SEPTULE_CHECK(solution.has_value(), "the program of this test can be solved");
  return *solution;
}

TEST(LinearProgram, Solve_SmallProgram_GivesValuesAndPrices) {
  // Values, objective and the sign of prices of a maximised program, known by hand.
  LinearProgram program = textbook();
  const LinearSolution solution = solved(program);
  ASSERT_EQ(solution.outcome, LinearOutcome::kOptimal);
  EXPECT_NEAR(solution.objective, 11, 1e-9);
  EXPECT_NEAR(solution.values[0], 3, 1e-9);
  EXPECT_NEAR(solution.values[1], 1, 1e-9);
  EXPECT_NEAR(solution.prices[0], 2, 1e-9);
  EXPECT_NEAR(solution.prices[1], 0, 1e-9);
}

TEST(LinearProgram, Solve_Minimised_PricesAreOfTheObjectiveAsGiven) {
  // minimise 2x + 3y with x + y >= 4, y >= 1: raising the first row by one costs 2.
  LinearProgram program(LinearGoal::kMinimise);
  program.add_row({.lower = 4});
  program.add_columns(std::vector<LinearColumn>{{.cost = 2, .entries = {{0, 1}}},
                                                {.cost = 3, .lower = 1, .entries = {{0, 1}}}});
  const LinearSolution solution = solved(program);
  EXPECT_NEAR(solution.objective, 9, 1e-9);
  EXPECT_NEAR(solution.prices[0], 2, 1e-9);
}

TEST(LinearProgram, AddRow_AfterSolving_CutsTheOldAnswerOff) {
  // A new row changes the answer; the program goes on from the old one.
  LinearProgram program = textbook();
  (void)solved(program);
  program.add_row({.upper = 2, .entries = {{0, 1}}});
  const LinearSolution solution = solved(program);
  EXPECT_NEAR(solution.values[0], 2, 1e-9);
  EXPECT_NEAR(solution.values[1], 5.0 / 3, 1e-9);
  EXPECT_NEAR(solution.objective, 6 + 10.0 / 3, 1e-9);
  EXPECT_EQ(solution.prices.size(), 3U);
}

TEST(LinearProgram, AddColumn_AfterSolving_ImprovesTheAnswer) {
  // Column generation: a column that is worth its prices enters.
  LinearProgram program = textbook();
  (void)solved(program);
  program.add_column({.cost = 10, .entries = {{0, 2}}});
  const LinearSolution solution = solved(program);
  EXPECT_NEAR(solution.objective, 20, 1e-9);
  EXPECT_NEAR(solution.values[2], 2, 1e-9);
}

TEST(LinearProgram, Solve_Infeasible_SaysSo) {
  // Contradicting rows are an outcome, not an error.
  LinearProgram program(LinearGoal::kMinimise);
  program.add_rows(std::vector<LinearRow>{{.lower = 3}, {.upper = 2}});
  program.add_column({.cost = 1, .entries = {{0, 1}, {1, 1}}});
  EXPECT_EQ(solved(program).outcome, LinearOutcome::kInfeasible);
  EXPECT_TRUE(solved(program).values.empty());
}

TEST(LinearProgram, Solve_Unbounded_SaysSo) {
  // A goal without end is an outcome, not an error.
  LinearProgram program(LinearGoal::kMaximise);
  program.add_row({.lower = 1});
  program.add_column({.cost = 1, .entries = {{0, 1}}});
  EXPECT_EQ(solved(program).outcome, LinearOutcome::kUnbounded);
}

TEST(LinearProgram, Solve_Empty_IsZero) {
  // No rows and no columns: nothing to do, objective 0.
  LinearProgram program(LinearGoal::kMinimise);
  const LinearSolution solution = solved(program);
  EXPECT_EQ(solution.outcome, LinearOutcome::kOptimal);
  EXPECT_EQ(solution.objective, 0);
}

TEST(LinearProgram, Solve_NoIterations_TimesOut) {
  // The limit is kept and named.
  LinearProgram program = textbook();
  const Result<LinearSolution> solution = program.solve(0);
  ASSERT_FALSE(solution.has_value());
  EXPECT_EQ(solution.error().code, ErrorCode::kTimedOut);
  EXPECT_NE(solution.error().message.find("0 iterations"), std::string::npos);
}

TEST(LinearProgram, AddRow_UnknownColumn_Stops) {
  // What is described must exist.
  LinearProgram program(LinearGoal::kMinimise);
  EXPECT_DEATH(program.add_row({.lower = 1, .entries = {{0, 1}}}), "names what exists");
  program.add_column({.cost = 1});
  EXPECT_DEATH(program.add_row({.lower = 1, .entries = {{0, 1}, {0, 2}}}), "occurs once");
  EXPECT_DEATH(program.add_row({.lower = 2, .upper = 1}), "lower bound");
  EXPECT_DEATH(program.add_column({.cost = std::nan("")}), "finite");
}

/// A covering program: every row needs 1, columns cover random rows at random costs.
LinearProgram random_cover(std::uint64_t seed, int rows, int columns) {
  Rng rng(seed);
  LinearProgram program(LinearGoal::kMinimise);
  program.add_rows(std::vector<LinearRow>(static_cast<std::size_t>(rows), LinearRow{.lower = 1}));
  std::vector<LinearColumn> made;
  for (int column = 0; column < columns; ++column) {
    LinearColumn& last = made.emplace_back(LinearColumn{.cost = 1 + rng.uniform()});
    for (int row = 0; row < rows; ++row) {
      if (row == column % rows || rng.chance(1, 4)) {
        last.entries.push_back({row, 1});
      }
    }
  }
  program.add_columns(made);
  return program;
}

TEST(LinearProgram, SetColumnBounds_AfterSolving_SameAsBuiltWithThem) {
  // Tightened, impossible and loosened bounds of a column, one after another, as branching does.
  LinearProgram program = textbook();
  (void)solved(program);
  program.set_column_bounds(0, 0, 1);
  EXPECT_NEAR(solved(program).objective, 7, 1e-9);  // x = 1, y = 2
  program.add_row({.lower = 2, .entries = {{0, 1}}});
  EXPECT_EQ(solved(program).outcome, LinearOutcome::kInfeasible);
  program.set_column_bounds(0, 0, 3);
  EXPECT_NEAR(solved(program).objective, 11, 1e-9);
}

TEST(LinearProgram, Solve_RandomCovers_PricesProveTheObjective) {
  // Strong duality: the sum of prices is the objective, prices are never negative. Both ways of
  // building (all at once, columns later) give the same objective.
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    LinearProgram program = random_cover(seed, 12, 40);
    const LinearSolution solution = solved(program);
    double sum = 0;
    for (const double price : solution.prices) {
      EXPECT_GE(price, -1e-9);
      sum += price;
    }
    EXPECT_NEAR(sum, solution.objective, 1e-7) << seed;
    LinearProgram again = random_cover(seed, 12, 40);
    EXPECT_EQ(solved(again).values, solution.values) << seed;
  }
}

TEST(LinearProgram, Solve_TwoThreads_SameAsOne) {
  // Programs of different threads do not disturb one another (the C interface of Clp does).
  std::vector<double> alone;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    LinearProgram program = random_cover(seed, 20, 60);
    alone.push_back(solved(program).objective);
  }
  std::array<std::vector<double>, 2> found;
  {
    std::vector<std::jthread> threads;
    for (std::vector<double>& mine : found) {
      threads.emplace_back([&mine] {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
          LinearProgram program = random_cover(seed, 20, 60);
          mine.push_back(solved(program).objective);
        }
      });
    }
  }
  EXPECT_EQ(found[0], alone);
  EXPECT_EQ(found[1], alone);
}

}  // namespace
}  // namespace septule::optimize
