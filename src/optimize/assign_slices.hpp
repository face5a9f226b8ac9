#pragma once

#include <span>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "optimize/slice_assignment.hpp"
#include "plan/job_speeds.hpp"
#include "plan/objective.hpp"
#include "plan/plan.hpp"

namespace septule::optimize {

/// What assign_slices needs beside the jobs.
struct AssignOptions {
  GpuIndex gpu = {};
  gpu::ProfileSet profiles = gpu::ProfileSet::kPlain;
  LayoutRule rule = LayoutRule::kEveryLayout;
  plan::ObjectiveKind objective = plan::ObjectiveKind::kSumOfSpeeds;
  std::span<const CurrentInstance> current = {};
  ChangeCosts costs = {};
};

/// The best plan for these jobs on one GPU. Applies plan::apply_memory_fit first (noted in the
/// plan). The partition gives every instance one full compute instance. An infeasible question is
/// an answer (is_feasible false, with the reason), also with more than seven jobs; its partition is
/// the current layout. Fails with kInvalidInput on no job or figures out of range, kNotFound for a
/// board without a profile table.
Result<plan::Plan> assign_slices(const gpu::Geometry& geometry,
                                 std::span<const plan::JobSpeeds> jobs,
                                 const AssignOptions& options);

}  // namespace septule::optimize
