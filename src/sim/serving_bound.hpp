#pragma once

#include <optional>
#include <span>

#include "base/work_budget.hpp"
#include "job/serving_record.hpp"
#include "serve/admission.hpp"
#include "serve/layout_lattice.hpp"

namespace septule::sim {

/// What a run was made with, as far as the bound needs it. Spans hold during the call.
struct ServingBoundInput {
  const serve::LayoutLattice* lattice = nullptr;
  std::span<const serve::AdmittedTenant> tenants;
};

/// Weighted goodputs that no policy reaches on the requests that came in a run. Runs of one window
/// and seed meet the same requests and so have the same bounds.
struct ServingBounds {
  double answered = 0;  ///< every request answered by the better of its tenant's two models
  /// With one tenant in each instance; nothing where it is not known, or not below `answered`.
  std::optional<double> relaxed;

  /// That of this run. A policy whose goodput lies above `relaxed` shares instances between tenants
  /// (MPS): for it only `answered` is a bound.
  double of(const job::ServingRecord& run) const;
};

/// `relaxed` is for fluid mode with a series by second:
/// - one GPU: serve/layout_dp.hpp's relaxation over multisets of instances, with retraining as
///   early as the work allows and in no room;
/// - several, of at most kBoundStepsMax seconds: serve/step_bound.hpp.
/// Where the budget ends first there is none. Work: one unit for each state and second; or that of
/// a fleet plan for each second.
ServingBounds serving_bounds(const job::ServingRecord& run,
                             const ServingBoundInput& input,
                             WorkBudget& budget);
inline constexpr int kBoundStepsMax = 3600;

}  // namespace septule::sim
