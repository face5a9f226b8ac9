#include "base/result.hpp"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace septule {
namespace {

const Error kTooBig{ErrorCode::kInvalidInput, "99 is too big"};

Result<int> half(int number) {
  if (number > 50) {
    return kTooBig;
  }
  return number / 2;
}

Result<std::string> half_text(int number) {
  SEPTULE_TRY(const int value, half(number));
  SEPTULE_TRY(const int again, half(value * 2));
  return std::to_string(again);
}

Status check_half(int number, int* reached) {
  SEPTULE_TRY_STATUS(half(number));
  SEPTULE_TRY_STATUS(Status());
  ++*reached;
  return Status();
}

TEST(Result_Value, IsReadEveryWay) {
  // has_value, bool, *, ->, value and a move all see the value.
  Result<std::string> result(std::string("abc"));
  EXPECT_TRUE(result.has_value());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(*result, "abc");
  EXPECT_EQ(result->size(), 3U);
  result.value() += "d";
  EXPECT_EQ(std::move(result).value(), "abcd");
}

TEST(Result_MoveOnlyValue, IsHandedOver) {
  // A Result owns what it holds.
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> owned = std::move(result).value();
  EXPECT_EQ(*owned, 7);
}

TEST(Result_ErrorAsValueType, SidesStayApart) {
  // The side is chosen by which constructor was used, not by the text.
  EXPECT_FALSE(half(99).has_value());
  EXPECT_EQ(half(99).error(), kTooBig);
  EXPECT_EQ(half(50).value(), 25);
}

TEST(Try_Error_ReturnsItUnchanged, AndValueIsDeclared) {
  // SEPTULE_TRY twice in one function: value passed on, error passed up.
  EXPECT_EQ(*half_text(42), "21");
  EXPECT_EQ(half_text(99).error(), kTooBig);
}

TEST(TryStatus_Error_LeavesTheFunction, BeforeTheNextStatement) {
  // Also takes a Result whose value is not needed.
  int reached = 0;
  EXPECT_TRUE(check_half(10, &reached).is_ok());
  EXPECT_EQ(check_half(99, &reached).error(), kTooBig);
  EXPECT_EQ(reached, 1);
}

TEST(Status_Default_IsOk, AndErrorIsNot) {
  // Both ways of asking agree.
  EXPECT_TRUE(Status().is_ok());
  EXPECT_TRUE(static_cast<bool>(Status()));
  EXPECT_FALSE(Status(kTooBig).is_ok());
  EXPECT_FALSE(static_cast<bool>(Status(kTooBig)));
}

TEST(ResultDeathTest, WrongSide_StopsTheProgram) {
  // Reading what is not there is an error of the programmer.
  EXPECT_DEATH((void)half(99).value(), "holding an error was read as a value");
  EXPECT_DEATH((void)half(1).error(), "holding a value was read as an error");
  EXPECT_DEATH((void)Status().error(), "successful Status was read as an error");
}

}  // namespace
}  // namespace septule
