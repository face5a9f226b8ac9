#include "predict/job_traits.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/clock.hpp"
#include "predict/interference_model.hpp"

namespace septule::predict {
namespace {

constexpr double kUnscalable = 0.9;         // on 1g
constexpr double kPartlyUnscalable = 0.85;  // on 3g
constexpr double kComputeIntensive = 0.5;   // rho
constexpr std::size_t kSpeedPoints = 3;     // of a model that says something of slices

/// Its step on an instance; nothing where the model cannot be asked.
std::optional<SoloTerms> terms_at(const LawJob& job, const Place& place) {
  const ActiveThreadPercentage all(100);
  if (job.model == nullptr) {
    const Result<PlaceResources> at = place_resources(place, all);
    return at ? std::optional(job.law.terms(at->resources)) : std::nullopt;
  }
  const Result<PlaceResources> at = job.model->resources(place, all, job.ratio);
  return at ? std::optional(job.model->solo().predict(at->resources).terms) : std::nullopt;
}

/// Relative to the whole GPU.
std::optional<double> speed_on(const gpu::Geometry& gpu, const LawJob& job, int slices) {
  const std::optional<ProfileIndex> profile = gpu.plain_profile(ComputeSlices(slices));
  if (!profile.has_value()) {
    return std::nullopt;
  }
  const auto known = std::ranges::find(job.known, *profile, &KnownSpeed::profile);
  if (known != job.known.end()) {
    return known->speed > 0 ? std::optional(known->speed) : std::nullopt;
  }
  if (job.model != nullptr && job.model->solo().point_count() < kSpeedPoints) {
    return std::nullopt;
  }
  const std::optional<SoloTerms> there = terms_at(job, {.gpu = &gpu, .profile = profile});
  const std::optional<SoloTerms> whole = terms_at(job, {.gpu = &gpu});
  return there.has_value() && whole.has_value() ? std::optional(whole->step() / there->step())
                                                : std::nullopt;
}

}  // namespace

std::string_view job_class_name(JobClass job_class) {
  constexpr std::array<std::string_view, kJobClassCount> kNames = {"CI", "MI", "US", "PU"};
  return kNames[static_cast<std::size_t>(job_class)];
}

std::optional<JobClass> job_class_of(const SliceSpeeds& speeds) {
  if (speeds.on_1g.value_or(0) >= kUnscalable) {
    return JobClass::kUnscalable;
  }
  if (!speeds.on_3g.has_value()) {
    return std::nullopt;
  }
  if (*speeds.on_3g >= kPartlyUnscalable) {
    return JobClass::kPartlyUnscalable;
  }
  if (!speeds.on_4g.has_value() || *speeds.on_3g <= 0) {
    return std::nullopt;
  }
  const double rho = 3 * (*speeds.on_4g / *speeds.on_3g - 1);
  return rho >= kComputeIntensive ? JobClass::kComputeIntensive : JobClass::kMemoryIntensive;
}

SliceSpeeds slice_speeds_of(const gpu::Geometry& gpu, const LawJob& job) {
  const std::optional<double> whole = speed_on(gpu, job, gpu.compute_slices().value());
  const auto relative = [&](int slices) -> std::optional<double> {
    const std::optional<double> speed = speed_on(gpu, job, slices);
    return speed.has_value() && whole.has_value() ? std::optional(*speed / *whole) : std::nullopt;
  };
  return {.on_1g = relative(1), .on_3g = relative(3), .on_4g = relative(4)};
}

JobTraits traits_of(const gpu::Geometry& gpu, const LawJob& job, Duration solo) {
  JobTraits traits;
  traits.solo = solo;
  traits.job_class = job_class_of(slice_speeds_of(gpu, job));
  traits.kernel = job.kernel;
  const std::optional<SoloTerms> whole = terms_at(job, {.gpu = &gpu});
  if (!whole.has_value()) {
    return traits;
  }
  const std::size_t points =
      job.model != nullptr ? job.model->solo().point_count() : kFullLawPoints;
  if (points >= kSpeedPoints) {
    traits.serial_share = whole->serial / whole->step();
  }
  if (points >= kFullLawPoints) {
    traits.memory_share = whole->memory / whole->step();
    traits.usable = job.model != nullptr ? whole->used : std::min(job.law.usable, 1.0);
  }
  if (!job.kernel.has_value() && job.model != nullptr && job.model->kernel_count().has_value()) {
    const int kernels = job.model->kernel_count().value_or(1);
    traits.kernel = seconds_to_duration(interference_client(*whole, kernels).kernel_length);
  }
  return traits;
}

}  // namespace septule::predict
