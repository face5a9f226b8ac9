#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"

namespace septule::plan {

/// Limits of a speed that is not 0, and of a weight. Outside them an input is refused: such figures
/// are mistakes of unit, and inside them all sums of the optimizers are exact.
inline constexpr double kSpeedMin = 1e-6;
inline constexpr double kSpeedMax = 1000.0;

/// How fast one job runs on each profile of one GPU model. A plain value; any thread.
struct JobSpeeds {
  std::string name;
  std::optional<Bytes> memory;  ///< what the job needs; absent = not stated, not checked
  /// One per profile of the geometry (index = ProfileIndex), relative to the whole GPU: 0 = does
  /// not fit there, otherwise kSpeedMin..kSpeedMax.
  std::vector<double> speed;
  double weight = 1;  ///< kSpeedMin..kSpeedMax; used by ObjectiveKind::kWeightedSum only
};

/// 0, or a finite number in kSpeedMin..kSpeedMax.
bool is_valid_speed(double speed);
/// A finite number in kSpeedMin..kSpeedMax.
bool is_valid_weight(double weight);

/// Checks a job table against the geometry it is meant for: as many speeds as profiles, all speeds
/// and weights valid. Fails with kInvalidInput, naming the job, the profile and the value.
Status check_job_speeds(const gpu::Geometry& geometry, std::span<const JobSpeeds> jobs);

/// A profile on which a job had a speed that was taken away from it.
struct MemoryMisfit {
  enum class Cause {
    kTooSmall,       ///< the profile's memory is below what the job needs
    kMemoryUnknown,  ///< the profile's memory is not published: the fit cannot be shown
  };
  std::size_t job = 0;  ///< index into the jobs
  ProfileIndex profile;
  Cause cause = Cause::kTooSmall;

  friend bool operator==(const MemoryMisfit&, const MemoryMisfit&) = default;
};

/// Sets to 0 the speeds on profiles that cannot be shown to hold the job's memory, and returns what
/// was changed (by job, then profile). Jobs without stated memory are left alone. Jobs must have
/// one speed per profile (check_job_speeds).
std::vector<MemoryMisfit> apply_memory_fit(const gpu::Geometry& geometry,
                                           std::span<JobSpeeds> jobs);
/// "job bert: 1g.5gb has too little memory (4864 MiB of 8192 MiB)".
std::string misfit_text(const gpu::Geometry& geometry,
                        std::span<const JobSpeeds> jobs,
                        const MemoryMisfit& misfit);

}  // namespace septule::plan
