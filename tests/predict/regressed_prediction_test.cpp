#include "predict/regressed_prediction.hpp"

#include <gtest/gtest.h>

namespace septule::predict {
namespace {

TEST(RegressedPrediction, SmallSlices_ComeFromTheLargerOnes) {
  // Only 2g and 1g change; their error holds the regression's own and what 4g and 3g pass on.
  const SlicePrediction prediction{.speed = {1, 0.8, 0.7, 0.1, 0.1},
                                   .speed_sd = {0, 0.03, 0.04, 0, 0},
                                   .time = {0.7, 0.875, 1},
                                   .time_sd = {0.01, 0.02, 0}};
  const SlicePrediction result = regressed(prediction, kMisoRegression);
  EXPECT_NEAR(result.speed[3], 0.481, 0.001);
  EXPECT_NEAR(result.speed[4], 0.261, 0.001);
  EXPECT_NEAR(result.speed_sd[3], 0.0815, 0.0005);
  EXPECT_NEAR(result.speed_sd[4], 0.1178, 0.0005);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(result.speed[i], prediction.speed[i]);
    EXPECT_EQ(result.speed_sd[i], prediction.speed_sd[i]);
    EXPECT_EQ(result.time[i], prediction.time[i]);
    EXPECT_EQ(result.time_sd[i], prediction.time_sd[i]);
  }
}

TEST(RegressedPrediction, CertainInput_LeavesTheRegressionsOwnError) {
  // With measured speeds on 4g and 3g only the regression errs.
  const SlicePrediction result = regressed({.speed = {1, 0.8, 0.7, 0, 0}}, kMisoRegression);
  EXPECT_DOUBLE_EQ(result.speed_sd[3], kRegressionSd2g);
  EXPECT_DOUBLE_EQ(result.speed_sd[4], kRegressionSd1g);
}

}  // namespace
}  // namespace septule::predict
