#include "base/work_budget.hpp"

#include <gtest/gtest.h>

namespace septule {
namespace {

TEST(WorkBudget_ExactlyTheLimit, IsAllowed) {
  // The limit itself may be used up; one unit more may not.
  WorkBudget budget(10);
  EXPECT_TRUE(budget.spend(4));
  EXPECT_TRUE(budget.spend(6));
  EXPECT_FALSE(budget.is_exhausted());
  EXPECT_EQ(budget.units_left(), 0);
  EXPECT_FALSE(budget.spend(1));
  EXPECT_TRUE(budget.is_exhausted());
}

TEST(WorkBudget_AfterTheLimit, WorkIsStillCountedAndLeftIsNotNegative) {
  // What was asked for beyond the limit is reported as spent.
  WorkBudget budget(10);
  EXPECT_FALSE(budget.spend(25));
  EXPECT_FALSE(budget.spend(0));
  EXPECT_EQ(budget.units_spent(), 25);
  EXPECT_EQ(budget.units_left(), 0);
}

TEST(WorkBudget_Zero, AllowsOnlyNothing) {
  // A budget of nothing is not exhausted until something is spent.
  WorkBudget budget(0);
  EXPECT_FALSE(budget.is_exhausted());
  EXPECT_TRUE(budget.spend(0));
  EXPECT_FALSE(budget.spend(1));
}

}  // namespace
}  // namespace septule
