#include "serve/forecasters.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/portable_math.hpp"
#include "base/text.hpp"

namespace septule::serve {

namespace {

/// Weight of the newest value in an EWMA with this time constant in steps.
double weight_of(double time_constant) {
  return 1 - portable_exp(-1 / time_constant);
}

/// What the forecasters of this file have in common: a mean by lead of their own, and the errors
/// that it made.
class JudgedForecaster : public Forecaster {
 public:
  JudgedForecaster(std::string_view name, const ForecasterSetup& setup)
      : setup_(setup), name_(name), errors_(setup.leads_max), said_(errors_.leads().size()) {}

  std::string_view name() const final { return name_; }
  void observe(double rate_rps) final {
    learn(rate_rps);
    for (std::size_t i = 0; i < said_.size(); ++i) {
      said_[i] = std::max(0.0, mean(errors_.leads()[i]));
    }
    errors_.note(rate_rps, said_);
  }
  RateForecast forecast(int steps) const final {
    RateForecast forecast;
    forecast.mean_rps.reserve(static_cast<std::size_t>(steps));
    for (int lead = 1; lead <= steps; ++lead) {
      forecast.mean_rps.push_back(std::max(0.0, mean(lead)));
    }
    forecast.margin_rps = errors_.margins(steps, setup_.quantile);
    return forecast;
  }

 protected:
  virtual void learn(double rate_rps) = 0;
  virtual double mean(int lead) const = 0;
  const ForecasterSetup& setup() const { return setup_; }

 private:
  ForecasterSetup setup_;
  std::string_view name_;
  ForecastErrors errors_;
  std::vector<double> said_;  // scratch
};

/// Levels of several paces, of which the one with the least error is believed.
class TrendForecaster final : public JudgedForecaster {
 public:
  enum class Trend { kNone, kDamped };
  TrendForecaster(std::string_view name, const ForecasterSetup& setup, Trend trend)
      : JudgedForecaster(name, setup),
        trend_weight_(trend == Trend::kNone ? 0 : weight_of(setup.trend_s)),
        damping_(1 - weight_of(setup.trend_reach_s)),
        judging_weight_(weight_of(kJudgedSeconds)) {
    for (std::size_t i = 0; i < kPaces.size(); ++i) {
      followers_[i].weight = weight_of(setup.smoothing_s * kPaces[i]);
    }
  }

 protected:
  void learn(double rate_rps) override {
    const std::size_t place = seen_ % kJudgedLead;
    const double judging = std::max(judging_weight_, 1 / static_cast<double>(seen_ + 1));
    for (Follower& follower : followers_) {
      if (seen_ >= kJudgedLead) {
        const double miss = rate_rps - follower.said[place];
        follower.error += judging * (miss * miss - follower.error);
      }
      follow(rate_rps, follower);
      follower.said[place] = mean_of(follower, kJudgedLead);
    }
    ++seen_;
    if (trend_weight_ > 0 && seen_ >= kTrialSeconds) {
      chosen_ = kMiddle;
      for (std::size_t i = 0; i < kPaces.size(); ++i) {
        const double least = followers_[chosen_].error * (chosen_ == kMiddle ? 1 - kBetter : 1);
        chosen_ = followers_[i].error < least ? i : chosen_;
      }
    }
  }
  double mean(int lead) const override {
    return seen_ == 0 ? setup().prior_rps : mean_of(followers_[chosen_], lead);
  }

 private:
  /// Time constants of the levels that are tried, in those of the setup.
  static constexpr std::array<double, 3> kPaces{0.3, 1, 3};
  static constexpr std::size_t kMiddle = 1;
  static constexpr int kJudgedLead = 10;         // s
  static constexpr double kJudgedSeconds = 200;  // errors so old count a third
  static constexpr std::size_t kTrialSeconds = 60;
  static constexpr double kBetter = 0.02;

  struct Follower {
    double weight = 1;
    double level = 0;
    double trend = 0;
    double error = 0;                        // mean square, kJudgedLead ahead
    std::array<double, kJudgedLead> said{};  // ring
  };

