#include "optimize/assign_slices.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "gpu/partition.hpp"

namespace septule::optimize {

namespace {

std::string reason_text(const gpu::Geometry& geometry,
                        std::span<const plan::JobSpeeds> jobs,
                        const SliceAssignment& answer) {
  switch (answer.infeasibility) {
    case Infeasibility::kTooManyJobs:
      return fmt::format(
          "{} jobs are more than {} can hold instances for here", jobs.size(), geometry.key());
    case Infeasibility::kJobFitsNowhere:
      return fmt::format(
          "job {} fits no instance it could get on {}",
          quoted_for_message(jobs[static_cast<std::size_t>(answer.infeasible_job)].name),
          geometry.key());
    case Infeasibility::kNoLayout:
      return fmt::format("no legal layout of {} serves all {} jobs, although each fits alone",
                         geometry.key(),
                         jobs.size());
    case Infeasibility::kNone:
      break;
  }
  return "";
}

gpu::Layout final_layout(const SliceAssignment& answer, std::span<const CurrentInstance> current) {
  gpu::Layout layout;
  for (std::size_t i = 0; i < current.size(); ++i) {
    if ((answer.kept >> i & 1U) != 0) {
      layout.push_back(current[i].placed);
    }
  }
  for (int job = 0; job < answer.job_count; ++job) {
    const SliceAssignment::Slot& slot = answer.slots[static_cast<std::size_t>(job)];
    if (!slot.current.has_value()) {
      layout.push_back(slot.placed);
    }
  }
  gpu::canonicalise(layout);
  return layout;
}

void fill_plan(plan::Plan& plan,
               const gpu::Geometry& geometry,
               const SliceAssignment& answer,
               std::span<const plan::JobSpeeds> jobs,
               std::span<const CurrentInstance> current) {
  plan::GpuPlan& gpu_plan = plan.gpus.front();
  const gpu::Layout layout = final_layout(answer, current);
  gpu_plan.partition = gpu::partition_with_full_instances(geometry, layout);
  gpu_plan.idle_room.assign(answer.idle_room.begin(),
                            answer.idle_room.begin() + answer.idle_room_count);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const gpu::PlacedProfile& placed = answer.slots[j].placed;
    const auto at =
        std::ranges::find(gpu_plan.partition.instances, placed, &gpu::GpuInstance::placed);
    SEPTULE_CHECK(at != gpu_plan.partition.instances.end(), "the layout holds every slot");
    plan.slots.push_back(
        {.gpu = 0,
         .instance = static_cast<std::size_t>(at - gpu_plan.partition.instances.begin()),
         .rate = jobs[j].speed[static_cast<std::size_t>(placed.profile.value())]});
  }
  plan.objective_value = answer.objective;
  plan.change_cost = answer.change_cost;
}

}  // namespace

Result<plan::Plan> assign_slices(const gpu::Geometry& geometry,
                                 std::span<const plan::JobSpeeds> jobs,
                                 const AssignOptions& options) {
  if (jobs.empty()) {
    return Error{ErrorCode::kInvalidInput, "no job was given; give at least one"};
  }
  SEPTULE_TRY_STATUS(plan::check_job_speeds(geometry, jobs));
  SEPTULE_TRY(const SliceAssigner assigner,
              SliceAssigner::make(geometry,
                                  {.profiles = options.profiles,
                                   .rule = options.rule,
                                   .current = options.current,
                                   .costs = options.costs}));
  for (const CurrentInstance& instance : options.current) {
    if (instance.job.has_value() && static_cast<std::size_t>(*instance.job) >= jobs.size()) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("a current instance names job {}, but there are {} jobs",
                               *instance.job,
                               jobs.size())};
    }
  }
  std::vector<plan::JobSpeeds> fitted(jobs.begin(), jobs.end());
  plan::Plan plan;
  plan.objective = options.objective;
  for (const plan::MemoryMisfit& misfit : plan::apply_memory_fit(geometry, fitted)) {
    plan.notes.push_back(plan::misfit_text(geometry, fitted, misfit));
  }
  plan.gpus.push_back(
      {.gpu = options.gpu, .geometry = &geometry, .partition = {}, .idle_room = {}});
  SliceAssignment answer;
  if (jobs.size() > static_cast<std::size_t>(kAssignedJobsMax)) {
    answer.infeasibility = Infeasibility::kTooManyJobs;
  } else {
    SEPTULE_TRY(const SpeedMatrix matrix, SpeedMatrix::pack(geometry, fitted));
    assigner.solve(matrix, options.objective, answer);
  }
  plan.proof = plan::Proof::kOptimal;
  plan.is_feasible = answer.is_feasible();
  if (plan.is_feasible) {
    fill_plan(plan, geometry, answer, fitted, options.current);
    return plan;
  }
  plan.infeasible_reason = reason_text(geometry, fitted, answer);
  gpu::Layout layout;
  for (const CurrentInstance& instance : options.current) {
    layout.push_back(instance.placed);
  }
  gpu::canonicalise(layout);
  plan.gpus.front().partition = gpu::partition_with_full_instances(geometry, layout);
  return plan;
}

}  // namespace septule::optimize
