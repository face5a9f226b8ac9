#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "serve/admission.hpp"
#include "serve/deployment.hpp"
#include "serve/layout_lattice.hpp"
#include "serve/mps_share_model.hpp"
#include "serve/serving_policy.hpp"

namespace septule::serve {

// What several emulated baselines need. Pure; any thread.

/// Whether there is retraining to be done now: released, not complete, before its deadline.
bool is_retraining_pending(const TenantState& state, SimTime now);
/// By tenant.
std::vector<bool> pending_retraining(const ServingView& view);
/// Whether this tenant's retraining is (or gets) ready on this GPU already.
bool is_retraining_running(const ServingView& view, int tenant);

/// Accuracy of the tenant's model once retrained; the present one where it never is.
double accuracy_after(const Tenant& tenant);

/// Whether a batch of this latency is fast enough by the rule (margin and comparison).
bool is_fast_enough(Duration latency, Duration slo, const AdmissionRule& rule);

/// How a tenant is best run on a share of the whole GPU without MIG: the rows of the whole GPU that
/// are admissible at this share by the rule (but for batch forming), the greatest
/// throughput of them; ties: smaller batch, then fewer processes. Nothing = no row is admissible.
struct SharePoint {
  int batch = 1;
  int processes = 1;
  MpsYield yield;
};
/// What is asked: at which share, in whose company, by which rule.
struct ShareQuery {
  ComputeSlices gpu_slices;
  ActiveThreadPercentage share{100};
  MpsCompany company = MpsCompany::kShared;
  AdmissionRule rule;  ///< margin, comparison, suspect rows and processes count
};
/// The best point of the query; nothing where no row is admissible. Cost: rows of the profile.
std::optional<SharePoint> best_share_point(const Tenant& tenant,
                                           const MpsShareModel& model,
                                           const ShareQuery& query);

/// An occupant that wants an instance of one size.
struct SizeWish {
  int size = 0;
  Occupant occupant;
};
/// Places wishes whose sizes are a legal multiset so that as many occupants as possible stay where
/// they are (same placement, tenant and role); ties: the first placed layout of the lattice, the
/// others in the order given on ascending placements. Nothing where no layout has these sizes.
std::optional<GpuDeployment> place_wishes(const LayoutLattice& lattice,
                                          std::span<const SizeWish> wishes,
                                          const GpuDeployment& current);
/// Index into LayoutLattice::multisets() of exactly these counts.
std::optional<int> find_multiset(const LayoutLattice& lattice, const SizeTable<int>& counts);

/// A tenant's serving occupant on this size, from its admitted operating point.
Occupant serving_occupant(const AdmittedTenant& tenant, int index, int size);

/// Floor of 100 x part / whole, as a percentage of threads; part > 0.
ActiveThreadPercentage share_of(int part, int whole);

/// Compute slices of the whole GPU.
ComputeSlices whole_slices(const LayoutLattice& lattice);

/// A GPU without MIG that these occupants share, in canonical order; empty without occupants.
GpuDeployment shared_gpu(std::vector<Occupant> occupants);

}  // namespace septule::serve
