#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/geometry.hpp"
#include "gpu/partition.hpp"

namespace septule::gpu {

/// Why a partition is not legal.
enum class ViolationKind {
  kUnknownProfile,   ///< the index is not one of the geometry's
  kPlacement,        ///< the start is not a possible placement of the profile
  kMemorySlices,     ///< two instances own the same memory slice, or the grid ends before it
  kComputeSlices,    ///< more compute slices than the GPU (or GPU instance) has, or two compute
                     ///< instances own the same one
  kProfileMaximum,   ///< more (GPU or compute) instances of a profile than the driver allows
  kInstanceMaximum,  ///< more GPU instances than the GPU can hold (known figures only)
  kEngineBudget,     ///< more decoders, encoders, JPEG or optical-flow engines than there are
  kMemoryAmount,     ///< more memory than the whole-GPU profile has (known figures only)
  kStreamingMultiprocessors,  ///< more SMs than the GPU has with MIG on (known figures only)
  kComputeInstance,           ///< not a compute-instance profile or placement of this GPU instance
};
std::string_view violation_name(ViolationKind kind);

struct Violation {
  ViolationKind kind = ViolationKind::kUnknownProfile;
  std::vector<std::size_t> instances;  ///< indices into Partition::instances, ascending
  std::string message;                 ///< one sentence with names, places and figures
};

/// Every rule the partition breaks, in a fixed order (by kind, then instance). Empty = legal.
/// Independent judge: works from the profile table alone, slice by slice, and shares no code with
/// enumeration (layout.hpp) or any optimizer. Source: mig-and-mps reference, sections 0.2, A.4.
std::vector<Violation> check_partition(const Geometry& geometry, const Partition& partition);

}  // namespace septule::gpu
