#include "serve/forecasters.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.hpp"

namespace septule::serve {
namespace {

constexpr std::string_view kRealNames[] = {"ewma-trend", "smoothing", "seasonal"};

std::unique_ptr<Forecaster> made(std::string_view name, const ForecasterSetup& setup = {}) {
  Result<std::unique_ptr<Forecaster>> forecaster = make_forecaster(name, setup);
  EXPECT_TRUE(forecaster.has_value()) << name;
  return std::move(*forecaster);
}

TEST(ForecasterRegistry, Variants_Each_IsNamedOnceAndMakesItsForecaster) {
  // Aim: every row has a name of its own, a summary and a factory whose forecaster bears the name.
  const RateSeries truth{.values = {1.0}};
  std::set<std::string_view> names;
  for (const ForecasterVariant& variant : forecaster_variants()) {
    EXPECT_TRUE(names.insert(variant.name).second);
    EXPECT_FALSE(variant.summary.empty());
    EXPECT_EQ(made(variant.name, {.truth = &truth})->name(), variant.name);
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"ewma-trend", "smoothing", "seasonal", "oracle"}));
}

TEST(ForecasterRegistry, Make_UnknownNameOrBadSetup_SaysWhatIsValid) {
  // Aim: each wrong field is named with its value; an oracle without truth is refused.
  const auto message = [](std::string_view name, const ForecasterSetup& setup) {
    const auto made = make_forecaster(name, setup);
    EXPECT_FALSE(made.has_value());
    return made.has_value() ? std::string() : made.error().message;
  };
  EXPECT_NE(message("seasnal", {}).find("seasonal"), std::string::npos);
  EXPECT_NE(message("oracle", {}).find("needs the rates"), std::string::npos);
  EXPECT_NE(message("smoothing", {.prior_rps = -1}).find("prior rate is -1"), std::string::npos);
  EXPECT_NE(message("smoothing", {.quantile = 1.5}).find("0 to 1"), std::string::npos);
  EXPECT_NE(message("smoothing", {.leads_max = 0}).find("1 to 3600"), std::string::npos);
  EXPECT_NE(message("smoothing", {.smoothing_s = std::nan("")}).find("nan"), std::string::npos);
  EXPECT_NE(message("seasonal", {.season_s = 100, .bucket_s = 60}).find("whole buckets"),
            std::string::npos);
  EXPECT_NE(message("seasonal", {.season_weight = 0}).find("newest season"), std::string::npos);
}

TEST(Forecasters, Forecast_BeforeAnyObservation_IsThePrior) {
  // Aim: the prior rate at every lead, with no margin.
  for (const std::string_view name : kRealNames) {
    const RateForecast forecast = made(name, {.prior_rps = 7})->forecast(3);
    EXPECT_EQ(forecast.mean_rps, (std::vector<double>{7, 7, 7})) << name;
    EXPECT_EQ(forecast.margin_rps, (std::vector<double>{0, 0, 0})) << name;
  }
}

RC_GTEST_PROP(Forecasters, Forecast_ConstantSeries_IsExactWithoutMargin, ()) {
  // Aim: a rate that never changes is foretold exactly and with margin 0, whatever it is.
  const double rate = *rc::gen::inRange(0, 100000) / 7.0;
  const int steps = *rc::gen::inRange(1, 900);
  const std::string_view name = kRealNames[*rc::gen::inRange(0, 3)];
  const auto forecaster = made(name, {.season_s = 120, .bucket_s = 20});
  for (int i = 0; i < steps; ++i) {
    forecaster->observe(rate);
  }
  const RateForecast forecast = forecaster->forecast(400);
  for (std::size_t i = 0; i < 400; ++i) {
    RC_ASSERT(std::abs(forecast.mean_rps[i] - rate) <= 1e-9 * (1 + rate));
    RC_ASSERT(forecast.margin_rps[i] <= 1e-9 * (1 + rate));
  }
}

