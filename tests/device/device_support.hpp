#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "device/emulated_device.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "gpu/geometry.hpp"
#include "gpu/latency.hpp"
#include "gpu/layout.hpp"
#include "gpu/partition.hpp"

namespace septule::device::test {

inline const gpu::Geometry& model(std::string_view key) {
  static const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const Result<const gpu::Geometry*> found = catalogue.find(key);
  SEPTULE_CHECK(found.has_value(), "tests name known GPUs");
  return **found;
}

inline const gpu::LatencyTable& latencies() {
  static const gpu::LatencyTable table = gpu::load_builtin_latencies();
  return table;
}

/// A node of `count` GPUs of one model.
inline std::unique_ptr<EmulatedDevice> node_of(const gpu::Geometry& geometry,
                                               const EmulatedDeviceOptions& options = {},
                                               std::size_t count = 1) {
  const std::vector<const gpu::Geometry*> gpus(count, &geometry);
  Result<std::unique_ptr<EmulatedDevice>> device = EmulatedDevice::make(gpus, latencies(), options);
  SEPTULE_CHECK(device.has_value(), "the options of a test are valid");
  return std::move(device).value();
}

inline gpu::PlacedProfile placed(const gpu::Geometry& geometry, std::string_view name, int start) {
  return {
      .profile = checked_value(geometry.find_profile(name), "tests name profiles that the GPU has"),
      .start = MemorySlices(start)};
}

inline port::DeviceState state_of(const EmulatedDevice& device, GpuIndex gpu) {
  return checked_value(device.inspect(gpu), "tests inspect GPUs that exist");
}

inline gpu::Partition partition_of(const port::DeviceState& state) {
  gpu::Partition partition;
  for (const port::DeviceInstance& instance : state.instances) {
    gpu::GpuInstance& to = partition.instances.emplace_back();
    to.placed = instance.placed;
    for (const auto& compute : instance.compute_instances) {
      to.compute_instances.push_back(compute.instance);
    }
  }
  gpu::canonicalise(partition);
  return partition;
}

/// Everything inspect() shows, as one comparable value.
inline std::vector<int> fingerprint(const port::DeviceState& state) {
  std::vector<int> all{static_cast<int>(state.mig_mode),
                       state.is_lost ? 1 : 0,
                       state.has_mps ? 1 : 0,
                       state.client_count};
  for (const port::DeviceInstance& instance : state.instances) {
    all.insert(all.end(),
               {-1,
                instance.id.value(),
                instance.placed.profile.value(),
                instance.placed.start.value(),
                instance.has_mps ? 1 : 0,
                instance.client_count});
    for (const auto& compute : instance.compute_instances) {
      all.insert(all.end(),
                 {-2,
                  compute.id.value(),
                  compute.instance.placement.start.value(),
                  compute.instance.placement.size.value()});
    }
  }
  return all;
}

/// A GPU instance with its full compute instance; both must succeed.
inline GpuInstanceId create_ready(EmulatedDevice& device,
                                  GpuIndex gpu,
                                  const gpu::PlacedProfile& where) {
  const auto created = device.create_gpu_instance(gpu, where);
  SEPTULE_CHECK(created.code == port::DeviceCode::kOk, "the instance fits");
  const gpu::Geometry& geometry = *state_of(device, gpu).geometry;
  const auto compute = device.create_compute_instance(
      gpu, created.id, gpu::full_compute_instance(geometry, where.profile));
  SEPTULE_CHECK(compute.code == port::DeviceCode::kOk, "its full compute instance fits");
  return created.id;
}

}  // namespace septule::device::test
