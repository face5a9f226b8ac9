#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "gpu/transition.hpp"
#include "interop/interop_support.hpp"

namespace septule::test {

inline const gpu::Geometry& a100() {
  return model("A100-40GB");
}

inline gpu::Step step(gpu::StepKind kind, std::string_view profile = "1g.5gb", int start = 0) {
  gpu::Step made;
  made.kind = kind;
  made.gpu = GpuIndex(0);
  made.geometry = &a100();
  made.placed = {profile_of(a100(), profile), MemorySlices(start)};
  return made;
}

inline gpu::Step with_compute(gpu::Step made, int start, int size) {
  made.compute_instance = gpu::ComputeInstance{{ComputeSlices(start), ComputeSlices(size)}};
  return made;
}

inline gpu::Transition transition_of(std::vector<gpu::Step> steps) {
  gpu::GpuTransition gpu;
  gpu.gpu = GpuIndex(0);
  gpu.geometry = &a100();
  gpu.steps = std::move(steps);
  gpu::Transition transition;
  transition.gpus.push_back(std::move(gpu));
  return transition;
}

/// 1g.5gb@4 (id 11, with a compute instance) goes; 3g.20gb@4 and 2g.10gb@0 with two 1c come.
inline gpu::Transition recut() {
  gpu::Step destroy_ci =
      with_compute(step(gpu::StepKind::kDestroyComputeInstance, "1g.5gb", 4), 0, 1);
  destroy_ci.gpu_instance_id = GpuInstanceId(11);
  destroy_ci.compute_instance_id = ComputeInstanceId(0);
  gpu::Step destroy_gi = step(gpu::StepKind::kDestroyGpuInstance, "1g.5gb", 4);
  destroy_gi.gpu_instance_id = GpuInstanceId(11);
  return transition_of(
      {destroy_ci,
       destroy_gi,
       step(gpu::StepKind::kCreateGpuInstance, "3g.20gb", 4),
       step(gpu::StepKind::kCreateGpuInstance, "2g.10gb", 0),
       with_compute(step(gpu::StepKind::kCreateComputeInstance, "3g.20gb", 4), 0, 3),
       with_compute(step(gpu::StepKind::kCreateComputeInstance, "2g.10gb", 0), 0, 1),
       with_compute(step(gpu::StepKind::kCreateComputeInstance, "2g.10gb", 0), 1, 1)});
}

}  // namespace septule::test
