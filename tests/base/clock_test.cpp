#include "base/clock.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace septule {
namespace {

TEST(SimTime, Default_IsTheStart) {
  // Aim: t = 0 is the origin of the trace.
  EXPECT_EQ(SimTime(), SimTime::nanoseconds(0));
  EXPECT_FALSE(SimTime().is_never());
}

TEST(SimTime, Arithmetic_IsExact) {
  // Aim: points and lengths combine to the nanosecond, also before the start.
  const SimTime early = SimTime::nanoseconds(-5);
  const SimTime late = early + Duration::nanoseconds(1'000'000'007);
  EXPECT_EQ(late.to_nanoseconds(), 1'000'000'002);
  EXPECT_EQ(late - early, Duration::nanoseconds(1'000'000'007));
  EXPECT_EQ(early - late, Duration::nanoseconds(-1'000'000'007));
  EXPECT_LT(early, late);
  EXPECT_DOUBLE_EQ(SimTime::nanoseconds(1'500'000'000).to_seconds(), 1.5);
}

TEST(SimTime, Never_IsLast) {
  // Aim: nothing is later than never, and only never is never.
  EXPECT_TRUE(SimTime::never().is_never());
  EXPECT_LT(SimTime::nanoseconds(std::numeric_limits<std::int64_t>::max() - 1), SimTime::never());
}

TEST(SecondsToDuration, Halves_AreRoundedAwayFromZero) {
  // Aim: the stated rounding, on numbers that are exact in binary.
  EXPECT_EQ(seconds_to_duration(0), Duration());
  EXPECT_EQ(seconds_to_duration(-0.0), Duration());
  EXPECT_EQ(seconds_to_duration(0.5).to_nanoseconds(), 500'000'000);
  EXPECT_EQ(seconds_to_duration(25).to_nanoseconds(), 25'000'000'000);
  EXPECT_EQ(seconds_to_duration(1.4e-9).to_nanoseconds(), 1);
  EXPECT_EQ(seconds_to_duration(1.6e-9).to_nanoseconds(), 2);
  EXPECT_EQ(seconds_to_duration(-1.6e-9).to_nanoseconds(), -2);
  // 2^-10 s = 976562.5 ns, exactly.
  EXPECT_EQ(seconds_to_duration(0x1p-10).to_nanoseconds(), 976'563);
  EXPECT_EQ(seconds_to_duration(-0x1p-10).to_nanoseconds(), -976'563);
}

TEST(SecondsToDuration, Limits_AreInside) {
  // Aim: the ends of the valid range convert without overflow.
  EXPECT_EQ(seconds_to_duration(9e9).to_nanoseconds(), 9'000'000'000'000'000'000);
  EXPECT_EQ(seconds_to_duration(-9e9).to_nanoseconds(), -9'000'000'000'000'000'000);
}

TEST(SecondsToDurationDeathTest, OutOfRange_Stops) {
  // Aim: unchecked input is a programmer error, not a wrong time.
  const double above = std::nextafter(9e9, 1e10);
  for (const double seconds : {above,
                               -above,
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_DEATH(seconds_to_duration(seconds), "finite and within 9e9");
  }
}

RC_GTEST_PROP(SecondsToDurationProperty, WholeMilliseconds_AreExact, ()) {
  // Aim: what files contain (milliseconds in seconds) is not off by a nanosecond for 11 days.
  const auto count = *rc::gen::inRange<std::int64_t>(-1'000'000'000, 1'000'000'000);
  RC_ASSERT(seconds_to_duration(static_cast<double>(count) / 1000) ==
            Duration::milliseconds(count));
}

TEST(Scaled_AnyFactor, RoundsToTheNearestNanosecond) {
  // Aim: a step factor of 1 changes nothing; others round once.
  EXPECT_EQ(scaled(Duration::nanoseconds(123456789), 1), Duration::nanoseconds(123456789));
  EXPECT_EQ(scaled(Duration::milliseconds(100000), 1.16), Duration::milliseconds(116000));
  EXPECT_EQ(scaled(Duration::nanoseconds(5), 0.5), Duration::nanoseconds(3));
  EXPECT_EQ(scaled(Duration::nanoseconds(5), 0), Duration());
  EXPECT_DEATH(scaled(Duration::milliseconds(1000000), 1e9), "9e18");
}

}  // namespace
}  // namespace septule