RC_GTEST_PROP(Forecasters, Forecast_AnySeries_IsFiniteAndNeverNegative, ()) {
  // Aim: wild series with jumps to and from zero never give a negative or endless rate or margin.
  const auto values = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000));
  const std::string_view name = kRealNames[*rc::gen::inRange(0, 3)];
  const auto forecaster = made(name, {.leads_max = 50, .season_s = 10, .bucket_s = 2});
  for (const int value : values) {
    forecaster->observe(value % 3 == 0 ? 0 : value);
  }
  const RateForecast forecast = forecaster->forecast(60);
  RC_ASSERT(forecast.mean_rps.size() == 60U);
  RC_ASSERT(forecast.margin_rps.size() == 60U);
  for (std::size_t i = 0; i < 60; ++i) {
    RC_ASSERT(std::isfinite(forecast.mean_rps[i]));
    RC_ASSERT(forecast.mean_rps[i] >= 0);
    RC_ASSERT(std::isfinite(forecast.margin_rps[i]));
    RC_ASSERT(forecast.margin_rps[i] >= 0);
  }
}

TEST(Forecasters, Margins_RandomSeries_CoverTheirQuantile) {
  // Aim: on noisy series the actual rate stays below mean + margin about as often as the quantile
  // says, at short and long leads.
  for (const std::string_view name : {"ewma-trend", "smoothing"}) {
    const auto forecaster = made(name, {.quantile = 0.9, .leads_max = 60});
    Rng rng = Rng(5).stream(name);
    std::vector<double> series;
    for (int i = 0; i < 4000; ++i) {
      series.push_back(static_cast<double>(rng.poisson(80)));
    }
    for (const int lead : {1, 7, 40}) {
      const auto fresh = made(name, {.quantile = 0.9, .leads_max = 60});
      int below = 0;
      int judged = 0;
      for (int i = 0; i + lead < 4000; ++i) {
        fresh->observe(series[static_cast<std::size_t>(i)]);
        if (i < 1000 || i % 3 != 0) {
          continue;
        }
        const RateForecast forecast = fresh->forecast(lead);
        ++judged;
        below += series[static_cast<std::size_t>(i + lead)] <=
                         forecast.mean_rps.back() + forecast.margin_rps.back()
                     ? 1
                     : 0;
      }
      EXPECT_NEAR(static_cast<double>(below) / judged, 0.9, 0.04) << name << " lead " << lead;
    }
  }
}

TEST(Forecasters, Trend_Ramp_IsAheadOfPlainSmoothingAndDiesOut) {
  // Aim: on a ramp the trend foretells more than the level, less than the ramp for ever.
  const auto trend = made("ewma-trend");
  const auto plain = made("smoothing");
  for (int i = 0; i < 200; ++i) {
    trend->observe(10.0 + i);
    plain->observe(10.0 + i);
  }
  EXPECT_GT(trend->forecast(20).mean_rps.back(), plain->forecast(20).mean_rps.back() + 5);
  EXPECT_LT(trend->forecast(2000).mean_rps.back(), 10.0 + 200 + 60);
}

TEST(Forecasters, Trend_NoiseOrBursts_TakesThePaceThatFits) {
  // Aim: about a steady rate the forecast moves less than the mean of 10 s; after bursts it follows
  // a new one within seconds.
  Rng rng(5);
  const auto steady = made("ewma-trend");
  const auto plain = made("smoothing");
  double steady_error = 0;
  double plain_error = 0;
  for (int t = 0; t < 600; ++t) {
    const double rate = 6 + 8 * rng.uniform();
    steady->observe(rate);
    plain->observe(rate);
    if (t >= 300) {
      steady_error += std::abs(steady->forecast(10).mean_rps.back() - 10);
      plain_error += std::abs(plain->forecast(10).mean_rps.back() - 10);
    }
  }
  EXPECT_LT(steady_error, 0.8 * plain_error);
  const auto bursty = made("ewma-trend");
  const auto slow = made("smoothing");
  for (int t = 0; t < 605; ++t) {
    const double rate = t / 40 % 2 == 1 ? 50 : 0;
    bursty->observe(rate);
    slow->observe(rate);
  }
  EXPECT_GT(bursty->forecast(1).mean_rps.front(), 1.3 * slow->forecast(1).mean_rps.front());
}

