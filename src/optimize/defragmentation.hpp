#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "gpu/inventory.hpp"
#include "optimize/instance_packing.hpp"

namespace septule::optimize {

/// Search nodes before the answer stops being claimed as the least.
inline constexpr std::int64_t kDefragmentationUnitsMax = 3000000;

/// A movable instance made anew elsewhere. Its jobs stop and start again there.
struct InstanceMove {
  GpuIndex from_gpu;
  GpuIndex to_gpu;  ///< same GPU or another one of the same model
  gpu::PlacedProfile from;
  gpu::PlacedProfile to;
  std::vector<std::string> holders;
  std::string text;          ///< "1g.5gb@0 on GPU 0 (job 3) -> 1g.5gb@6 on GPU 0"
  bool reuses_idle = false;  ///< an idle instance of the profile stands there already
  /// The new place is not free until this instance itself is gone: stop the jobs and destroy the
  /// instance before anything is created.
  bool needs_stop_first = false;
};

/// How a request is made to fit.
struct Defragmentation {
  RequestList request;
  std::vector<PackedInstance> targets;       ///< where the request then goes
  std::vector<InstanceMove> moves;           ///< in the order in which they can be done
  std::vector<DestroyedInstance> destroyed;  ///< idle instances in the way, to destroy first
  /// The GPUs touched as they look afterwards, by index.
  std::vector<gpu::DesiredGpu> desired;
  PackingCertificate certificate;  ///< keys: moves, idle instances destroyed, GPUs touched
};

/// The provably least number of moves that make a request fit; among equal ones the fewest idle
/// instances destroyed, then the fewest GPUs touched, then the first in search order. Only busy
/// instances marked movable move, to any place of a GPU of the same model with MIG on, also to room
/// that other moves set free; foreign instances never do. Idle instances may be destroyed; a move
/// or the request may take an idle instance of its profile as it is.
///
/// Steps: every cut that a GPU could have afterwards, seen as how many instances of each profile
/// come in, go out and serve the request; then pattern_selection picks one cut per GPU so that what
/// goes out somewhere comes in somewhere. No limit on how far evictions chain. Then the moves are
/// paired (same GPU first) and ordered so that free places come first. Fails with kBlocked naming
/// the instances that may not move; kTimedOut if the budget ends first.
Result<Defragmentation> defragment(const gpu::Inventory& inventory,
                                   const RequestList& request,
                                   WorkBudget& budget);

/// What defragment_for_largest() found.
struct LargestDefragmentation {
  Defragmentation answer;            ///< no moves: nothing larger can be gained
  std::vector<std::string> refused;  ///< per larger profile why it cannot be made to fit
};

/// Makes room for the largest plain profile that fits on no GPU yet but can be made to fit. If
/// there is none, the answer is the largest one that fits already. kBlocked if nothing fits at all.
Result<LargestDefragmentation> defragment_for_largest(const gpu::Inventory& inventory,
                                                      WorkBudget& budget);

}  // namespace septule::optimize
