#include "gpu/inventory.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::gpu {

std::string_view hold_name(Hold hold) {
  switch (hold) {
    case Hold::kIdle:
      return "idle";
    case Hold::kBusy:
      return "busy";
    case Hold::kForeign:
      return "foreign";
  }
  SEPTULE_CHECK(false, "every Hold has a name");
}

Hold ObservedInstance::effective_hold() const {
  Hold strongest = hold;
  if (compute_instances.has_value()) {
    for (const ObservedComputeInstance& inside : *compute_instances) {
      strongest = std::max(strongest, inside.hold);
    }
  }
  return strongest;
}

std::vector<std::string> ObservedInstance::holders() const {
  std::vector<std::string> names;
  const auto add = [&](Hold own_hold, const std::string& name) {
    if (own_hold != Hold::kIdle && !name.empty() && std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  };
  add(hold, holder);
  if (compute_instances.has_value()) {
    for (const ObservedComputeInstance& inside : *compute_instances) {
      add(inside.hold, inside.holder);
    }
  }
  if (names.empty() && effective_hold() != Hold::kIdle) {
    names.emplace_back("unknown holder");
  }
  return names;
}

Layout ObservedGpu::layout() const {
  Layout layout;
  layout.reserve(instances.size());
  for (const ObservedInstance& instance : instances) {
    layout.push_back(instance.placed);
  }
  canonicalise(layout);
  return layout;
}

Partition ObservedGpu::partition() const {
  SEPTULE_CHECK(geometry != nullptr, "an observed GPU has a geometry");
  Partition partition;
  partition.instances.reserve(instances.size());
  for (const ObservedInstance& instance : instances) {
    GpuInstance own{.placed = instance.placed, .compute_instances = {}};
    if (instance.compute_instances.has_value()) {
      for (const ObservedComputeInstance& inside : *instance.compute_instances) {
        own.compute_instances.push_back(inside.instance);
      }
    } else {
      own.compute_instances.push_back(full_compute_instance(*geometry, instance.placed.profile));
    }
    partition.instances.push_back(std::move(own));
  }
  canonicalise(partition);
  return partition;
}

std::string observed_text(const ObservedGpu& gpu, const ObservedInstance& instance) {
  SEPTULE_CHECK(gpu.geometry != nullptr, "an observed GPU has a geometry");
  std::string place = placed_text(*gpu.geometry, instance.placed);
  const std::vector<std::string> holders = instance.holders();
  const std::string by = fmt::format("{}", fmt::join(holders, ", "));
  switch (instance.effective_hold()) {
    case Hold::kIdle:
      return place;
    case Hold::kBusy:
      return fmt::format("{} ({})", place, by);
    case Hold::kForeign:
      return fmt::format("{} (foreign: {})", place, by);
  }
  SEPTULE_CHECK(false, "every Hold is described");
}

}  // namespace septule::gpu