  void follow(double rate_rps, Follower& follower) const {
    if (seen_ == 0) {
      follower.level = rate_rps;
      return;
    }
    const double before = follower.level;
    const double expected = before + damping_ * follower.trend;
    follower.level = expected + follower.weight * (rate_rps - expected);
    follower.trend = damping_ * follower.trend +
                     trend_weight_ * (follower.level - before - damping_ * follower.trend);
  }
  double mean_of(const Follower& follower, int lead) const {
    if (follower.trend == 0) {
      return follower.level;
    }
    // damping + damping^2 + ... + damping^lead
    const double power = portable_exp(-static_cast<double>(lead) / setup().trend_reach_s);
    return follower.level + follower.trend * damping_ * (1 - power) / (1 - damping_);
  }

  double trend_weight_;
  double damping_;
  double judging_weight_;
  std::array<Follower, kPaces.size()> followers_;
  std::size_t chosen_ = kMiddle;
  std::size_t seen_ = 0;
};

/// Level and factors by bucket. A factor is (mean rate of the bucket) / (mean rate of its season);
/// all of them are learnt at the end of a season and smoothed over seasons. During the first season
/// they are 1: what has no second look yet would be taken for a season.
class SeasonalForecaster final : public JudgedForecaster {
 public:
  SeasonalForecaster(std::string_view name, const ForecasterSetup& setup)
      : JudgedForecaster(name, setup),
        level_weight_(weight_of(setup.smoothing_s)),
        means_(static_cast<std::size_t>(setup.season_s / setup.bucket_s), 0.0),
        factors_(means_.size(), 1.0) {}

 protected:
  void learn(double rate_rps) override {
    const double factor = factor_at(step_);
    const double base = factor > kFactorMin ? rate_rps / factor : rate_rps;
    level_ = level_ ? *level_ + level_weight_ * (base - *level_) : base;
    double& mean = means_[bucket_of(step_)];
    const std::size_t within = step_ % static_cast<std::size_t>(setup().bucket_s);
    mean = within == 0 ? rate_rps : mean + (rate_rps - mean) / (static_cast<double>(within) + 1);
    ++step_;
    if (step_ % static_cast<std::size_t>(setup().season_s) == 0) {
      close_season();
    }
  }
  double mean(int lead) const override {
    if (!level_) {
      return setup().prior_rps;
    }
    return *level_ * factor_at(step_ + static_cast<std::size_t>(lead) - 1);
  }

 private:
  static constexpr double kFactorMin = 1e-3;  // an almost silent bucket says nothing of the level

  std::size_t bucket_of(std::size_t step) const {
    return step / static_cast<std::size_t>(setup().bucket_s) % factors_.size();
  }
  double factor_at(std::size_t step) const { return factors_[bucket_of(step)]; }
  void close_season() {
    double season = means_.front();
    for (std::size_t i = 1; i < means_.size(); ++i) {
      season += (means_[i] - season) / (static_cast<double>(i) + 1);
    }
    if (season <= 0) {
      return;  // a season without requests says nothing
    }
    const double weight = is_first_ ? 1 : setup().season_weight;
    for (std::size_t i = 0; i < means_.size(); ++i) {
      factors_[i] += weight * (means_[i] / season - factors_[i]);
    }
    is_first_ = false;
    // The level was the rate itself in the first season; from now on it is without the factor.
    if (level_ && weight == 1 && factors_.back() > kFactorMin) {
      level_ = *level_ / factors_.back();
    }
  }

  double level_weight_;
  std::vector<double> means_;    // by bucket of the season at hand
  std::vector<double> factors_;  // by bucket
  std::optional<double> level_;
  std::size_t step_ = 0;  // steps observed
  bool is_first_ = true;
};

class OracleForecaster final : public Forecaster {
 public:
  explicit OracleForecaster(const ForecasterSetup& setup) : truth_(setup.truth) {}

  std::string_view name() const override { return "oracle"; }
  void observe(double /*rate_rps*/) override { ++step_; }
  RateForecast forecast(int steps) const override {
    RateForecast forecast;
    for (int lead = 0; lead < steps; ++lead) {
      forecast.mean_rps.push_back(rate_in(lead));
      double square = 0;
      double mean = 0;
      for (int near = lead - kNearSeconds; near <= lead + kNearSeconds; ++near) {
        mean += rate_in(near) / (2 * kNearSeconds + 1);
        square += rate_in(near) * rate_in(near) / (2 * kNearSeconds + 1);
      }
      forecast.margin_rps.push_back(std::sqrt(std::max(0.0, square - mean * mean)));
    }
    return forecast;
  }

