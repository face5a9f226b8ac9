#include "predict/speed_calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/portable_math.hpp"
#include "base/rng.hpp"

namespace septule::predict {
namespace {

using Verdict = SpeedCalibration::Verdict;

constexpr std::array<double, kSlices> kTruth = {1, 0.75, 0.7, 0.5, 0.33};

SlicePrediction prediction(const std::array<double, kSlices>& speed, double part_sd) {
  SlicePrediction made;
  made.speed = speed;
  for (std::size_t i = 1; i < kSlices; ++i) {
    made.speed_sd[i] = part_sd * speed[i];
  }
  return made;
}

Duration step_on(Slice slice, double whole_s = 0.2) {
  return Duration::nanoseconds(static_cast<std::int64_t>(
      std::llround(whole_s / kTruth[static_cast<std::size_t>(slice)] * 1e9)));
}

Duration noisy(Duration step, Rng& rng, double sd) {
  return Duration::nanoseconds(static_cast<std::int64_t>(
      static_cast<double>(step.to_nanoseconds()) * portable_exp(rng.normal(0, sd))));
}

SpeedCalibration calibrated(const SlicePrediction& from, const CalibrationOptions& options = {}) {
  SpeedCalibration made(options);
  EXPECT_TRUE(made.predicted(from));
  return made;
}

// ---- an independent judge: the posterior from the joint density's normal equations, solved by
// Gaussian elimination; shares no code with the recursion.

struct Linear {
  std::array<std::array<double, kSlices>, kSlices> precision{};
  std::array<double, kSlices> shift{};
};

std::array<std::array<double, kSlices>, kSlices> inverse(
    std::array<std::array<double, kSlices>, kSlices> m) {
  std::array<std::array<double, kSlices>, kSlices> out{};
  for (std::size_t i = 0; i < kSlices; ++i) {
    out[i][i] = 1;
  }
  for (std::size_t pivot = 0; pivot < kSlices; ++pivot) {
    const double by = m[pivot][pivot];
    for (std::size_t k = 0; k < kSlices; ++k) {
      m[pivot][k] /= by;
      out[pivot][k] /= by;
    }
    for (std::size_t row = 0; row < kSlices; ++row) {
      const double times = m[row][pivot];
      for (std::size_t k = 0; row != pivot && k < kSlices; ++k) {
        m[row][k] -= times * m[pivot][k];
        out[row][k] -= times * out[pivot][k];
      }
    }
  }
  return out;
}

Linear prior_of(const SlicePrediction& from, const CalibrationOptions& options) {
  std::array<std::array<double, kSlices>, kSlices> covariance{};
  std::array<double, kSlices> mean{};
  covariance[0][0] = 25;
  mean[0] = std::log(0.1);
  std::array<double, kSlices> variance{};
  for (std::size_t i = 1; i < kSlices; ++i) {
    variance[i] = std::log1p(std::pow(from.speed_sd[i] / from.speed[i], 2));
    mean[i] = std::log(from.speed[i]) - variance[i] / 2;
  }
  for (std::size_t i = 1; i < kSlices; ++i) {
    for (std::size_t k = 1; k < kSlices; ++k) {
      const double apart = std::abs(static_cast<double>(i) - static_cast<double>(k));
      covariance[i][k] =
          std::sqrt(variance[i] * variance[k]) * std::pow(options.neighbour_correlation, apart);
    }
  }
  Linear linear;
  linear.precision = inverse(covariance);
  for (std::size_t i = 0; i < kSlices; ++i) {
    for (std::size_t k = 0; k < kSlices; ++k) {
      linear.shift[i] += linear.precision[i][k] * mean[k];
    }
  }
  return linear;
}

void add(Linear& linear, Slice slice, Duration step, double noise_sd) {
  std::array<double, kSlices> h{};
  h[0] = 1;
  if (slice != Slice::k7g) {
    h[static_cast<std::size_t>(slice)] = -1;
  }
  const double weight = 1 / (noise_sd * noise_sd);
  for (std::size_t i = 0; i < kSlices; ++i) {
    for (std::size_t k = 0; k < kSlices; ++k) {
      linear.precision[i][k] += weight * h[i] * h[k];
    }
    linear.shift[i] += weight * h[i] * std::log(step.to_seconds());
  }
}

void expect_posterior(const SpeedCalibration& calibration, const Linear& linear) {
  const auto covariance = inverse(linear.precision);
  for (std::size_t i = 1; i < kSlices; ++i) {
    double mean = 0;
    for (std::size_t k = 0; k < kSlices; ++k) {
      mean += covariance[i][k] * linear.shift[k];
    }
    const double speed = std::exp(mean + covariance[i][i] / 2);
    EXPECT_NEAR(calibration.speed(static_cast<Slice>(i)), speed, 1e-8 * speed);
    EXPECT_NEAR(calibration.speed_sd(static_cast<Slice>(i)),
                speed * std::sqrt(std::expm1(covariance[i][i])),
                1e-7 * speed);
  }
}

TEST(SpeedCalibration, PredictedOnce_NoObservation_IsThePrediction) {
  // Aim: the log-normal prior has exactly the mean and sd that the model gave.
  const SlicePrediction from = prediction({1, 0.8, 0.65, 0.5, 0.3}, 0.1);
  const SpeedCalibration calibration = calibrated(from);
  for (std::size_t i = 0; i < kSlices; ++i) {
    EXPECT_NEAR(calibration.speed(static_cast<Slice>(i)), from.speed[i], 1e-12);
    EXPECT_NEAR(calibration.speed_sd(static_cast<Slice>(i)), from.speed_sd[i], 1e-12);
  }
}

TEST(SpeedCalibration, RandomObservations_Posterior_EqualsNormalEquations) {
  // Aim: for random priors and observations the recursion is the exact Gaussian posterior.
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    CalibrationOptions options;
    options.noise_sd = 0.01 + 0.05 * rng.uniform();
    options.neighbour_correlation = 0.9 * rng.uniform();
    options.surprise_sds = 1e6;  // all count
    options.jump_sds = 1e6;
    std::array<double, kSlices> speed{1};
    for (std::size_t i = 1; i < kSlices; ++i) {
      speed[i] = 0.1 + 0.9 * rng.uniform();
    }
    const SlicePrediction from = prediction(speed, 0.05 + 0.3 * rng.uniform());
    SpeedCalibration calibration = calibrated(from, options);
    Linear linear = prior_of(from, options);
    for (int k = 0; k < 12; ++k) {
      const auto slice = static_cast<Slice>(rng.below(kSlices));
      const Duration step = noisy(step_on(slice), rng, 0.05);
      calibration.observed(slice, step);
      add(linear, slice, step, options.noise_sd);
      expect_posterior(calibration, linear);
    }
  }
}

TEST(SpeedCalibration, OneObservation_Posterior_EqualsIntegrationOnAGrid) {
  // Aim: a brute-force posterior over (L, r4, r3) with two observations agrees: Bayes' rule itself.
  CalibrationOptions options;
  options.noise_sd = 0.05;
  const SlicePrediction from = prediction({1, 0.8, 0.6, 0.5, 0.3}, 0.1);
  SpeedCalibration calibration = calibrated(from, options);
  const Duration on_whole = step_on(Slice::k7g);
  const Duration on_three = step_on(Slice::k3g);
  calibration.observed(Slice::k7g, on_whole);
  calibration.observed(Slice::k3g, on_three);
  const double variance = std::log1p(0.01);
  const double sd = std::sqrt(variance);
  const double mu3 = std::log(0.6) - variance / 2;
  const double whole = std::log(on_whole.to_seconds());
  const double three = std::log(on_three.to_seconds());
  double mass = 0;
  double first = 0;
  double second = 0;
  for (int i = -300; i <= 300; ++i) {
    const double l = whole + 0.001 * i;
    for (int k = -300; k <= 300; ++k) {
      const double r3 = mu3 + 0.02 * sd * k;
      const double prior_l = (l - std::log(0.1)) / 5;
      const double density =
          std::exp(-0.5 * (prior_l * prior_l + std::pow((r3 - mu3) / sd, 2) +
                           std::pow((whole - l) / 0.05, 2) + std::pow((three - l + r3) / 0.05, 2)));
      mass += density;
      first += density * std::exp(r3);
      second += density * std::exp(2 * r3);
    }
  }
  EXPECT_NEAR(calibration.speed(Slice::k3g), first / mass, 1e-5);
  EXPECT_NEAR(
      calibration.speed_sd(Slice::k3g), std::sqrt(second / mass - std::pow(first / mass, 2)), 1e-5);
}

TEST(SpeedCalibration, ManyObservations_AllSlices_ConvergesToTheTruth) {
  // Aim: a prediction that is 20 % off is forgotten in the end, whatever slices come when.
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    SpeedCalibration calibration = calibrated(prediction({1, 0.9, 0.56, 0.6, 0.4}, 0.15));
    for (int k = 0; k < 400; ++k) {
      const auto slice = static_cast<Slice>(rng.below(kSlices));
      calibration.observed(slice, noisy(step_on(slice), rng, 0.02));
    }
    for (std::size_t i = 1; i < kSlices; ++i) {
      const auto slice = static_cast<Slice>(i);
      EXPECT_NEAR(calibration.speed(slice), kTruth[i], 0.02 * kTruth[i]) << "seed " << seed;
      EXPECT_LT(calibration.speed_sd(slice), 0.005) << "seed " << seed;
    }
  }
}

