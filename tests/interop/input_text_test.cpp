#include "interop/input_text.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/interop_support.hpp"

namespace septule::interop {
namespace {

using test::refusal;
using ::testing::HasSubstr;

TEST(InputText, ByteOrderMark_IsTakenOff) {
  // Editors of other systems write one.
  const auto text = checked_text({"\xEF\xBB\xBFx", "t"});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, "x");
}

TEST(InputText, OddBytes_AreRefusedWithTheirLine) {
  // Binary and badly encoded files are named as such.
  EXPECT_THAT(refusal(checked_text({std::string_view("a\n\0", 3), "t"})), HasSubstr("t:2: a NUL"));
  EXPECT_THAT(refusal(checked_text({"a\n\nb\xC3\n", "t"})),
              HasSubstr("t:3: bytes that are not UTF-8"));
  EXPECT_THAT(refusal(checked_text({"\xFE\xFF", "t"})), HasSubstr("UTF-16"));
  EXPECT_THAT(refusal(checked_text({" \n\t", "t"})), HasSubstr("t: the text is empty"));
  EXPECT_THAT(refusal(checked_text({"abc", "t"}, 2)), HasSubstr("has 3 bytes; at most 2"));
}

TEST(InputText, SourceNames_CannotBreakTheLine) {
  // A file name is as hostile as a file.
  EXPECT_EQ(input_error("a\nb", 3, "f", "w").message, "a\\x0ab:3: f: w");
  EXPECT_EQ(input_error("", 0, "", "w").message, "input: w");
}

TEST(InputText, NameFaults_AreSaid) {
  // Empty, long and unprintable names; quotation marks are no fault.
  EXPECT_EQ(name_fault("job \"17\" é"), "");
  EXPECT_THAT(name_fault(""), HasSubstr("is empty"));
  EXPECT_THAT(name_fault(std::string(201, 'a')), HasSubstr("201 bytes"));
  EXPECT_EQ(name_fault(std::string(200, 'a')), "");
  EXPECT_THAT(name_fault("a\x1b"), HasSubstr("\"a\\x1b\" holds control"));
}

TEST(InputText, UnknownNames_AreGuessedOnlyWhereTheyAreNear) {
  // Aim: a misspelling gets a suggestion, another word only the list.
  const std::vector<std::string> known{"job", "hold"};
  EXPECT_EQ(unknown_name_text("column", "hodl", known),
            "unknown column \"hodl\"; did you mean hold? known: job and hold");
  EXPECT_EQ(unknown_name_text("column", "zork", known),
            "unknown column \"zork\"; known: job and hold");
}

}  // namespace
}  // namespace septule::interop
