#pragma once

#include <string>
#include <vector>

#include "serve/fleet_moves.hpp"

namespace septule::serve {

/// Independent judge of an order of moves: shares no code with order_moves. Every phase is a legal
/// deployment (by gpu::check_partition) and follows from the one before by what it says was
/// released and created; what is the same before and after is never touched; the last phase is what
/// was to be; what serves in each phase is counted anew, and every time a tenant falls below its
/// need (or what it had) is among the dips. One sentence for each fault; empty = it holds. The
/// problem must be valid (order_moves accepted it).
std::vector<std::string> check_moves(const FleetMovesProblem& problem, const FleetMoves& moves);

}  // namespace septule::serve
