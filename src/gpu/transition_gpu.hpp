#pragma once

#include "base/result.hpp"
#include "gpu/inventory.hpp"
#include "gpu/latency.hpp"
#include "gpu/transition.hpp"

namespace septule::gpu {

/// Whether what was observed can be planned from: MIG on if there are instances, and a legal
/// partition. kInvalidInput otherwise, naming the GPU and the first rule broken. (A real driver may
/// hold what the built-in catalogue does not know; no plan is made on top of that.)
Status check_observed_state(const ObservedGpu& gpu);

/// The part of plan_transition() that concerns one GPU; see there for the rules. Both the state and
/// the goal must be legal (plan_transition() has checked them); `to` must mean the GPU of `from`.
GpuTransition plan_gpu_transition(const ObservedGpu& from,
                                  const DesiredGpu& to,
                                  const LatencyTable& latencies);

}  // namespace septule::gpu
