#pragma once

#include <span>
#include <vector>

#include "septule/serve_inputs.hpp"
#include "serve/fleet_problem.hpp"
#include "serve/goodput_problem.hpp"

namespace septule::app {

/// One GPU of a fleet plan: who is on it, with which part of its requests, in which instances.
struct GpuShare {
  struct Part {
    int tenant = 0;    ///< index into ServeInput::tenants
    double share = 1;  ///< of its requests
  };
  std::vector<Part> tenants;  ///< by tenant
  /// Instances of the plan on this GPU; `label` is a tenant (index into ServeInput::tenants).
  serve::LabelledLayout layout;
};

/// Who is on which GPU, from the instances of each (`label` as above). Requests are shared by
/// capacity. A tenant without instances joins the GPU with the fewest tenants, the first of equals.
std::vector<GpuShare> shares_by_capacity(const ServeInput& input,
                                         std::span<const serve::LabelledLayout> layouts);

/// Deals the instances of a fleet plan out to `gpu_count` GPUs: a tenant's instances to GPUs that
/// it is on already where there is room, tenants with the most instances first; ties by tenant,
/// size, GPU. Then as above.
std::vector<GpuShare> split_fleet(const ServeInput& input,
                                  const serve::FleetPlan& plan,
                                  int gpu_count);

}  // namespace septule::app
