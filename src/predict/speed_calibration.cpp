#include "predict/speed_calibration.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/portable_math.hpp"

namespace septule::predict {
namespace {

constexpr double kStepMeanS = 0.1;
constexpr double kStepLogSd = 5;
/// Logarithms of speeds stay where exp() is at home.
constexpr double kLogSpeedMax = 50;
/// A prediction is not called off by more than this: beyond it the prior says nothing anyway.
constexpr double kStretchMax = 1e6;

double safe_exp(double x) {
  return portable_exp(std::clamp(x, -kLogSpeedMax, kLogSpeedMax));
}

}  // namespace

SpeedCalibration::SpeedCalibration(const CalibrationOptions& options) : options_(options) {
  SEPTULE_CHECK(options.noise_sd > 0, "observations have noise");
  SEPTULE_CHECK(options.prior_sd_min > 0, "predictions are never certain");
  SEPTULE_CHECK(options.neighbour_correlation >= 0, "errors of slices are not opposed");
  SEPTULE_CHECK(options.neighbour_correlation < 1, "errors of slices differ");
  SEPTULE_CHECK(options.shared_part >= 0, "a part is in [0, 1]");
  SEPTULE_CHECK(options.shared_part <= 1, "a part is in [0, 1]");
  SEPTULE_CHECK(options.surprise_sds > 0, "nothing surprises from 0 on");
  SEPTULE_CHECK(options.jump_sds >= options.surprise_sds, "a jump is a surprise");
}

Status SpeedCalibration::predicted(const SlicePrediction& prediction) {
  std::array<double, kSlices> mean{};
  std::array<double, kSlices> variance{};
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    const double speed = prediction.speed[slice];
    const double sd = prediction.speed_sd[slice];
    if (!std::isfinite(speed) || speed <= 0 || !std::isfinite(sd) || sd < 0) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("the predicted speed on {} is {} with standard deviation {}; "
                               "expected a number above 0 and one of at least 0",
                               kSliceNames[slice],
                               speed,
                               sd)};
    }
    const double part = sd / speed;
    variance[slice] =
        std::max(portable_log(1 + part * part), options_.prior_sd_min * options_.prior_sd_min);
    mean[slice] = portable_log(speed) - variance[slice] / 2;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    weight_[slice] += 1 / variance[slice];
    weighted_mean_[slice] += mean[slice] / variance[slice];
  }
  ++run_count_;
  believe();
  return {};
}

void SpeedCalibration::set_prior() {
  const double count = run_count_;
  const double common = options_.shared_part + (1 - options_.shared_part) / count;
  std::array<double, kStates> sd{};
  mean_ = {};
  covariance_ = {};
  mean_[0] = portable_log(kStepMeanS);
  covariance_[0][0] = kStepLogSd * kStepLogSd;
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    mean_[slice] = weighted_mean_[slice] / weight_[slice];
    sd[slice] = std::sqrt(count / weight_[slice] * common * stretch_);
  }
  for (std::size_t a = 1; a < kSlices; ++a) {
    double correlation = 1;
    for (std::size_t b = a; b < kSlices; ++b) {
      covariance_[a][b] = sd[a] * sd[b] * correlation;
      covariance_[b][a] = covariance_[a][b];
      correlation *= options_.neighbour_correlation;
    }
  }
}

/// From what has been counted to mean and covariance: prior, then one exact step for each slice.
void SpeedCalibration::believe() {
  set_prior();
  for (std::size_t slice = 0; slice < kSlices; ++slice) {
    const Observations& seen = observations_[slice];
    if (seen.count > 0) {
      update(slice, seen.sum / seen.count, options_.noise_sd * options_.noise_sd / seen.count);
    }
  }
}

/// z = x[0] - x[slice] + noise (x[0] + noise for 7g).
void SpeedCalibration::update(std::size_t slice, double z, double variance) {
  std::array<double, kStates> cross{};  // covariance of x with what is observed
  for (std::size_t i = 0; i < kStates; ++i) {
    cross[i] = covariance_[i][0] - (slice > 0 ? covariance_[i][slice] : 0);
  }
  const Expectation before = expected(slice);
  const double total = before.variance + variance;
  for (std::size_t i = 0; i < kStates; ++i) {
    mean_[i] += cross[i] / total * (z - before.mean);
  }
  for (std::size_t i = 0; i < kStates; ++i) {
    for (std::size_t j = i; j < kStates; ++j) {
      covariance_[i][j] -= cross[i] * cross[j] / total;
      covariance_[j][i] = covariance_[i][j];
    }
  }
}

