#pragma once

#include <vector>

#include "optimize/window_optimizer.hpp"
#include "plan/schedule_checker.hpp"

namespace septule::optimize {

/// What the independent checker (plan/schedule_checker.hpp) says of an answer to a problem: asked
/// with the problem's rules, switch costs and co-run model. Empty = nothing is wrong. Rates and the
/// fairness floor are not judged where the clock is kSteadyState, whose runs are laid out over
/// their group's time; a timeline without groups is judged as kRefill, whatever the clock. Also
/// kTotals where the answer's time is not its schedule's makespan.
std::vector<plan::ScheduleViolation> check_window_answer(const WindowProblem& problem,
                                                         const WindowAnswer& answer);

}  // namespace septule::optimize
