#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/partition.hpp"
#include "plan/objective.hpp"

namespace septule::plan {

/// Where one job runs and how fast.
struct JobSlot {
  std::size_t gpu = 0;       ///< index into Plan::gpus
  std::size_t instance = 0;  ///< index into that GPU's partition.instances
  double rate = 0;           ///< predicted speed, fraction of the exclusive rate; > 0

  friend bool operator==(const JobSlot&, const JobSlot&) = default;
};

/// One GPU of a plan: how it is cut.
struct GpuPlan {
  GpuIndex gpu;
  const gpu::Geometry* geometry = nullptr;  ///< never null; owned by the Catalogue
  gpu::Partition partition;                 ///< only what is used or was there before and stays
  /// What could be created beside it, all together: one maximal completion. Not in `partition`.
  std::vector<gpu::PlacedProfile> idle_room;
};

/// How much is known about the quality of a plan.
enum class Proof {
  kNone,     ///< a good plan, nothing proven
  kOptimal,  ///< no plan is better; for an infeasible one: no plan exists
};
std::string_view proof_name(Proof proof);

/// The answer to "where does each job run". A value; plan_checker.hpp judges it.
/// Invariant: feasible = one slot per job, in job order, and an objective value; infeasible = no
/// slots, no value, and a reason.
struct Plan {
  bool is_feasible = false;
  std::string infeasible_reason;  ///< one sentence; empty if feasible
  std::vector<GpuPlan> gpus;
  std::vector<JobSlot> slots;  ///< index = job
  ObjectiveKind objective = ObjectiveKind::kSumOfSpeeds;
  std::optional<double> objective_value;  ///< without change costs; unit of the objective
  double change_cost = 0;                 ///< what the changes were charged, unit of the objective
  Proof proof = Proof::kNone;
  std::vector<std::string> notes;  ///< what a person should know, one sentence each
};

}  // namespace septule::plan
