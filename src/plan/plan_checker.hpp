#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/layout.hpp"
#include "plan/job_speeds.hpp"
#include "plan/plan.hpp"

namespace septule::plan {

/// An instance that the plan had to leave alone.
struct FrozenInstance {
  enum class Use {
    kNobody,  ///< none of the jobs may run in it
    kAnyJob,  ///< one of the jobs may run in it
    kOneJob,  ///< `job` must run in it
  };
  std::size_t gpu = 0;  ///< index into Plan::gpus
  gpu::PlacedProfile placed;
  Use use = Use::kNobody;
  std::size_t job = 0;  ///< for kOneJob
};

enum class PlanViolationKind {
  kMalformed,        ///< the Plan breaks its own invariant (counts, indices, missing geometry)
  kPartition,        ///< a partition is not legal
  kSharedInstance,   ///< two jobs in one instance
  kComputeInstance,  ///< the job's instance lacks its one full compute instance
  kMemory,           ///< the job's memory does not fit, or cannot be shown to fit
  kSpeed,            ///< the rate is not the job's speed on that profile, or it is 0
  kObjective,        ///< the objective value is not what the rates give
  kFrozen,           ///< a frozen instance is missing, or used by the wrong job
};
std::string_view plan_violation_name(PlanViolationKind kind);

struct PlanViolation {
  PlanViolationKind kind = PlanViolationKind::kMalformed;
  std::string message;  ///< one sentence with names, places and figures
};

/// Everything that is wrong with a plan for these jobs, by kind. Empty = the plan holds. Works from
/// the job table and the geometry alone and knows no optimizer; that the plan is the *best* one is
/// not judged. Speeds must be those the plan was made from (a speed taken away by apply_memory_fit
/// may be there or not: memory is judged on its own). Objective values may differ by 1e-9 relative.
std::vector<PlanViolation> check_plan(const Plan& plan,
                                      std::span<const JobSpeeds> jobs,
                                      std::span<const FrozenInstance> frozen);

}  // namespace septule::plan
