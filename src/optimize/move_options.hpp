#pragma once

#include <span>
#include <string>
#include <vector>

#include "optimize/gpu_options.hpp"

namespace septule::optimize {

/// A profile of one model that movable instances have somewhere on the node.
struct MovableProfile {
  const gpu::Geometry* geometry = nullptr;
  ProfileIndex profile;
};
std::vector<MovableProfile> movable_profiles(const gpu::Inventory& inventory);

/// Busy, marked movable and not foreign.
bool can_move(const gpu::ObservedInstance& instance);

/// A cut that a GPU could have afterwards: internal to defragmentation.
struct MoveOption {
  std::vector<int>
      takes;  ///< per kind served, then per movable profile what comes in less goes out
  std::vector<ServedRequest> served;
  std::vector<gpu::PlacedProfile> arrivals;
  std::vector<std::size_t> departures;  ///< indices into ObservedGpu::instances
  std::vector<std::size_t> destroyed;   ///< likewise, idle ones

  bool is_nothing() const {
    return served.empty() && arrivals.empty() && departures.empty() && destroyed.empty();
  }
};

/// For each balance the best cut: fewest departures, then fewest idle instances destroyed, then the
/// first in canonical order. The first option is "nothing".
std::vector<MoveOption> move_options_of(const gpu::ObservedGpu& gpu,
                                        std::span<const RequestKind> kinds,
                                        std::span<const MovableProfile> movable);

}  // namespace septule::optimize
