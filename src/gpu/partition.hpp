#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"

namespace septule::gpu {

/// A compute instance: a part of a GPU instance's compute slices. Jobs run in compute instances.
struct ComputeInstance {
  ComputePlacement placement;

  friend constexpr auto operator<=>(const ComputeInstance&, const ComputeInstance&) = default;
};

/// A GPU instance with its compute instances (canonical order: by start).
struct GpuInstance {
  PlacedProfile placed;
  std::vector<ComputeInstance> compute_instances;

  friend auto operator<=>(const GpuInstance&, const GpuInstance&) = default;
};

/// One GPU's cut: placed GPU instances and the compute instances inside them. Canonical order: by
/// start. A value; whether it is legal is for partition_checker.hpp to say.
struct Partition {
  std::vector<GpuInstance> instances;

  friend bool operator==(const Partition&, const Partition&) = default;
};

void canonicalise(Partition& partition);
Layout layout_of(const Partition& partition);
/// The compute instance that fills a whole GPU instance of this profile.
ComputeInstance full_compute_instance(const Geometry& geometry, ProfileIndex profile);
bool is_full(const Geometry& geometry, ProfileIndex profile, const ComputeInstance& instance);
/// Gives every GPU instance of `layout` one full compute instance.
Partition partition_with_full_instances(const Geometry& geometry, const Layout& layout);

/// Whether a compute instance may be added beside the others of its GPU instance: it is a possible
/// placement, overlaps none, and its profile's maximum is not reached.
bool can_add_compute_instance(const Geometry& geometry,
                              const GpuInstance& instance,
                              const ComputeInstance& wanted);
/// All legal sets of compute instances inside one GPU instance of `profile` (the empty set
/// included), each in canonical order; `is_maximal` tells those to which none can be added.
void for_each_compute_layout(
    const Geometry& geometry,
    ProfileIndex profile,
    const std::function<void(std::span<const ComputeInstance> instances, bool is_maximal)>& visit);

/// "3g.20gb@4"
std::string placed_text(const Geometry& geometry, const PlacedProfile& placed);
/// "1c.3g.20gb", or "3g.20gb" for a full compute instance: nvidia-smi's way of naming it.
std::string compute_instance_name(const Geometry& geometry,
                                  ProfileIndex profile,
                                  const ComputeInstance& instance);
/// "3g.20gb@4" (one full compute instance), "3g.20gb@4[1c@0,2c@1]", "3g.20gb@4[]" (none).
std::string instance_text(const Geometry& geometry, const GpuInstance& instance);
/// Instances joined with commas, "empty" for none. Reads back through LayoutRequest.
std::string partition_text(const Geometry& geometry, const Partition& partition);

}  // namespace septule::gpu
