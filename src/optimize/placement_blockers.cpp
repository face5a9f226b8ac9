#include "optimize/placement_blockers.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace septule::optimize {

std::vector<BlockedPlacement> blocked_placements(
    const gpu::ObservedGpu& gpu,
    const gpu::InstanceRequest& request,
    const std::function<bool(const gpu::ObservedInstance&)>& counts) {
  const gpu::Geometry& geometry = *gpu.geometry;
  std::vector<BlockedPlacement> blocked;
  for (const gpu::Placement& place : geometry.profile(request.profile).placements) {
    if (request.start && *request.start != place.start) {
      continue;
    }
    BlockedPlacement one{{request.profile, place.start}, {}, ""};
    std::vector<std::string> names;
    for (std::size_t i = 0; i < gpu.instances.size(); ++i) {
      const gpu::ObservedInstance& instance = gpu.instances[i];
      if (counts(instance) && gpu::placement_of(geometry, instance.placed).overlaps(place)) {
        one.instances.push_back(i);
        names.push_back(gpu::observed_text(gpu, instance));
      }
    }
    if (!names.empty()) {
      one.text = fmt::format(
          "{} is blocked by {}", gpu::placed_text(geometry, one.placed), joined_with_and(names));
      blocked.push_back(std::move(one));
    }
  }
  return blocked;
}

}  // namespace septule::optimize