TEST(SpeedCalibration, NeighbourObserved_OtherSlice_MovesAlongAndGetsSurer) {
  // Aim: 3g seen slower than predicted lowers 2g too, and never makes anything less sure.
  SpeedCalibration calibration = calibrated(prediction({1, 0.75, 0.75, 0.55, 0.35}, 0.1));
  std::array<double, kSlices> before{};
  calibration.observed(Slice::k7g, step_on(Slice::k7g));
  for (std::size_t i = 1; i < kSlices; ++i) {
    before[i] =
        calibration.speed_sd(static_cast<Slice>(i)) / calibration.speed(static_cast<Slice>(i));
  }
  const double two_before = calibration.speed(Slice::k2g);
  calibration.observed(Slice::k3g, step_on(Slice::k3g));
  EXPECT_LT(calibration.speed(Slice::k2g), two_before);
  for (std::size_t i = 1; i < kSlices; ++i) {
    const auto slice = static_cast<Slice>(i);
    EXPECT_LT(calibration.speed_sd(slice) / calibration.speed(slice), before[i]) << kSliceNames[i];
  }
}

TEST(SpeedCalibration, SeveralRuns_Prior_IsSurerThanOneButKeepsWhatTheyShare) {
  // Aim: n equal runs have the sd that the formula says, and unequal ones lie between.
  CalibrationOptions options;
  SpeedCalibration calibration(options);
  const SlicePrediction from = prediction({1, 0.8, 0.6, 0.5, 0.3}, 0.1);
  for (int runs = 1; runs <= 20; ++runs) {
    ASSERT_TRUE(calibration.predicted(from));
    const double variance =
        std::log1p(0.01) * (options.shared_part + (1 - options.shared_part) / runs);
    const double ratio = calibration.speed_sd(Slice::k2g) / calibration.speed(Slice::k2g);
    EXPECT_NEAR(ratio, std::sqrt(std::expm1(variance)), 1e-12) << runs;
  }
  EXPECT_EQ(calibration.run_count(), 20);
  SpeedCalibration mixed = calibrated(prediction({1, 0.8, 0.6, 0.5, 0.3}, 0.1));
  ASSERT_TRUE(mixed.predicted(prediction({1, 0.8, 0.6, 0.6, 0.3}, 0.1)));
  EXPECT_GT(mixed.speed(Slice::k2g), 0.5);
  EXPECT_LT(mixed.speed(Slice::k2g), 0.6);
}

