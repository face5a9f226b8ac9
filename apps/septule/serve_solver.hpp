#pragma once

#include <vector>

#include "base/options.hpp"
#include "septule/app.hpp"
#include "septule/serve_fleet_view.hpp"
#include "serve/fleet_checker.hpp"

namespace septule::app {

/// Options of commands that plan a fleet: who solves, for how long, how close will do.
std::vector<OptionRecord> serve_solver_options();

/// Plans answer.problem by these options; fills in the plan and how long it took. A plan that the
/// independent checker (serve/fleet_checker.hpp) refuses is kFailed.
Status solve_fleet(const Invocation& invocation, serve::FleetGoal goal, FleetAnswer& answer);

}  // namespace septule::app
