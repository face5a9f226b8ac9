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
    Instance& instance = gpu.instances[i];
    const bool is_reset = gpu.order.goal.restart == sched::RestartRule::kEverything;
    const bool is_wanted = std::find(wanted.begin(), wanted.end(), instance.placed) != wanted.end();
    if (is_wanted && !is_reset) {
      ++i;
      continue;
    }
    if (instance.has_mps) {
      const port::DeviceCode code = parts_.device.stop_mps(local(id), instance.id);
      if (code != port::DeviceCode::kOk) {
        return {code, "stop the MPS daemon"};
      }
      instance.has_mps = false;
    }
    port::DeviceCode code =
        parts_.device.destroy_compute_instance(local(id), instance.id, instance.compute);
    if (code != port::DeviceCode::kOk && code != port::DeviceCode::kNotFound) {
      return {code, "destroy the compute instance"};
    }
    code = parts_.device.destroy_gpu_instance(local(id), instance.id);
    if (code != port::DeviceCode::kOk) {
      return {code, "destroy the GPU instance"};
    }
    is_recut_ = true;
    gpu.instances.erase_at(i);
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
  Gpu& gpu = at(id);
  for (const gpu::PlacedProfile& placed : gpu.order.goal.instances) {
    const bool exists =
        std::any_of(gpu.instances.begin(), gpu.instances.end(), [&](const Instance& instance) {
          return instance.placed == placed;
        });
    if (exists) {
      continue;
    }
    const auto created = parts_.device.create_gpu_instance(local(id), placed);
    if (created.code != port::DeviceCode::kOk) {
      return {created.code, "create a GPU instance"};
    }
    const auto compute = parts_.device.create_compute_instance(
        local(id), created.id, gpu::full_compute_instance(*geometry_, placed.profile));
    if (compute.code != port::DeviceCode::kOk) {
      // Half an instance serves nobody; what cannot be taken back is found by the next attempt.
      parts_.device.destroy_gpu_instance(local(id), created.id);
      return {compute.code, "create a compute instance"};
    }
    gpu.instances.push_back(Instance{placed, created.id, compute.id, false});
    is_recut_ = true;
  }
  return {};
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
