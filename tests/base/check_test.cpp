#include "base/check.hpp"

#include <gtest/gtest.h>

namespace septule {
namespace {

TEST(Check_TrueCondition, DoesNothingAndIsEvaluatedOnce) {
  // A condition with a side effect would show a second evaluation.
  int count = 0;
  SEPTULE_CHECK(++count == 1, "the count is one");
  EXPECT_EQ(count, 1);
}

TEST(Check_InsideIf, BindsAsOneStatement) {
  // The macro may stand where one statement is expected.
  bool is_other_branch = false;
  // clang-format off
  if (is_other_branch)  // NOLINT(readability-braces-around-statements)
    SEPTULE_CHECK(false, "never reached");
  else  // NOLINT(readability-braces-around-statements)
    is_other_branch = true;
  // clang-format on
  EXPECT_TRUE(is_other_branch);
}

TEST(CheckDeathTest, FalseCondition_SaysWhereAndWhatAndAborts) {
  // In every build: file, line, what should hold, and the condition as written.
  EXPECT_DEATH(SEPTULE_CHECK(1 + 1 == 3, "sums are right"),
               "internal error at .*check_test\\.cpp:[0-9]+: sums are right \\(1 \\+ 1 == 3\\)");
}

TEST(CheckDeathTest, CheckFailed_NeverReturns) {
  // Called directly where no condition can be written.
  EXPECT_DEATH(check_failed("shell", "a Shell is one of the enumerators", "x.cpp", 7),
               "x\\.cpp:7: a Shell is one of the enumerators \\(shell\\)");
}

}  // namespace
}  // namespace septule
