#include <atomic>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "live/milp_solvers.hpp"
#include "support/milp_cases.hpp"

// CoinUtils 2.11 loses 256 bytes in some presolves; what leaks in our own code is still an error.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions();
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libCoinUtils\n";
}

namespace septule::live {
namespace {

using port::kMilpUnlimited;
using port::MilpGoal;
using port::MilpLimits;
using port::MilpOutcome;
using port::MilpProblem;
using port::MilpSolution;
using test::integer_column;
using test::knapsack;
using test::milp_row;

class CbcSolverTest : public testing::Test {
 protected:
  void SetUp() override {
    if (solver_ == nullptr) {
      GTEST_SKIP() << "built without CBC (package coinor-libcbc-dev)";
    }
  }
  MilpSolution solve(const MilpProblem& problem,
                     const MilpLimits& limits = {},
                     const std::vector<double>& seed = {}) {
    auto solution = solver_->solve(problem, limits, seed);
    EXPECT_TRUE(solution) << (solution ? "" : solution.error().message);
    return solution ? *solution : MilpSolution{};
  }

  std::unique_ptr<port::MilpSolver> solver_ = make_milp_solver();
};

TEST_F(CbcSolverTest, SmallProblems_KnownAnswers) {
  // Aim: both goals, mixed columns and equality rows, against answers worked out by hand.
  EXPECT_EQ(solver_->name(), "cbc");
  MilpSolution found = solve(knapsack());
  EXPECT_EQ(found.outcome, MilpOutcome::kOptimal);
  EXPECT_EQ(found.values, (std::vector<double>{0, 3}));
  EXPECT_EQ(found.objective, 12);
  ASSERT_TRUE(found.bound);
  EXPECT_NEAR(*found.bound, 12, 1e-6);

  // min 3 x + 2 y, x whole, y continuous, x + y = 3.5, y <= 1.2: x = 3, y = 0.5.
  MilpProblem mixed;
  mixed.columns = {integer_column(3, 0, 9),
                   {.cost = 2, .lower = 0, .upper = 1.2, .is_integer = false}};
  mixed.rows = {milp_row(3.5, 3.5, {{0, 1}, {1, 1}})};
  found = solve(mixed);
  EXPECT_EQ(found.outcome, MilpOutcome::kOptimal);
  EXPECT_EQ(found.values[0], 3);
  EXPECT_NEAR(found.values[1], 0.5, 1e-7);
  EXPECT_NEAR(found.objective, 10, 1e-6);
}

TEST_F(CbcSolverTest, OddShapes_Answered) {
  // Aim: no rows, no columns, fixed columns, fractional bounds of whole columns.
  MilpProblem problem;
  MilpSolution found = solve(problem);
  EXPECT_EQ(found.outcome, MilpOutcome::kOptimal);
  EXPECT_EQ(found.objective, 0);
  problem.rows = {milp_row(1, 2, {})};
  EXPECT_EQ(solve(problem).outcome, MilpOutcome::kInfeasible);

  problem.rows.clear();
  problem.columns = {integer_column(-2, -1.5, 2.7), integer_column(1, 4, 4)};
  found = solve(problem);
  EXPECT_EQ(found.outcome, MilpOutcome::kOptimal);
  EXPECT_EQ(found.values, (std::vector<double>{2, 4}));
  problem.columns[0] = integer_column(0, 0.2, 0.8);
  EXPECT_EQ(solve(problem).outcome, MilpOutcome::kInfeasible);
}

TEST_F(CbcSolverTest, InfeasibleAndUnbounded_ToldApart) {
  // Aim: no solution in fractions, none in whole numbers only, unbounded, and unbounded without a
  // whole solution.
  MilpProblem problem = knapsack();
  problem.rows.push_back(milp_row(20, kMilpUnlimited, {{0, 1}, {1, 1}}));
  EXPECT_EQ(solve(problem).outcome, MilpOutcome::kInfeasible);

  MilpProblem parity;
  parity.columns = {integer_column(1, 0, 50), integer_column(1, 0, 50)};
  parity.rows = {milp_row(31, 31, {{0, 2}, {1, 4}})};
  MilpSolution found = solve(parity);
  EXPECT_EQ(found.outcome, MilpOutcome::kInfeasible);
  EXPECT_TRUE(found.values.empty());

  MilpProblem open;
  open.columns = {integer_column(-1, 0, kMilpUnlimited)};
  EXPECT_EQ(solve(open).outcome, MilpOutcome::kUnbounded);
  open.columns.push_back(integer_column(0, 0, 50));
  open.columns.push_back(integer_column(0, 0, 50));
  open.rows = {milp_row(31, 31, {{1, 2}, {2, 4}})};
  EXPECT_EQ(solve(open).outcome, MilpOutcome::kInfeasible);
}

TEST_F(CbcSolverTest, MalformedInput_Refused) {
  // Aim: a malformed problem or seed is an error of the input and reaches no solver.
  MilpProblem problem = knapsack();
  problem.rows[0].entries[0].column = 7;
  auto refused = solver_->solve(problem, {}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  refused = solver_->solve(knapsack(), {}, std::vector<double>{1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
}

TEST_F(CbcSolverTest, RandomPrograms_AsBruteForce) {
  // Aim: over many small integer programs of every kind the outcome and the optimum are those of
  // trying everything.
  const int without_solution = test::expect_as_brute_force(*solver_, 250);
  EXPECT_GT(without_solution, 10);
  EXPECT_LT(without_solution, 200);
}

TEST_F(CbcSolverTest, Seed_NeverMadeWorseAndJudged) {
  // Aim: the optimum as a seed is kept and proved; a seed that is no solution is left out; without
  // time the seed is what is left, with a bound.
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const MilpProblem problem = test::random_program(seed);
    const MilpSolution plain = solve(problem);
    if (plain.values.empty()) {
      continue;
    }
    const MilpSolution again = solve(problem, {}, plain.values);
    EXPECT_EQ(again.outcome, MilpOutcome::kOptimal) << "seed " << seed;
    EXPECT_NEAR(again.objective, plain.objective, 1e-6) << "seed " << seed;
  }
  EXPECT_EQ(solve(knapsack(), {}, {1, 3}).objective, 12);

  const MilpProblem fleet = test::fleet_program(100, 4, 7);
  std::vector<double> generous(fleet.columns.size(), 100);
  for (std::size_t layout = 0; layout < 12; ++layout) {
    generous[layout] = 10000;
  }
  const MilpSolution stopped = solve(fleet, {.elapsed = Duration(), .nodes = 0}, generous);
  EXPECT_EQ(stopped.outcome, MilpOutcome::kFeasible);
  EXPECT_LE(stopped.objective, 120000);
  ASSERT_TRUE(stopped.bound);
  EXPECT_GT(*stopped.bound, 100);
  EXPECT_LE(*stopped.bound, stopped.objective);
}

TEST_F(CbcSolverTest, NodeLimit_BoundAndSolutionHold) {
  // Aim: a search ended by its limit says so and still gives a bound that the full search keeps.
  const MilpProblem problem = test::fleet_program(30, 1, 3);
  const MilpSolution full = solve(problem);
  ASSERT_EQ(full.outcome, MilpOutcome::kOptimal);
  for (const std::int64_t nodes : {0, 1, 10}) {
    const MilpSolution some = solve(problem, {.nodes = nodes});
    ASSERT_TRUE(some.bound);
    EXPECT_LE(*some.bound, full.objective + 1e-6);
    if (!some.values.empty()) {
      EXPECT_GE(some.objective, full.objective - 1e-6);
      EXPECT_TRUE(port::check_values(problem, some.values));
    }
  }
}

TEST_F(CbcSolverTest, Gaps_StopEarlyAndAreKept) {
  // Aim: with a gap the answer is at least that good, by a bound that holds.
  const MilpProblem problem = test::fleet_program(60, 1, 11);
  const MilpSolution exact = solve(problem);
  const MilpSolution rough = solve(problem, {.gap_relative = 0.05});
  ASSERT_EQ(exact.outcome, MilpOutcome::kOptimal);
  ASSERT_EQ(rough.outcome, MilpOutcome::kOptimal);
  ASSERT_TRUE(rough.bound);
  EXPECT_LE(*rough.bound, exact.objective + 1e-6);
  EXPECT_LE(rough.objective - *rough.bound, 0.05 * rough.objective + 1e-6);
}

TEST_F(CbcSolverTest, Solving_WritesNothing) {
  // Aim: neither standard stream sees a byte of the solver's, cliques included.
  MilpProblem cliques = test::fleet_program(12, 1, 5);
  for (int first = 0; first < 40; ++first) {
    cliques.columns.push_back(integer_column(-1 - first % 3, 0, 1));
  }
  const int begin = static_cast<int>(cliques.columns.size()) - 40;
  for (int first = 0; first < 40; ++first) {
    cliques.rows.push_back(milp_row(
        -kMilpUnlimited,
        1,
        {{begin + first, 1}, {begin + (first + 7) % 40, 1}, {begin + (first + 19) % 40, 1}}));
  }
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const MilpSolution found = solve(cliques);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(found.outcome, MilpOutcome::kOptimal);
}

TEST_F(CbcSolverTest, EqualCalls_EqualAnswers) {
  // Aim: without an elapsed limit that bites, a call repeats itself to the last bit.
  const MilpProblem problem = test::fleet_program(25, 1, 9);
  const MilpSolution first = solve(problem);
  const MilpSolution second = solve(problem);
  EXPECT_EQ(first.values, second.values);
  EXPECT_EQ(first.nodes, second.nodes);
  EXPECT_EQ(first.bound, second.bound);
}

TEST_F(CbcSolverTest, FourThreads_NoAnswerWrong) {
  // Aim: solvers in use at once do not disturb each other (CBC's C interface gave wrong answers).
  constexpr int kProblems = 8;
  std::vector<MilpProblem> problems;
  std::vector<double> expected;
  for (int index = 0; index < kProblems; ++index) {
    problems.push_back(
        test::fleet_program(6 + index, 0.5, 100 + static_cast<std::uint64_t>(index)));
    const MilpSolution found = solve(problems.back());
    ASSERT_EQ(found.outcome, MilpOutcome::kOptimal);
    expected.push_back(found.objective);
  }
  std::atomic<int> wrong = 0;
  std::atomic<int> solved = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        const auto solver = make_milp_solver();
        for (int round = 0; round < 12; ++round) {
          const auto index = static_cast<std::size_t>((2 * thread + round) % kProblems);
          const auto found = solver->solve(problems[index], {}, {});
          const bool is_right = found && found->outcome == MilpOutcome::kOptimal &&
                                std::abs(found->objective - expected[index]) < 1e-6;
          wrong += is_right ? 0 : 1;
          ++solved;
        }
      });
    }
  }
  EXPECT_EQ(solved, 48);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace septule::live
