#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace septule::port {

/// No bound. Costs and coefficients are finite.
inline constexpr double kMilpUnlimited = std::numeric_limits<double>::infinity();

/// One coefficient of a row: `column` is an index into MilpProblem::columns.
struct MilpEntry {
  int column = 0;
  double coefficient = 0;
};
/// lower <= value <= upper, `cost` in the objective.
struct MilpColumn {
  double cost = 0;
  double lower = 0;
  double upper = kMilpUnlimited;
  bool is_integer = true;
};
/// lower <= sum of coefficient * value <= upper; each column at most once.
struct MilpRow {
  double lower = -kMilpUnlimited;
  double upper = kMilpUnlimited;
  std::vector<MilpEntry> entries;
};
enum class MilpGoal { kMinimise, kMaximise };

/// A mixed-integer linear program. A plain value.
struct MilpProblem {
  MilpGoal goal = MilpGoal::kMinimise;
  std::vector<MilpColumn> columns;
  std::vector<MilpRow> rows;
};

/// When to stop. A limit that ends the search is no error: the outcome says so.
struct MilpLimits {
  Duration elapsed = Duration::milliseconds(60000);  ///< of the solver's own clock
  std::int64_t nodes = std::numeric_limits<int>::max();
  double gap_relative = 0;  ///< stop once |objective - bound| <= this * |objective|
  double gap_absolute = 0;
};

/// What a search ended with.
enum class MilpOutcome {
  kOptimal,     ///< proved within the gaps asked for
  kFeasible,    ///< a limit ended the proof; `values` hold
  kInfeasible,  ///< proved
  kUnbounded,
  kUnknown,  ///< a limit ended the search before any solution; `bound` may still hold
};

/// What was found. Integer columns hold whole numbers exactly (rounded, then checked against every
/// row within 1e-6 relative); `values` is empty without a solution.
struct MilpSolution {
  MilpOutcome outcome = MilpOutcome::kUnknown;
  double objective = 0;  ///< worked out anew from `values`
  std::vector<double> values;
  std::optional<double> bound;  ///< no solution is better than this
  std::int64_t nodes = 0;
};

/// Solves mixed-integer linear programs. An interface of the outside world because a solver has its
/// own clock and its own threads: implementations may differ in time and in which of several
/// optimal solutions they give, so callers check what they get and prove nothing but by `bound`.
/// Implementations may be called from any thread, one call at a time per object.
class MilpSolver {
 public:
  MilpSolver() = default;
  MilpSolver(const MilpSolver&) = delete;
  MilpSolver& operator=(const MilpSolver&) = delete;
  virtual ~MilpSolver() = default;

  /// "cbc", "built-in"; static lifetime.
  virtual std::string_view name() const = 0;
  /// `seed`: a known solution, one value per column, or empty. One that is not feasible is left
  /// out. Fails with kFailed only if the solver itself breaks down, kInvalidInput for a malformed
  /// problem (unknown column, NaN, crossed bounds).
  virtual Result<MilpSolution> solve(const MilpProblem& problem,
                                     const MilpLimits& limits,
                                     std::span<const double> seed) = 0;
};

}  // namespace septule::port
