#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "optimize/moldable.hpp"

namespace septule::optimize {

/// Which size (index into MoldableGpu::sizes()) each task is to have.
using MoldableAllotment = std::vector<std::size_t>;

/// FAR's phase 1, the family of allotments: the first gives each task the size of least area
/// (compute slices * time, the smaller of equals); each further one moves the longest task of the
/// one before (the first of equals) to the larger size of least area, until the longest has no
/// larger size it fits. At most tasks * (sizes - 1) + 1.
std::vector<MoldableAllotment> far_family(const MoldableProblem& problem);

struct FarAnswer {
  MoldableAssignment assignment;
  Duration makespan;
  std::size_t family_size = 0;  ///< allotments looked at
  Duration before_refinement;   ///< makespan of phase 2
};

/// FAR (Villarrubia et al., JPDC 2025; hierarchical.md section 3), one batch.
/// Steps: (1) the family above; (2) each allotment by list scheduling, longest task first, on the
/// repartitioning tree with the serial clock of making and unmaking; the best is kept (the first of
/// equals); (3) at most 100 rounds in which the slice that ends last (the first of equals) is
/// walked from leaf to root, and the first instance is changed whose size has another one that ends
/// earlier: the task is moved that is shorter than the gap and closest to half of it, else two
/// tasks are swapped whose difference is. All comparisons are exact; times are worked out anew
/// after each change, and the best of all rounds is kept.
/// Work: one unit for each task and allotment and for each task and round. When the budget ends,
/// the best so far is given; kTimedOut where not even the first allotment could be scheduled.
/// Errors of check_moldable_problem() too.
Result<FarAnswer> far_schedule(const MoldableProblem& problem, WorkBudget& budget);

}  // namespace septule::optimize
