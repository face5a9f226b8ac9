#include "device/emulated_device.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::device {

namespace {

using port::DeviceCode;
using port::MigMode;

constexpr int kMpsClientsMax = 60;

Status check_duration(std::string_view name, std::optional<Duration> duration) {
  if (duration.has_value() && *duration < Duration()) {
    return Error{
        .code = ErrorCode::kInvalidInput,
        .message = fmt::format("the emulated device's {} is {} ns; it must not be negative",
                               name,
                               duration->to_nanoseconds())};
  }
  return {};
}

Status check_options(const EmulatedDeviceOptions& options) {
  SEPTULE_TRY_STATUS(check_duration("full reset", options.full_reset));
  SEPTULE_TRY_STATUS(check_duration("switch of MIG mode", options.mig_mode_toggle));
  SEPTULE_TRY_STATUS(check_duration("start of MPS", options.mps_start));
  SEPTULE_TRY_STATUS(check_duration("stop of MPS", options.mps_stop));
  if (options.mps_clients_max < 1 || options.mps_clients_max > kMpsClientsMax) {
    return Error{.code = ErrorCode::kInvalidInput,
                 .message = fmt::format("the emulated device's MPS clients are at most {}; valid "
                                        "are 1 to {}",
                                        options.mps_clients_max,
                                        kMpsClientsMax)};
  }
  return check_fault_plan(options.faults);
}

Orientation orientation_of(BoardOrientations orientations, std::size_t gpu) {
  switch (orientations) {
    case BoardOrientations::kMixed:
      return gpu % 2 == 0 ? Orientation::kNormal : Orientation::kMirrored;
    case BoardOrientations::kAllNormal:
      return Orientation::kNormal;
    case BoardOrientations::kAllMirrored:
      return Orientation::kMirrored;
  }
  SEPTULE_CHECK(false, "every BoardOrientations is known here");
}

bool has_bit(std::uint32_t mask, int index) {
  return index >= 0 && index < BoardModel::kMemorySlicesMax &&
         ((mask >> static_cast<unsigned>(index)) & 1U) != 0;
}

std::uint32_t slices_of(const BoardModel::Profile& profile, int start) {
  return profile.size_mask << static_cast<unsigned>(start);
}

}  // namespace

Result<std::unique_ptr<EmulatedDevice>> EmulatedDevice::make(
    std::span<const gpu::Geometry* const> gpus,
    const gpu::LatencyTable& latencies,
    const EmulatedDeviceOptions& options) {
  SEPTULE_TRY_STATUS(check_options(options));
  std::vector<const gpu::Geometry*> kinds;  // in the order of their first GPU
  std::vector<std::size_t> kind_of;
  for (const gpu::Geometry* geometry : gpus) {
    SEPTULE_CHECK(geometry != nullptr, "every emulated GPU has a geometry");
    const auto found = std::ranges::find(kinds, geometry);
    kind_of.push_back(static_cast<std::size_t>(found - kinds.begin()));
    if (found == kinds.end()) {
      kinds.push_back(geometry);
    }
  }
  std::vector<BoardModel> models;
  for (const gpu::Geometry* geometry : kinds) {
    SEPTULE_TRY(BoardModel model, BoardModel::make(*geometry, latencies, options.mps_clients_max));
    models.push_back(std::move(model));
  }
  // The constructor is private, so make_unique cannot reach it.
  std::unique_ptr<EmulatedDevice> device(
      new EmulatedDevice(std::move(models), options, static_cast<int>(gpus.size())));
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    Gpu& gpu = device->gpus_[i];
    gpu.model = &device->models_[kind_of[i]];
    gpu.orientation = orientation_of(options.orientations, i);
    gpu.mig_mode = gpu.model->has_mig() ? options.initial_mig_mode : MigMode::kDisabled;
  }
  return device;
}

EmulatedDevice::EmulatedDevice(std::vector<BoardModel> models,
                               const EmulatedDeviceOptions& options,
                               int count)
    : options_(options),
      models_(std::move(models)),
      gpus_(static_cast<std::size_t>(count)),
      faults_(options.faults, count) {}

