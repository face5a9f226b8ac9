#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "plan/job_speeds.hpp"
#include "predict/slice_prediction.hpp"

namespace septule::optimize {

/// The plain profile that each slice is on one GPU model, by predict::Slice.
using SliceProfiles = std::array<ProfileIndex, predict::kSlices>;

/// Fails with kInvalidInput for a model that has not seven compute slices with plain profiles of 7,
/// 4, 3, 2 and 1: speeds on slices say nothing of its profiles. kNotFound without a profile table.
Result<SliceProfiles> slice_profiles(const gpu::Geometry& geometry);

/// Whether a job's memory fits an instance. Decided by what is declared, never by a prediction.
enum class MemoryFit {
  kFits,
  kTooSmall,      ///< the profile's memory, or the smallest slice declared, says no
  kNotPublished,  ///< the profile's memory is not published: the fit cannot be shown
  kNotDeclared,   ///< nothing is declared of the job's memory
};
/// "fits", "too small", "not published", "not declared".
std::string_view memory_fit_name(MemoryFit fit);
/// A plan may use the slice: it fits, or nothing is declared (which must be said).
constexpr bool may_be_used(MemoryFit fit) {
  return fit == MemoryFit::kFits || fit == MemoryFit::kNotDeclared;
}

/// A job with speeds that are believed, not measured. A plain value.
struct PredictedJob {
  std::string name;
  std::optional<Bytes> memory;             ///< what it needs; nothing = not declared
  std::optional<predict::Slice> smallest;  ///< smallest slice that holds it; nothing = not declared
  predict::SlicePrediction prediction;
};

using SliceFits = std::array<MemoryFit, predict::kSlices>;
/// The fit of a job by slice. Declared memory and smallest slice must both allow a slice. Where the
/// memory of a slice is not published: what fits a published slice fits every one with as many
/// memory slices, what is too large for one is too large for every one with as few, and `smallest`
/// decides; otherwise kNotPublished.
SliceFits slice_fits(const gpu::Geometry& geometry,
                     const SliceProfiles& profiles,
                     const PredictedJob& job);

/// The job as the optimizer takes it: its expected speeds on the slices that it may use, 0 on all
/// other profiles. Speeds are brought into plan::kSpeedMin..kSpeedMax and rounded to multiples of
/// 1e-9. Declared memory goes along, so that the plan's checker judges it too; not where it may use
/// a slice whose memory is not published, which the checker could not judge.
plan::JobSpeeds expected_speeds(const gpu::Geometry& geometry,
                                const SliceProfiles& profiles,
                                const PredictedJob& job);

}  // namespace septule::optimize
