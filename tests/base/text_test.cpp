#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
// clang-format off
#include <rapidcheck/gtest.h>  // needs gtest.h before it
// clang-format on

namespace septule {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Trimmed_Blanks, GoFromBothEndsOnly) {
  // Spaces, tabs and line ends; inside they stay.
  EXPECT_EQ(trimmed(" \t\r\n a b \n"), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \n "), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed("\xc2\xa0x"), "\xc2\xa0x");
}

TEST(LowerCase, OtherBytes_StayUnchanged) {
  // ASCII only: no locale.
  EXPECT_EQ(lower_case("AZaz@[`{09"), "azaz@[`{09");
  EXPECT_EQ(lower_case("\xc3\x84\xff"), "\xc3\x84\xff");
}

TEST(SplitOutsideBrackets_Cases, GiveTrimmedPieces) {
  // Brackets of both kinds protect; empty pieces are kept; a stray closing bracket harms nothing.
  EXPECT_THAT(split_outside_brackets("", ','), ElementsAre(""));
  EXPECT_THAT(split_outside_brackets("a, b ,,c", ','), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(split_outside_brackets("a[1,2],{x,[y,z]},b", ','),
              ElementsAre("a[1,2]", "{x,[y,z]}", "b"));
  EXPECT_THAT(split_outside_brackets("a[1,b", ','), ElementsAre("a[1,b"));
  EXPECT_THAT(split_outside_brackets("a]],b,", ','), ElementsAre("a]]", "b", ""));
}

TEST(SplitLines_BothLineEnds, AreNoPartOfLines) {
  // The last line may lack its end; no phantom line follows a final one.
  EXPECT_THAT(split_lines(""), IsEmpty());
  EXPECT_THAT(split_lines("\n"), ElementsAre(""));
  EXPECT_THAT(split_lines("a\r\nb\n\nc"), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(split_lines("a\n"), ElementsAre("a"));
  EXPECT_THAT(split_lines("a\r"), ElementsAre("a"));
  EXPECT_THAT(split_lines("a\rb"), ElementsAre("a\rb"));
}

TEST(ParseInteger, WholeTextOnly) {
  // Nothing before, nothing after, no plus sign, no overflow.
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
  for (const std::string_view bad :
       {"", " 1", "1 ", "+1", "1.0", "0x10", "-", "9223372036854775808", "1e3", "a"}) {
    EXPECT_FALSE(parse_integer(bad).has_value()) << bad;
  }
  EXPECT_FALSE(parse_integer(std::string_view("1\0", 2)).has_value());
}

TEST(ParseNumber, FiniteDecimalsOnly) {
  // NaN, infinities, hexadecimal and half-read texts are no numbers.
  EXPECT_EQ(parse_number("0.5"), 0.5);
  EXPECT_EQ(parse_number("-3"), -3.0);
  EXPECT_EQ(parse_number("1e3"), 1000.0);
  for (const std::string_view bad :
       {"", "nan", "NaN", "inf", "-inf", "infinity", "1e999", "0x1p3", "1,5", "1.5 ", " 1", "."}) {
    EXPECT_FALSE(parse_number(bad).has_value()) << bad;
  }
}

TEST(QuotedForMessage, ControlAndInvalidBytes_AreEscaped) {
  // Line ends, escapes, DEL, C1 controls, stray and overlong UTF-8 become \xNN; good UTF-8 stays.
  EXPECT_EQ(quoted_for_message("a b"), "\"a b\"");
  EXPECT_EQ(quoted_for_message(""), "\"\"");
  EXPECT_EQ(quoted_for_message("a\nb\x1b[31m\x7f"), "\"a\\x0ab\\x1b[31m\\x7f\"");
  EXPECT_EQ(quoted_for_message("\xc2\x9b"), "\"\\xc2\\x9b\"");
  EXPECT_EQ(quoted_for_message("\xff\xc3"), "\"\\xff\\xc3\"");
  EXPECT_EQ(quoted_for_message("\xc0\xaf"), "\"\\xc0\\xaf\"");
  EXPECT_EQ(quoted_for_message("\xe2\x82\xac"), "\"\xe2\x82\xac\"");
}

TEST(QuotedForMessage, LongText_IsCutAtTheLimit) {
  // Exactly the limit stays whole; one byte more is cut, and no sequence or escape is cut in two.
  EXPECT_EQ(quoted_for_message("abcd", 4), "\"abcd\"");
  EXPECT_EQ(quoted_for_message("abcde", 4), "\"abcd...\"");
  EXPECT_EQ(quoted_for_message("abc\n", 4), "\"abc...\"");
  EXPECT_EQ(quoted_for_message("ab\xe2\x82\xac", 4), "\"ab...\"");
  EXPECT_EQ(quoted_for_message("a\xe2\x82\xac", 4), "\"a\xe2\x82\xac\"");
  EXPECT_EQ(quoted_for_message(std::string(100, 'x')).size(), 60U + 5U);
}

RC_GTEST_PROP(QuotedForMessage, AnyBytes_GiveOneShortLineOfUtf8, (const std::string& text)) {
  // Whatever comes in, a message stays one line within its limit.
  const auto limit = *rc::gen::inRange<std::size_t>(0, 80);
  const std::string quoted = quoted_for_message(text, limit);
  RC_ASSERT(quoted.size() <= limit + 5);
  RC_ASSERT(is_valid_utf8(quoted));
  RC_ASSERT(std::ranges::none_of(
      quoted, [](char c) { return static_cast<unsigned char>(c) < 0x20U || c == 0x7F; }));
}

TEST(NearestNames_Order, IsByDistanceThenAsGiven) {
  // Contained names first; then the fewest edits; nothing that shares no letter.
  const std::vector<std::string> names{"1g.5gb", "2g.10gb", "3g.20gb", "3g.20gb+me", "7g.40gb"};
  EXPECT_THAT(nearest_names("3g.21gb", names, 2), ElementsAre("3g.20gb", "1g.5gb"));
  EXPECT_THAT(nearest_names("3G.20GB", names, 2), ElementsAre("3g.20gb", "3g.20gb+me"));
  EXPECT_THAT(nearest_names("", names, 3), IsEmpty());
  EXPECT_THAT(nearest_names("zzzzzz", names, 3), IsEmpty());
  EXPECT_THAT(nearest_names("3g", names, 0), IsEmpty());
  EXPECT_THAT(nearest_names("x", {}, 3), IsEmpty());
  EXPECT_THAT(nearest_names(std::string(100'000, '3'), names, 1), testing::SizeIs(1));
}

TEST(JoinedWithAnd_Counts, ReadLikeASentence) {
  // None, one, two and more.
  EXPECT_EQ(joined_with_and({}), "");
  EXPECT_EQ(joined_with_and(std::vector<std::string>{"a"}), "a");
  EXPECT_EQ(joined_with_and(std::vector<std::string>{"a", "b"}), "a and b");
  EXPECT_EQ(joined_with_and(std::vector<std::string>{"a", "b", "c"}), "a, b and c");
}

/// UTF-8 of a code point, by the definition.
std::string encoded(std::uint32_t code) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (code < 0x80) {
    return {byte(code)};
  }
  if (code < 0x800) {
    return {byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F))};
  }
  if (code < 0x10000) {
    return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  }
  return {byte(0xF0 | code >> 18),
          byte(0x80 | (code >> 12 & 0x3F)),
          byte(0x80 | (code >> 6 & 0x3F)),
          byte(0x80 | (code & 0x3F))};
}

TEST(IsValidUtf8_EveryCodePoint, IsValidExactlyOutsideTheSurrogates) {
  // All of Unicode, and what lies just beyond it.
  for (std::uint32_t code = 0; code < 0x110400; ++code) {
    const bool is_valid = code < 0x110000 && (code < 0xD800 || code > 0xDFFF);
    ASSERT_EQ(is_valid_utf8(encoded(code)), is_valid) << code;
  }
}

TEST(IsValidUtf8_BrokenForms, AreRefused) {
  // Overlong forms, lone continuation bytes, truncated sequences, bytes that never occur.
  for (const std::string_view bad : {"\x80",
                                     "\xc0\x80",
                                     "\xc1\xbf",
                                     "\xe0\x9f\xbf",
                                     "\xf0\x8f\xbf\xbf",
                                     "\xe2\x82",
                                     "\xc3",
                                     "\xc3(",
                                     "\xf8\x88\x80\x80\x80",
                                     "\xff",
                                     "ok\xfe"}) {
    EXPECT_FALSE(is_valid_utf8(bad));
  }
  EXPECT_TRUE(is_valid_utf8(""));
}

}  // namespace
}  // namespace septule
