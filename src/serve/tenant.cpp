#include "serve/tenant.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

#include "base/check.hpp"

namespace septule::serve {

namespace {

constexpr std::array<std::pair<LatencyMeaning, std::string_view>, 6> kMeanings = {{
    {LatencyMeaning::kMean, "mean"},
    {LatencyMeaning::kP50, "p50"},
    {LatencyMeaning::kP90, "p90"},
    {LatencyMeaning::kP95, "p95"},
    {LatencyMeaning::kP99, "p99"},
    {LatencyMeaning::kUnstated, "unstated"},
}};

/// A point of a piecewise linear curve.
struct Knot {
  double at = 0;
  double speed = 0;
};

/// MISO's measured training speeds on an A100-40GB against the share of its seven compute slices
/// (serving.md 2.1, geometric means over its models). Nothing on no slices, all on all.
constexpr double kSevenths = 7;
constexpr std::array<Knot, 6> kMisoSpeeds = {{{0, 0},
                                              {1 / kSevenths, 0.36},
                                              {2 / kSevenths, 0.51},
                                              {3 / kSevenths, 0.69},
                                              {4 / kSevenths, 0.75},
                                              {1, 1}}};

/// On the line between the neighbours of `at`. `knots` ascend and span it.
double interpolated(std::span<const Knot> knots, double at) {
  for (std::size_t i = 1; i < knots.size(); ++i) {
    const Knot& low = knots[i - 1];
    const Knot& high = knots[i];
    if (at < high.at) {
      return low.speed + (high.speed - low.speed) * (at - low.at) / (high.at - low.at);
    }
  }
  return knots.back().speed;
}

}  // namespace

std::string_view latency_meaning_name(LatencyMeaning meaning) {
  for (const auto& [known, name] : kMeanings) {
    if (known == meaning) {
      return name;
    }
  }
  return "unstated";
}

std::optional<LatencyMeaning> parse_latency_meaning(std::string_view text) {
  for (const auto& [meaning, name] : kMeanings) {
    if (text == name) {
      return meaning;
    }
  }
  return std::nullopt;
}

Duration warm_up_of(const WarmUp& warm_up, WarmUpQuantile quantile) {
  switch (quantile) {
    case WarmUpQuantile::kP50:
      return warm_up.p50;
    case WarmUpQuantile::kP90:
      return warm_up.p90;
    case WarmUpQuantile::kP99:
      return warm_up.p99;
  }
  return warm_up.p99;
}

double RateSeries::at(SimTime time) const {
  SEPTULE_CHECK(!values.empty(), "a rate series has a value");
  SEPTULE_CHECK(step > Duration(), "a rate series has a step above 0");
  const std::int64_t since = std::max<std::int64_t>(0, time.to_nanoseconds());
  const auto index = static_cast<std::size_t>(since / step.to_nanoseconds());
  return values[std::min(index, values.size() - 1)];
}

double RateSeries::peak() const {
  SEPTULE_CHECK(!values.empty(), "a rate series has a value");
  return *std::ranges::max_element(values);
}

double RateSeries::mean() const {
  SEPTULE_CHECK(!values.empty(), "a rate series has a value");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double retraining_speed(const RetrainingJob& job, ComputeSlices slices, ComputeSlices gpu_slices) {
  SEPTULE_CHECK(gpu_slices.value() > 0, "a GPU has compute slices");
  const double share =
      static_cast<double>(slices.value()) / static_cast<double>(gpu_slices.value());
  if (job.speeds.empty()) {
    return interpolated(kMisoSpeeds, share);
  }
  std::vector<Knot> knots = {{0, 0}};
  for (const auto& [at, speed] : job.speeds) {
    if (at < gpu_slices) {
      knots.push_back({static_cast<double>(at.value()), speed});
    }
  }
  std::ranges::sort(knots, {}, &Knot::at);
  const auto whole =
      std::ranges::find(job.speeds, gpu_slices, &std::pair<ComputeSlices, double>::first);
  knots.push_back(
      {static_cast<double>(gpu_slices.value()), whole == job.speeds.end() ? 1.0 : whole->second});
  return interpolated(knots, static_cast<double>(slices.value()));
}

}  // namespace septule::serve
