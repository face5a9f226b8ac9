#include "optimize/predicted_speeds.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace septule::optimize {

namespace {

/// To the steps in which the optimizer counts; the last bits of a network say nothing.
double rounded(double speed) {
  constexpr double kSteps = 1e9;
  return std::round(speed * kSteps) / kSteps;
}

MemoryFit unpublished_or_fit(std::optional<Bytes> has, Bytes needs) {
  if (!has) {
    return MemoryFit::kNotPublished;
  }
  return *has >= needs ? MemoryFit::kFits : MemoryFit::kTooSmall;
}

/// The fit of a slice whose memory is not published, by memory slices: what is too large for as
/// many or more does not fit; what is declared to fit, or fits as many or fewer, does.
MemoryFit fit_by_others(const gpu::Geometry& geometry,
                        const SliceProfiles& profiles,
                        const PredictedJob& job,
                        const SliceFits& published,
                        std::size_t slice) {
  const MemorySlices size = geometry.profile(profiles[slice]).size();
  MemoryFit fit = job.smallest ? MemoryFit::kFits : MemoryFit::kNotPublished;
  for (std::size_t i = 0; i < predict::kSlices; ++i) {
    const MemorySlices other = geometry.profile(profiles[i]).size();
    const bool is_published = geometry.profile(profiles[i]).memory.has_value();
    if (is_published && published[i] == MemoryFit::kTooSmall && other >= size &&
        !(job.smallest && i > static_cast<std::size_t>(*job.smallest))) {
      return MemoryFit::kTooSmall;
    }
    if (is_published && published[i] == MemoryFit::kFits && other <= size) {
      fit = MemoryFit::kFits;
    }
  }
  return fit;
}

}  // namespace

Result<SliceProfiles> slice_profiles(const gpu::Geometry& geometry) {
  if (!geometry.has_profile_table()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("no profile table of {} has been published: its layouts are N/A",
                             geometry.key())};
  }
  SliceProfiles profiles;
  for (std::size_t i = 0; i < predict::kSlices; ++i) {
    const std::optional<ProfileIndex> profile =
        geometry.plain_profile(ComputeSlices(predict::kSliceComputeSlices[i]));
    if (!profile || geometry.compute_slices() != ComputeSlices(7)) {
      return Error{
          ErrorCode::kInvalidInput,
          fmt::format(
              "{} has {} compute slices{}: speeds are predicted for the slices 7g, "
              "4g, 3g, 2g and 1g of a GPU with seven, such as A100-40GB",
              geometry.key(),
              geometry.compute_slices().value(),
              profile ? "" : fmt::format(" and no plain {} profile", predict::kSliceNames[i]))};
    }
    profiles[i] = *profile;
  }
  return profiles;
}

std::string_view memory_fit_name(MemoryFit fit) {
  switch (fit) {
    case MemoryFit::kFits:
      return "fits";
    case MemoryFit::kTooSmall:
      return "too small";
    case MemoryFit::kNotPublished:
      return "not published";
    case MemoryFit::kNotDeclared:
      return "not declared";
  }
  check_failed("fit", "a MemoryFit is one of the enumerators", __FILE__, __LINE__);
}

SliceFits slice_fits(const gpu::Geometry& geometry,
                     const SliceProfiles& profiles,
                     const PredictedJob& job) {
  SliceFits fits;
  for (std::size_t i = 0; i < predict::kSlices; ++i) {
    // Slices are ordered from the largest, so a greater index is a smaller slice.
    if (job.smallest && i > static_cast<std::size_t>(*job.smallest)) {
      fits[i] = MemoryFit::kTooSmall;
    } else if (!job.memory) {
      fits[i] = job.smallest ? MemoryFit::kFits : MemoryFit::kNotDeclared;
    } else {
      fits[i] = unpublished_or_fit(geometry.profile(profiles[i]).memory, *job.memory);
    }
  }
  const SliceFits published = fits;
  for (std::size_t i = 0; i < predict::kSlices; ++i) {
    if (published[i] == MemoryFit::kNotPublished) {
      fits[i] = fit_by_others(geometry, profiles, job, published, i);
    }
  }
  return fits;
}

plan::JobSpeeds expected_speeds(const gpu::Geometry& geometry,
                                const SliceProfiles& profiles,
                                const PredictedJob& job) {
  plan::JobSpeeds speeds{.name = job.name, .memory = job.memory, .speed = {}};
  speeds.speed.assign(geometry.profiles().size(), 0.0);
  const SliceFits fits = slice_fits(geometry, profiles, job);
  for (std::size_t i = 0; i < predict::kSlices; ++i) {
    if (may_be_used(fits[i])) {
      if (!geometry.profile(profiles[i]).memory) {
        speeds.memory.reset();
      }
      speeds.speed[static_cast<std::size_t>(profiles[i].value())] =
          rounded(std::clamp(job.prediction.speed[i], plan::kSpeedMin, plan::kSpeedMax));
    }
  }
  return speeds;
}

}  // namespace septule::optimize
