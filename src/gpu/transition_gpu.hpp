#pragma once

#include "gpu/inventory.hpp"
#include "gpu/latency.hpp"
#include "gpu/transition.hpp"

namespace septule::gpu {

/// The part of plan_transition() that concerns one GPU; see there for the rules. Both the state and
/// the goal must be legal (plan_transition() has checked them); `to` must mean the GPU of `from`.
GpuTransition plan_gpu_transition(const ObservedGpu& from,
                                  const DesiredGpu& to,
                                  const LatencyTable& latencies);

}  // namespace septule::gpu
