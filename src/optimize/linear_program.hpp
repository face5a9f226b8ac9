#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace septule::optimize {

/// No bound. Costs and coefficients are finite.
inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// One coefficient: `index` is a row where a column is described, a column where a row is.
struct LinearEntry {
  int index = 0;
  double coefficient = 0;
};

/// A variable: lower <= value <= upper, `cost` in the objective. Entries name rows that exist, each
/// at most once.
struct LinearColumn {
  double cost = 0;
  double lower = 0;
  double upper = kUnlimited;
  std::vector<LinearEntry> entries;
};

/// A constraint: lower <= sum of coefficient * value <= upper. Entries name columns that exist,
/// each at most once.
struct LinearRow {
  double lower = -kUnlimited;
  double upper = kUnlimited;
  std::vector<LinearEntry> entries;
};

enum class LinearGoal { kMinimise, kMaximise };
enum class LinearOutcome { kOptimal, kInfeasible, kUnbounded };

/// What solving found. The lists are empty unless the outcome is kOptimal.
struct LinearSolution {
  LinearOutcome outcome = LinearOutcome::kInfeasible;
  double objective = 0;
  std::vector<double> values;  ///< of the columns
  /// By how much the objective would grow if the bounds of a row were raised by one; 0 where a row
  /// does not bind. The sign is that of the objective as given, for both goals.
  std::vector<double> prices;
};

/// A linear program that grows: solve, add columns or rows, solve again from where it stood. A thin
/// wrapper of Clp (ADR 0021), which keeps to one thread and is silent. Results are floating-point
/// numbers of a tolerance of 1e-7: a caller that proves something with them (a bound out of the
/// prices) computes that anew from the prices, so that nothing rests on Clp being right. Equal
/// calls in equal order give equal results on one machine; the last bits may differ between
/// machines (BLAS), so that a caller who decides by them rounds first.
/// Movable, one owner; different programs may be used by different threads.
class LinearProgram {
 public:
  static constexpr std::int64_t kIterationsMax = 1000000;

  explicit LinearProgram(LinearGoal goal);
  ~LinearProgram();
  LinearProgram(LinearProgram&& other) noexcept;
  LinearProgram& operator=(LinearProgram&& other) noexcept;
  LinearProgram(const LinearProgram&) = delete;
  LinearProgram& operator=(const LinearProgram&) = delete;

  int row_count() const;
  int column_count() const;

  /// Appended in order, so the first of them has the index column_count() had before. Not finite
  /// costs or coefficients, crossed bounds and unknown or repeated indices are programmer errors.
  void add_columns(std::span<const LinearColumn> columns);
  void add_rows(std::span<const LinearRow> rows);
  void add_column(const LinearColumn& column) { add_columns({&column, 1}); }
  void add_row(const LinearRow& row) { add_rows({&row, 1}); }

  /// New bounds of a column that exists; lower <= upper. Solving again goes on from where it stood.
  void set_column_bounds(int column, double lower, double upper);

  /// Fails with kTimedOut beyond `iterations_max` simplex iterations in this call, with kFailed
  /// where Clp gives up for numerical reasons.
  Result<LinearSolution> solve(std::int64_t iterations_max = kIterationsMax);

 private:
  struct Model;

  LinearGoal goal_;
  std::unique_ptr<Model> model_;
};

}  // namespace septule::optimize
