#pragma once

#include <optional>
#include <string_view>

#include "base/units.hpp"
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

}  // namespace septule::predict