EmulatedDevice::FoundGpu EmulatedDevice::find_gpu(GpuIndex index) {
  if (index.value() < 0 || index.value() >= gpu_count()) {
    return {.code = DeviceCode::kNotFound};
  }
  Gpu& gpu = gpus_[static_cast<std::size_t>(index.value())];
  return {.code = gpu.is_lost ? DeviceCode::kGpuLost : DeviceCode::kOk, .gpu = &gpu};
}

EmulatedDevice::FoundInstance EmulatedDevice::find_instance(GpuIndex index, GpuInstanceId id) {
  const FoundGpu found = find_gpu(index);
  if (found.code != DeviceCode::kOk) {
    return {.code = found.code};
  }
  if (found.gpu->mig_mode != MigMode::kEnabled) {
    return {.code = DeviceCode::kNotSupported};
  }
  const auto& instances = found.gpu->instances;
  for (std::size_t at = 0; at < instances.size(); ++at) {
    if (instances[at].id == id.value()) {
      return {.code = DeviceCode::kOk, .gpu = found.gpu, .at = at};
    }
  }
  return {.code = DeviceCode::kNotFound};
}

EmulatedDevice::FoundHolders EmulatedDevice::find_holders(GpuIndex index,
                                                          std::optional<GpuInstanceId> instance) {
  if (!instance.has_value()) {
    const FoundGpu found = find_gpu(index);
    if (found.code != DeviceCode::kOk) {
      return {.code = found.code};
    }
    if (found.gpu->mig_mode != MigMode::kDisabled) {
      return {.code = DeviceCode::kInvalidArgument};
    }
    return {.code = DeviceCode::kOk,
            .gpu = found.gpu,
            .holders = &found.gpu->whole,
            .clients_max = options_.mps_clients_max};
  }
  const FoundInstance found = find_instance(index, *instance);
  if (found.code != DeviceCode::kOk) {
    return {.code = found.code};
  }
  Instance& of = found.gpu->instances[found.at];
  if (of.compute_count == 0) {
    return {.code = DeviceCode::kNotFound};
  }
  return {.code = DeviceCode::kOk,
          .gpu = found.gpu,
          .holders = &of.holders,
          .clients_max = found.gpu->model->find_profile(ProfileIndex(of.profile))->mps_clients_max};
}

DeviceCode EmulatedDevice::draw_fault(DeviceCall call, GpuIndex index) {
  const DeviceCode code = faults_.draw(call, index);
  if (code == DeviceCode::kGpuLost) {
    lose_gpu(index);
  }
  return code;
}

void EmulatedDevice::charge_recut(Gpu& gpu, Duration step) const {
  if (options_.full_reset.has_value()) {
    gpu.is_recut = true;
  } else {
    gpu.latency += step;
  }
}

void EmulatedDevice::empty(Gpu& gpu) {
  gpu.instances.clear();
  gpu.memory_slice_mask = 0;
  gpu.whole = {};
}

std::optional<port::DeviceState> EmulatedDevice::inspect(GpuIndex index) const {
  if (index.value() < 0 || index.value() >= gpu_count()) {
    return std::nullopt;
  }
  const Gpu& gpu = gpus_[static_cast<std::size_t>(index.value())];
  port::DeviceState state;
  state.geometry = &gpu.model->geometry();
  state.mig_mode = gpu.mig_mode;
  state.is_lost = gpu.is_lost;
  state.has_mps = gpu.whole.has_mps;
  state.client_count = gpu.whole.client_count;
  state.instances.reserve(gpu.instances.size());
  for (const Instance& from : gpu.instances) {
    port::DeviceInstance instance;
    instance.id = GpuInstanceId(from.id);
    instance.placed = {.profile = ProfileIndex(from.profile), .start = MemorySlices(from.start)};
    instance.has_mps = from.holders.has_mps;
    instance.client_count = from.holders.client_count;
    for (std::size_t id = 0; id < from.compute.size(); ++id) {
      const ComputeSlot& slot = from.compute[id];
      if (slot.size > 0) {
        instance.compute_instances.push_back(
            {.id = ComputeInstanceId(static_cast<int>(id)),
             .instance = {.placement = {.start = ComputeSlices(slot.start),
                                        .size = ComputeSlices(slot.size)}}});
      }
    }
    state.instances.push_back(std::move(instance));
  }
  return state;
}

