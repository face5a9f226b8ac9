#include "job/power_curve.hpp"

#include <array>

#include <gtest/gtest.h>

namespace septule::job {
namespace {

TEST(PowerCurve_SevenSlices, GivesThePublishedPoints) {
  // performance-model.md 6: 0 to 7 busy slices of an A100-40GB at 250 W.
  const std::array<double, 8> published{40, 119, 160, 205.3, 243.9, 247.7, 248.5, 248.5};
  const PowerCurve curve = PowerCurve::builtin();
  for (int active = 0; active <= 7; ++active) {
    EXPECT_EQ(curve.power_watts(ComputeSlices(active), ComputeSlices(7)),
              published.at(static_cast<std::size_t>(active)));
  }
}

TEST(PowerCurve_OtherSliceCounts, InterpolatesByShare) {
  // Half of four slices is 3.5 of seven; ends meet the ends; more slices never draw less.
  const PowerCurve curve = PowerCurve::builtin();
  EXPECT_DOUBLE_EQ(curve.power_watts(ComputeSlices(2), ComputeSlices(4)), (205.3 + 243.9) / 2);
  for (int total = 1; total <= 16; ++total) {
    EXPECT_EQ(curve.power_watts(ComputeSlices(0), ComputeSlices(total)), 40);
    EXPECT_EQ(curve.power_watts(ComputeSlices(total), ComputeSlices(total)), 248.5);
    for (int active = 1; active <= total; ++active) {
      EXPECT_GE(curve.power_watts(ComputeSlices(active), ComputeSlices(total)),
                curve.power_watts(ComputeSlices(active - 1), ComputeSlices(total)));
    }
  }
}

TEST(PowerCurveDeathTest_MoreThanAll, StopsTheProgram) {
  // A programmer error.
  EXPECT_DEATH(PowerCurve::builtin().power_watts(ComputeSlices(8), ComputeSlices(7)), "busy");
}

}  // namespace
}  // namespace septule::job
