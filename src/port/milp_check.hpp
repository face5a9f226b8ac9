#pragma once

#include <optional>
#include <span>

#include "base/result.hpp"
#include "port/milp_solver.hpp"

namespace septule::port {

/// How far a value may be beyond a bound, relative to the greatest of 1, the bound and the row's
/// terms: what a floating-point solver can promise.
inline constexpr double kMilpTolerance = 1e-6;

/// Whether a problem is well formed: known columns, each at most once in a row, finite costs and
/// coefficients, no NaN, no crossed bounds. kInvalidInput naming the column or row otherwise.
Status validate(const MilpProblem& problem);

/// Whether a seed has one value for each column or none at all; kInvalidInput otherwise.
Status validate_seed(const MilpProblem& problem, std::span<const double> seed);

/// Whether `values` is a solution: one for each column, whole where the column is integer, every
/// bound and row kept within kMilpTolerance. kInvalidInput naming what is not otherwise. The
/// independent judge of what solvers give. `problem` is valid.
Status check_values(const MilpProblem& problem, std::span<const double> values);

/// The answer to a valid problem without columns, which needs no solver; nothing for all others.
std::optional<MilpSolution> solution_without_columns(const MilpProblem& problem);

/// The objective of `values`, one for each column.
double objective_of(const MilpProblem& problem, std::span<const double> values);

/// Rounds the integer columns to whole numbers and moves values that are beyond a bound of their
/// column by no more than the tolerance onto it.
void tidy_values(const MilpProblem& problem, std::span<double> values);

/// Whether `a` is better than `b` for the goal.
constexpr bool is_better(MilpGoal goal, double a, double b) {
  return goal == MilpGoal::kMinimise ? a < b : a > b;
}
/// Whether a solution of this objective is good enough: no further from the bound than a gap that
/// was asked for, or than floating-point numbers can tell.
bool is_within_gap(double objective, double bound, const MilpLimits& limits);

}  // namespace septule::port
