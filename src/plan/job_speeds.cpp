#include "plan/job_speeds.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace septule::plan {

bool is_valid_speed(double speed) {
  return speed == 0.0 || is_valid_weight(speed);
}

bool is_valid_weight(double weight) {
  // False for NaN as well: every comparison with it is.
  return weight >= kSpeedMin && weight <= kSpeedMax;
}

Status check_job_speeds(const gpu::Geometry& geometry, std::span<const JobSpeeds> jobs) {
  const std::size_t profile_count = geometry.profiles().size();
  for (const JobSpeeds& job : jobs) {
    const std::string name = quoted_for_message(job.name);
    if (job.speed.size() != profile_count) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("job {}: {} speeds given, but {} has {} profiles",
                               name,
                               job.speed.size(),
                               geometry.key(),
                               profile_count)};
    }
    for (std::size_t i = 0; i < profile_count; ++i) {
      if (!is_valid_speed(job.speed[i])) {
        return Error{ErrorCode::kInvalidInput,
                     fmt::format("job {}: speed {} on {} is not valid; give 0 (does not fit) or a "
                                 "number from {} to {}, relative to the whole GPU",
                                 name,
                                 job.speed[i],
                                 geometry.profiles()[i].name,
                                 kSpeedMin,
                                 kSpeedMax)};
      }
    }
    if (!is_valid_weight(job.weight)) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("job {}: weight {} is not valid; give a number from {} to {}",
                               name,
                               job.weight,
                               kSpeedMin,
                               kSpeedMax)};
    }
  }
  return {};
}

std::vector<MemoryMisfit> apply_memory_fit(const gpu::Geometry& geometry,
                                           std::span<JobSpeeds> jobs) {
  std::vector<MemoryMisfit> misfits;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    JobSpeeds& job = jobs[j];
    SEPTULE_CHECK(job.speed.size() == geometry.profiles().size(), "one speed per profile");
    if (!job.memory.has_value()) {
      continue;
    }
    for (std::size_t i = 0; i < job.speed.size(); ++i) {
      const std::optional<Bytes>& memory = geometry.profiles()[i].memory;
      if (job.speed[i] == 0.0 || (memory.has_value() && *memory >= *job.memory)) {
        continue;
      }
      job.speed[i] = 0.0;
      misfits.push_back({.job = j,
                         .profile = ProfileIndex(static_cast<int>(i)),
                         .cause = memory.has_value() ? MemoryMisfit::Cause::kTooSmall
                                                     : MemoryMisfit::Cause::kMemoryUnknown});
    }
  }
  return misfits;
}

std::string misfit_text(const gpu::Geometry& geometry,
                        std::span<const JobSpeeds> jobs,
                        const MemoryMisfit& misfit) {
  SEPTULE_CHECK(misfit.job < jobs.size(), "a misfit names one of the jobs");
  const JobSpeeds& job = jobs[misfit.job];
  const gpu::GpuInstanceProfile& profile = geometry.profile(misfit.profile);
  const std::string name = quoted_for_message(job.name);
  const std::uint64_t needed = job.memory.value_or(Bytes()).whole_mebibytes();
  if (misfit.cause == MemoryMisfit::Cause::kMemoryUnknown || !profile.memory.has_value()) {
    return fmt::format(
        "job {}: the memory of {} is not published, so {} MiB cannot be shown to fit there",
        name,
        profile.name,
        needed);
  }
  return fmt::format("job {}: {} has too little memory ({} MiB of {} MiB)",
                     name,
                     profile.name,
                     profile.memory->whole_mebibytes(),
                     needed);
}

}  // namespace septule::plan
