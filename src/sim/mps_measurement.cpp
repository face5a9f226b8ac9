#include "sim/mps_measurement.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/portable_math.hpp"
#include "base/rng.hpp"

namespace septule::sim {

namespace {

/// However large the noise, a time changes by at most this in its logarithm.
constexpr double kLogNoiseMax = 5;

Duration noisy(Duration time, double sd, Rng& rng) {
  const double noise = std::clamp(rng.normal(0, sd), -kLogNoiseMax, kLogNoiseMax);
  const auto nanoseconds = static_cast<double>(time.to_nanoseconds()) * portable_exp(noise);
  return Duration::nanoseconds(
      std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(nanoseconds, 9e18))));
}

}  // namespace

std::string NoisyTruth::text() const {
  constexpr double kPercent = 100;
  const std::string noise =
      noise_sd_ > 0 ? fmt::format("+-{:g} %", kPercent * noise_sd_) : std::string("without");
  return fmt::format(
      "computed by the simulator's own model of MPS sharing ({} noise), not "
      "measured on a GPU",
      noise);
}

job::MeasurementCounts NoisyTruth::measure(const Measurement& at,
                                           std::span<predict::MpsSample> samples) const {
  Rng rng = Rng(at.seed).stream("mps-noise", at.index);
  for (predict::MpsSample& sample : samples) {
    for (predict::MpsSample::Level& level : sample.levels) {
      if (level.step.has_value() && noise_sd_ > 0) {
        level.step = noisy(*level.step, noise_sd_, rng);
      }
    }
  }
  return {.modelled = static_cast<std::int64_t>(samples.size())};
}

void NoisyTruth::observe(const Measurement& at, predict::SliceObservation& observation) const {
  if (noise_sd_ > 0) {
    Rng rng = Rng(at.seed).stream("step-noise", at.index);
    observation.step = noisy(observation.step, noise_sd_, rng);
  }
}

std::string DrawnColumns::text() const {
  return fmt::format("measured columns of the same kind of job and number of co-runners, {}",
                     columns_.text);
}

bool DrawnColumns::has_levels(const predict::MpsSample& sample) const {
  return std::ranges::all_of(sample.levels, [&](const predict::MpsSample::Level& level) {
    return std::ranges::find(columns_.levels, level.atp) != columns_.levels.end();
  });
}

void DrawnColumns::put(const predict::MeasuredColumn& column, predict::MpsSample& sample) const {
  for (predict::MpsSample::Level& level : sample.levels) {
    const auto* found = std::ranges::find(columns_.levels, level.atp);
    if (level.step.has_value() && found != columns_.levels.end()) {
      level.step = seconds_to_duration(
          column.step[static_cast<std::size_t>(found - columns_.levels.begin())]);
    }
  }
}

job::MeasurementCounts DrawnColumns::measure(const Measurement& at,
                                             std::span<predict::MpsSample> samples) const {
  // The truth's noise is drawn for all, so that what is measured of one changes no other.
  truth_.measure(at, samples);
  job::MeasurementCounts counts;
  Rng rng = Rng(at.seed).stream("mps-column", at.index);
  for (predict::MpsSample& sample : samples) {
    const std::uint64_t chance = rng.next();
    const std::string& job = at.book.signature(sample.signature).name;
    const int wanted = static_cast<int>(samples.size());
    const int found = columns_.nearest_co_runners(job, wanted);
    if (found == 0 || !has_levels(sample)) {
      ++counts.modelled;
      continue;
    }
    const auto choice = columns_.find(job, found);
    put(choice[static_cast<std::size_t>(chance % choice.size())], sample);
    ++(found == wanted ? counts.drawn : counts.nearest);
  }
  return counts;
}

}  // namespace septule::sim
