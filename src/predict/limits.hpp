#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace septule::predict {

/// What a job's step is spent on, or lost to.
enum class Limit {
  kSerial,        ///< host and launches: no GPU makes it shorter
  kCompute,       ///< SMs that it has and uses
  kUnusableSms,   ///< compute that more SMs would not shorten: its kernels cannot fill them
  kMemory,        ///< memory bandwidth
  kPercentage,    ///< its own active thread percentage
  kCoRunners,     ///< waiting for others that share the GPU
  kKernelLength,  ///< waiting longer than its share because its kernels are shorter than theirs
};
inline constexpr std::size_t kLimits = 7;
/// "serial part", "compute", "unusable SMs", "memory bandwidth", "active thread percentage",
/// "co-runners", "kernel length".
std::string_view limit_name(Limit limit);

/// Parts of a step by limit; >= 0, they add up to 1. A plain value.
struct LimitShares {
  std::array<double, kLimits> share{};

  double of(Limit limit) const { return share[static_cast<std::size_t>(limit)]; }
  double& of(Limit limit) { return share[static_cast<std::size_t>(limit)]; }
  /// The largest; of equal ones the first.
  Limit main() const;
};

/// Where the job runs of which the parts are, as far as advice depends on it. A plain value.
struct LimitPlace {
  /// On the whole GPU nothing larger can be advised.
  enum class Size { kInstance, kWholeGpu };
  Size size = Size::kInstance;
  /// Speed on the smallest slice that the job may have, relative to the whole GPU; nothing = not
  /// known.
  std::optional<double> speed_least;
};

/// One sentence on what limits the job and what would help: "memory bandwidth takes 45 % of its
/// step (compute 40 %, serial part 15 %): an instance with more memory slices helps most". Parts
/// below 1 % are not named.
std::string explain_limits(const LimitShares& shares, const LimitPlace& place);

}  // namespace septule::predict
