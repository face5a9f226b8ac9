#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "serve/admission.hpp"

namespace septule::serve::test {

/// A tenant made by hand: so many requests per second per compute slice, a little less on larger
/// slices; warm-up p90 in seconds.
struct MadeTenant {
  std::string name = "bert";
  double per_slice_rps = 10;
  int warm_up_s = 4;
  double rate_rps = 10;  ///< expected
  double accuracy = 0.8;
};

inline AdmittedTenant admitted_tenant(const MadeTenant& made, const LayoutLattice& lattice) {
  AdmittedTenant admitted;
  admitted.tenant.name = made.name;
  admitted.tenant.rate.values = {made.rate_rps};
  admitted.tenant.slo = Duration::milliseconds(200);
  admitted.tenant.accuracy = made.accuracy;
  const Duration warm = Duration::milliseconds(std::int64_t{1000} * made.warm_up_s);
  admitted.tenant.warm_up = {.p50 = warm, .p90 = warm, .p99 = warm};
  for (std::size_t s = 0; s < lattice.sizes().size(); ++s) {
    const int slices = lattice.sizes()[s].slices.value();
    admitted.serving[s] =
        OperatingPoint{.batch = 4 * slices,
                       .throughput_rps = made.per_slice_rps * slices * (1 - 0.01 * slices),
                       .latency = Duration::milliseconds(60)};
    admitted.tenant.profile.rows.push_back({.slices = lattice.sizes()[s].slices,
                                            .batch = admitted.serving[s]->batch,
                                            .throughput_rps = admitted.serving[s]->throughput_rps,
                                            .latency = admitted.serving[s]->latency});
    constexpr double kSpeeds[] = {0, 0.36, 0.51, 0.69, 0.75, 0.8, 0.9, 1};
    admitted.retraining_speed[s] = kSpeeds[slices];
  }
  return admitted;
}

inline SimTime second(int count) {
  return SimTime() + Duration::milliseconds(std::int64_t{1000} * count);
}

inline RetrainingJob retraining_job(double work_s, double accuracy_after, int period_s) {
  RetrainingJob job;
  job.work_s = work_s;
  job.accuracy_after = accuracy_after;
  job.period = Duration::milliseconds(std::int64_t{1000} * period_s);
  return job;
}

/// Rates that wander: a walk between `low` and `high` with noise, whole numbers.
inline std::vector<double> wandering(Rng& rng, int seconds, double low, double high) {
  std::vector<double> rates;
  double level = low + (high - low) * rng.uniform();
  for (int s = 0; s < seconds; ++s) {
    level += (high - low) * 0.02 * (rng.uniform() - 0.5);
    if (rng.uniform() < 0.005) {
      level = low + (high - low) * rng.uniform();  // a jump
    }
    level = level < low ? low : (level > high ? high : level);
    rates.push_back(level <= 0 ? 0 : static_cast<double>(rng.poisson(level)));
  }
  return rates;
}

}  // namespace septule::serve::test
