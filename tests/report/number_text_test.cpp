#include "report/number_text.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.hpp"

namespace septule::report {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(FixedText, Numbers_HaveTheirDecimalsAndNoNegativeZero) {
  // Including numbers that round to zero, and those that are none.
  EXPECT_EQ(fixed_text(1234.5, 2), "1234.50");
  EXPECT_EQ(fixed_text(-0.004, 2), "0.00");
  EXPECT_EQ(fixed_text(-0.0, 0), "0");
  EXPECT_EQ(fixed_text(-0.006, 2), "-0.01");
  EXPECT_EQ(fixed_text(kInfinity, 2), "N/A");
  EXPECT_EQ(fixed_text(std::nan(""), 2), "N/A");
}

TEST(GroupedText, Thousands_AreSeparated) {
  // At every length, with and without decimals and sign.
  EXPECT_EQ(grouped_text(0, 0), "0");
  EXPECT_EQ(grouped_text(999, 0), "999");
  EXPECT_EQ(grouped_text(1000, 0), "1,000");
  EXPECT_EQ(grouped_text(-1000, 1), "-1,000.0");
  EXPECT_EQ(grouped_text(-999, 0), "-999");
  EXPECT_EQ(grouped_text(1234567.891, 2), "1,234,567.89");
  EXPECT_EQ(grouped_text(123456, 0), "123,456");
  EXPECT_EQ(grouped_text(kInfinity, 0), "N/A");
}

TEST(ExactSecondsText, Durations_AreWrittenWithoutRounding) {
  // Whole and split seconds, one nanosecond, and both ends of the type.
  EXPECT_EQ(exact_seconds_text(Duration()), "0");
  EXPECT_EQ(exact_seconds_text(Duration::milliseconds(12500)), "12.5");
  EXPECT_EQ(exact_seconds_text(Duration::nanoseconds(1)), "0.000000001");
  EXPECT_EQ(exact_seconds_text(Duration::nanoseconds(-1500000000)), "-1.5");
  EXPECT_EQ(exact_seconds_text(Duration::nanoseconds(INT64_MAX)), "9223372036.854775807");
  EXPECT_EQ(exact_seconds_text(Duration::nanoseconds(INT64_MIN)), "-9223372036.854775808");
}

RC_GTEST_PROP(ExactSecondsText, AnyDuration_IsReadBackExactly, ()) {
  // The digits before and after the point give the nanoseconds again.
  const auto count = *rc::gen::arbitrary<std::int64_t>();
  std::string text = exact_seconds_text(Duration::nanoseconds(count));
  const std::size_t point = text.find('.');
  std::string digits = point == std::string::npos ? "" : text.substr(point + 1);
  digits.resize(9, '0');
  const std::string whole = text.substr(0, point);
  RC_ASSERT(parse_integer(whole + digits).value_or(0) == count);
}

TEST(ChangeText, Shares_HaveASignUnlessTheyAreZero) {
  // What rounds to zero has no sign either.
  EXPECT_EQ(change_text(0.125), "+12.5 %");
  EXPECT_EQ(change_text(-0.7), "-70.0 %");
  EXPECT_EQ(change_text(0.0001), "0.0 %");
  EXPECT_EQ(change_text(-0.0001), "0.0 %");
  EXPECT_EQ(change_text(kInfinity), "N/A");
}

TEST(BoundsText, OneValue_HasNoBounds) {
  // An interval of one run is unknown, never [x, x].
  EXPECT_EQ(bounds_text({1.0, {}, {}}, 1), "N/A");
  EXPECT_EQ(bounds_text({1.0, 0.5, 1.5}, 1), "[0.5, 1.5]");
  EXPECT_EQ(change_bounds_text({1.0, {}, {}}), "N/A");
  EXPECT_EQ(change_bounds_text({0.0, -0.5, 0.5}), "[-50.0, +50.0] %");
}

TEST(PartText, NothingOfNothing_IsUnknown) {
  // A part of nothing is not 0 %; what is not known is not 0 either.
  EXPECT_EQ(part_text(1, 3), "33.33 %");
  EXPECT_EQ(part_text(0, 3), "0.00 %");
  EXPECT_EQ(part_text(0, 0), "N/A");
  EXPECT_EQ(known_text(12.34, 1), "12.3");
  EXPECT_EQ(known_text({}, 1), "N/A");
}

TEST(ShortenedText, LongTexts_EndInAnEllipsisBetweenLetters) {
  // Counted in code points, so that no letter is cut in two.
  EXPECT_EQ(shortened_text("abc", 3), "abc");
  EXPECT_EQ(shortened_text("abcd", 3), "ab\xe2\x80\xa6");
  EXPECT_EQ(shortened_text("\xc3\xa9\xc3\xa9\xc3\xa9", 2), "\xc3\xa9\xe2\x80\xa6");
  EXPECT_EQ(shortened_text("", 1), "");
}

}  // namespace
}  // namespace septule::report