DeviceCode EmulatedDevice::set_mig_mode(GpuIndex index, MigMode mode) {
  const FoundGpu found = find_gpu(index);
  if (found.code != DeviceCode::kOk) {
    return found.code;
  }
  Gpu& gpu = *found.gpu;
  if (!gpu.model->has_mig()) {
    return mode == MigMode::kDisabled ? DeviceCode::kOk : DeviceCode::kNotSupported;
  }
  if (gpu.mig_mode == mode) {
    return DeviceCode::kOk;
  }
  if (!gpu.instances.empty() || !gpu.whole.is_free()) {
    return DeviceCode::kInUse;
  }
  if (const DeviceCode fault = draw_fault(DeviceCall::kSetMigMode, index);
      fault != DeviceCode::kOk) {
    return fault;
  }
  gpu.mig_mode = mode;
  charge_recut(gpu, options_.mig_mode_toggle.value_or(gpu.model->mig_mode_toggle()));
  return DeviceCode::kOk;
}

bool EmulatedDevice::has_room(const Gpu& gpu,
                              const gpu::PlacedProfile& placed,
                              const BoardModel::Profile& profile) {
  if ((gpu.memory_slice_mask & slices_of(profile, placed.start.value())) != 0) {
    return false;
  }
  int count = 0;
  auto engines = profile.engines;
  for (const Instance& other : gpu.instances) {
    count += other.profile == placed.profile.value() ? 1 : 0;
    const BoardModel::Profile& used = *gpu.model->find_profile(ProfileIndex(other.profile));
    for (std::size_t e = 0; e < engines.size(); ++e) {
      engines[e] += used.engines[e];
    }
  }
  if (count >= profile.instances_max) {
    return false;
  }
  // An engine that the profile lacks cannot be short for it.
  for (std::size_t e = 0; e < engines.size(); ++e) {
    if (profile.engines[e] > 0 && engines[e] > gpu.model->engine_budget()[e]) {
      return false;
    }
  }
  return true;
}

port::DeviceResult<GpuInstanceId> EmulatedDevice::create_gpu_instance(
    GpuIndex index, const gpu::PlacedProfile& placed) {
  const FoundGpu found = find_gpu(index);
  if (found.code != DeviceCode::kOk) {
    return {.code = found.code};
  }
  Gpu& gpu = *found.gpu;
  if (gpu.mig_mode != MigMode::kEnabled) {
    return {.code = DeviceCode::kNotSupported};
  }
  const BoardModel::Profile* profile = gpu.model->find_profile(placed.profile);
  const int start = placed.start.value();
  if (profile == nullptr || !has_bit(profile->start_mask, start)) {
    return {.code = DeviceCode::kInvalidArgument};
  }
  if (!has_room(gpu, placed, *profile)) {
    return {.code = DeviceCode::kInsufficientResources};
  }
  if (const DeviceCode fault = draw_fault(DeviceCall::kCreateGpuInstance, index);
      fault != DeviceCode::kOk) {
    return {.code = fault};
  }
  Instance instance;
  instance.id =
      profile->ids[static_cast<std::size_t>(gpu.orientation)][static_cast<std::size_t>(start)];
  instance.profile = static_cast<std::uint8_t>(placed.profile.value());
  instance.start = static_cast<std::uint8_t>(start);
  gpu.instances.push_back(instance);
  for (std::size_t at = gpu.instances.size() - 1;
       at > 0 && gpu.instances[at].start < gpu.instances[at - 1].start;
       --at) {
    std::swap(gpu.instances[at], gpu.instances[at - 1]);
  }
  gpu.memory_slice_mask |= slices_of(*profile, start);
  charge_recut(gpu, profile->create);
  return {.code = DeviceCode::kOk, .id = GpuInstanceId(instance.id)};
}

