#include "serve/milp_rounding.hpp"

#include <gtest/gtest.h>

#include "support/milp_cases.hpp"

namespace septule::serve {
namespace {

using test::integer_column;
using test::milp_row;

TEST(MilpRounding, Locks_CountRowsThatHoldAColumn) {
  // Aim: by the sign of the coefficient and the bounds that a row has.
  port::MilpProblem problem;
  problem.columns = {integer_column(1, 0, 9), integer_column(1, 0, 9), integer_column(1, 0, 9)};
  problem.rows = {milp_row(-port::kMilpUnlimited, 5, {{0, 1}, {1, -1}}),
                  milp_row(2, 2, {{1, 3}}),
                  milp_row(1, port::kMilpUnlimited, {{0, 1}})};
  const std::vector<MilpLocks> locks = locks_of(problem);
  ASSERT_EQ(locks.size(), 3U);
  EXPECT_EQ(locks[0].up, 1);
  EXPECT_EQ(locks[0].down, 1);
  EXPECT_EQ(locks[1].up, 1);
  EXPECT_EQ(locks[1].down, 2);
  EXPECT_EQ(locks[2].up + locks[2].down, 0);
}

TEST(MilpRounding, Rounded_GoesTheWayAskedFor) {
  // Aim: every rule, and what is whole up to the tolerance stays.
  const MilpLocks held_above{.down = 0, .up = 1};
  const MilpLocks held_both{.down = 1, .up = 1};
  EXPECT_EQ(rounded(2.4, MilpRounding::kNearest, held_both), 2);
  EXPECT_EQ(rounded(2.4, MilpRounding::kUp, held_both), 3);
  EXPECT_EQ(rounded(2.6, MilpRounding::kDown, held_both), 2);
  EXPECT_EQ(rounded(2.6, MilpRounding::kAwayFromRows, held_above), 2);
  EXPECT_EQ(rounded(2.4, MilpRounding::kAwayFromRows, {.down = 1, .up = 0}), 3);
  EXPECT_EQ(rounded(2.6, MilpRounding::kAwayFromRows, held_both), 3);
  for (const MilpRounding rounding :
       {MilpRounding::kNearest, MilpRounding::kUp, MilpRounding::kDown}) {
    EXPECT_EQ(rounded(3 + 1e-8, rounding, held_both), 3);
    EXPECT_EQ(rounded(3 - 1e-8, rounding, held_both), 3);
  }
}

TEST(MilpRounding, CostUnit_IsTheGreatestCommonPart) {
  // Aim: whole costs of whole columns only; 0 says that there is none.
  port::MilpProblem problem;
  EXPECT_EQ(cost_unit(problem), 0);
  problem.columns = {integer_column(6, 0, 1), integer_column(0, 0, 1), integer_column(-9, 0, 1)};
  EXPECT_EQ(cost_unit(problem), 3);
  problem.columns.push_back(integer_column(0.5, 0, 1));
  EXPECT_EQ(cost_unit(problem), 0);
  problem.columns.back() = {.cost = 3, .lower = 0, .upper = 1, .is_integer = false};
  EXPECT_EQ(cost_unit(problem), 0);
}

}  // namespace
}  // namespace septule::serve
