#include "predict/solo_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/portable_math.hpp"

namespace septule::predict {
namespace {

/// 10th, 50th and 90th percentile of something in 0..1.
using Percentiles = std::array<double, 3>;

struct Priors {
  Percentiles usable;
  Percentiles serial;  ///< share of the step on the whole GPU
  Percentiles memory;
  double noise;  ///< scale of a measurement's log residual against the law [D]
};

/// performance-model.md section 2: inference, training, Rodinia.
constexpr std::array<Priors, 3> kPriors = {
    {{{.58, .82, .96}, {.03, .11, .32}, {.06, .26, .33}, .015},
     {{.41, .66, .90}, {.08, .39, .78}, {.03, .15, .42}, .02},
     {{.10, .55, .91}, {0, .14, .90}, {0, .11, .76}, .05}}};
constexpr double kUnknownNoise = .03;

/// Density that is constant between the percentiles; two hundredths apart at least.
double density(const Percentiles& of, double x) {
  const std::array<double, 5> edges = {
      0, std::max(of[0], .02), std::max(of[1], .04), std::max(of[2], .06), 1};
  constexpr std::array<double, 4> kMass = {.1, .4, .4, .1};
  std::size_t piece = 0;
  while (piece < 3 && x > edges[piece + 1]) {
    ++piece;
  }
  return kMass[piece] / std::max(edges[piece + 1] - edges[piece], .01);
}

/// Density for a kind; for an unknown one the mean of all.
double density(JobKind kind, Percentiles Priors::* of, double x) {
  if (kind != JobKind::kUnknown) {
    return density(kPriors[static_cast<std::size_t>(kind) - 1].*of, x);
  }
  double sum = 0;
  for (const Priors& priors : kPriors) {
    sum += density(priors.*of, x);
  }
  return sum / static_cast<double>(kPriors.size());
}

double noise_of(JobKind kind) {
  return kind == JobKind::kUnknown ? kUnknownNoise
                                   : kPriors[static_cast<std::size_t>(kind) - 1].noise;
}

/// Standard deviation of what counters say about shares: chosen on the MISO jobs, where one point
/// and counters leave 24 % of error instead of 36 % [C].
constexpr double kCounterSd = .1;

/// Logarithm of a normal density, without its constant.
double normal_log(double error, double sd) {
  return -.5 * (error / sd) * (error / sd);
}

/// Logarithm of what the counters make of a hypothesis.
double counters_log(const SoloLaw& law, const SoloFitOptions& options) {
  double sum = 0;
  const std::optional<double>& busy = options.counters.sm_percent;
  if (busy.has_value()) {
    sum += normal_log(law.serial - (1 - *busy / 100), kCounterSd);
    const std::optional<double>& memory = options.counters.memory_percent;
    if (memory.has_value() && *busy + *memory > 0) {
      const double share = law.memory / std::max(1 - law.serial, .05);
      sum += normal_log(share - *memory / (*busy + *memory), kCounterSd);
    }
  }
  if (options.usable.has_value()) {
    sum += normal_log(law.usable - *options.usable, kCounterSd);
  }
  return sum;
}

constexpr int kUsableSteps = 16;
constexpr int kShareSteps = 15;
constexpr double kUsableMin = .03;
/// A hypothesis that is so much less likely than the likeliest is dropped.
constexpr double kDropBelow = 1e-3;

/// Student-t with three degrees of freedom.
constexpr double kFreedom = 3;
constexpr int kScaleRounds = 4;

using Residuals = std::array<double, kSoloPointsMax>;

double median(Residuals values, std::size_t count) {
  std::sort(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/// The location of Student-t residuals, by reweighting.
double location(const Residuals& residuals, std::size_t count, double noise) {
  double at = median(residuals, count);
  for (int round = 0; round < kScaleRounds; ++round) {
    double weights = 0;
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double z = (residuals[i] - at) / noise;
      const double weight = 1 / (kFreedom + z * z);
      weights += weight;
      sum += weight * residuals[i];
    }
    at = sum / weights;
  }
  return at;
}

/// A smallest slice that is slower than believed by so many times the noise has an excess.
constexpr double kExcessNoise = 3;
constexpr std::size_t kExcessPoints = 3;

Error invalid(std::string message) {
  return {.code = ErrorCode::kInvalidInput, .message = std::move(message)};
}

bool is_positive(double value) {
  return std::isfinite(value) && value > 0;
}

Status check_points(std::span<const SoloPoint> points) {
  if (points.empty()) {
    return invalid("a job's model needs at least one measured step time; none is given");
  }
  if (points.size() > kSoloPointsMax) {
    return invalid(fmt::format(
        "{} step times are given for one job; valid: at most {}", points.size(), kSoloPointsMax));
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Resources& at = points[i].at;
    if (!is_positive(points[i].step)) {
      return invalid(
          fmt::format("step time {} is {}; valid: a finite number above 0", i + 1, points[i].step));
    }
    if (!is_positive(at.compute) || !is_positive(at.bandwidth) || !is_positive(at.sm_speed)) {
      return invalid(fmt::format(
          "step time {} is of a part of {} of the compute, {} of the bandwidth and SMs {} times as "
          "fast; valid: finite numbers above 0",
          i + 1,
          at.compute,
          at.bandwidth,
          at.sm_speed));
    }
    for (std::size_t j = 0; j < i; ++j) {
      const Resources& other = points[j].at;
      if (at.compute == other.compute && at.bandwidth == other.bandwidth &&
          at.sm_speed == other.sm_speed) {
        return invalid(
            fmt::format("step times {} and {} are of the same part of the GPU; give one "
                        "for each part (their mean)",
                        j + 1,
                        i + 1));
      }
    }
  }
  return {};
}

Status check_options(const SoloFitOptions& options) {
  const auto is_percent = [](const std::optional<double>& value) {
    return !value.has_value() || (std::isfinite(*value) && *value >= 0 && *value <= 100);
  };
  if (!is_percent(options.counters.sm_percent)) {
    return invalid(
        fmt::format("sm_percent is {}; valid: 0 to 100", options.counters.sm_percent.value_or(0)));
  }
  if (!is_percent(options.counters.memory_percent)) {
    return invalid(fmt::format("memory_percent is {}; valid: 0 to 100",
                               options.counters.memory_percent.value_or(0)));
  }
  if (options.usable.has_value() && !(*options.usable > 0 && *options.usable <= 1)) {
    return invalid(fmt::format("the usable part of the SMs is {}; valid: above 0, at most 1",
                               *options.usable));
  }
  return {};
}

}  // namespace

std::string_view job_kind_name(JobKind kind) {
  switch (kind) {
    case JobKind::kInference:
      return "inference";
    case JobKind::kTraining:
      return "training";
    case JobKind::kHpc:
      return "hpc";
    case JobKind::kUnknown:
      break;
  }
  return "unknown";
}

Result<SoloFit> SoloFit::make(std::span<const SoloPoint> points, const SoloFitOptions& options) {
  SEPTULE_TRY_STATUS(check_points(points));
  SEPTULE_TRY_STATUS(check_options(options));
  SoloFit fit;
  fit.point_count_ = points.size();
  fit.noise_ = noise_of(options.kind);
  fit.believe(points, options);
  if (const double seen = fit.observed_noise(points); seen > fit.noise_) {
    fit.widening_ = seen / fit.noise_;
    fit.noise_ = seen;
  }
  fit.find_excess(points);
  if (points.size() < kFullLawPoints - 1) {
    fit.law_ = fit.mean_law();
  } else {
    fit.law_ = fit_law(points, points.size() < kFullLawPoints ? LawForm::kAmdahl : LawForm::kWhole);
  }
  for (const SoloPoint& point : points) {
    fit.law_error_ +=
        std::abs(fit.law_.step(point.at) / point.step - 1) / static_cast<double>(points.size());
  }
  return fit;
}

void SoloFit::believe(std::span<const SoloPoint> points, const SoloFitOptions& options) {
  Residuals logs{};
  for (std::size_t i = 0; i < points.size(); ++i) {
    logs[i] = portable_log(points[i].step);
  }
  double best = 0;
  const auto add = [&](SoloLaw law, double prior) {
    // In units of the whole GPU: the usable SMs make its compute part.
    const double usable = law.usable;
    law.compute *= usable;
    Residuals residuals{};
    for (std::size_t i = 0; i < points.size(); ++i) {
      residuals[i] = logs[i] - portable_log(law.step(points[i].at));
    }
    const double scale = location(residuals, points.size(), noise_);
    double weight = prior;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double z = (residuals[i] - scale) / noise_;
      const double part = 1 + z * z / kFreedom;
      weight /= part * part;  // to the power (3 + 1) / 2
    }
    best = std::max(best, weight);
    hypotheses_.push_back({.law = law, .log_scale = scale, .weight = weight});
  };
  for (int u = 0; u < kUsableSteps; ++u) {
    const double usable = 1 - (1 - kUsableMin) * u / kUsableSteps;
    for (int s = 0; s <= kShareSteps; ++s) {
      for (int m = 0; s + m <= kShareSteps; ++m) {
        const double serial = static_cast<double>(s) / kShareSteps;
        const double memory = static_cast<double>(m) / kShareSteps;
        const SoloLaw law{.serial = serial,
                          .compute = static_cast<double>(kShareSteps - s - m) / kShareSteps,
                          .memory = memory,
                          .usable = usable};
        add(law,
            density(options.kind, &Priors::usable, usable) *
                density(options.kind, &Priors::serial, serial) *
                density(options.kind, &Priors::memory, memory) *
                portable_exp(counters_log(law, options)));
      }
    }
  }
  std::erase_if(hypotheses_,
                [best](const Hypothesis& of) { return !(of.weight >= kDropBelow * best); });
  double sum = 0;
  for (const Hypothesis& of : hypotheses_) {
    sum += of.weight;
  }
  for (Hypothesis& of : hypotheses_) {
    of.weight /= sum;
  }
}

/// Spread of the points about the belief, where there are enough to tell: by the median, so that
/// one odd slice makes nothing noisy. 0 = not known.
double SoloFit::observed_noise(std::span<const SoloPoint> points) const {
  if (points.size() < kFullLawPoints) {
    return 0;
  }
  Residuals errors{};
  for (std::size_t i = 0; i < points.size(); ++i) {
    errors[i] = std::abs(portable_log(points[i].step / predict(points[i].at).step));
  }
  constexpr double kMedianToSd = 1.4826;  // of a normal distribution
  constexpr double kTiedDown = 2;         // parameters that the points determine, about
  const auto count = static_cast<double>(points.size());
  return kMedianToSd * median(errors, points.size()) * std::sqrt(count / (count - kTiedDown));
}

void SoloFit::find_excess(std::span<const SoloPoint> points) {
  if (points.size() < kExcessPoints) {
    return;
  }
  const SoloPoint* least = &points[0];
  for (const SoloPoint& point : points) {
    if (point.at.bandwidth < least->at.bandwidth ||
        (point.at.bandwidth == least->at.bandwidth && point.at.compute > least->at.compute)) {
      least = &point;
    }
  }
  const bool is_smaller = std::ranges::any_of(
      points, [least](const SoloPoint& point) { return point.at.bandwidth > least->at.bandwidth; });
  const double error = portable_log(least->step / predict(least->at).step);
  if (is_smaller && error > kExcessNoise * noise_) {
    excess_ = error;
    excess_bandwidth_ = least->at.bandwidth;
  }
}

double SoloFit::excess_at(const Resources& at) const {
  return at.bandwidth <= excess_bandwidth_ ? excess_ : 0;
}

SoloLaw SoloFit::mean_law() const {
  SoloLaw mean{.serial = 0, .compute = 0, .memory = 0, .usable = 0};
  double log_scale = 0;
  for (const Hypothesis& of : hypotheses_) {
    mean.serial += of.weight * of.law.serial;
    mean.compute += of.weight * of.law.compute / of.law.usable;
    mean.memory += of.weight * of.law.memory;
    mean.usable += of.weight * of.law.usable;
    log_scale += of.weight * of.log_scale;
  }
  const double scale = portable_exp(log_scale);
  return {.serial = scale * mean.serial,
          .compute = scale * mean.compute * mean.usable,
          .memory = scale * mean.memory,
          .usable = mean.usable};
}

StepBelief SoloFit::predict(const Resources& at) const {
  double mean = 0;
  double square = 0;
  SoloTerms parts;  // of 1
  parts.used = 0;
  const double base = hypotheses_.front().log_scale;  // differences keep their digits
  for (const Hypothesis& of : hypotheses_) {
    const SoloTerms terms = of.law.terms(at);
    const double step = terms.step();
    const double log_step = of.log_scale - base + portable_log(step);
    mean += of.weight * log_step;
    square += of.weight * log_step * log_step;
    parts.serial += of.weight * terms.serial / step;
    parts.compute += of.weight * terms.compute / step;
    parts.memory += of.weight * terms.memory / step;
    parts.used += of.weight * terms.used;
  }
  const double variance = std::max(square - mean * mean, 0.0);
  const double ordinary = portable_exp(base + mean);
  const double step = ordinary * portable_exp(excess_at(at));
  return {.step = step,
          .log_sd = std::sqrt(widening_ * widening_ * variance + noise_ * noise_),
          .terms = {.serial = ordinary * parts.serial,
                    .compute = ordinary * parts.compute,
                    .memory = ordinary * parts.memory + (step - ordinary),
                    .used = parts.used}};
}

SpeedBelief SoloFit::speed(const Resources& at, const Resources& reference) const {
  double mean = 0;
  double square = 0;
  for (const Hypothesis& of : hypotheses_) {
    const double log_speed = portable_log(of.law.step(reference) / of.law.step(at));
    mean += of.weight * log_speed;
    square += of.weight * log_speed * log_speed;
  }
  const double speed = portable_exp(mean + excess_at(reference) - excess_at(at));
  return {.speed = speed,
          .speed_sd = speed * widening_ * std::sqrt(std::max(square - mean * mean, 0.0))};
}

}  // namespace septule::predict
