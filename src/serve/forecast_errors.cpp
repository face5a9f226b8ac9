#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "serve/forecasters.hpp"

namespace septule::serve {

namespace {

std::vector<int> fibonacci_leads(int leads_max) {
  std::vector<int> leads;
  int next = 2;
  for (int lead = 1; lead <= leads_max;) {
    leads.push_back(lead);
    const int sum = lead + next;
    lead = next;
    next = sum;
  }
  if (leads.back() != leads_max) {
    leads.push_back(leads_max);
  }
  return leads;
}

}  // namespace

ForecastErrors::ForecastErrors(int leads_max) : leads_(fibonacci_leads(leads_max)) {
  for (const int lead : leads_) {
    tracks_.push_back({.forecasts = std::vector<double>(static_cast<std::size_t>(lead), 0.0),
                       .errors = {},
                       .errors_next = 0});
  }
}

void ForecastErrors::note(double actual, std::span<const double> forecasts) {
  SEPTULE_CHECK(forecasts.size() == leads_.size(), "there is one forecast per lead tracked");
  for (std::size_t i = 0; i < leads_.size(); ++i) {
    Track& track = tracks_[i];
    const auto lead = static_cast<std::size_t>(leads_[i]);
    const std::size_t stride = std::max<std::size_t>(1, lead / 8);
    double& said = track.forecasts[step_ % lead];
    if (step_ >= lead && step_ % stride == 0) {
      const double error = actual - said;
      if (track.errors.size() < kErrorsMax) {
        track.errors.push_back(error);
      } else {
        track.errors[track.errors_next] = error;
        track.errors_next = (track.errors_next + 1) % kErrorsMax;
      }
    }
    said = forecasts[i];
  }
  ++step_;
}

double ForecastErrors::quantile_of(const Track& track, double quantile) const {
  if (track.errors.size() < kErrorsMin) {
    return 0;
  }
  std::vector<double> sorted = track.errors;
  const auto rank = static_cast<std::size_t>(
      std::ceil(quantile * static_cast<double>(sorted.size())));  // the usual empirical quantile
  const std::size_t index = std::min(sorted.size() - 1, rank == 0 ? 0 : rank - 1);
  std::nth_element(
      sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(index), sorted.end());
  return std::max(0.0, sorted[index]);
}

std::vector<double> ForecastErrors::margins(int steps, double quantile) const {
  std::vector<double> at_leads;
  double last = 0;  // a long lead that was not judged yet has at least the margin of a shorter one
  for (const Track& track : tracks_) {
    last = track.errors.size() < kErrorsMin ? last : quantile_of(track, quantile);
    at_leads.push_back(last);
  }
  std::vector<double> margins;
  std::size_t above = 0;  // first tracked lead >= the lead at hand
  for (int lead = 1; lead <= steps; ++lead) {
    while (above < leads_.size() && leads_[above] < lead) {
      ++above;
    }
    if (above == leads_.size()) {
      margins.push_back(at_leads.back());
    } else if (leads_[above] == lead || above == 0) {
      margins.push_back(at_leads[above]);
    } else {
      const double from = leads_[above - 1];
      const double share = (lead - from) / (leads_[above] - from);
      margins.push_back(at_leads[above - 1] + share * (at_leads[above] - at_leads[above - 1]));
    }
  }
  return margins;
}

}  // namespace septule::serve
