#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/work_budget.hpp"

namespace septule::optimize {

/// One thing a GPU can do: how much of each demand it takes (negative: it gives back) and what it
/// costs under each key. Values; no thread rule.
struct Pattern {
  std::vector<int> takes;          ///< one entry per demand
  std::vector<std::int64_t> keys;  ///< one entry per key, the most significant first
};

/// GPUs that are alike. Pattern 0 must be "nothing": it takes nothing and costs nothing.
struct PatternClass {
  int gpu_count = 0;
  std::vector<Pattern> patterns;
};

/// Every GPU does one pattern of its class; the takes must add up to the demands exactly; the sums
/// of the keys are minimised one after the other. `keys_proven` keys belong to the certificate;
/// later keys are tie-breaks, sought with a twentieth of the work budget and never claimed to be
/// optimal.
struct PatternProblem {
  std::vector<int> demand;
  std::vector<PatternClass> classes;
  std::size_t keys_proven = 1;
  std::size_t key_count = 1;
};

/// How many GPUs of each class do each pattern.
using PatternCounts = std::vector<std::vector<int>>;

struct PatternOutcome {
  std::optional<PatternCounts> counts;  ///< nothing: none found
  std::vector<std::int64_t> values;     ///< sum of each key, if found
  /// A true lower bound of each proven key, given the values before it.
  std::vector<std::int64_t> lower_bounds;
  /// Found: each of the `keys_proven` keys is optimal. Not found: there is none.
  bool is_proven = false;
};

/// Exact within the budget. Assumptions: few demands (profiles), few patterns per class (hundreds).
/// Steps, for each key: (1) the linear relaxation by the revised simplex method; its dual prices,
/// rounded to integers, give a Lagrangian bound in exact arithmetic whatever the rounding;
/// (2) iterative deepening from that bound: a depth-first search over patterns in the order of the
/// relaxation, cut by reduced costs, by what the remaining GPUs can take at most and at least, and
/// by a memo of failed states; (3) the value found becomes one more demand for the next key.
/// Equal GPUs are one class, so symmetry costs nothing. Ties: first in search order. One work unit
/// is one search node or a hundred columns priced. Source: Dantzig-Wolfe form of cutting stock,
/// Gilmore and Gomory (1961); IDA*, Korf (1985).
PatternOutcome select_patterns(const PatternProblem& problem, WorkBudget& budget);

}  // namespace septule::optimize
