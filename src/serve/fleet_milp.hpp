#pragma once

#include <vector>

#include "port/milp_solver.hpp"
#include "serve/fleet_search.hpp"

namespace septule::serve {

/// The layout-count program of serving.md 2.6 for a stage: how many GPUs have each layout (first
/// columns, by FleetMaster::layouts()), how many instances of each size each tenant gets (for each
/// tenant all sizes), and, where it may, how many requests per second it is not served. What
/// MilpSolver gets, and tests as a second opinion. `bound`: a row says that no plan costs less.
port::MilpProblem compact_program(const FleetProblem& problem,
                                  const FleetMaster& master,
                                  double bound);

/// An assignment as values of that program's columns.
std::vector<double> compact_values(const FleetProblem& problem,
                                   const FleetMaster& master,
                                   const FleetAssignment& assignment);

/// Asks `solver` for a plan better than `known.best` or a bound above `known.bound`; gives back
/// whichever are better, checked again. Fails where the solver does.
Result<FleetSearchResult> improve_by_milp(const FleetProblem& problem,
                                          const FleetMaster& master,
                                          FleetSearchResult known,
                                          port::MilpSolver& solver,
                                          const port::MilpLimits& limits);

}  // namespace septule::serve