DeviceCode EmulatedDevice::destroy_gpu_instance(GpuIndex index, GpuInstanceId id) {
  const FoundInstance found = find_instance(index, id);
  if (found.code != DeviceCode::kOk) {
    return found.code;
  }
  const Instance& instance = found.gpu->instances[found.at];
  if (instance.compute_count > 0 || !instance.holders.is_free()) {
    return DeviceCode::kInUse;
  }
  if (const DeviceCode fault = draw_fault(DeviceCall::kDestroyGpuInstance, index);
      fault != DeviceCode::kOk) {
    return fault;
  }
  const BoardModel::Profile& profile =
      *found.gpu->model->find_profile(ProfileIndex(instance.profile));
  found.gpu->memory_slice_mask &= ~slices_of(profile, instance.start);
  found.gpu->instances.erase_at(found.at);
  charge_recut(*found.gpu, profile.destroy);
  return DeviceCode::kOk;
}

port::DeviceResult<ComputeInstanceId> EmulatedDevice::create_compute_instance(
    GpuIndex index, GpuInstanceId id, const gpu::ComputeInstance& wanted) {
  const FoundInstance found = find_instance(index, id);
  if (found.code != DeviceCode::kOk) {
    return {.code = found.code};
  }
  Instance& instance = found.gpu->instances[found.at];
  const BoardModel::Profile& profile =
      *found.gpu->model->find_profile(ProfileIndex(instance.profile));
  const int start = wanted.placement.start.value();
  const int size = wanted.placement.size.value();
  const auto* row = std::ranges::find(profile.compute_rows, size, &BoardModel::ComputeRow::slices);
  if (row == profile.compute_rows.end() || !has_bit(row->start_mask, start)) {
    return {.code = DeviceCode::kInvalidArgument};
  }
  int count = 0;
  std::optional<std::size_t> free_slot;
  for (std::size_t i = 0; i < instance.compute.size(); ++i) {
    const ComputeSlot& slot = instance.compute[i];
    if (slot.size == 0) {
      free_slot = free_slot.value_or(i);
      continue;
    }
    if (slot.start < start + size && start < slot.start + slot.size) {
      return {.code = DeviceCode::kInsufficientResources};
    }
    count += slot.size == size ? 1 : 0;
  }
  if (count >= row->instances_max || !free_slot.has_value()) {
    return {.code = DeviceCode::kInsufficientResources};
  }
  if (const DeviceCode fault = draw_fault(DeviceCall::kCreateComputeInstance, index);
      fault != DeviceCode::kOk) {
    return {.code = fault};
  }
  instance.compute[*free_slot] = {.start = static_cast<std::uint8_t>(start),
                                  .size = static_cast<std::uint8_t>(size)};
  ++instance.compute_count;
  charge_recut(*found.gpu, found.gpu->model->compute_create());
  return {.code = DeviceCode::kOk, .id = ComputeInstanceId(static_cast<int>(*free_slot))};
}

DeviceCode EmulatedDevice::destroy_compute_instance(GpuIndex index,
                                                    GpuInstanceId instance_id,
                                                    ComputeInstanceId id) {
  const FoundInstance found = find_instance(index, instance_id);
  if (found.code != DeviceCode::kOk) {
    return found.code;
  }
  Instance& instance = found.gpu->instances[found.at];
  if (id.value() < 0 || id.value() >= BoardModel::kComputeInstancesMax ||
      instance.compute[static_cast<std::size_t>(id.value())].size == 0) {
    return DeviceCode::kNotFound;
  }
  if (!instance.holders.is_free()) {
    return DeviceCode::kInUse;
  }
  if (const DeviceCode fault = draw_fault(DeviceCall::kDestroyComputeInstance, index);
      fault != DeviceCode::kOk) {
    return fault;
  }
  instance.compute[static_cast<std::size_t>(id.value())] = {};
  --instance.compute_count;
  charge_recut(*found.gpu, found.gpu->model->compute_destroy());
  return DeviceCode::kOk;
}