TEST(Forecasters, Seasonal_SecondSeason_FollowsTheFirst) {
  // Aim: after one season of a square wave its jump is foretold, which smoothing cannot.
  const ForecasterSetup setup{.season_s = 200, .bucket_s = 10};
  const auto seasonal = made("seasonal", setup);
  const auto plain = made("smoothing", setup);
  const auto wave = [](int second) { return second % 200 < 100 ? 20.0 : 100.0; };
  for (int i = 0; i < 3 * 200 + 90; ++i) {
    seasonal->observe(wave(i));
    plain->observe(wave(i));
  }
  const RateForecast forecast = seasonal->forecast(30);
  EXPECT_NEAR(forecast.mean_rps[2], 20, 4);
  EXPECT_NEAR(forecast.mean_rps[25], 100, 15);
  EXPECT_LT(plain->forecast(30).mean_rps[25], 30);
}

TEST(Forecasters, Oracle_AnyTime_ReadsTheTruth) {
  // Aim: the rates after what was observed, the last one beyond the end; margins where it varies.
  const RateSeries truth{.values = {1, 2, 3, 4}};
  const auto oracle = made("oracle", {.truth = &truth});
  oracle->observe(1);
  const RateForecast forecast = oracle->forecast(5);
  EXPECT_EQ(forecast.mean_rps, (std::vector<double>{2, 3, 4, 4, 4}));
  EXPECT_GT(forecast.margin_rps[0], 0.5);
  const RateSeries flat{.values = {7}};
  EXPECT_NEAR(made("oracle", {.truth = &flat})->forecast(1).margin_rps[0], 0, 1e-6);
}

TEST(Forecasters, Observe_EqualSeries_GivesEqualForecasts) {
  // Aim: a forecast is a function of what was seen: bit for bit.
  for (const std::string_view name : kRealNames) {
    const auto one = made(name, {.season_s = 60, .bucket_s = 5});
    const auto two = made(name, {.season_s = 60, .bucket_s = 5});
    Rng rng(3);
    for (int i = 0; i < 500; ++i) {
      const double rate = rng.exponential(50);
      one->observe(rate);
      two->observe(rate);
      (void)two->forecast(3);  // changes nothing
    }
    EXPECT_EQ(one->forecast(100).mean_rps, two->forecast(100).mean_rps);
    EXPECT_EQ(one->forecast(100).margin_rps, two->forecast(100).margin_rps);
  }
}

TEST(ForecastErrors, Margins_KnownErrors_AreTheirQuantile) {
  // Aim: forecasts of 0 against 1..100: the 80 % quantile is 80 at a lead that is tracked; negative
  // errors give margin 0; between tracked leads it is interpolated.
  ForecastErrors errors(4);
  ASSERT_EQ(std::vector<int>(errors.leads().begin(), errors.leads().end()),
            (std::vector<int>{1, 2, 3, 4}));
  errors.note(0, std::vector<double>{0, 0, 0, 1e9});
  for (int i = 1; i <= 100; ++i) {
    errors.note(i, std::vector<double>{0, 0, 0, 1e9});
  }
  const std::vector<double> margins = errors.margins(6, 0.8);
  EXPECT_EQ(margins[0], 80);
  EXPECT_NEAR(margins[1], 80, 1);
  EXPECT_EQ(margins[3], 0);
  EXPECT_EQ(margins[5], 0);
}

}  // namespace
}  // namespace septule::serve
