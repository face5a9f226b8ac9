#pragma once

#include <optional>
#include <vector>

#include "serve/goodput_problem.hpp"

namespace septule::serve {

/// What planners say of a plan they made: the figures of its layouts, as goodput_problem.hpp
/// defines them. (goodput_checker.hpp counts anew and shares no code with this.)
struct PlanValue {
  double goodput = 0;
  double objective = 0;
  std::vector<std::optional<int>> retrained_from;
  bool is_feasible = true;  ///< floors, dwell, limit on changes and frozen instances are kept
};
/// `layouts`: one for each step, legal, by placement.
PlanValue value_plan(const GoodputProblem& problem, const std::vector<LabelledLayout>& layouts);

}  // namespace septule::serve
