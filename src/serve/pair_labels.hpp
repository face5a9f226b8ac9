#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "serve/admission.hpp"
#include "serve/deployment.hpp"
#include "serve/goodput_problem.hpp"
#include "serve/layout_lattice.hpp"
#include "serve/mps_share_model.hpp"

namespace septule::serve {

/// Which pairs of unlike tenants may share an instance, and what they lose by it. The default
/// factor is the first quartile of the published pairs, not the median: half of all pairs do worse
/// than the median, and a plan that counts on it misses SLOs (serving.md 2.1).
struct PairRule {
  double phi = MpsShareModel::kPhiFirstQuartile;  ///< (0, 1]
  /// Shares of the tenant that is named first, of 100; the other one gets the rest.
  std::vector<ActiveThreadPercentage> splits{
      ActiveThreadPercentage(30), ActiveThreadPercentage(50), ActiveThreadPercentage(70)};
  /// Labels kept, the best ones; every label multiplies the states of an exact plan.
  int labels_max = 4;
};

/// A label under which two tenants share an instance by MPS, and how each of them runs there.
struct PairLabel {
  Label label;  ///< two outputs, both above 0 on the sizes that it is for
  /// By size; nothing = not for this size.
  SizeTable<std::optional<std::array<Occupant, 2>>> occupants{};
};

/// Labels for pairs of tenants of one trust group (serving.md 2.2 step 3). For each pair and split
/// both tenants are admitted anew, by `rule`, with rows thinned by MpsShareModel: throughput times
/// kept(share, batch) times phi, latency divided by the same. A size is left out of a label where
/// either tenant has no admissible row, where both do not fit into its memory together, or where
/// another split of the pair serves both at least as well there. Best first: the mean over its
/// sizes of what the two serve there, each relative to what it serves there alone; ties by tenants,
/// then split. Warm-up and creation cost are the caller's to set: they depend on the step.
/// Cost: pairs x splits x rows.
std::vector<PairLabel> pair_labels(std::span<const AdmittedTenant> tenants,
                                   const LayoutLattice& lattice,
                                   const AdmissionRule& rule,
                                   const PairRule& pairs);

}  // namespace septule::serve