TEST(SpeedCalibration, OrderOfRunsAndObservations_Belief_IsTheSame) {
  // Aim: nothing depends on what came first, up to rounding.
  const SlicePrediction one = prediction({1, 0.8, 0.68, 0.52, 0.3}, 0.1);
  const SlicePrediction two = prediction({1, 0.74, 0.7, 0.5, 0.34}, 0.06);
  SpeedCalibration first = calibrated(one);
  ASSERT_TRUE(first.predicted(two));
  first.observed(Slice::k7g, step_on(Slice::k7g));
  first.observed(Slice::k2g, step_on(Slice::k2g));
  SpeedCalibration second = calibrated(two);
  second.observed(Slice::k2g, step_on(Slice::k2g));
  second.observed(Slice::k7g, step_on(Slice::k7g));
  ASSERT_TRUE(second.predicted(one));
  for (std::size_t i = 1; i < kSlices; ++i) {
    EXPECT_NEAR(first.speed(static_cast<Slice>(i)), second.speed(static_cast<Slice>(i)), 1e-12);
  }
}

TEST(SpeedCalibration, GaussianNoise_FalseAlarms_AreAsRareAsStated) {
  // Aim: 4e-6 alarms per observation are stated: of 400,000 (a million surprises fewer) at most 8.
  int alarms = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Rng rng(seed);
    SpeedCalibration calibration = calibrated(prediction(kTruth, 0.08));
    for (int k = 0; k < 1000; ++k) {
      const auto slice = static_cast<Slice>(rng.below(kSlices));
      const auto judged = calibration.observed(slice, noisy(step_on(slice), rng, 0.02));
      alarms += judged.verdict == Verdict::kChanged ? 1 : 0;
    }
  }
  EXPECT_LE(alarms, 8);
}

