#pragma once

#include <cstdint>

#include "optimize/moldable.hpp"

namespace septule::optimize {

struct AnnealingOptions {
  std::uint64_t seed = 1;
  std::int64_t steps = 60000;  ///< moves or swaps looked at
  /// A makespan that no schedule is below (ns): what is above it is what is to be got rid of.
  std::int64_t target = 0;
};

/// Simulated annealing over assignments of tasks to the nodes of the tree.
///
/// Why assignments are enough: plain placements are laminar. Take any timeline, also one that
/// merges. In each place, move everything that ran on the whole of it to the front and what ran on
/// its parts behind, in the old order; the parts no longer wait for one another at merges, so no
/// run ends later than the last one did. Hence, but for the time of making and unmaking, some
/// timeline that only splits is best, and it is given by which node each task runs on: a leaf's
/// end is the sum of the loads on its way to the root.
///
/// State: an assignment. A step moves one task to another node it fits, or swaps two tasks. What
/// is to be small: the sum over leaves of the square of what the leaf's end exceeds the target by,
/// which counts imbalance and waste of compute slices alike, and falls in small steps where the
/// makespan stands still. Ends count creations (nodes with tasks) and destructions (where
/// something follows below), as if the driver did each at once. Temperature falls geometrically.
/// The assignment of least makespan met is given, `start` included; times are in double precision,
/// additions only, so that equal calls give equal answers everywhere.
MoldableAssignment anneal(const MoldableGpu& gpu,
                          const MoldableTimes& times,
                          const MoldableAssignment& start,
                          const AnnealingOptions& options);

}  // namespace septule::optimize
