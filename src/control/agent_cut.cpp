// The cut stage of an order: from the instances that are there to those that are wanted.
#include <algorithm>

#include "base/check.hpp"
#include "control/agent.hpp"

namespace septule::control {

std::optional<GpuInstanceId> Agent::instance_id(
    const Gpu& gpu, const std::optional<gpu::PlacedProfile>& placed) const {
  if (!placed) {
    return std::nullopt;
  }
  for (const Instance& instance : gpu.instances) {
    if (instance.placed == *placed) {
      return instance.id;
    }
  }
  SEPTULE_CHECK(false, "a job's instance exists when its process starts or ends");
  return std::nullopt;
}

Agent::Refused Agent::detach(GpuId id, const Running& running) {
  return {parts_.device.detach_client(local(id), instance_id(at(id), running.place.instance)),
          "end a client"};
}

Agent::Refused Agent::cut(GpuId id) {
  is_recut_ = false;
  Refused refused = destroy_unwanted(id);
  if (refused.is_ok()) {
    refused = switch_mode(id);
  }
  if (refused.is_ok()) {
    refused = create_missing(id);
  }
  if (refused.is_ok()) {
    refused = set_daemons(id);
  }
  recut_count_ += is_recut_ ? 1 : 0;
  return refused;
}

Agent::Refused Agent::destroy_unwanted(GpuId id) {
  Gpu& gpu = at(id);
  const auto& wanted = gpu.order.goal.instances;
  for (std::size_t i = 0; i < gpu.instances.size();) {
    const bool is_reset = gpu.order.goal.restart == sched::RestartRule::kEverything;
    const bool is_wanted =
        std::find(wanted.begin(), wanted.end(), gpu.instances[i].placed) != wanted.end();
    if (is_wanted && !is_reset) {
      ++i;
      continue;
    }
    const Refused refused = destroy(id, gpu.instances[i]);
    if (!refused.is_ok()) {
      return refused;
    }
    is_recut_ = true;
    gpu.instances.erase_at(i);
  }
  return {};
}

/// Takes an instance down as far as the device lets it; `instance` says what is left.
Agent::Refused Agent::destroy(GpuId id, Instance& instance) {
  if (instance.has_mps) {
    const port::DeviceCode code = parts_.device.stop_mps(local(id), instance.id);
    if (code != port::DeviceCode::kOk) {
      return {code, "stop the MPS daemon"};
    }
    instance.has_mps = false;
  }
  if (instance.compute) {
    const port::DeviceCode code =
        parts_.device.destroy_compute_instance(local(id), instance.id, *instance.compute);
    if (code != port::DeviceCode::kOk && code != port::DeviceCode::kNotFound) {
      return {code, "destroy the compute instance"};
    }
    instance.compute.reset();
  }
  const port::DeviceCode code = parts_.device.destroy_gpu_instance(local(id), instance.id);
  if (code != port::DeviceCode::kOk) {
    return {code, "destroy the GPU instance"};
  }
  return {};
}

Agent::Refused Agent::switch_mode(GpuId id) {
  Gpu& gpu = at(id);
  const port::MigMode wanted = gpu.order.goal.mode == sched::GpuGoal::Mode::kPartitioned
                                   ? port::MigMode::kEnabled
                                   : port::MigMode::kDisabled;
  if (gpu.mode == wanted) {
    return {};
  }
  if (gpu.has_mps) {
    const port::DeviceCode code = parts_.device.stop_mps(local(id), std::nullopt);
    if (code != port::DeviceCode::kOk) {
      return {code, "stop the MPS daemon"};
    }
    gpu.has_mps = false;
  }
  const port::DeviceCode code = parts_.device.set_mig_mode(local(id), wanted);
  if (code != port::DeviceCode::kOk) {
    return {code, "switch MIG mode"};
  }
  gpu.mode = wanted;
  return {};
}

Agent::Refused Agent::create_missing(GpuId id) {
  for (const gpu::PlacedProfile& placed : at(id).order.goal.instances) {
    const Refused refused = create(id, placed);
    if (!refused.is_ok()) {
      return refused;
    }
  }
  return {};
}

/// Makes the instance, or what is missing of it.
Agent::Refused Agent::create(GpuId id, const gpu::PlacedProfile& placed) {
  Gpu& gpu = at(id);
  auto* instance = std::find_if(gpu.instances.begin(),
                                gpu.instances.end(),
                                [&](const Instance& made) { return made.placed == placed; });
  if (instance == gpu.instances.end()) {
    const auto created = parts_.device.create_gpu_instance(local(id), placed);
    if (created.code != port::DeviceCode::kOk) {
      return {created.code, "create a GPU instance"};
    }
    gpu.instances.push_back(Instance{placed, created.id, std::nullopt, false});
    instance = &gpu.instances.back();
    is_recut_ = true;
  }
  if (instance->compute) {
    return {};
  }
  const auto compute = parts_.device.create_compute_instance(
      local(id), instance->id, gpu::full_compute_instance(*geometry_, placed.profile));
  if (compute.code == port::DeviceCode::kOk) {
    instance->compute = compute.id;
    return {};
  }
  // Half an instance serves nobody; one that cannot be taken back is completed or destroyed by the
  // next attempt.
  if (destroy(id, *instance).is_ok()) {
    gpu.instances.erase_at(static_cast<std::size_t>(instance - gpu.instances.begin()));
  }
  return {compute.code, "create a compute instance"};
}

/// Daemons where jobs will share; those that nobody needs any more stop when their instance goes.
Agent::Refused Agent::set_daemons(GpuId id) {
  Gpu& gpu = at(id);
  for (const sched::Slot& slot : gpu.order.goal.slots) {
    if (!needs_mps(gpu.order, slot)) {
      continue;
    }
    if (slot.instance == sched::Slot::kWholeGpu) {
      if (!gpu.has_mps) {
        const port::DeviceCode code = parts_.device.start_mps(local(id), std::nullopt);
        if (code != port::DeviceCode::kOk) {
          return {code, "start the MPS daemon"};
        }
        gpu.has_mps = true;
      }
      continue;
    }
    const gpu::PlacedProfile placed =
        gpu.order.goal.instances[static_cast<std::size_t>(slot.instance)];
    for (Instance& instance : gpu.instances) {
      if (instance.placed == placed && !instance.has_mps) {
        const port::DeviceCode code = parts_.device.start_mps(local(id), instance.id);
        if (code != port::DeviceCode::kOk) {
          return {code, "start the MPS daemon"};
        }
        instance.has_mps = true;
      }
    }
  }
  return {};
}

}  // namespace septule::control
