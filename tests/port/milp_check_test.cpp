#include "port/milp_check.hpp"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/milp_cases.hpp"

namespace septule::port {
namespace {

using test::integer_column;
using test::knapsack;
using test::milp_row;
using ::testing::HasSubstr;

std::string complaint(const MilpProblem& problem) {
  const Status status = validate(problem);
  return status ? "" : status.error().message;
}

TEST(MilpCheck, MalformedProblem_NamesColumnOrRow) {
  // Aim: each way of being malformed is found and named; the plain problem is none of them.
  EXPECT_EQ(complaint(knapsack()), "");
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  MilpProblem problem = knapsack();
  problem.columns[1].cost = kMilpUnlimited;
  EXPECT_THAT(complaint(problem), HasSubstr("column 1 of the program has cost inf"));
  problem = knapsack();
  problem.columns[0].lower = 2;
  EXPECT_THAT(complaint(problem), HasSubstr("column 0 of the program has bounds 2 and 1"));
  problem = knapsack();
  problem.columns[0].upper = not_a_number;
  EXPECT_THAT(complaint(problem), HasSubstr("column 0"));
  problem = knapsack();
  problem.columns[0].lower = kMilpUnlimited;
  problem.columns[0].upper = kMilpUnlimited;
  EXPECT_THAT(complaint(problem), HasSubstr("column 0"));
  problem = knapsack();
  problem.rows[0].lower = 7;
  EXPECT_THAT(complaint(problem), HasSubstr("row 0 of the program has bounds 7 and 6"));
  for (const int column : {-1, 2}) {
    problem = knapsack();
    problem.rows[0].entries[1].column = column;
    EXPECT_THAT(complaint(problem), HasSubstr("there are columns 0 to 1"));
  }
  problem = knapsack();
  problem.rows[0].entries[1].coefficient = not_a_number;
  EXPECT_THAT(complaint(problem), HasSubstr("row 0 of the program has coefficient nan"));
  problem = knapsack();
  problem.rows[0].entries[1].column = 0;
  EXPECT_THAT(complaint(problem), HasSubstr("names column 0 twice"));
}

TEST(MilpCheck, Values_JudgedAgainstBoundsRowsAndWholeness) {
  // Aim: what a solver gives passes only if it keeps everything, up to the tolerance.
  const MilpProblem problem = knapsack();
  EXPECT_TRUE(check_values(problem, std::vector<double>{0, 3}));
  EXPECT_TRUE(check_values(problem, std::vector<double>{1, 1}));
  EXPECT_FALSE(check_values(problem, std::vector<double>{1, 2}));
  EXPECT_FALSE(check_values(problem, std::vector<double>{2, 0}));
  EXPECT_FALSE(check_values(problem, std::vector<double>{0.5, 0}));
  EXPECT_FALSE(check_values(problem, std::vector<double>{std::nan(""), 0}));
  EXPECT_FALSE(check_values(problem, std::vector<double>{0}));
  MilpProblem relaxed = problem;
  relaxed.columns[0].is_integer = false;
  EXPECT_TRUE(check_values(relaxed, std::vector<double>{(2 + 1e-7) / 3, 2}));
  EXPECT_FALSE(check_values(relaxed, std::vector<double>{(2 + 1e-4) / 3, 2}));
  EXPECT_DOUBLE_EQ(objective_of(problem, std::vector<double>{1, 1}), 9);
}

TEST(MilpCheck, TidyValues_RoundsWholeColumnsOnly) {
  // Aim: rounding makes integer columns whole and pulls others onto a bound they just missed.
  MilpProblem problem = knapsack();
  problem.columns[1].is_integer = false;
  std::vector<double> values = {0.9999999, -1e-9};
  tidy_values(problem, values);
  EXPECT_EQ(values, (std::vector<double>{1, 0}));
  values = {0, 4};
  tidy_values(problem, values);
  EXPECT_EQ(values[1], 4) << "far from a bound: left for the check";
}

TEST(MilpCheck, Gap_RelativeOrAbsoluteSuffices) {
  // Aim: the gap rule of MilpLimits, and exactness without gaps.
  EXPECT_TRUE(is_within_gap(100, 100, {}));
  EXPECT_FALSE(is_within_gap(100, 99.9, {}));
  EXPECT_TRUE(is_within_gap(100, 99.9, {.gap_relative = 0.001}));
  EXPECT_TRUE(is_within_gap(-100, -100.1, {.gap_absolute = 0.11}));
  EXPECT_FALSE(is_within_gap(100, 98, {.gap_relative = 0.001, .gap_absolute = 0.11}));
}

TEST(MilpCheck, Seed_WrongLengthIsRefused) {
  // Aim: a seed has one value for each column or none.
  EXPECT_TRUE(validate_seed(knapsack(), {}));
  EXPECT_TRUE(validate_seed(knapsack(), std::vector<double>{0, 0}));
  EXPECT_FALSE(validate_seed(knapsack(), std::vector<double>{0}));
}

TEST(MilpCheck, WithoutColumns_AnsweredWithoutASolver) {
  // Aim: rows of nothing hold or not; a problem with columns is left to solvers.
  MilpProblem problem;
  problem.rows = {milp_row(-1, 1, {})};
  const auto fine = solution_without_columns(problem);
  ASSERT_TRUE(fine);
  EXPECT_EQ(fine->outcome, MilpOutcome::kOptimal);
  EXPECT_EQ(fine->bound, 0.0);
  problem.rows = {milp_row(1, 2, {})};
  const auto none = solution_without_columns(problem);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->outcome, MilpOutcome::kInfeasible);
  EXPECT_FALSE(none->bound);
  EXPECT_FALSE(solution_without_columns(knapsack()));
}

}  // namespace
}  // namespace septule::port
