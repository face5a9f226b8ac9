#pragma once

#include <memory>

#include "port/milp_solver.hpp"

namespace septule::live {

/// CBC where it was compiled in, nothing otherwise: then the built-in search of
/// serve/built_in_milp.hpp is what is left. Any thread.
std::unique_ptr<port::MilpSolver> make_milp_solver();

}  // namespace septule::live
