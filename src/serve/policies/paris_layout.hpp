#pragma once

#include <span>
#include <utility>
#include <vector>

#include "serve/admission.hpp"
#include "serve/layout_lattice.hpp"

namespace septule::serve {

// The steps of PARIS (DAC'22, arXiv 2202.13481) as emulated in serving.md 3.3, for several tenants
// on one GPU. Pure; any thread.

/// Best throughput of each admissible batch on one size; by batch, ascending.
using BatchCurve = std::vector<std::pair<int, double>>;

/// One tenant's curves by size, out of its profile: all processes counts, admissible by the rule
/// but for batch forming.
SizeTable<BatchCurve> batch_curves(const LayoutLattice& lattice,
                                   const Tenant& tenant,
                                   const AdmissionRule& rule);

/// Knee of each size: the least batch with at least `threshold` (0, 1] of that size's best
/// throughput, made non-decreasing in the size; 0 for a size without a curve.
SizeTable<int> knee_batches(const SizeTable<BatchCurve>& curves, double threshold);

/// Requests per second that come in batches of each size. PARIS is given queries with a batch size
/// of their own; ours are single requests, so a query is what has arrived while the batch before it
/// was executing: 1 + Poisson(rate x forming time) requests, at most `batch_max`; the mean over the
/// steps. By batch, ascending; the rates sum to the mean of the steps.
using BatchLoad = std::vector<std::pair<int, double>>;
BatchLoad batch_load(std::span<const double> rate_rps, double forming_s, int batch_max);

/// Slices of each size that a tenant needs: batches in (knee of the size before, knee of p] belong
/// to p, those above the largest knee to the largest size with a curve; need = sum over them of
/// load / throughput at the batch (at the largest profiled batch that is not greater).
SizeTable<double> segment_counts(const SizeTable<BatchCurve>& curves,
                                 const SizeTable<int>& knees,
                                 const BatchLoad& load);

/// A tenant as the choice of a layout sees it.
struct ParisTenant {
  SizeTable<double> need{};      ///< segment_counts()
  SizeTable<double> rate_rps{};  ///< that one instance answers within the SLO
  double expected_rps = 0;
};
/// Instances of each size by tenant.
struct ParisLayout {
  std::vector<SizeTable<int>> counts;
  double covered = 0;  ///< least rate / expected over tenants
};
/// The best way of giving the instances of the given multisets to tenants, greatest first by: least
/// rate / expected over tenants, up to 1; least installed / needed over segments; least rate /
/// expected; fewest idle memory slices; first multiset, then lexicographically greatest counts.
/// (With one tenant whose load fits, that is PARIS's rounding: greatest min installed / needed.)
/// Exhaustive: sum over multisets of ways to distribute each size's instances.
ParisLayout choose_paris_layout(const LayoutLattice& lattice,
                                std::span<const SizeTable<int>> multisets,
                                std::span<const ParisTenant> tenants);

}  // namespace septule::serve
