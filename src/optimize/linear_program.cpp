#include "optimize/linear_program.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include <fmt/format.h>

// Clp's headers are not written for our warnings; CMake names their directory as a system one.
#include <ClpSimplex.hpp>
#include <CoinError.hpp>

#include "base/check.hpp"

namespace septule::optimize {

namespace {

/// Clp's results of solving (ClpModel::status).
enum ClpStatus { kClpOptimal = 0, kClpInfeasible = 1, kClpUnbounded = 2, kClpStopped = 3 };

/// Clp takes 1e30 and more for infinite.
double clp_bound(double bound) {
  return std::clamp(bound, -COIN_DBL_MAX, COIN_DBL_MAX);
}

/// Rows or columns as Clp wants them: one list for each of their parts, entries behind one another.
struct PackedLines {
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> costs;  // of columns only
  std::vector<CoinBigIndex> starts = {0};
  std::vector<int> indices;
  std::vector<double> coefficients;

  void add(double line_lower,
           double line_upper,
           std::span<const LinearEntry> entries,
           int index_count) {
    SEPTULE_CHECK(line_lower <= line_upper,
                  "the lower bound is not above the upper one, and none is NaN");
    lower.push_back(clp_bound(line_lower));
    upper.push_back(clp_bound(line_upper));
    for (const LinearEntry& entry : entries) {
      SEPTULE_CHECK(entry.index >= 0 && entry.index < index_count, "an entry names what exists");
      SEPTULE_CHECK(std::isfinite(entry.coefficient), "coefficients are finite");
      indices.push_back(entry.index);
      coefficients.push_back(entry.coefficient);
    }
    std::vector<int> sorted(indices.begin() + starts.back(), indices.end());
    std::sort(sorted.begin(), sorted.end());
    SEPTULE_CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(),
                  "each index occurs once");
    starts.push_back(static_cast<CoinBigIndex>(indices.size()));
  }
  int size() const { return static_cast<int>(lower.size()); }
};

}  // namespace

/// Clp's model and which of its two methods suits what was added last: new columns leave the old
/// answer feasible (primal), new rows leave it optimal for the old rows (dual).
struct LinearProgram::Model {
  enum class Next { kDual, kPrimal };

  ClpSimplex simplex;
  Next next = Next::kDual;

  void run() {
    if (next == Next::kPrimal) {
      simplex.primal();
    } else {
      simplex.dual();
    }
  }
};

LinearProgram::LinearProgram(LinearGoal goal) : goal_(goal), model_(std::make_unique<Model>()) {
  ClpSimplex& simplex = model_->simplex;
  simplex.setLogLevel(0);
  // Always minimises: the signs of a maximised model's prices are a trap.
  simplex.setOptimizationDirection(1);
  // No perturbation: it draws numbers, and degenerate ties may fall as they like.
  simplex.setPerturbation(100);
}

LinearProgram::~LinearProgram() = default;
LinearProgram::LinearProgram(LinearProgram&& other) noexcept = default;
LinearProgram& LinearProgram::operator=(LinearProgram&& other) noexcept = default;

int LinearProgram::row_count() const {
  return model_->simplex.numberRows();
}

int LinearProgram::column_count() const {
  return model_->simplex.numberColumns();
}

void LinearProgram::add_columns(std::span<const LinearColumn> columns) {
  if (columns.empty()) {
    return;
  }
  const double sign = goal_ == LinearGoal::kMinimise ? 1 : -1;
  PackedLines packed;
  for (const LinearColumn& column : columns) {
    SEPTULE_CHECK(std::isfinite(column.cost), "costs are finite");
    packed.add(column.lower, column.upper, column.entries, row_count());
    packed.costs.push_back(sign * column.cost);
  }
  model_->simplex.addColumns(packed.size(),
                             packed.lower.data(),
                             packed.upper.data(),
                             packed.costs.data(),
                             packed.starts.data(),
                             packed.indices.data(),
                             packed.coefficients.data());
  model_->next = Model::Next::kPrimal;
}

void LinearProgram::add_rows(std::span<const LinearRow> rows) {
  if (rows.empty()) {
    return;
  }
  PackedLines packed;
  for (const LinearRow& row : rows) {
    packed.add(row.lower, row.upper, row.entries, column_count());
  }
  model_->simplex.addRows(packed.size(),
                          packed.lower.data(),
                          packed.upper.data(),
                          packed.starts.data(),
                          packed.indices.data(),
                          packed.coefficients.data());
  model_->next = Model::Next::kDual;
}

void LinearProgram::set_column_bounds(int column, double lower, double upper) {
  SEPTULE_CHECK(column >= 0 && column < column_count(), "bounds are of a column that exists");
  SEPTULE_CHECK(lower <= upper, "the lower bound is not above the upper one, and none is NaN");
  model_->simplex.setColumnBounds(column, clp_bound(lower), clp_bound(upper));
  model_->next = Model::Next::kDual;
}

Result<LinearSolution> LinearProgram::solve(std::int64_t iterations_max) {
  ClpSimplex& simplex = model_->simplex;
  SEPTULE_CHECK(iterations_max >= 0, "a limit is not negative");
  const std::int64_t limit = std::min(iterations_max, kIterationsMax);
  try {
    simplex.setMaximumIterations(static_cast<int>(limit));
    model_->run();
    if (simplex.status() > kClpStopped) {
      // Numerical trouble from where it stood: once more from nothing, by the other method.
      simplex.allSlackBasis(true);
      simplex.primal();
    }
  } catch (const CoinError& error) {
    return Error{ErrorCode::kFailed,
                 fmt::format("the linear program of {} rows and {} columns failed in Clp: {}",
                             row_count(),
                             column_count(),
                             error.message())};
  } catch (const std::exception& error) {
    return Error{ErrorCode::kFailed,
                 fmt::format("the linear program of {} rows and {} columns failed: {}",
                             row_count(),
                             column_count(),
                             error.what())};
  }
  LinearSolution solution;
  switch (simplex.status()) {
    case kClpInfeasible:
      return solution;
    case kClpUnbounded:
      solution.outcome = LinearOutcome::kUnbounded;
      return solution;
    case kClpStopped:
      return Error{ErrorCode::kTimedOut,
                   fmt::format("the linear program of {} rows and {} columns was not solved within "
                               "{} iterations",
                               row_count(),
                               column_count(),
                               limit)};
    case kClpOptimal:
      break;
    default:
      return Error{ErrorCode::kFailed,
                   fmt::format("Clp gave up on the linear program of {} rows and {} columns "
                               "(status {})",
                               row_count(),
                               column_count(),
                               simplex.status())};
  }
  const double sign = goal_ == LinearGoal::kMinimise ? 1 : -1;
  solution.outcome = LinearOutcome::kOptimal;
  solution.objective = sign * simplex.objectiveValue();
  const double* const values = simplex.primalColumnSolution();
  solution.values.assign(values, values + column_count());
  const double* const prices = simplex.dualRowSolution();
  for (int row = 0; row < row_count(); ++row) {
    solution.prices.push_back(sign * prices[row]);
  }
  return solution;
}

}  // namespace septule::optimize