 private:
  static constexpr int kNearSeconds = 2;
  double rate_in(int lead) const {
    return truth_->at(SimTime() +
                      Duration::milliseconds(std::max<std::int64_t>(0, step_ + lead) * 1000));
  }

  const RateSeries* truth_;
  std::int64_t step_ = 0;
};

std::unique_ptr<Forecaster> make_ewma_trend(const ForecasterSetup& setup) {
  return std::make_unique<TrendForecaster>("ewma-trend", setup, TrendForecaster::Trend::kDamped);
}
std::unique_ptr<Forecaster> make_smoothing(const ForecasterSetup& setup) {
  return std::make_unique<TrendForecaster>("smoothing", setup, TrendForecaster::Trend::kNone);
}
std::unique_ptr<Forecaster> make_seasonal(const ForecasterSetup& setup) {
  return std::make_unique<SeasonalForecaster>("seasonal", setup);
}
std::unique_ptr<Forecaster> make_oracle(const ForecasterSetup& setup) {
  return std::make_unique<OracleForecaster>(setup);
}

constexpr auto kVariants = std::to_array<ForecasterVariant>({
    {.name = "ewma-trend",
     .summary = "mean of the last 3, 10 or 30 s and a trend that dies out",
     .make = make_ewma_trend},
    {.name = "smoothing", .summary = "mean of the last 10 s", .make = make_smoothing},
    {.name = "seasonal",
     .summary = "mean of the last 10 s times the season's factor, once a season was seen",
     .make = make_seasonal},
    {.name = "oracle",
     .summary = "the rates as they will be",
     .needs_truth = true,
     .make = make_oracle},
});

Status check_setup(const ForecasterSetup& setup) {
  const auto refuse = [](std::string_view field, double value, std::string_view valid) -> Status {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("forecaster: {} is {}; valid is {}", field, value, valid)};
  };
  if (!std::isfinite(setup.prior_rps) || setup.prior_rps < 0) {
    return refuse("the prior rate", setup.prior_rps, "a number from 0 up");
  }
  if (!(setup.quantile >= 0 && setup.quantile <= 1)) {
    return refuse("the quantile of errors", setup.quantile, "a number from 0 to 1");
  }
  if (setup.leads_max < 1 || setup.leads_max > 3600) {
    return refuse("the longest lead", setup.leads_max, "1 to 3600 steps");
  }
  for (const double time : {setup.smoothing_s, setup.trend_s, setup.trend_reach_s}) {
    if (!(time >= 0.1 && time <= 1e7)) {
      return refuse("a time constant", time, "0.1 to 1e7 s");
    }
  }
  if (setup.bucket_s < 1 || setup.season_s < setup.bucket_s ||
      setup.season_s % setup.bucket_s != 0 || setup.season_s > 31622400) {
    return refuse("the season", setup.season_s, "whole buckets, at most 366 days");
  }
  if (!(setup.season_weight > 0 && setup.season_weight <= 1)) {
    return refuse("the weight of the newest season", setup.season_weight, "above 0, at most 1");
  }
  return {};
}

}  // namespace

std::span<const ForecasterVariant> forecaster_variants() {
  return kVariants;
}

Result<std::unique_ptr<Forecaster>> make_forecaster(std::string_view name,
                                                    const ForecasterSetup& setup) {
  std::vector<std::string> names;
  for (const ForecasterVariant& variant : kVariants) {
    if (variant.name == name) {
      if (const Status status = check_setup(setup); !status.is_ok()) {
        return status.error();
      }
      if (variant.needs_truth && setup.truth == nullptr) {
        return Error{
            ErrorCode::kInvalidInput,
            fmt::format("forecaster {} needs the rates as they will be, and none are given", name)};
      }
      return variant.make(setup);
    }
    names.emplace_back(variant.name);
  }
  const std::vector<std::string> near = nearest_names(name, names, 2);
  return Error{ErrorCode::kNotFound,
               fmt::format("there is no forecaster {}; {}",
                           quoted_for_message(name),
                           near.empty() ? "there are " + joined_with_and(names)
                                        : "did you mean " + joined_with_and(near) + "?")};
}

}  // namespace septule::serve
