#pragma once

#include <optional>

#include "base/result.hpp"
#include "base/units.hpp"
#include "base/work_budget.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::optimize {

/// A time below which no method's answer comes: bound_window() for schedules of the catalogue's
/// templates, and where those have fewer jobs at a time than the GPU can have instances, no more
/// than the layout bound (moldable_bounds(), without the times of changes): static, far and
/// moldable put a job into each instance, however many there are. Nothing where bound_window() has
/// no bound; fails as it does.
Result<std::optional<Duration>> bound_answers(const WindowProblem& problem, WorkBudget& budget);

}  // namespace septule::optimize
