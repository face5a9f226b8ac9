#include "optimize/layout_confidence.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/plan_support.hpp"

namespace septule::optimize {
namespace {

class LayoutConfidenceTest : public test::CatalogueTest {
 protected:
  LayoutConfidenceTest() : profiles_(slice_profiles(geometry("A100-40GB")).value()) {}

  static PredictedJob job(std::array<double, predict::kSlices> speed, double sd) {
    PredictedJob job{.name = "job"};
    job.prediction.speed = speed;
    job.prediction.speed_sd = {0, sd, sd, sd, sd};
    return job;
  }
  LayoutConfidence judged(const std::vector<PredictedJob>& jobs, ConfidenceOptions options) const {
    const auto confidence = layout_confidence(geometry("A100-40GB"), profiles_, jobs, options);
    return confidence.value().value();  // NOLINT(bugprone-unchecked-optional-access)
  }

  SliceProfiles profiles_;
  // Two jobs on 4g and 3g: which one gets the 4g is a matter of 0.02.
  std::vector<PredictedJob> close_ = {job({1, 0.80, 0.70, 0.5, 0.3}, 0.05),
                                      job({1, 0.80, 0.72, 0.5, 0.3}, 0.05)};
};

TEST_F(LayoutConfidenceTest, NoError_IsCertain) {
  // Aim: without an error every draw is the prediction itself.
  const LayoutConfidence confidence = judged({job({1, 0.8, 0.7, 0.5, 0.3}, 0)}, {.draws = 50});
  EXPECT_EQ(confidence.same_choice, 1);
  EXPECT_EQ(confidence.within_one_percent, 1);
  EXPECT_EQ(confidence.loss_mean, 0);
  EXPECT_EQ(confidence.total_low, 1);
  EXPECT_EQ(confidence.total_high, 1);
}

TEST_F(LayoutConfidenceTest, CloseChoice_ChangesAsOftenAsTheNormalLawSays) {
  // Aim: the choice turns where (4g - 3g) of one job exceeds that of the other: a normal variable
  // with mean 0.02 and sd 2 x 0.05, negative with probability 0.42.
  for (PredictedJob& one : close_) {  // Only 4g and 3g are open, or idle slices would matter.
    one.smallest = predict::Slice::k3g;
  }
  const LayoutConfidence confidence = judged(close_, {.draws = 20000, .correlation = 0});
  EXPECT_NEAR(confidence.same_choice, 0.579, 0.015);
  // The total has mean 0.80 + 0.72 and sd 0.05 x sqrt(2).
  EXPECT_NEAR(confidence.total_low, 1.52 - 1.645 * 0.0707, 0.005);
  EXPECT_NEAR(confidence.total_high, 1.52 + 1.645 * 0.0707, 0.005);
  EXPECT_GT(confidence.within_one_percent, confidence.same_choice);
  EXPECT_GT(confidence.loss_mean, 0);
}

TEST_F(LayoutConfidenceTest, ErrorsThatGoTogether_ChangeTheChoiceLess) {
  // Aim: what shifts all slices of a job alike leaves the order of its slices: with correlation r
  // the difference of two has variance 2 (1 - r) sd^2, so the sd above shrinks to sqrt(1 - r).
  for (PredictedJob& one : close_) {
    one.smallest = predict::Slice::k3g;
  }
  const LayoutConfidence strong = judged(close_, {.draws = 20000, .correlation = 0.96});
  EXPECT_NEAR(strong.same_choice, 0.841, 0.015);  // the normal law at 0.02 / (0.1 x 0.2)
  const LayoutConfidence whole = judged(close_, {.draws = 200, .correlation = 1});
  EXPECT_EQ(whole.same_choice, 1);
  EXPECT_EQ(whole.loss_mean, 0);
  EXPECT_GT(whole.total_high - whole.total_low, 0.1);
}

TEST_F(LayoutConfidenceTest, LargerError_IsLessSure) {
  // Aim: more error never makes the same choice surer, and widens the interval.
  double same_before = 2;
  double width_before = -1;
  for (const double sd : {0.001, 0.02, 0.1, 0.3}) {
    const LayoutConfidence confidence = judged({job({1, 0.9, 0.7, 0.5, 0.3}, sd),
                                                job({1, 0.7, 0.65, 0.5, 0.3}, sd),
                                                job({1, 0.6, 0.5, 0.4, 0.3}, sd)},
                                               {.draws = 4000});
    EXPECT_LE(confidence.same_choice, same_before) << sd;
    EXPECT_GT(confidence.total_high - confidence.total_low, width_before) << sd;
    same_before = confidence.same_choice;
    width_before = confidence.total_high - confidence.total_low;
  }
  EXPECT_LT(same_before, 0.9);
}

TEST_F(LayoutConfidenceTest, EqualSeed_GivesEqualBits) {
  // Aim: a judgement is a function of its arguments; another seed draws other speeds.
  const LayoutConfidence first = judged(close_, {.draws = 300, .seed = 7});
  const LayoutConfidence again = judged(close_, {.draws = 300, .seed = 7});
  const LayoutConfidence other = judged(close_, {.draws = 300, .seed = 8});
  EXPECT_EQ(std::memcmp(&first.same_choice, &again.same_choice, 5 * sizeof(double)), 0);
  EXPECT_NE(first.total_low, other.total_low);
}

TEST_F(LayoutConfidenceTest, NoLayout_HasNoConfidence) {
  // Aim: where the expected speeds have no layout there is nothing to be sure of.
  std::vector<PredictedJob> jobs(3, job({1, 0.8, 0.7, 0.5, 0.3}, 0.1));
  for (PredictedJob& one : jobs) {
    one.smallest = predict::Slice::k3g;
  }
  const auto confidence = layout_confidence(geometry("A100-40GB"), profiles_, jobs, {});
  ASSERT_TRUE(confidence);
  EXPECT_FALSE(confidence->has_value());
}

TEST_F(LayoutConfidenceTest, OptionsOutOfRange_AreRefused) {
  // Aim: figures outside their limits are a clear error.
  const auto refused = [&](std::size_t jobs, ConfidenceOptions options) {
    return !layout_confidence(
        geometry("A100-40GB"), profiles_, std::vector<PredictedJob>(jobs, close_.front()), options);
  };
  EXPECT_TRUE(refused(0, {}));
  EXPECT_TRUE(refused(8, {}));
  EXPECT_TRUE(refused(1, {.draws = 0}));
  EXPECT_TRUE(refused(1, {.draws = kConfidenceDrawsMax + 1}));
  EXPECT_TRUE(refused(1, {.coverage = 0}));
  EXPECT_TRUE(refused(1, {.coverage = 1}));
  EXPECT_TRUE(refused(1, {.correlation = -0.1}));
  EXPECT_TRUE(refused(1, {.correlation = 1.1}));
  EXPECT_TRUE(refused(1, {.coverage = std::nan("")}));
  EXPECT_FALSE(refused(7, {.draws = 1}));
}

}  // namespace
}  // namespace septule::optimize
