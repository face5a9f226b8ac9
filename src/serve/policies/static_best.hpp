#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "serve/policies/hindsight.hpp"
#include "serve/serving_policy.hpp"
#include "serve/serving_setup.hpp"

namespace septule::serve {

/// The best static deployment of one GPU in hindsight.
struct StaticChoice {
  LabelledCounts counts;  ///< by use: the tenants given, then lanes
  Hindsight::Worth worth;
};

/// Exhaustive over all labelled multisets (serving.md 3.6: placements make no difference to a
/// layout that never moves) with up to one lane per retraining tenant, and over the orders of
/// retraining on the lanes, each job as early as its lane allows. Only multisets that no other
/// contains are tried: an instance more never does harm. Ties: the first. In fluid arithmetic with
/// everything ready at the begin.
StaticChoice choose_static(const LayoutLattice& lattice, Hindsight& hindsight);

/// "static-best": one labelled layout per GPU for the whole run, chosen with the true arrivals; it
/// never moves but for the retrainings that take turns on its lanes. Tenants are split over GPUs by
/// tenant_split.hpp. The strongest static deployment of its kind, not a bound for policies that
/// move. Deterministic.
Result<std::unique_ptr<ServingPolicy>> make_static_best(const ServingSetup& setup);

/// Deploys labelled multisets with lanes; what static best and the oracle share. A value.
struct LanePlan {
  GpuDeployment gpu;               ///< lanes hold a retraining occupant of tenant -1
  std::vector<std::size_t> lanes;  ///< instances of `gpu`, by lane: largest first
  std::vector<LaneRun> runs;

  /// Who retrains on each lane at this moment; -1 = nobody. A run goes on while its tenant is
  /// pending and no later run has begun.
  std::vector<int> occupants(const ServingView& view) const;
  /// `gpu` with these on the lanes; a lane without anybody is left out.
  GpuDeployment deployment(std::span<const int> occupants) const;
};
/// Finds the lanes of a GPU on which lanes hold tenant -1.
LanePlan make_lane_plan(const LayoutLattice& lattice, GpuDeployment gpu, std::vector<LaneRun> runs);
inline constexpr int kLaneTenant = -1;

}  // namespace septule::serve
