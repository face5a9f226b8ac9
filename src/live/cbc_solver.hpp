#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "port/milp_solver.hpp"

namespace septule::live {

/// CBC, by its C++ classes and linked in (ADR 0025): presolve, cuts and heuristics as its own
/// program sets them up, one thread of search, the clock on the wall, no output. Every call runs in
/// a thread of its own that has ended when the call returns, so a caller's thread is never inside
/// CBC. A seed is a cut-off and, where it survives the presolve, the first solution. What CBC says
/// is not believed: whole numbers are rounded and checked against every row, and the objective is
/// worked out anew. The elapsed limit is looked at between nodes, cuts and heuristics: the first
/// linear program may outlast it. Equal calls that no elapsed limit ended give equal results on one
/// machine. Several objects may be in use at once. Exists only where the build found CBC
/// (make_milp_solver).
class CbcSolver final : public port::MilpSolver {
 public:
  CbcSolver();

  std::string_view name() const override { return "cbc"; }
  Result<port::MilpSolution> solve(const port::MilpProblem& problem,
                                   const port::MilpLimits& limits,
                                   std::span<const double> seed) override;
};

}  // namespace septule::live
