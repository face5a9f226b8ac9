#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/work_budget.hpp"
#include "serve/labelled_multisets.hpp"
#include "serve/step_terms.hpp"

namespace septule::serve {

/// Retraining work of one tenant in whole levels, chosen so that nothing that is possible in
/// seconds is impossible in levels: work rounded down, gains rounded up.
struct WorkLevels {
  int tenant = 0;
  int levels = 0;           ///< that complete the work, > 0
  double levels_per_s = 0;  ///< gain of a ready instance: ceil(speed * step * levels_per_s)
  int release_step = 0;
  int deadline_step = 0;
  double worth_after = 0;  ///< weight * accuracy_after
  int gain(double speed, double step_s) const;
};
/// The number of levels, at most `levels_max`, that distorts the gains of the tenant's labels
/// least.
WorkLevels choose_levels(const GoodputProblem& problem, int tenant, int levels_max);

/// The multiset relaxation of serving.md 2.4 and 2.5: the program of layout_program.hpp on
/// LabelledMultisets x work done of the tenants tracked. An upper bound on the objective of every
/// plan whose untracked tenants have the terms given. The limit on changes is forgotten.
/// Cost: one unit for each state, combination of levels and step. Nothing if the budget ends;
/// minus infinity if no state keeps the floors.
std::optional<double> solve_multisets(const GoodputProblem& problem,
                                      const LabelledMultisets& states,
                                      std::span<const StepTerms> steps,
                                      std::span<const WorkLevels> tracked,
                                      WorkBudget& budget);

}  // namespace septule::serve
