#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/inventory.hpp"
#include "gpu/layout_request.hpp"

namespace septule::optimize {

/// A possible placement of a request that existing instances overlap.
struct BlockedPlacement {
  gpu::PlacedProfile placed;
  std::vector<std::size_t> instances;  ///< indices into ObservedGpu::instances, ascending
  std::string text;                    ///< "4g.20gb@0 is blocked by 1g.5gb@1 (job 17)"
};

/// Per possible placement (or the given one) who overlaps it, of the instances that `counts` says
/// are in the way; placements that none of them overlaps are left out.
std::vector<BlockedPlacement> blocked_placements(
    const gpu::ObservedGpu& gpu,
    const gpu::InstanceRequest& request,
    const std::function<bool(const gpu::ObservedInstance&)>& counts);

}  // namespace septule::optimize
