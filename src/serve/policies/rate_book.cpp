#include "serve/policies/rate_book.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "serve/forecasters.hpp"

namespace septule::serve {

Result<RateBook> RateBook::make(const ServingSetup& setup) {
  RateBook book;
  for (std::size_t m = 0; m < setup.tenants.size(); ++m) {
    const ForecasterSetup forecaster{
        .prior_rps = setup.tenants[m].tenant.rate.at(SimTime()),
        .truth = m < setup.true_rates.size() ? &setup.true_rates[m] : nullptr};
    SEPTULE_TRY(std::unique_ptr<Forecaster> made, make_forecaster(setup.forecaster, forecaster));
    book.forecasters_.push_back(std::move(made));
    book.seen_.emplace_back();
  }
  return book;
}

void RateBook::observe(const ServingView& view) {
  for (std::size_t m = 0; m < forecasters_.size(); ++m) {
    const std::span<const double> arrived = view.tenants[m].arrived;
    while (seen_[m].size() < arrived.size()) {
      const double rate = arrived[seen_[m].size()];
      forecasters_[m]->observe(rate);
      seen_[m].push_back(rate);
    }
  }
}

RateForecast RateBook::forecast(int tenant, int steps) const {
  return forecasters_[static_cast<std::size_t>(tenant)]->forecast(steps);
}

double RateBook::mean_rps(int tenant, int steps) const {
  const std::vector<double> mean = forecast(tenant, steps).mean_rps;
  return std::accumulate(mean.begin(), mean.end(), 0.0) / static_cast<double>(mean.size());
}

std::vector<double> RateBook::last_seconds(int tenant, int seconds) const {
  const std::vector<double>& seen = seen_[static_cast<std::size_t>(tenant)];
  if (seen.empty()) {
    return {mean_rps(tenant, 1)};
  }
  const auto count = std::min(seen.size(), static_cast<std::size_t>(seconds));
  return {seen.end() - static_cast<std::ptrdiff_t>(count), seen.end()};
}

OptionRecord window_load_option() {
  return {.name = "load",
          .value = "WHAT",
          .text = "What the load of a window is taken for: the forecast, or the window before.",
          .default_text = "forecast",
          .choices = {"forecast", "last-window"}};
}

double mean_of(std::span<const double> rates_rps) {
  return rates_rps.empty() ? 0
                           : std::accumulate(rates_rps.begin(), rates_rps.end(), 0.0) /
                                 static_cast<double>(rates_rps.size());
}

OptionRecord window_length_option(std::string text, double seconds_max) {
  return {.name = "window-s",
          .value = "S",
          .text = std::move(text),
          .unit = "s",
          .default_text = "200",
          .min = 1,
          .max = seconds_max,
          .is_integer = true};
}

WindowLoad read_window_load(const PolicyOptions& options) {
  return options.text("load", "forecast") == "last-window" ? WindowLoad::kLastWindow
                                                           : WindowLoad::kForecast;
}

std::vector<double> window_rates(const RateBook& book, WindowLoad load, int tenant, int seconds) {
  return load == WindowLoad::kLastWindow ? book.last_seconds(tenant, seconds)
                                         : book.forecast(tenant, seconds).mean_rps;
}

}  // namespace septule::serve
