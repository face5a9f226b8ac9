#include "predict/slice_limits.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"

namespace septule::predict {
namespace {

class SliceLimitsTest : public ::testing::Test {
 protected:
  const gpu::Geometry& a100() const { return **catalogue_.find("A100-40GB"); }

  SliceLimitsQuestion question(std::size_t column) const {
    SliceLimitsQuestion question{.profiles = {}, .is_open = {true, true, true, true, true}};
    question.column = column;
    for (std::size_t i = 0; i < kSlices; ++i) {
      // NOLINTNEXTLINE(bugprone-unchecked-optional-access): a seven-slice GPU has them all
      question.profiles[i] = *a100().plain_profile(ComputeSlices(kSliceComputeSlices[i]));
    }
    return question;
  }
  /// Jobs in the first `jobs` columns, with these step times at 100, 50 and 14 %.
  static MpsMatrix matrix(std::size_t jobs, std::array<double, 3> times) {
    MpsMatrix matrix;
    for (std::size_t i = 0; i < 3; ++i) {
      constexpr std::array<int, 3> kLevels = {100, 50, 14};
      matrix.levels.push_back({.atp = ActiveThreadPercentage(kLevels[i]), .step = {}});
      for (std::size_t column = 0; column < jobs; ++column) {
        matrix.levels.back().step[column] = times[i];
      }
    }
    return matrix;
  }

  gpu::Catalogue catalogue_ = gpu::load_builtin_catalogue();
};

TEST_F(SliceLimitsTest, CoRun_IsExplainedFromItsPredictedSpeeds) {
  // A job that is equally fast everywhere is limited by its serial part on every slice, one whose
  // speed is its share of the SMs by compute on the small ones.
  const MpsMatrix two = matrix(2, {1, 1, 1});
  const auto flat =
      slice_limits(a100(), two, {.speed = {1, 0.995, 0.99, 0.985, 0.98}}, question(1));
  ASSERT_TRUE(flat) << flat.error().message;
  EXPECT_FALSE(flat->is_measured);
  EXPECT_EQ(flat->point_count, 5U);
  for (const auto& shares : flat->shares) {
    ASSERT_TRUE(shares.has_value());
    EXPECT_EQ(shares->main(), Limit::kSerial);
    EXPECT_NEAR(std::accumulate(shares->share.begin(), shares->share.end(), 0.0), 1, 1e-9);
  }
  const auto steep = slice_limits(
      a100(), two, {.speed = {1, 56.0 / 108, 42.0 / 108, 28.0 / 108, 14.0 / 108}}, question(0));
  ASSERT_TRUE(steep) << steep.error().message;
  EXPECT_EQ(steep->shares[4].value_or(LimitShares()).main(), Limit::kCompute);
}

TEST_F(SliceLimitsTest, JobAlone_IsExplainedFromItsMeasurements) {
  // Alone in the matrix its own step times count, whatever was predicted.
  const auto limits =
      slice_limits(a100(), matrix(1, {1, 2, 7.1}), {.speed = {1, 1, 1, 1, 1}}, question(0));
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_TRUE(limits->is_measured);
  EXPECT_EQ(limits->point_count, 3U);
  EXPECT_NE(limits->shares[4].value_or(LimitShares()).main(), Limit::kSerial);
}

TEST_F(SliceLimitsTest, ClosedSlices_AreNotExplained) {
  // A slice that the job cannot have says nothing of it; neither is its speed used.
  SliceLimitsQuestion asked = question(0);
  asked.is_open = {true, true, false, false, false};
  const auto limits =
      slice_limits(a100(), matrix(3, {1, 1, 1}), {.speed = {1, 0.6, 0, 0, 0}}, asked);
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_EQ(limits->point_count, 2U);
  EXPECT_TRUE(limits->shares[1].has_value());
  EXPECT_FALSE(limits->shares[2].has_value());
}

}  // namespace
}  // namespace septule::predict