DeviceCode EmulatedDevice::start_mps(GpuIndex index, std::optional<GpuInstanceId> instance) {
  const FoundHolders found = find_holders(index, instance);
  if (found.code != DeviceCode::kOk || found.holders->has_mps) {
    return found.code;
  }
  if (found.holders->client_count > 0) {
    return DeviceCode::kInUse;
  }
  if (const DeviceCode fault = draw_fault(DeviceCall::kStartMps, index); fault != DeviceCode::kOk) {
    return fault;
  }
  found.holders->has_mps = true;
  found.gpu->latency += options_.mps_start;
  return DeviceCode::kOk;
}

DeviceCode EmulatedDevice::stop_mps(GpuIndex index, std::optional<GpuInstanceId> instance) {
  const FoundHolders found = find_holders(index, instance);
  if (found.code != DeviceCode::kOk || !found.holders->has_mps) {
    return found.code;
  }
  if (found.holders->client_count > 0) {
    return DeviceCode::kInUse;
  }
  if (const DeviceCode fault = draw_fault(DeviceCall::kStopMps, index); fault != DeviceCode::kOk) {
    return fault;
  }
  found.holders->has_mps = false;
  found.gpu->latency += options_.mps_stop;
  return DeviceCode::kOk;
}

DeviceCode EmulatedDevice::attach_client(GpuIndex index, std::optional<GpuInstanceId> instance) {
  const FoundHolders found = find_holders(index, instance);
  if (found.code != DeviceCode::kOk) {
    return found.code;
  }
  Holders& holders = *found.holders;
  if (!holders.has_mps && holders.client_count > 0) {
    return DeviceCode::kInUse;
  }
  if (holders.client_count >= found.clients_max) {
    return DeviceCode::kInsufficientResources;
  }
  if (const DeviceCode fault = draw_fault(DeviceCall::kAttachClient, index);
      fault != DeviceCode::kOk) {
    return fault;
  }
  ++holders.client_count;
  return DeviceCode::kOk;
}

DeviceCode EmulatedDevice::detach_client(GpuIndex index, std::optional<GpuInstanceId> instance) {
  const FoundHolders found = find_holders(index, instance);
  if (found.code != DeviceCode::kOk) {
    return found.code;
  }
  if (found.holders->client_count == 0) {
    return DeviceCode::kNotFound;
  }
  if (const DeviceCode fault = draw_fault(DeviceCall::kDetachClient, index);
      fault != DeviceCode::kOk) {
    return fault;
  }
  --found.holders->client_count;
  return DeviceCode::kOk;
}

Duration EmulatedDevice::take_latency(GpuIndex index) {
  if (index.value() < 0 || index.value() >= gpu_count()) {
    return {};
  }
  Gpu& gpu = gpus_[static_cast<std::size_t>(index.value())];
  Duration taken = std::exchange(gpu.latency, Duration());
  if (std::exchange(gpu.is_recut, false)) {
    taken += options_.full_reset.value_or(Duration());
  }
  return taken;
}

DeviceCode EmulatedDevice::lose_gpu(GpuIndex index) {
  const FoundGpu found = find_gpu(index);
  if (found.code == DeviceCode::kOk) {
    empty(*found.gpu);
    found.gpu->is_lost = true;
  }
  return found.code == DeviceCode::kNotFound ? found.code : DeviceCode::kOk;
}

DeviceCode EmulatedDevice::repair_gpu(GpuIndex index) {
  const FoundGpu found = find_gpu(index);
  if (found.code == DeviceCode::kGpuLost) {
    Gpu& gpu = *found.gpu;
    gpu.is_lost = false;
    if (!gpu.model->geometry().facts().mode_survives_reboot) {
      gpu.mig_mode = MigMode::kDisabled;
    }
  }
  return found.code == DeviceCode::kNotFound ? found.code : DeviceCode::kOk;
}

}  // namespace septule::device
