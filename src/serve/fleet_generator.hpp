#pragma once

#include <cstdint>

#include "serve/fleet_problem.hpp"

namespace septule::serve {

/// A fleet drawn by chance, for benchmarks and tests. The recipe, all of it from `seed`:
/// - 24 models. On the whole GPU a model serves 10^U(1.8, 3.7) requests/s; on a part of c of C
///   compute slices (c/C)^U(0.85, 1.1) of that, times U(0.9, 1.1): the shape of published tables
///   (serving.md 2.1: seven 1g give 0.79 to 1.21 of one 7g).
/// - A tenant has a model, each equally likely; its SLO rules out the smallest size with chance
///   1/4, then the next one with 2/5, and so on, never the largest.
/// - Its rate is 10^U(-1, 0.7) times `load_mean` of a whole GPU's throughput (divided by that
///   distribution's mean, 1.255); weight 1 to 3; accuracy U(0.6, 0.95).
/// Throughputs are rounded to 0.001 and rates to 0.01 requests/s, as files have them.
struct FleetRecipe {
  int tenant_count = 0;
  double load_mean = 1;  ///< whole GPUs per tenant
  std::uint64_t seed = 0;
};

/// Named "t000", "t001", ... `lattice` must outlive the problem. Without `gpu_count`. Pure.
FleetProblem generate_fleet(const LayoutLattice& lattice, const FleetRecipe& recipe);

}  // namespace septule::serve