TEST(SpeedCalibration, SpeedDropsByAFifth_Drift_IsFoundWithinThreeObservations) {
  // Aim: a change of 20 % is found in every seed, its factor is right, and the new level is
  // learned.
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    SpeedCalibration calibration = calibrated(prediction(kTruth, 0.08));
    for (int k = 0; k < 30; ++k) {
      calibration.observed(Slice::k3g, noisy(step_on(Slice::k3g), rng, 0.02));
    }
    int until = 0;
    double factor = 1;
    for (bool is_found = false; !is_found && until < 10; ++until) {
      const auto judged =
          calibration.observed(Slice::k3g, noisy(step_on(Slice::k3g, 0.25), rng, 0.02));
      is_found = judged.verdict == Verdict::kChanged;
      factor = judged.factor;
    }
    EXPECT_LE(until, 3) << "seed " << seed;
    EXPECT_NEAR(factor, 0.8, 0.08) << "seed " << seed;
    const auto next = calibration.observed(Slice::k3g, step_on(Slice::k3g, 0.25));
    EXPECT_EQ(next.verdict, Verdict::kAgrees) << "seed " << seed;
  }
}

TEST(SpeedCalibration, OneDisturbance_BetweenGoodOnes_IsDropped) {
  // Aim: a single odd observation neither counts nor is a change.
  SpeedCalibration calibration = calibrated(prediction(kTruth, 0.08));
  for (int k = 0; k < 5; ++k) {
    calibration.observed(Slice::k3g, step_on(Slice::k3g));
  }
  const double before = calibration.speed(Slice::k3g);
  const Duration odd = Duration::nanoseconds(step_on(Slice::k3g).to_nanoseconds() * 109 / 100);
  EXPECT_EQ(calibration.observed(Slice::k3g, odd).verdict, Verdict::kSurprising);
  EXPECT_EQ(calibration.speed(Slice::k3g), before);
  EXPECT_EQ(calibration.observed(Slice::k3g, step_on(Slice::k3g)).verdict, Verdict::kAgrees);
  EXPECT_EQ(calibration.observed(Slice::k3g, odd).verdict, Verdict::kSurprising);
}

