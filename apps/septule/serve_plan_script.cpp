#include "septule/serve_plan_script.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/partition.hpp"
#include "gpu/transition.hpp"
#include "septule/inputs.hpp"
#include "septule/serve_node.hpp"
#include "septule/serve_script.hpp"
#include "septule/transition_view.hpp"

namespace septule::app {

namespace {

/// What a GPU has before this step.
const serve::LabelledLayout& layout_before(const WindowPlan& gpu, int step) {
  return step == 0 ? gpu.problem.initial : gpu.plan.layouts[static_cast<std::size_t>(step) - 1];
}

InstanceUse use_of(const ServePlan& plan,
                   const WindowPlan& gpu,
                   const serve::LabelledInstance& instance) {
  const serve::Label& label = gpu.problem.labels[static_cast<std::size_t>(instance.label)];
  const int own = label.retrains ? *label.retrains : label.serves.front().tenant;
  const int tenant = gpu.tenants[static_cast<std::size_t>(own)];
  return instance_use(*gpu.problem.lattice,
                      instance.placement,
                      plan.input->tenants[static_cast<std::size_t>(tenant)],
                      label.retrains ? serve::Role::kRetrain : serve::Role::kServe);
}

gpu::Partition partition_of(const serve::LayoutLattice& lattice,
                            const serve::LabelledLayout& layout) {
  gpu::Layout placed;
  for (const serve::LabelledInstance& instance : layout) {
    placed.push_back(lattice.placements()[static_cast<std::size_t>(instance.placement)].placed);
  }
  gpu::canonicalise(placed);
  return gpu::partition_with_full_instances(lattice.geometry(), placed);
}

/// What changes at the begin of a step on all GPUs.
struct Change {
  ScriptPhase phase;
  std::vector<gpu::DesiredGpu> goal;
};

void add_change(
    const ServePlan& plan, const WindowPlan& gpu, GpuIndex index, int step, Change& change) {
  const serve::LabelledLayout& before = layout_before(gpu, step);
  const serve::LabelledLayout& after = gpu.plan.layouts[static_cast<std::size_t>(step)];
  if (before == after) {
    return;
  }
  const auto add = [&](const serve::LabelledInstance& instance, std::vector<InstanceUse>& uses) {
    uses.push_back(use_of(plan, gpu, instance));
    uses.back().gpu = index.value();
  };
  for (const serve::LabelledInstance& instance : before) {
    if (!std::ranges::binary_search(after, instance)) {
      add(instance, change.phase.stop);
    }
  }
  for (const serve::LabelledInstance& instance : after) {
    if (!std::ranges::binary_search(before, instance)) {
      add(instance, change.phase.start);
    }
  }
  change.goal.push_back({.index = index, .partition = partition_of(*gpu.problem.lattice, after)});
}

/// What is there, ready, when the window begins: on fresh GPUs it has to be made first.
Change beginning(const ServePlan& plan, const gpu::Inventory& node) {
  Change change{.phase = {.title = "before the window", .stop = {}, .start = {}}, .goal = {}};
  for (const WindowPlan& gpu : plan.gpus) {
    const gpu::ObservedGpu& there = node.gpus[static_cast<std::size_t>(gpu.gpu)];
    if (!there.instances.empty() || gpu.problem.initial.empty()) {
      continue;
    }
    for (const serve::LabelledInstance& instance : gpu.problem.initial) {
      change.phase.start.push_back(use_of(plan, gpu, instance));
      change.phase.start.back().gpu = there.index.value();
    }
    change.goal.push_back({.index = there.index,
                           .partition = partition_of(*gpu.problem.lattice, gpu.problem.initial)});
  }
  return change;
}

}  // namespace

Result<std::string> serve_plan_script(const ServePlan& plan,
                                      const gpu::Inventory& node,
                                      const gpu::LatencyTable& latencies) {
  std::vector<Change> changes = {beginning(plan, node)};
  const serve::GoodputProblem& first = plan.gpus.front().problem;
  for (int step = 0; step < first.step_count; ++step) {
    Change change{
        .phase = {.title = fmt::format("{:g} s after the begin", step * first.step.to_seconds()),
                  .stop = {},
                  .start = {}},
        .goal = {}};
    for (const WindowPlan& gpu : plan.gpus) {
      add_change(plan, gpu, node.gpus[static_cast<std::size_t>(gpu.gpu)].index, step, change);
    }
    changes.push_back(std::move(change));
  }
  std::erase_if(changes, [](const Change& change) { return change.goal.empty(); });
  gpu::Inventory state = released(node);
  std::vector<gpu::Transition> transitions;
  for (const Change& change : changes) {
    SEPTULE_TRY(gpu::Transition transition, gpu::plan_transition(state, change.goal, latencies));
    if (std::string problem = undone_summary(transition); !problem.empty()) {
      return Error{ErrorCode::kBlocked, std::move(problem)};
    }
    state = inventory_after(state, change.goal);
    transitions.push_back(std::move(transition));
  }
  std::vector<ScriptPhase> phases;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    phases.push_back(std::move(changes[i].phase));
    phases.back().transition = &transitions[i];
  }
  return phases_script(phases);
}

}  // namespace septule::app
