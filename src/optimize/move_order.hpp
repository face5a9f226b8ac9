#pragma once

#include <span>
#include <vector>

#include "gpu/inventory.hpp"
#include "optimize/defragmentation.hpp"

namespace septule::optimize {

/// Orders moves so that each place is free (and within the maxima and engine budgets) when its turn
/// comes, idle `destroyed` instances being gone already. Where moves wait for each other, the first
/// of them is marked `needs_stop_first`: its instance goes before anything is created, and it comes
/// back as soon as its place is free. Internal to defragmentation.
std::vector<InstanceMove> order_moves(const gpu::Inventory& inventory,
                                      std::span<const DestroyedInstance> destroyed,
                                      std::vector<InstanceMove> moves);

}  // namespace septule::optimize
