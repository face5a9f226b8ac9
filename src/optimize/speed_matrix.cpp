#include "optimize/speed_matrix.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::optimize {

SpeedMatrix::SpeedMatrix(int job_count) : job_count_(job_count) {
  SEPTULE_CHECK(job_count >= 1 && job_count <= kAssignedJobsMax, "1 to 7 jobs share a GPU");
  weight_.fill(1.0);
}

bool SpeedMatrix::set_speed(int job, ProfileIndex profile, double speed) {
  SEPTULE_CHECK(job >= 0 && job < job_count_, "the job is one of the table");
  SEPTULE_CHECK(profile.value() >= 0 && profile.value() < kProfilesMax, "the profile is in range");
  if (!plan::is_valid_speed(speed)) {
    return false;
  }
  speed_[static_cast<std::size_t>(job)][static_cast<std::size_t>(profile.value())] = speed;
  return true;
}

bool SpeedMatrix::set_weight(int job, double weight) {
  SEPTULE_CHECK(job >= 0 && job < job_count_, "the job is one of the table");
  if (!plan::is_valid_weight(weight)) {
    return false;
  }
  weight_[static_cast<std::size_t>(job)] = weight;
  return true;
}

Result<SpeedMatrix> SpeedMatrix::pack(const gpu::Geometry& geometry,
                                      std::span<const plan::JobSpeeds> jobs) {
  if (jobs.empty() || jobs.size() > static_cast<std::size_t>(kAssignedJobsMax)) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("{} jobs cannot share one GPU; give 1 to {}", jobs.size(), kAssignedJobsMax)};
  }
  SEPTULE_TRY_STATUS(plan::check_job_speeds(geometry, jobs));
  SpeedMatrix matrix(static_cast<int>(jobs.size()));
  for (int job = 0; job < matrix.job_count_; ++job) {
    const plan::JobSpeeds& row = jobs[static_cast<std::size_t>(job)];
    std::ranges::copy(row.speed, matrix.speed_[static_cast<std::size_t>(job)].begin());
    matrix.weight_[static_cast<std::size_t>(job)] = row.weight;
  }
  return matrix;
}

}  // namespace septule::optimize
