#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "port/milp_solver.hpp"

namespace septule::serve {

/// Limits in work, both > 0.
struct BuiltInMilpOptions {
  /// Linear programs solved in one call, at most: a limit in work, because this solver has no
  /// clock. MilpLimits::nodes may only lower it.
  std::int64_t nodes_max = 20000;
  /// Simplex iterations of one linear program.
  std::int64_t iterations_max = 200000;
};

/// A plain branch and bound over optimize::LinearProgram: what there is without CBC, and the
/// reproducible solver of tests (ADR 0025).
/// Assumes: small programs (hundreds of columns). Steps: the linear program of a node; rounding to
/// the nearest, upwards, downwards and away from the rows, with the continuous columns worked out
/// again; now and then a dive (columns fixed an eighth at a time); branching on the column of the
/// best pseudo-costs (product of both estimated losses; a column without history counts by the
/// mean and its fraction), the child nearer to the fraction first and depth-first from there; when
/// that ends, the open node of the best bound. Where every cost is a whole multiple of one number
/// and of integer columns only, bounds are rounded to it.
/// Ties: lowest column, oldest node. Cost: one unit a linear program. MilpLimits::elapsed is
/// ignored: equal calls give equal answers (up to the last bits of LinearProgram between machines).
/// A node whose linear program breaks down stays open, so the bound still holds. No state: one
/// object may serve several threads.
/// Source: textbook branch and bound with pseudo-costs (Benichou et al. 1971).
class BuiltInMilp final : public port::MilpSolver {
 public:
  explicit BuiltInMilp(BuiltInMilpOptions options = {}) : options_(options) {}

  std::string_view name() const override { return "built-in"; }
  Result<port::MilpSolution> solve(const port::MilpProblem& problem,
                                   const port::MilpLimits& limits,
                                   std::span<const double> seed) override;

 private:
  BuiltInMilpOptions options_;
};

}  // namespace septule::serve
