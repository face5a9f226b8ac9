#include "gpu/partition.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::gpu {

void canonicalise(Partition& partition) {
  for (GpuInstance& instance : partition.instances) {
    std::ranges::sort(instance.compute_instances);
  }
  std::ranges::sort(partition.instances, [](const GpuInstance& a, const GpuInstance& b) {
    return a.placed.start != b.placed.start ? a.placed.start < b.placed.start
                                            : a.placed.profile < b.placed.profile;
  });
}

Layout layout_of(const Partition& partition) {
  Layout layout;
  for (const GpuInstance& instance : partition.instances) {
    layout.push_back(instance.placed);
  }
  canonicalise(layout);
  return layout;
}

ComputeInstance full_compute_instance(const Geometry& geometry, ProfileIndex profile) {
  return ComputeInstance{ComputePlacement{ComputeSlices(0), geometry.profile(profile).slices}};
}

bool is_full(const Geometry& geometry, ProfileIndex profile, const ComputeInstance& instance) {
  return instance == full_compute_instance(geometry, profile);
}

Partition partition_with_full_instances(const Geometry& geometry, const Layout& layout) {
  Partition partition;
  for (const PlacedProfile& placed : layout) {
    partition.instances.push_back(
        GpuInstance{placed, {full_compute_instance(geometry, placed.profile)}});
  }
  canonicalise(partition);
  return partition;
}

bool can_add_compute_instance(const Geometry& geometry,
                              const GpuInstance& instance,
                              const ComputeInstance& wanted) {
  for (const ComputeInstanceProfile& profile : geometry.compute_profiles(instance.placed.profile)) {
    if (profile.slices != wanted.placement.size) {
      continue;
    }
    const auto is_same_size = [&](const ComputeInstance& other) {
      return other.placement.size == wanted.placement.size;
    };
    const auto is_overlapping = [&](const ComputeInstance& other) {
      return other.placement.overlaps(wanted.placement);
    };
    const auto& present = instance.compute_instances;
    return std::ranges::find(profile.placements, wanted.placement) != profile.placements.end() &&
           std::ranges::none_of(present, is_overlapping) &&
           std::ranges::count_if(present, is_same_size) < profile.instances_max;
  }
  return false;
}

namespace {

void walk_compute_layouts(
    const Geometry& geometry,
    std::span<const ComputeInstance> choices,
    std::size_t from,
    GpuInstance& instance,
    const std::function<void(std::span<const ComputeInstance>, bool)>& visit) {
  const bool is_maximal = std::ranges::none_of(choices, [&](const ComputeInstance& choice) {
    return can_add_compute_instance(geometry, instance, choice);
  });
  visit(instance.compute_instances, is_maximal);
  for (std::size_t i = from; i < choices.size(); ++i) {
    if (can_add_compute_instance(geometry, instance, choices[i])) {
      instance.compute_instances.push_back(choices[i]);
      walk_compute_layouts(geometry, choices, i + 1, instance, visit);
      instance.compute_instances.pop_back();
    }
  }
}

}  // namespace

void for_each_compute_layout(
    const Geometry& geometry,
    ProfileIndex profile,
    const std::function<void(std::span<const ComputeInstance> instances, bool is_maximal)>& visit) {
  std::vector<ComputeInstance> choices;
  for (const ComputeInstanceProfile& compute : geometry.compute_profiles(profile)) {
    for (const ComputePlacement& place : compute.placements) {
      choices.push_back(ComputeInstance{place});
    }
  }
  std::ranges::sort(choices);
  GpuInstance instance{PlacedProfile{profile, MemorySlices(0)}, {}};
  walk_compute_layouts(geometry, choices, 0, instance, visit);
}

std::string placed_text(const Geometry& geometry, const PlacedProfile& placed) {
  return fmt::format("{}@{}", geometry.profile(placed.profile).name, placed.start.value());
}

std::string compute_instance_name(const Geometry& geometry,
                                  ProfileIndex profile,
                                  const ComputeInstance& instance) {
  const std::string& name = geometry.profile(profile).name;
  if (is_full(geometry, profile, instance)) {
    return name;
  }
  return fmt::format("{}c.{}", instance.placement.size.value(), name);
}

std::string instance_text(const Geometry& geometry, const GpuInstance& instance) {
  std::string text = placed_text(geometry, instance.placed);
  const auto& compute = instance.compute_instances;
  if (compute.size() == 1 && is_full(geometry, instance.placed.profile, compute.front())) {
    return text;
  }
  text += "[";
  for (std::size_t i = 0; i < compute.size(); ++i) {
    text += fmt::format("{}{}c@{}",
                        i > 0 ? "," : "",
                        compute[i].placement.size.value(),
                        compute[i].placement.start.value());
  }
  return text + "]";
}

std::string partition_text(const Geometry& geometry, const Partition& partition) {
  if (partition.instances.empty()) {
    return "empty";
  }
  std::string text;
  for (const GpuInstance& instance : partition.instances) {
    text += (text.empty() ? "" : ",") + instance_text(geometry, instance);
  }
  return text;
}

}  // namespace septule::gpu
