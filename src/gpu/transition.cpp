#include "gpu/transition.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "gpu/partition_checker.hpp"
#include "gpu/transition_gpu.hpp"

namespace septule::gpu {

namespace {

Error invalid(GpuIndex gpu, std::string_view what) {
  return {.code = ErrorCode::kInvalidInput,
          .message = fmt::format("GPU {}: {}", gpu.value(), what)};
}

/// The first rule a partition breaks, and how many more there are.
Status check_legal(const ObservedGpu& gpu, const Partition& partition, std::string_view which) {
  const std::vector<Violation> violations = check_partition(*gpu.geometry, partition);
  if (violations.empty()) {
    return {};
  }
  std::string more;
  if (violations.size() > 1) {
    more = fmt::format(" (and {} more)", violations.size() - 1);
  }
  return invalid(gpu.index,
                 fmt::format("{} is not a legal layout of {}: {}{}",
                             which,
                             gpu.geometry->key(),
                             violations.front().message,
                             more));
}

Status check_goal(const ObservedGpu& gpu, const DesiredGpu& goal) {
  if (!goal.is_mig_enabled && !goal.partition.instances.empty()) {
    return invalid(gpu.index,
                   fmt::format("the goal has MIG off and {} GPU instances; with MIG off there can "
                               "be none",
                               goal.partition.instances.size()));
  }
  return check_legal(gpu, goal.partition, "the goal");
}

Error unknown_gpu(const Inventory& from, GpuIndex gpu) {
  std::vector<std::string> known;
  known.reserve(from.gpus.size());
  for (const ObservedGpu& other : from.gpus) {
    known.push_back(fmt::format("{}", other.index.value()));
  }
  return {.code = ErrorCode::kNotFound,
          .message = fmt::format("GPU {} does not exist{}; {}",
                                 gpu.value(),
                                 from.node.empty() ? "" : " on node " + from.node,
                                 known.empty() ? "the inventory holds no GPU"
                                               : "there are " + joined_with_and(known))};
}

}  // namespace

Status check_observed_state(const ObservedGpu& gpu) {
  SEPTULE_CHECK(gpu.geometry != nullptr, "an observed GPU has a geometry");
  if (!gpu.is_mig_enabled && !gpu.instances.empty()) {
    return invalid(gpu.index,
                   fmt::format("the current state has MIG off and {} GPU instances; with MIG off "
                               "there can be none",
                               gpu.instances.size()));
  }
  for (const ObservedInstance& instance : gpu.instances) {
    if (instance.placed.profile.value() < 0 ||
        std::cmp_greater_equal(instance.placed.profile.value(), gpu.geometry->profiles().size())) {
      return invalid(gpu.index,
                     fmt::format("the current state names profile #{}, which {} lacks",
                                 instance.placed.profile.value(),
                                 gpu.geometry->key()));
    }
  }
  return check_legal(gpu, gpu.partition(), "the current state");
}

std::string_view step_name(StepKind kind) {
  switch (kind) {
    case StepKind::kEnableMig:
      return "enable-mig";
    case StepKind::kDisableMig:
      return "disable-mig";
    case StepKind::kDestroyComputeInstance:
      return "destroy-compute-instance";
    case StepKind::kDestroyGpuInstance:
      return "destroy-gpu-instance";
    case StepKind::kCreateGpuInstance:
      return "create-gpu-instance";
    case StepKind::kCreateComputeInstance:
      return "create-compute-instance";
  }
  SEPTULE_CHECK(false, "every StepKind has a name");
}

bool Transition::is_complete() const {
  return std::ranges::all_of(gpus, [](const GpuTransition& gpu) { return gpu.is_complete(); });
}

bool Transition::is_empty() const {
  return is_complete() && step_count() == 0;
}

std::size_t Transition::step_count() const {
  std::size_t count = 0;
  for (const GpuTransition& gpu : gpus) {
    count += gpu.steps.size();
  }
  return count;
}

Result<Transition> plan_transition(const Inventory& from,
                                   std::span<const DesiredGpu> to,
                                   const LatencyTable& latencies) {
  Transition transition;
  for (auto goal = to.begin(); goal != to.end(); ++goal) {
    const GpuIndex index = goal->index;
    if (std::ranges::count(to.begin(), goal, index, &DesiredGpu::index) > 0) {
      return invalid(index, "the goal names it twice; each GPU may be named once");
    }
    const auto count = std::ranges::count(from.gpus, index, &ObservedGpu::index);
    if (count == 0) {
      return unknown_gpu(from, index);
    }
    if (count > 1) {
      return invalid(index, "the current state lists it twice; each GPU may be listed once");
    }
    const ObservedGpu& gpu = *std::ranges::find(from.gpus, index, &ObservedGpu::index);
    SEPTULE_TRY_STATUS(check_observed_state(gpu));
    SEPTULE_TRY_STATUS(check_goal(gpu, *goal));
    transition.gpus.push_back(plan_gpu_transition(gpu, *goal, latencies));
  }
  std::ranges::sort(transition.gpus, {}, &GpuTransition::gpu);
  return transition;
}

}  // namespace septule::gpu
