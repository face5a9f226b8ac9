#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "serve/forecaster.hpp"
#include "serve/serving_policy.hpp"
#include "serve/serving_setup.hpp"

namespace septule::serve {

/// The forecasters of all tenants of a setup, fed from what a policy sees. Before the first second
/// the prior is the first value of Tenant::rate. One owner.
class RateBook {
 public:
  /// The setup's forecaster for each tenant; its errors.
  static Result<RateBook> make(const ServingSetup& setup);

  /// Whole seconds that were not seen before.
  void observe(const ServingView& view);
  RateForecast forecast(int tenant, int steps) const;
  /// Mean of the forecast over the coming `steps` seconds.
  double mean_rps(int tenant, int steps) const;
  /// Arrivals of the last `seconds` whole seconds, oldest first; the prior before the first.
  std::vector<double> last_seconds(int tenant, int seconds) const;

 private:
  std::vector<std::unique_ptr<Forecaster>> forecasters_;
  std::vector<std::vector<double>> seen_;  // arrivals by tenant, second
};

/// What window-based methods take the load of a window for.
enum class WindowLoad {
  kForecast,    ///< the forecaster's, as everybody
  kLastWindow,  ///< the arrivals of the window before
};
/// The option "load" of such methods: "forecast" (default) or "last-window".
OptionRecord window_load_option();
WindowLoad read_window_load(const PolicyOptions& options);
/// Their mean; 0 of none.
double mean_of(std::span<const double> rates_rps);
/// The option "window-s" of window-based methods: whole seconds, 200 unless said. `text`: of what.
OptionRecord window_length_option(std::string text, double seconds_max);
/// Requests per second of the coming `seconds`, by step: the forecast, or what just arrived.
std::vector<double> window_rates(const RateBook& book, WindowLoad load, int tenant, int seconds);

}  // namespace septule::serve