SpeedCalibration::Expectation SpeedCalibration::expected(std::size_t slice) const {
  if (slice == 0) {
    return {mean_[0], covariance_[0][0]};
  }
  return {mean_[0] - mean_[slice],
          std::max(0.0, covariance_[0][0] - 2 * covariance_[0][slice] + covariance_[slice][slice])};
}

void SpeedCalibration::count(std::size_t slice, double z) {
  ++observations_[slice].count;
  observations_[slice].sum += z;
}

SpeedCalibration::Judgement SpeedCalibration::observed(Slice on, Duration step) {
  SEPTULE_CHECK(is_known(), "predictions come before observations");
  SEPTULE_CHECK(step > Duration(), "a step takes time");
  const auto slice = static_cast<std::size_t>(on);
  const double z = portable_log(step.to_seconds());
  const Expectation before = expected(slice);
  const double deviation =
      (z - before.mean) / std::sqrt(before.variance + options_.noise_sd * options_.noise_sd);
  const Verdict verdict = judge(slice, z, deviation);
  believe();
  return {verdict, safe_exp(before.mean - z)};
}

/// Decides, and counts what counts.
SpeedCalibration::Verdict SpeedCalibration::judge(std::size_t slice, double z, double deviation) {
  const double size = std::abs(deviation);
  const bool is_slower = deviation > 0;
  if (size <= options_.surprise_sds) {
    held_.reset();
    count(slice, z);
    return Verdict::kAgrees;
  }
  if (observations_[slice].count == 0) {
    stretch_ = std::min(stretch_ * size * size, kStretchMax);
    count(slice, z);
    return Verdict::kPredictionOff;
  }
  const std::optional<Held> before =
      held_.has_value() && held_->is_slower == is_slower ? held_ : std::nullopt;
  if (size <= options_.jump_sds && !before.has_value()) {
    held_ = Held{slice, z, is_slower};
    return Verdict::kSurprising;
  }
  observations_ = {};
  stretch_ = 1;
  if (before.has_value()) {
    count(before->slice, before->z);
  }
  count(slice, z);
  held_.reset();
  return Verdict::kChanged;
}

double SpeedCalibration::speed(Slice on) const {
  SEPTULE_CHECK(is_known(), "nothing is believed before a prediction");
  const auto slice = static_cast<std::size_t>(on);
  return slice == 0 ? 1 : safe_exp(mean_[slice] + covariance_[slice][slice] / 2);
}

double SpeedCalibration::speed_sd(Slice on) const {
  const auto slice = static_cast<std::size_t>(on);
  if (slice == 0) {
    return 0;
  }
  return speed(on) * std::sqrt(std::max(0.0, safe_exp(covariance_[slice][slice]) - 1));
}

SpeedRow SpeedCalibration::speeds(const SliceProfiles& profiles) const {
  SpeedRow row;
  for (std::size_t slice = 0; slice < kSlices; ++slice) {
    if (const auto& profile = profiles[slice]; profile.has_value()) {
      row.speed[static_cast<std::size_t>(profile->value())] = speed(static_cast<Slice>(slice));
    }
  }
  return row;
}

SpeedRow SpeedCalibration::speed_sds(const SliceProfiles& profiles) const {
  SpeedRow row;
  for (std::size_t slice = 0; slice < kSlices; ++slice) {
    if (const auto& profile = profiles[slice]; profile.has_value()) {
      row.speed[static_cast<std::size_t>(profile->value())] = speed_sd(static_cast<Slice>(slice));
    }
  }
  return row;
}

int SpeedCalibration::observation_count() const {
  int total = 0;
  for (const Observations& seen : observations_) {
    total += seen.count;
  }
  return total;
}

}  // namespace septule::predict
