#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "gpu/layout.hpp"

namespace septule::serve {

enum class Role { kServe, kRetrain };

/// One tenant's process(es) in an instance.
struct Occupant {
  int tenant = 0;
  Role role = Role::kServe;
  int batch = 1;                      ///< largest batch formed
  int processes = 1;                  ///< equal processes under MPS
  ActiveThreadPercentage share{100};  ///< of the instance's threads, all processes together

  friend bool operator==(const Occupant&, const Occupant&) = default;
};

/// An instance (or the whole GPU, MIG off) with who is in it. Several occupants share by MPS.
struct ServingInstance {
  std::optional<gpu::PlacedProfile> placed;  ///< nothing = the whole GPU without MIG
  std::vector<Occupant> occupants;           ///< by tenant, serving before retraining

  friend bool operator==(const ServingInstance&, const ServingInstance&) = default;
};

/// What one GPU is to be. Instances by placement; a whole-GPU instance stands alone.
struct GpuDeployment {
  std::vector<ServingInstance> instances;
  friend bool operator==(const GpuDeployment&, const GpuDeployment&) = default;
};

/// What every GPU is to be: all of a serving policy's decision. By GPU. A value.
struct Deployment {
  std::vector<GpuDeployment> gpus;
  friend bool operator==(const Deployment&, const Deployment&) = default;
};

}  // namespace septule::serve
