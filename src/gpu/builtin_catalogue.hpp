#pragma once

#include "gpu/geometry.hpp"
#include "gpu/latency.hpp"

namespace septule::gpu {

/// Parses the catalogue compiled into the program (data/gpus/*.json). Costs about a millisecond;
/// call once and pass the result on. A malformed built-in file is a programmer error.
Catalogue load_builtin_catalogue();
/// The latency table compiled into the program (data/gpus/latencies.json).
LatencyTable load_builtin_latencies();

}  // namespace septule::gpu
