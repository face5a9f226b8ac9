#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "optimize/moldable.hpp"

namespace septule::optimize {

struct MoldableAnswer {
  MoldableSchedule schedule;
  MoldableAssignment assignment;
  /// What found it: "far", "static" or "search". Static lifetime.
  std::string_view found_by;
  Duration far;                         ///< FAR's makespan
  std::optional<Duration> best_static;  ///< nothing where no single layout fits all tasks
  std::int64_t units_spent = 0;
};

/// Work for a good answer; what is beyond is not used.
inline constexpr std::int64_t kMoldableUnits = 200000;

/// Ours: never worse than FAR and the best static partition, because it begins with them.
/// Steps: (1) FAR and list scheduling on every layout, in both orders; (2) annealing over
/// assignments (moldable_annealing.hpp) from the best of them; (3) descent by exact timelines, in
/// which creations queue up: tasks on the way that ends last are moved to any other node or swapped
/// with any other task, the first improvement is taken, until there is none; nodes that are free
/// together are created in the order of what follows; (4) the best of all.
/// Assumes what MoldableProblem says. Ties: earlier steps first, then smaller numbers.
/// Work: a step of annealing is a unit, a timeline kTimelineUnits; FAR as it says. An exhausted
/// budget ends the search with the best so far.
Result<MoldableAnswer> search_moldable(const MoldableProblem& problem,
                                       WorkBudget& budget,
                                       std::uint64_t seed = 1);

}  // namespace septule::optimize
