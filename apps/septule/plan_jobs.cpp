#include "septule/plan_jobs.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "interop/job_table.hpp"
#include "optimize/assign_slices.hpp"
#include "plan/plan_checker.hpp"
#include "report/layout_drawing.hpp"
#include "report/table.hpp"
#include "septule/files.hpp"
#include "septule/gpu_document.hpp"
#include "septule/inputs.hpp"
#include "septule/packing_view.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

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

Json job_documents(const plan::Plan& plan, std::span<const plan::JobSpeeds> jobs) {
  Json list = Json::array();
  for (std::size_t i = 0; i < plan.slots.size(); ++i) {
    const plan::JobSlot& slot = plan.slots[i];
    const plan::GpuPlan& gpu = plan.gpus[slot.gpu];
    const gpu::PlacedProfile& placed = gpu.partition.instances[slot.instance].placed;
    list.push_back({{"name", jobs[i].name},
                    {"instance", gpu::placed_text(*gpu.geometry, placed)},
                    {"profile", gpu.geometry->profile(placed.profile).name},
                    {"start", placed.start.value()},
                    {"speed", slot.rate}});
  }
  return list;
}

Json plan_document(const plan::Plan& plan,
                   std::span<const plan::JobSpeeds> jobs,
                   const Target& target,
                   gpu::ProfileSet set) {
  const gpu::Geometry& geometry = *target.gpu->geometry;
  Json document{{"schema", "septule-plan/1"},
                {"kind", "jobs"},
                {"gpu", geometry.key()},
                {"index", target.gpu->index.value()},
                {"profiles", gpu::profile_set_name(set)},
                {"objective_kind", plan::objective_name(plan.objective)},
                {"feasible", plan.is_feasible}};
  document["objective"] = plan.objective_value ? Json(*plan.objective_value) : Json(nullptr);
  document["change_cost"] = plan.is_feasible ? Json(plan.change_cost) : Json(nullptr);
  document["proof"] = plan::proof_name(plan.proof);
  document["reason"] = plan.is_feasible ? Json(nullptr) : Json(plan.infeasible_reason);
  document["notes"] = plan.notes;
  if (!plan.is_feasible) {
    return document;
  }
  const plan::GpuPlan& gpu = plan.gpus.front();
  document["layout"] = gpu::partition_text(geometry, gpu.partition);
  document["jobs"] = job_documents(plan, jobs);
  document["instances"] = partition_document(geometry, gpu.partition);
  document["idle_room"] = Json::array();
  for (const gpu::PlacedProfile& placed : gpu.idle_room) {
    document["idle_room"].push_back(gpu::placed_text(geometry, placed));
  }
  document["after"] = inventory_document(
      inventory_after(target.inventory, {{.index = gpu.gpu, .partition = gpu.partition}}));
  return document;
}

std::string plan_text(const plan::Plan& plan,
                      std::span<const plan::JobSpeeds> jobs,
                      const gpu::Geometry& geometry) {
  if (!plan.is_feasible) {
    return fmt::format("not feasible on {}: {}\n", geometry.key(), plan.infeasible_reason);
  }
  const plan::GpuPlan& gpu = plan.gpus.front();
  std::string text =
      fmt::format("best layout of {} ({} {:.6f}, {}): {}\n",
                  geometry.key(),
                  plan::objective_name(plan.objective),
                  plan.objective_value.value_or(0),
                  plan.proof == plan::Proof::kOptimal ? "proven optimal" : "not proven",
                  gpu::partition_text(geometry, gpu.partition));
  if (plan.change_cost > 0) {
    text += fmt::format("changes were charged {:.6f}\n", plan.change_cost);
  }
  text += fmt::format("{}\n{}\n\n",
                      report::slice_ruler(geometry),
                      report::draw_layout(geometry, gpu::layout_of(gpu.partition)));
  report::Table table({{"JOB"}, {"INSTANCE"}, {"SPEED", report::Align::kRight}});
  for (std::size_t i = 0; i < plan.slots.size(); ++i) {
    table.add_row(
        {jobs[i].name,
         gpu::placed_text(geometry, gpu.partition.instances[plan.slots[i].instance].placed),
         fmt::format("{:.4f}", plan.slots[i].rate)});
  }
  text += table.text();
  if (!gpu.idle_room.empty()) {
    std::vector<std::string> room;
    for (const gpu::PlacedProfile& placed : gpu.idle_room) {
      room.push_back(gpu::placed_text(geometry, placed));
    }
    text += fmt::format("room left for {}\n", fmt::join(room, ", "));
  }
  return text;
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
  SEPTULE_TRY_STATUS(context.output.emit(plan_document(plan, table.jobs, target, set),
                                         [&] { return plan_text(plan, table.jobs, geometry); }));
  if (!plan.is_feasible) {
    return Error{ErrorCode::kBlocked, plan.infeasible_reason};
  }
  return 0;
}

}  // namespace septule::app
