#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "optimize/moldable.hpp"

namespace septule::optimize {

/// The order in which blocks whose places overlap must keep theirs, made into an order of creation:
/// of all blocks that nothing before them is in the way of, the first to become free is next (the
/// earlier of equals). Blocks on one place that follow each other without anything between go on in
/// one instance.
std::vector<MoldableBlock> in_order_of_creation(const MoldableProblem& problem,
                                                std::vector<MoldableBlock> blocks);

struct BatchesAnswer {
  MoldableSchedule schedule;
  Duration one_by_one;         ///< the sum of the batches' makespans, each from an empty GPU
  Duration before_refinement;  ///< after joining
};

/// FAR for batches that come one after another (hierarchical.md section 3). `sizes`: how many tasks
/// each batch has, in the order of the problem's tasks; together all of them.
/// Steps: each batch by far_schedule(); every second schedule is reversed, so that small instances
/// meet small ones and large ones large ones (those merge where FAR alone only splits), and each is
/// slid against the one before until instances touch: every block begins as early as it can. Then,
/// at most 20 times, the task whose move to another block of its size shortens the whole most is
/// moved; where no move helps, two tasks of one size whose difference is closest to half of the
/// longest idle time are swapped, if that helps.
/// Work: as FAR, and as many units as blocks for each timeline tried. Errors as FAR;
/// kInvalidInput where the sizes do not add up.
Result<BatchesAnswer> far_batches(const MoldableProblem& problem,
                                  std::span<const std::size_t> sizes,
                                  WorkBudget& budget);

}  // namespace septule::optimize
