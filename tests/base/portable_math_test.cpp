#include "base/portable_math.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace septule {
namespace {

TEST(PortableLog_OverTheWholeRange, AgreesWithTheLibrary) {
  // Relative error below 1e-14 (absolute near 1, where the logarithm vanishes).
  for (int i = -2000; i <= 2000; ++i) {
    const double x = std::pow(1.4, i) * (1 + (i % 7) * 0.03);
    if (std::isfinite(x) && x > 1e-300) {
      EXPECT_NEAR(portable_log(x), std::log(x), 1e-14 * std::max(1.0, std::abs(std::log(x)))) << x;
    }
  }
  EXPECT_EQ(portable_log(1), 0);
}

TEST(PortableExp_OverTheWholeRange, AgreesWithTheLibrary) {
  // Relative error below 1e-14 where the rounding of the argument itself allows it.
  for (int i = -7000; i <= 7000; ++i) {
    const double x = i * 0.1;
    EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 1e-14) << x;
  }
  EXPECT_EQ(portable_exp(0), 1);
}

TEST(PortableMath_FixedArguments, GiveTheSameBitsEverywhere) {
  // Recorded bits: any compiler, library or processor must give them again.
  EXPECT_EQ(portable_log(0.1), -0x1.26bb1bbb55515p+1);
  EXPECT_EQ(portable_log(7200), 0x1.1c3800c54d62ap+3);
  EXPECT_EQ(portable_exp(1), 0x1.5bf0a8b14576ap+1);
  EXPECT_EQ(portable_exp(-60), 0x1.5ae191a99585ap-87);
}

TEST(PortableMathDeathTest_ArgumentsOutOfRange, StopTheProgram) {
  // A programmer error, not a value.
  EXPECT_DEATH(portable_log(0), "positive");
  EXPECT_DEATH(portable_exp(701), "within");
}

}  // namespace
}  // namespace septule
