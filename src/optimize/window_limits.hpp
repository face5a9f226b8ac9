#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::optimize {

/// Solo times of a window's jobs together are at most this (10 years), so that the times of its
/// schedules can be told (plan::kScheduleTimeMax).
inline constexpr Duration kWindowTimeMax = Duration::nanoseconds(INT64_C(315'360'000'000'000'000));

/// The floor that groups and seats are made by: that of the rules, or what it takes for jobs one
/// after another to end in half of plan::kScheduleTimeMax; 2e-9 for each second of solo time.
double fairness_floor(const WindowProblem& problem);

}  // namespace septule::optimize
