#pragma once

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

/// A weighted goodput that no policy reaches on the requests that came in this run:
/// - always: every request answered by the better of its tenant's two models;
/// - for one GPU in fluid mode with a series by second, where that is less: the relaxation of
///   serve/layout_dp.hpp over multisets of instances, each with one tenant, for the requests that
///   came. Retraining is as early as the work allows there and takes no room. A policy whose
///   goodput lies above it shares instances between tenants (MPS): for those it is no bound, and
///   the first one counts.
/// Work: one unit for each state and second; where the budget ends first, the first one counts.
double serving_bound(const job::ServingRecord& run,
                     const ServingBoundInput& input,
                     WorkBudget& budget);

}  // namespace septule::sim
