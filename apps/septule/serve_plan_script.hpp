#pragma once

#include <string>

#include "base/result.hpp"
#include "gpu/inventory.hpp"
#include "gpu/latency.hpp"
#include "septule/serve_window.hpp"

namespace septule::app {

/// A script that carries a plan out on a node whose GPUs are those of the plan, in order: a phase
/// for each time at which a layout changes. What tenants have on the node is as `initial` of the
/// problems says. kBlocked where something that nobody may touch is in the way.
Result<std::string> serve_plan_script(const ServePlan& plan,
                                      const gpu::Inventory& node,
                                      const gpu::LatencyTable& latencies);

}  // namespace septule::app
