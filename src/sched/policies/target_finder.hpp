#pragma once

#include <array>
#include <optional>

#include "base/inline_vector.hpp"
#include "gpu/geometry.hpp"
#include "optimize/partition_table.hpp"
#include "optimize/slice_assignment.hpp"
#include "plan/objective.hpp"
#include "predict/speed_book.hpp"
#include "sched/admission.hpp"
#include "sched/goal.hpp"

namespace septule::sched {

/// The jobs of one GPU, in the order of their ids, for which a partition is sought.
struct TargetJobs {
  InlineVector<const predict::SpeedRow*, optimize::kAssignedJobsMax> speeds;
  InlineVector<std::optional<gpu::PlacedProfile>, optimize::kAssignedJobsMax> current;

  void clear() {
    speeds.clear();
    current.clear();
  }
};

/// Where they should run. Fields beyond `is_feasible` mean something only if it is true.
struct TargetPlaces {
  bool is_feasible = false;
  InlineVector<gpu::PlacedProfile, kInstancesMax> instances;  ///< canonical order
  std::array<int, optimize::kAssignedJobsMax> instance_of{};  ///< by job
};

/// The optimal partition for the jobs of one GPU, from the table or from all layouts.
///
/// kPaperTable: optimize::PartitionTable, whose rules and ties hold; exactly one instance per job.
/// kEverything: optimize::SliceAssigner on an empty GPU (everything restarts anyway), only the used
/// instances are cut. If the jobs' present places are worth as much (within 5e-9), they stay there.
/// Cost: one solve(), no allocation. One owner (it keeps working memory).
class TargetFinder {
 public:
  /// Geometry must have a profile table.
  TargetFinder(const gpu::Geometry& geometry,
               PartitionChoice choice,
               plan::ObjectiveKind objective);

  /// 1 to 7 jobs; with another number the answer is infeasible.
  void find(const TargetJobs& jobs, TargetPlaces& places);

 private:
  void find_in_table(const TargetJobs& jobs, TargetPlaces& places);
  void find_anywhere(const TargetJobs& jobs, TargetPlaces& places);
  /// The objective where the jobs are now; nothing if one of them is nowhere or does not fit.
  std::optional<double> present_value(const TargetJobs& jobs) const;

  const gpu::Geometry* geometry_;
  plan::ObjectiveKind objective_;
  optimize::PartitionTable table_;
  std::optional<optimize::SliceAssigner> assigner_;  // for kEverything
  optimize::PartitionAnswer answer_;
  optimize::SliceAssignment assignment_;
};

}  // namespace septule::sched
