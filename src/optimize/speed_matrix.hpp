#pragma once

#include <array>
#include <span>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"
#include "plan/job_speeds.hpp"

namespace septule::optimize {

/// At most so many jobs (and GPU instances) share one GPU; every GPU with MIG has at most seven.
inline constexpr int kAssignedJobsMax = 7;

/// A packed job table of fixed size for the hot path: speeds and weights of 1..7 jobs. Invariant:
/// every speed is 0 or in kSpeedMin..kSpeedMax and every weight in that range, because nothing else
/// can be set. A plain value without heap memory.
class SpeedMatrix {
 public:
  static constexpr int kProfilesMax = gpu::LayoutBuilder::kProfilesMax;

  /// All speeds 0 ("fits nowhere") and all weights 1. `job_count` in 1..7.
  explicit SpeedMatrix(int job_count);
  /// Fails with kInvalidInput on no job, more than seven, or a figure out of range (with its name).
  static Result<SpeedMatrix> pack(const gpu::Geometry& geometry,
                                  std::span<const plan::JobSpeeds> jobs);

  /// False, and nothing changed, for a value out of range.
  [[nodiscard]] bool set_speed(int job, ProfileIndex profile, double speed);
  [[nodiscard]] bool set_weight(int job, double weight);

  int job_count() const { return job_count_; }
  double speed(int job, ProfileIndex profile) const {
    return speed_[static_cast<std::size_t>(job)][static_cast<std::size_t>(profile.value())];
  }
  double weight(int job) const { return weight_[static_cast<std::size_t>(job)]; }

 private:
  int job_count_;
  std::array<std::array<double, kProfilesMax>, kAssignedJobsMax> speed_{};
  std::array<double, kAssignedJobsMax> weight_{};
};

}  // namespace septule::optimize
