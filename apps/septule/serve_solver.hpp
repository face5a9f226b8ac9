#pragma once

#include <memory>
#include <vector>

#include "base/options.hpp"
#include "port/milp_solver.hpp"
#include "septule/app.hpp"
#include "serve/fleet_plan.hpp"

namespace septule::app {

/// Options of commands that plan a fleet: who solves, for how long, how close will do.
std::vector<OptionRecord> serve_solver_options();

/// The solver that --solver names; null = our own search alone. kUsage where CBC was asked for by
/// name and is not built in.
Result<std::unique_ptr<port::MilpSolver>> serve_solver(const Invocation& invocation);
/// What --time-limit, --gap and --budget say. `solver` may be null and outlives the options.
serve::FleetOptions fleet_options(const Invocation& invocation, port::MilpSolver* solver);

}  // namespace septule::app
