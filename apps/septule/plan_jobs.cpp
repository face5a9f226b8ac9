#include "septule/plan_jobs.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "interop/job_table.hpp"
#include "optimize/assign_slices.hpp"
#include "plan/plan_checker.hpp"
#include "septule/files.hpp"
#include "septule/inputs.hpp"
#include "septule/plan_view.hpp"

namespace septule::app {

namespace {

/// The GPU the jobs are planned for, and what is on it.
struct Target {
  gpu::Inventory inventory;
  const gpu::ObservedGpu* gpu = nullptr;
};

Result<Target> load_target(const Invocation& invocation, const Context& context) {
  Target target;
  if (invocation.is_given("state")) {
    SEPTULE_TRY(target.inventory, load_inventory(invocation.text("state"), invocation, context));
  } else {
    SEPTULE_TRY([[maybe_unused]] const gpu::Geometry* model, model_option(invocation, context));
    SEPTULE_TRY(const auto node, parse_node(context.catalogue, invocation.text("gpu")));
    target.inventory = empty_inventory(node);
  }
  SEPTULE_TRY(const std::vector<GpuIndex> indices, selected_gpus(invocation, target.inventory));
  if (indices.size() != 1) {
    return Error{ErrorCode::kUsage,
                 fmt::format("--jobs plans one GPU, and {} are given: choose one with --index",
                             indices.size())};
  }
  return target;
}

/// Idle instances may be used, kept or destroyed; a busy one stays, with its job if that is one of
/// the table (holder = the job's name) and else for itself; a foreign one stays.
std::vector<optimize::CurrentInstance> current_instances(const gpu::ObservedGpu& gpu,
                                                         std::span<const plan::JobSpeeds> jobs) {
  std::vector<optimize::CurrentInstance> current;
  for (const gpu::ObservedInstance& instance : gpu.instances) {
    optimize::CurrentInstance one{.placed = instance.placed};
    const std::vector<std::string> holders = instance.holders();
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      if (std::ranges::find(holders, jobs[j].name) != holders.end()) {
        one.job = static_cast<int>(j);
      }
    }
    const gpu::Hold hold = instance.effective_hold();
    if (hold == gpu::Hold::kIdle) {
      one.use = optimize::InstanceUse::kReusable;
    } else if (hold == gpu::Hold::kBusy && one.job) {
      one.use =
          instance.is_movable ? optimize::InstanceUse::kReusable : optimize::InstanceUse::kPinned;
    } else {
      one.use = optimize::InstanceUse::kFrozen;
      one.job.reset();
    }
    current.push_back(one);
  }
  return current;
}

/// The independent judge's view of what had to be left alone.
std::vector<plan::FrozenInstance> frozen_instances(
    std::span<const optimize::CurrentInstance> current) {
  std::vector<plan::FrozenInstance> frozen;
  for (const optimize::CurrentInstance& one : current) {
    if (one.use == optimize::InstanceUse::kFrozen) {
      frozen.push_back({.placed = one.placed});
    } else if (one.use == optimize::InstanceUse::kPinned) {
      frozen.push_back({.placed = one.placed,
                        .use = plan::FrozenInstance::Use::kOneJob,
                        .job = static_cast<std::size_t>(*one.job)});
    }
  }
  return frozen;
}

/// "; these stay: 1g.5gb@0 (job 17)": what narrows the choice on a GPU in use.
std::string staying_text(const gpu::ObservedGpu& gpu,
                         std::span<const optimize::CurrentInstance> current) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < current.size(); ++i) {
    if (current[i].use != optimize::InstanceUse::kReusable) {
      names.push_back(gpu::observed_text(gpu, gpu.instances[i]));
    }
  }
  return names.empty() ? "" : fmt::format("; these stay: {}", joined_with_and(names));
}

}  // namespace

Result<int> run_plan_jobs(const Invocation& invocation, Context& context) {
  if (invocation.is_given("INSTANCES")) {
    return Error{ErrorCode::kUsage, "give either INSTANCES or --jobs, not both"};
  }
  for (const char* name : {"policy", "gpus", "keep-idle"}) {
    if (invocation.is_given(name)) {
      return Error{ErrorCode::kUsage, fmt::format("--{} does not go with --jobs", name)};
    }
  }
  SEPTULE_TRY(Target target, load_target(invocation, context));
  SEPTULE_TRY(const auto indices, selected_gpus(invocation, target.inventory));
  target.gpu = find_gpu(target.inventory, indices.front());
  const gpu::Geometry& geometry = *target.gpu->geometry;
  if (!geometry.has_profile_table()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("no profile table of {} has been published: its layouts are N/A",
                             geometry.key())};
  }
  const std::string path = invocation.text("jobs");
  SEPTULE_TRY(const std::string text, read_input(path));
  SEPTULE_TRY(const interop::JobTable table,
              interop::parse_job_table({text, path == "-" ? "standard input" : path}, geometry));
  for (const std::string& note : table.notes) {
    say_note(note);
  }
  const gpu::ProfileSet set = profile_set_option(invocation);
  const std::vector<optimize::CurrentInstance> current = current_instances(*target.gpu, table.jobs);
  const double change_cost = invocation.number("change-cost");
  const optimize::AssignOptions options{
      .gpu = target.gpu->index,
      .profiles = set,
      .rule = invocation.is_given("without-4g-3g") ? optimize::LayoutRule::kForbidFourPlusThree
                                                   : optimize::LayoutRule::kEveryLayout,
      .objective = checked_value(plan::parse_objective(invocation.text("objective")),
                                 "the choices are the objectives"),
      .current = current,
      .costs = {
          .create = change_cost, .destroy = change_cost, .move = invocation.number("move-cost")}};
  SEPTULE_TRY(plan::Plan plan, optimize::assign_slices(geometry, table.jobs, options));
  if (!plan.is_feasible) {
    plan.infeasible_reason += staying_text(*target.gpu, current);
  }
  const auto violations = plan::check_plan(plan, table.jobs, frozen_instances(current));
  SEPTULE_CHECK(!plan.is_feasible || violations.empty(), "the plan passes the independent checker");
  for (const std::string& note : plan.notes) {
    say_note(note);
  }
  SEPTULE_TRY_STATUS(context.output.emit(plan_document(plan, table.jobs, set, target.inventory),
                                         [&] { return plan_text(plan, table.jobs); }));
  if (!plan.is_feasible) {
    return Error{ErrorCode::kBlocked, plan.infeasible_reason};
  }
  return 0;
}

}  // namespace septule::app
