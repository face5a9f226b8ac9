#pragma once

#include <vector>

#include "port/milp_solver.hpp"

namespace septule::serve {

// Parts of the built-in branch and bound (built_in_milp.hpp) that know no tree.

/// A value this near to a whole number is one.
inline constexpr double kMilpWhole = 1e-6;

/// Rows that lowering or raising a column brings nearer to a bound.
struct MilpLocks {
  int down = 0;
  int up = 0;
};
/// By column.
std::vector<MilpLocks> locks_of(const port::MilpProblem& problem);

/// Where a value that is not whole goes.
enum class MilpRounding {
  kNearest,
  kUp,
  kDown,
  kAwayFromRows,  ///< where no row holds the column; to the nearest if rows hold it on both sides
};
/// The whole number that `value` goes to; within kMilpWhole of one, that one.
double rounded(double value, MilpRounding rounding, const MilpLocks& locks);

/// The largest number that all costs are whole multiples of, if only integer columns have costs
/// and these are whole numbers; 0 otherwise, and without costs.
double cost_unit(const port::MilpProblem& problem);

}  // namespace septule::serve
