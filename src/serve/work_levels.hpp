#pragma once

#include <optional>
#include <vector>

#include "serve/goodput_problem.hpp"

namespace septule::serve {

/// Retraining work done by one tenant, told apart as finely as it matters. Levels ascend, the last
/// one is "complete". A ready instance moves the level once a step.
struct WorkLevels {
  int tenant = 0;
  /// Levels of every state; 0 = one run only: a state without an instance that retrains the tenant
  /// has the levels 0 (nothing done) and 1 (complete), one with it the steps done so far. Then runs
  /// that are broken off are not told apart from none.
  int count = 0;
  std::vector<double> speeds;          ///< of the tenant's labels, distinct, ascending
  std::vector<std::vector<int>> next;  ///< by speed, then level; never below the level
  int release_step = 0;
  int deadline_step = 0;
  double worth_after = 0;  ///< weight * accuracy_after
  bool is_exact = false;   ///< completes in the levels exactly when it does in seconds

  bool is_one_run() const { return count == 0; }
  /// The row of `next` of this speed, which must be one of `speeds`.
  const std::vector<int>& row(double speed) const;
};

/// What a sum of work that is not kept as a level becomes.
enum class WorkRounding {
  kUp,    ///< more than was done: bounds
  kDown,  ///< less than was done: plans
};

/// Levels for a tenant that retrains, at most `count_max` (>= 2). Kept are all sums of gains that
/// the work can have on its way, if that is few enough once sums with the same future are one;
/// otherwise sums of at most two speeds, of one, and at last a grid. So what one size alone does is
/// exact unless only a grid fits.
WorkLevels make_work_levels(const GoodputProblem& problem,
                            int tenant,
                            int count_max,
                            WorkRounding rounding);
/// Levels of one run on one size: many fewer values, and all that good plans use.
WorkLevels make_run_levels(const GoodputProblem& problem, int tenant);

}  // namespace septule::serve
