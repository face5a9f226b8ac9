#pragma once

#include <optional>
#include <vector>

#include "serve/goodput_problem.hpp"

namespace septule::serve {

/// Retraining work done by one tenant, told apart as finely as it matters. States in which nothing
/// retrains the tenant have "idle" levels; those with an instance that does, at a speed, the levels
/// of that speed. Levels ascend from nothing to the last one, "complete". A ready instance moves
/// the level to its next one each step; dropping and creating the instance pauses and resumes.
struct WorkLevels {
  struct Speed {
    double speed = 0;
    std::vector<int> next;    ///< by level; never below it
    std::vector<int> pause;   ///< by level: the idle level; -1 = a run is not broken off here
    std::vector<int> resume;  ///< by idle level: the level; -1 = no run begins here
  };
  int tenant = 0;
  int idle_count = 0;
  std::vector<Speed> speeds;  ///< of the tenant's labels, distinct, ascending
  int release_step = 0;
  int deadline_step = 0;
  double worth_after = 0;  ///< weight * accuracy_after

  const Speed& of(double speed) const;  ///< must be one of `speeds`
};

/// Levels that complete exactly when the work does: all sums of gains that it can have on its way,
/// those with the same future as one. Nothing if they are more than `count_max`.
std::optional<WorkLevels> make_exact_levels(const GoodputProblem& problem,
                                            int tenant,
                                            int count_max);
/// Levels that never say less than was done, for bounds: the steps of each speed; when a run pauses
/// they are rounded up to the next of so many parts of the work, and up again to whole steps when
/// it resumes. One run on one size is exact, and a pause gains little more than it costs.
WorkLevels make_bound_levels(const GoodputProblem& problem, int tenant, int parts);
/// Levels of one run on one size that is not broken off: all that good plans use.
WorkLevels make_run_levels(const GoodputProblem& problem, int tenant);

}  // namespace septule::serve
