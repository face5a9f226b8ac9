#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "optimize/moldable.hpp"

namespace septule::optimize {

/// In which order a static partition takes the tasks.
enum class StaticOrder {
  kFirstComeFirstServed,  ///< in the order given, each where an instance is free first
  kLongestFirst,          ///< longest first, each where it ends first
};

struct StaticAnswer {
  MoldableAssignment assignment;
  Duration makespan;
  std::vector<std::size_t> layout;  ///< nodes, ascending; those without tasks are not created
};

/// List scheduling on one layout (nodes that lie apart). Instances are created one after another,
/// in the order of their nodes, and never destroyed; ties go to the smaller node. A task's length
/// for the order is its shortest time in the layout. Nothing where a task fits no instance of it.
std::optional<StaticAnswer> static_schedule(const MoldableProblem& problem,
                                            std::span<const std::size_t> layout,
                                            StaticOrder order);

/// The best of all layouts (the first of equals). The answer is among all layouts the best that
/// list scheduling finds, not the best assignment. Fails as check_moldable_problem() does, and with
/// kBlocked where tasks fit only on instances that do not exist together.
Result<StaticAnswer> best_static_schedule(const MoldableProblem& problem, StaticOrder order);

}  // namespace septule::optimize
