#include "septule/plan_view.hpp"

#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gpu/partition.hpp"
#include "report/layout_drawing.hpp"
#include "report/table.hpp"
#include "septule/gpu_document.hpp"
#include "septule/inputs.hpp"
#include "septule/packing_view.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

nlohmann::ordered_json plan_document(const plan::Plan& plan,
                                     std::span<const plan::JobSpeeds> jobs,
                                     gpu::ProfileSet set,
                                     const gpu::Inventory& before) {
  const plan::GpuPlan& gpu = plan.gpus.front();
  const gpu::Geometry& geometry = *gpu.geometry;
  Json document{{"schema", "septule-plan/1"},
                {"kind", "jobs"},
                {"gpu", geometry.key()},
                {"index", gpu.gpu.value()},
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
  document["layout"] = gpu::partition_text(geometry, gpu.partition);
  document["jobs"] = job_documents(plan, jobs);
  document["instances"] = partition_document(geometry, gpu.partition);
  document["idle_room"] = Json::array();
  for (const gpu::PlacedProfile& placed : gpu.idle_room) {
    document["idle_room"].push_back(gpu::placed_text(geometry, placed));
  }
  document["after"] =
      inventory_document(inventory_after(before, {{.index = gpu.gpu, .partition = gpu.partition}}));
  return document;
}

namespace {

std::string_view proof_text(plan::Proof proof, SpeedOrigin origin) {
  if (proof != plan::Proof::kOptimal) {
    return "not proven";
  }
  return origin == SpeedOrigin::kPredicted ? "optimal for these predicted speeds"
                                           : "proven optimal";
}

}  // namespace

std::string plan_text(const plan::Plan& plan,
                      std::span<const plan::JobSpeeds> jobs,
                      SpeedOrigin origin) {
  const plan::GpuPlan& gpu = plan.gpus.front();
  const gpu::Geometry& geometry = *gpu.geometry;
  if (!plan.is_feasible) {
    return fmt::format("not feasible on {}: {}\n", geometry.key(), plan.infeasible_reason);
  }
  std::string text = fmt::format("best layout of {} ({} {:.6f}, {}): {}\n",
                                 geometry.key(),
                                 plan::objective_name(plan.objective),
                                 plan.objective_value.value_or(0),
                                 proof_text(plan.proof, origin),
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

}  // namespace septule::app
