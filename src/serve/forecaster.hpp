#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace septule::serve {

/// Expected requests per second by lead time, with an error quantile. Lead i covers the step i + 1
/// after the last observed one. All values >= 0.
struct RateForecast {
  std::vector<double> mean_rps;
  std::vector<double> margin_rps;  ///< the configured quantile of past errors at that lead
};

/// Foretells one tenant's request rate from what was seen of it. Steps are of equal length, chosen
/// at construction. observe() is called once per step in order; forecast() changes nothing. Equal
/// observations give equal forecasts. One owner.
class Forecaster {
 public:
  Forecaster() = default;
  Forecaster(const Forecaster&) = delete;
  Forecaster& operator=(const Forecaster&) = delete;
  virtual ~Forecaster() = default;

  virtual std::string_view name() const = 0;  ///< "ewma-trend"; static lifetime
  virtual void observe(double rate_rps) = 0;
  /// `steps` > 0. Before the first observation the prior rate given at construction.
  virtual RateForecast forecast(int steps) const = 0;
};

}  // namespace septule::serve
