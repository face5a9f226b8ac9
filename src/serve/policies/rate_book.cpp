#include "serve/policies/rate_book.hpp"

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
    book.seen_.push_back(0);
  }
  return book;
}

void RateBook::observe(const ServingView& view) {
  for (std::size_t m = 0; m < forecasters_.size(); ++m) {
    const std::span<const double> arrived = view.tenants[m].arrived;
    for (; seen_[m] < arrived.size(); ++seen_[m]) {
      forecasters_[m]->observe(arrived[seen_[m]]);
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

}  // namespace septule::serve
