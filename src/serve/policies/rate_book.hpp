#pragma once

#include <memory>
#include <vector>

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

 private:
  std::vector<std::unique_ptr<Forecaster>> forecasters_;
  std::vector<std::size_t> seen_;  // by tenant
};

}  // namespace septule::serve