TEST(SpeedCalibration, FirstSeenOnASlice_FarFromPrediction_BlamesThePrediction) {
  // Aim: a network that is sure and wrong is overruled by what is seen, without an alarm.
  SpeedCalibration calibration = calibrated(prediction({1, 0.75, 0.7, 0.9, 0.33}, 0.01));
  calibration.observed(Slice::k7g, step_on(Slice::k7g));
  EXPECT_EQ(calibration.observed(Slice::k2g, step_on(Slice::k2g)).verdict, Verdict::kPredictionOff);
  EXPECT_NEAR(calibration.speed(Slice::k2g), kTruth[3], 0.03);
}

TEST(SpeedCalibration, AbsurdInput_Speeds_StayAboveZeroAndFinite) {
  // Aim: no order of absurd steps and predictions makes a speed 0, negative or infinite.
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    SpeedCalibration calibration =
        calibrated(prediction({1, 1e-6 + rng.uniform(), 3, 1e-9, 0.01}, 3 * rng.uniform()));
    for (int k = 0; k < 60; ++k) {
      const auto exponent = static_cast<double>(rng.below(19));
      const auto step = static_cast<std::int64_t>(1 + rng.uniform() * std::pow(10, exponent) / 10);
      calibration.observed(static_cast<Slice>(rng.below(kSlices)), Duration::nanoseconds(step));
      for (std::size_t i = 0; i < kSlices; ++i) {
        const double speed = calibration.speed(static_cast<Slice>(i));
        ASSERT_TRUE(std::isfinite(speed));
        ASSERT_GT(speed, 0);
        ASSERT_TRUE(std::isfinite(calibration.speed_sd(static_cast<Slice>(i))));
      }
    }
  }
}

TEST(SpeedCalibration, InvalidPrediction_Predicted_IsRefusedAndChangesNothing) {
  // Aim: zero, negative, NaN and infinite speeds or sds are named and leave the belief alone.
  for (const double bad : {0.0, -0.5, std::nan(""), HUGE_VAL}) {
    SpeedCalibration calibration = calibrated(prediction(kTruth, 0.1));
    SlicePrediction wrong = prediction(kTruth, 0.1);
    wrong.speed[3] = bad;
    const Status refused = calibration.predicted(wrong);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("2g"), std::string::npos);
    wrong = prediction(kTruth, 0.1);
    wrong.speed_sd[3] = bad == 0 ? -1 : bad;
    EXPECT_FALSE(calibration.predicted(wrong));
    EXPECT_EQ(calibration.run_count(), 1);
    EXPECT_NEAR(calibration.speed(Slice::k2g), kTruth[3], 1e-12);
  }
}

TEST(SpeedCalibration, ProfilesLeftOut_Rows_StayZeroThere) {
  // Aim: slices that do not fit are 0 in both rows, the others are what speed() says.
  SpeedCalibration calibration = calibrated(prediction(kTruth, 0.1));
  SliceProfiles profiles{};
  profiles[0] = ProfileIndex(4);
  profiles[2] = ProfileIndex(2);
  const SpeedRow speeds = calibration.speeds(profiles);
  const SpeedRow sds = calibration.speed_sds(profiles);
  for (int i = 0; i < kProfilesMax; ++i) {
    const double speed = i == 4 ? 1 : i == 2 ? calibration.speed(Slice::k3g) : 0;
    EXPECT_EQ(speeds.on(ProfileIndex(i)), speed);
    EXPECT_EQ(sds.on(ProfileIndex(i)), i == 2 ? calibration.speed_sd(Slice::k3g) : 0);
  }
}

}  // namespace
}  // namespace septule::predict
