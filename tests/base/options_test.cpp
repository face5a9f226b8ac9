#include "base/options.hpp"

#include <set>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace septule {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CommandRecord_Name, JoinsItsWords) {
  // As it is typed.
  EXPECT_EQ((CommandRecord{.path = {"gpus", "show"}}).name(), "gpus show");
  EXPECT_EQ((CommandRecord{.path = {"plan"}}).name(), "plan");
}

TEST(ExitCodeText, EveryCode_HasItsOwn) {
  // 0 to 8, all different.
  std::set<std::string_view> texts;
  for (int code = 0; code <= kExitCodeMax; ++code) {
    EXPECT_FALSE(exit_code_text(code).empty());
    texts.insert(exit_code_text(code));
  }
  EXPECT_EQ(texts.size(), 9U);
}

TEST(ExitCodeTextDeathTest, UnknownCode_IsAProgrammerError) {
  // There is no text to give.
  EXPECT_DEATH((void)exit_code_text(9), "one of the documented ones");
  EXPECT_DEATH((void)exit_code_text(-1), "one of the documented ones");
}

TEST(CheckOption_Choices, AreExactWords) {
  // Letter case and blanks count; the message lists what is valid.
  const OptionRecord policy{.name = "policy", .value = "POLICY", .choices = {"pack", "same-gpu"}};
  EXPECT_TRUE(check_option(policy, "pack").is_ok());
  EXPECT_TRUE(check_option(policy, "same-gpu").is_ok());
  for (const std::string_view bad : {"", "Pack", " pack", "pac", "pack,same-gpu"}) {
    const Status status = check_option(policy, bad);
    ASSERT_FALSE(status.is_ok()) << bad;
    EXPECT_EQ(status.error().code, ErrorCode::kUsage);
    EXPECT_THAT(status.error().message, AllOf(HasSubstr("--policy"), HasSubstr("pack, same-gpu")));
  }
}

TEST(CheckOption_Integer, RefusesFractionsAndExponents) {
  // "1.5 GPUs" must not become 1 GPU.
  const OptionRecord count{.name = "count", .value = "N", .min = 0, .max = 64, .is_integer = true};
  for (const std::string_view good : {"0", "64", "00"}) {
    EXPECT_TRUE(check_option(count, good).is_ok()) << good;
  }
  for (const std::string_view bad : {"1.5", "1.0", "1e1", "", "65", "-1", "99999999999999999999"}) {
    const Status status = check_option(count, bad);
    ASSERT_FALSE(status.is_ok()) << bad;
    EXPECT_THAT(status.error().message, HasSubstr("is not a whole number from 0 to 64"));
  }
}

TEST(CheckOption_EmptyValue, IsRefused) {
  // An empty shell variable is a mistake, not the absence of the option.
  const Status status = check_option({.name = "directory", .value = "DIR"}, "");
  ASSERT_FALSE(status.is_ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUsage);
  EXPECT_EQ(status.error().message, "--directory: the value is empty; give DIR");
  EXPECT_TRUE(check_option({.name = "LAYOUT"}, "").is_ok()) << "arguments speak for themselves";
}

TEST(CheckOption_Range, HoldsItsEndsAndRefusesTheRest) {
  // Both limits are allowed; texts that are no numbers are refused like numbers outside.
  const OptionRecord count{.name = "count", .unit = "GPUs", .min = 1, .max = 64};
  EXPECT_TRUE(check_option(count, "1").is_ok());
  EXPECT_TRUE(check_option(count, "64").is_ok());
  for (const std::string_view bad : {"0", "65", "", "x", "nan", "1e999", "-1", "0.99", "64.01"}) {
    const Status status = check_option(count, bad);
    ASSERT_FALSE(status.is_ok()) << bad;
    EXPECT_EQ(status.error().code, ErrorCode::kUsage);
    EXPECT_THAT(status.error().message,
                AllOf(HasSubstr("--count"), HasSubstr("from 1 to 64 GPUs")));
  }
}

TEST(CheckOption, OneSidedRange_SaysOnlyThatSide) {
  // A limit that is not there is not invented.
  const OptionRecord least{.name = "n", .min = 1};
  EXPECT_EQ(check_option(least, "0").error().message, "--n: \"0\" is not a number from 1 up");
  EXPECT_TRUE(check_option(least, "1e9").is_ok());
  const OptionRecord most{.name = "n", .unit = "s", .max = 5};
  EXPECT_EQ(check_option(most, "6").error().message, "--n: \"6\" is not a number up to 5 s");
  EXPECT_TRUE(check_option(most, "-7").is_ok());
  EXPECT_EQ(range_text(OptionRecord{.name = "n"}), "");
}

TEST(CheckOption_NoLimits, AcceptAnything) {
  // Also text that would be no number.
  EXPECT_TRUE(check_option(OptionRecord{.name = "o"}, "any thing").is_ok());
}

TEST(CheckOption_HostileValue, GivesOneLine) {
  // Line ends and escapes in a value do not reach the terminal.
  const OptionRecord policy{.name = "policy", .choices = {"pack"}};
  const std::string message = check_option(policy, "a\nb\x1b[0m").error().message;
  EXPECT_EQ(message.find_first_of("\n\x1b"), std::string::npos);
}

}  // namespace
}  // namespace septule
