#pragma once

#include <optional>
#include <string_view>

#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "predict/law_co_run.hpp"
#include "predict/solo_fit.hpp"

namespace septule::predict {

/// How a job answers to smaller slices (performance-model.md 3.2).
enum class JobClass {
  kComputeIntensive,  ///< CI
  kMemoryIntensive,   ///< MI
  kUnscalable,        ///< US: speed(1g) >= 0.9
  kPartlyUnscalable,  ///< PU: speed(3g) >= 0.85
};
inline constexpr int kJobClassCount = 4;
/// "CI", "MI", "US", "PU".
std::string_view job_class_name(JobClass job_class);

/// Speeds relative to 7g by which the class is told; nothing = not known.
struct SliceSpeeds {
  std::optional<double> on_1g, on_3g, on_4g;
};
/// US if speed(1g) >= 0.9 (where known); PU if speed(3g) >= 0.85; else rho = 3 (t3g/t4g - 1) >=
/// 0.5: CI, else MI. Nothing where what it takes is not known.
std::optional<JobClass> job_class_of(const SliceSpeeds& speeds);

/// Of a job on a GPU with 1g, 3g, 4g and an instance of all slices: as known, otherwise as its law
/// or model says. A model of fewer than three points says nothing.
SliceSpeeds slice_speeds_of(const gpu::Geometry& gpu, const LawJob& job);

/// What a job really has to tell about itself, alone on the whole GPU: the features of learned
/// policies. Nothing = not known; nothing is invented. A plain value.
struct JobTraits {
  Duration solo;  ///< > 0
  std::optional<Bytes> memory;
  std::optional<JobClass> job_class;
  std::optional<double> usable;        ///< part of the SMs it can use, (0, 1]
  std::optional<double> serial_share;  ///< of its step, [0, 1]
  std::optional<double> memory_share;  ///< of its step, [0, 1 - serial_share]
  std::optional<Duration> kernel;      ///< mean length of a kernel, > 0
  std::optional<double> sm_percent;    ///< counters, 0 to 100
  std::optional<double> memory_percent;
};

/// Class, usable part, shares and kernel length of a job on this GPU; the rest is for the caller to
/// fill in. A law says all of it (the kernel length if it is given); a model its serial share from
/// three points on, its memory share and usable part from kFullLawPoints on, and the kernel length
/// if it has a kernel count. Nothing that a job's law cannot be asked for is an error.
JobTraits traits_of(const gpu::Geometry& gpu, const LawJob& job, Duration solo);

}  // namespace septule::predict
