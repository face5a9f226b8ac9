#pragma once

#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/latency.hpp"
#include "gpu/partition.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::optimize {

// How long a GPU takes from one cut to another. Model: a GPU instance that both cuts have in the
// same place with the same compute instances stays as it is; all others are destroyed, then those
// that are missing are created, one after another (the driver serialises), with a change of MIG
// mode after the last destruction or before the first creation. Never below what
// gpu::plan_transition() estimates for idle instances, and equal to it unless compute instances are
// re-cut inside a GPU instance that could stay (here it is made anew: an instance of a schedule has
// the same compute instances all its life). Pure functions, any thread.

/// The figures of `latencies` for this GPU.
SwitchCosts make_switch_costs(const gpu::Geometry& geometry, const gpu::LatencyTable& latencies);

/// Whether no switch takes any time.
bool is_free(const SwitchCosts* costs);

/// Making one GPU instance with its compute instances; 0 without costs (null).
Duration create_time(const SwitchCosts* costs, const gpu::GpuInstance& instance);
/// Unmaking it.
Duration destroy_time(const SwitchCosts* costs, const gpu::GpuInstance& instance);

/// From one cut to another; 0 for equal cuts and without costs (null). Obeys the triangle
/// inequality: a detour is never shorter.
Duration switch_time(const SwitchCosts* costs, const GpuCut& from, const GpuCut& to);

}  // namespace septule::optimize
