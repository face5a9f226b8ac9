#include "serve/milp_rounding.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace septule::serve {

std::vector<MilpLocks> locks_of(const port::MilpProblem& problem) {
  std::vector<MilpLocks> locks(problem.columns.size());
  for (const port::MilpRow& row : problem.rows) {
    for (const port::MilpEntry& entry : row.entries) {
      MilpLocks& own = locks[static_cast<std::size_t>(entry.column)];
      const bool is_up = entry.coefficient > 0;
      own.up += (is_up ? row.upper : -row.lower) < port::kMilpUnlimited ? 1 : 0;
      own.down += (is_up ? -row.lower : row.upper) < port::kMilpUnlimited ? 1 : 0;
    }
  }
  return locks;
}

double cost_unit(const port::MilpProblem& problem) {
  constexpr double kCostMax = 1e9;
  std::int64_t unit = 0;
  for (const port::MilpColumn& column : problem.columns) {
    if (column.cost == 0) {
      continue;
    }
    if (!column.is_integer || column.cost != std::round(column.cost) ||
        std::abs(column.cost) > kCostMax) {
      return 0;
    }
    unit = std::gcd(unit, static_cast<std::int64_t>(column.cost));
  }
  return static_cast<double>(unit);
}

double rounded(double value, MilpRounding rounding, const MilpLocks& locks) {
  const bool is_up =
      rounding == MilpRounding::kUp || (rounding == MilpRounding::kAwayFromRows && locks.up == 0);
  const bool is_down = rounding == MilpRounding::kDown ||
                       (rounding == MilpRounding::kAwayFromRows && !is_up && locks.down == 0);
  if (is_up) {
    return std::ceil(value - kMilpWhole);
  }
  return is_down ? std::floor(value + kMilpWhole) : std::round(value);
}

}  // namespace septule::serve
