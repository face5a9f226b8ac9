#include "gpu/transition_steps.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace septule::gpu {

void StepList::enable_mig() {
  mode_first_.push_back(step(StepKind::kEnableMig, {}));
}

void StepList::disable_mig() {
  mode_last_.push_back(step(StepKind::kDisableMig, {}));
}

void StepList::destroy(const ObservedInstance& instance) {
  SEPTULE_CHECK(instance.effective_hold() == Hold::kIdle, "only idle instances are destroyed");
  if (!instance.compute_instances.has_value()) {
    destroy_every_compute(instance);
  } else {
    for (const ObservedComputeInstance& inside : *instance.compute_instances) {
      destroy_compute(instance, inside);
    }
  }
  Step gone = step(StepKind::kDestroyGpuInstance, instance.placed);
  gone.gpu_instance_id = instance.id;
  gpu_destroys_.push_back(gone);
}

void StepList::destroy_compute(const ObservedInstance& instance,
                               const ObservedComputeInstance& inside) {
  SEPTULE_CHECK(instance.hold == Hold::kIdle, "only idle GPU instances are re-cut");
  SEPTULE_CHECK(inside.hold == Hold::kIdle, "only idle compute instances are destroyed");
  Step gone = step(StepKind::kDestroyComputeInstance, instance.placed);
  gone.gpu_instance_id = instance.id;
  gone.compute_instance = inside.instance;
  gone.compute_instance_id = inside.id;
  compute_destroys_.push_back(gone);
}

void StepList::destroy_every_compute(const ObservedInstance& instance) {
  SEPTULE_CHECK(instance.hold == Hold::kIdle, "only idle GPU instances are re-cut");
  Step gone = step(StepKind::kDestroyComputeInstance, instance.placed);
  gone.gpu_instance_id = instance.id;
  gone.is_every_compute_instance = true;
  gone.estimate_evidence = Evidence::kInferred;  // how many there are is not known
  compute_destroys_.push_back(gone);
}

void StepList::create(const PlacedProfile& placed) {
  gpu_creates_.push_back(step(StepKind::kCreateGpuInstance, placed));
}

void StepList::create_compute(const PlacedProfile& placed,
                              std::optional<GpuInstanceId> id,
                              const ComputeInstance& wanted) {
  Step made = step(StepKind::kCreateComputeInstance, placed);
  made.gpu_instance_id = id;
  made.compute_instance = wanted;
  compute_creates_.push_back(made);
}

void StepList::move_into(GpuTransition& transition) {
  for (std::vector<Step>* part : {&mode_first_,
                                  &compute_destroys_,
                                  &gpu_destroys_,
                                  &gpu_creates_,
                                  &compute_creates_,
                                  &mode_last_}) {
    for (const Step& next : *part) {
      transition.estimate += next.estimate;
      transition.estimate_evidence = std::max(transition.estimate_evidence, next.estimate_evidence);
      transition.steps.push_back(next);
    }
    part->clear();
  }
}

Step StepList::step(StepKind kind, const PlacedProfile& placed) const {
  const LatencyFigure figure = figure_of(kind, placed);
  Step made;
  made.kind = kind;
  made.gpu = gpu_.index;
  made.geometry = gpu_.geometry;
  made.placed = placed;
  made.estimate = figure.duration;
  made.estimate_evidence = figure.evidence;
  return made;
}

LatencyFigure StepList::figure_of(StepKind kind, const PlacedProfile& placed) const {
  const Geometry& geometry = *gpu_.geometry;
  switch (kind) {
    case StepKind::kEnableMig:
    case StepKind::kDisableMig:
      return latencies_.mig_mode_toggle(geometry.key());
    case StepKind::kDestroyComputeInstance:
      return latencies_.compute_instance_destroy(geometry.key());
    case StepKind::kDestroyGpuInstance:
      return latencies_.gpu_instance_destroy(geometry.key(),
                                             geometry.profile(placed.profile).slices);
    case StepKind::kCreateGpuInstance:
      return latencies_.gpu_instance_create(geometry.key(),
                                            geometry.profile(placed.profile).slices);
    case StepKind::kCreateComputeInstance:
      return latencies_.compute_instance_create(geometry.key());
  }
  SEPTULE_CHECK(false, "every StepKind has a duration");
}

}  // namespace septule::gpu
