#include "base/clock.hpp"

#include <gtest/gtest.h>

namespace septule {
namespace {

TEST(SecondsToDuration_HalvesAndEdges, RoundAwayFromZero) {
  // Rounding is stated; the largest times of files still fit.
  EXPECT_EQ(seconds_to_duration(0).to_nanoseconds(), 0);
  EXPECT_EQ(seconds_to_duration(1.5e-9).to_nanoseconds(), 2);
  EXPECT_EQ(seconds_to_duration(-1.5e-9).to_nanoseconds(), -2);
  EXPECT_EQ(seconds_to_duration(0.028522).to_nanoseconds(), 28522000);
  EXPECT_EQ(seconds_to_duration(9e9).to_nanoseconds(), 9000000000000000000);
}

TEST(Scaled_AnyFactor, RoundsToTheNearestNanosecond) {
  // A step factor of 1 changes nothing; others round once.
  EXPECT_EQ(scaled(Duration::nanoseconds(123456789), 1), Duration::nanoseconds(123456789));
  EXPECT_EQ(scaled(Duration::milliseconds(100000), 1.16), Duration::milliseconds(116000));
  EXPECT_EQ(scaled(Duration::nanoseconds(5), 0.5), Duration::nanoseconds(3));
  EXPECT_EQ(scaled(Duration::nanoseconds(5), 0), Duration());
}

TEST(ClockDeathTest_TimesOutOfRange, StopTheProgram) {
  // Input is checked before; here it is a programmer error.
  EXPECT_DEATH(seconds_to_duration(1e10), "9e9");
  EXPECT_DEATH(scaled(Duration::milliseconds(1000000), 1e9), "9e18");
}

TEST(SimTime_SumsAndDifferences, KeepNanoseconds) {
  // Differences and sums undo each other.
  const SimTime start = SimTime::nanoseconds(7);
  const SimTime end = start + Duration::milliseconds(2);
  EXPECT_EQ(end - start, Duration::milliseconds(2));
  EXPECT_LT(start, end);
  EXPECT_TRUE(SimTime::never().is_never());
  EXPECT_LT(end, SimTime::never());
}

}  // namespace
}  // namespace septule
