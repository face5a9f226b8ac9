#pragma once

#include <optional>

#include "sched/policies/septule_goals.hpp"

namespace septule::sched {

/// Pulls jobs off the most crowded GPUs onto one that has room.
///
/// Assumptions: whoever shares a GPU with many profits most from leaving, so that it is enough to
/// look at the SeptuleTuning::donors_max most crowded GPUs, those with at least kLead more jobs.
/// Steps: each known job of each donor is tried: the best places of the GPU with it and of the
/// donor without it, less the values of both now and less what the move costs. The best pull with a
/// gain is done, and the next one sought, until there is none. Ties: most crowded donor, lowest
/// number, lowest job id. Cost: two assignments per job looked at: at most kRoundsMax x donors
/// x 14. One thread.
class SeptuleRelief {
 public:
  /// A donor has at least so many jobs more: with fewer the two would only swap roles.
  static constexpr std::size_t kLead = 2;
  /// Pulls onto one GPU in one call at most (a GPU has no more instances).
  static constexpr int kRoundsMax = 7;

  /// Both outlive it.
  SeptuleRelief(SeptuleValues& values, SeptuleGoals& goals) : values_(&values), goals_(&goals) {}

  /// Pulls jobs to this GPU while something is gained.
  void pull(const SeptuleCall& call, GpuId gpu);

 private:
  struct Pull {
    GpuId donor;
    job::JobId job;
    double gain = 0;
    optimize::PlacedAnswer here;
  };
  std::optional<Pull> best_pull(const SeptuleCall& call, const GpuGoal& goal);
  void consider(const SeptuleCall& call,
                const GpuGoal& goal,
                GpuId donor,
                std::optional<Pull>& best);

  SeptuleValues* values_;
  SeptuleGoals* goals_;
  SeptuleProblem posed_;
};

}  // namespace septule::sched
