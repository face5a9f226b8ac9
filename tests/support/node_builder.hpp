#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "gpu/inventory.hpp"
#include "gpu/layout_request.hpp"

namespace septule::test {

/// The built-in catalogue, parsed once per test program.
inline const gpu::Catalogue& catalogue() {
  static const gpu::Catalogue loaded = gpu::load_builtin_catalogue();
  return loaded;
}

inline const gpu::Geometry& geometry(std::string_view key) {
  const auto found = catalogue().find(key);
  SEPTULE_CHECK(found.has_value(), "tests name models that the catalogue has");
  return **found;
}

inline ProfileIndex profile(const gpu::Geometry& geometry, std::string_view name) {
  const auto found = geometry.find_profile(name);
  SEPTULE_CHECK(found.has_value(), "tests name profiles that the model has");
  return *found;
}

/// One instance of a GPU under test: "4g.20gb", 0, hold.
struct InstanceSpec {
  std::string profile;
  int start = 0;
  gpu::Hold hold = gpu::Hold::kIdle;
  bool is_movable = false;
  std::string holder{};
};

inline gpu::ObservedInstance observed(const gpu::Geometry& geometry, const InstanceSpec& spec) {
  gpu::ObservedInstance instance;
  instance.placed = {profile(geometry, spec.profile), MemorySlices(spec.start)};
  instance.hold = spec.hold;
  instance.is_movable = spec.is_movable;
  instance.holder = spec.holder;
  return instance;
}

inline gpu::ObservedGpu gpu_with(const gpu::Geometry& geometry,
                                 int index,
                                 const std::vector<InstanceSpec>& specs = {}) {
  gpu::ObservedGpu gpu;
  gpu.index = GpuIndex(index);
  gpu.geometry = &geometry;
  for (const InstanceSpec& spec : specs) {
    gpu.instances.push_back(observed(geometry, spec));
  }
  return gpu;
}

inline gpu::Inventory fresh_node(const gpu::Geometry& geometry, int gpus) {
  gpu::Inventory inventory;
  for (int i = 0; i < gpus; ++i) {
    inventory.gpus.push_back(gpu_with(geometry, i));
  }
  return inventory;
}

}  // namespace septule::test
