#pragma once

#include <optional>

#include "base/units.hpp"
#include "serve/tenant.hpp"

namespace septule::serve {

/// Whether another process is active in the same instance.
enum class MpsCompany { kAlone, kShared };

/// How one tenant's processes run under MPS.
struct MpsUse {
  ComputeSlices slices;  ///< of the instance; those of the whole GPU where MIG is off
  int batch = 1;
  int processes = 1;                  ///< equal ones of this tenant
  ActiveThreadPercentage share{100};  ///< all of them together
  MpsCompany company = MpsCompany::kAlone;
};

/// What it yields. `latency` is of one batch, without waiting.
struct MpsYield {
  double throughput_rps = 0;
  Duration latency;
};

/// Capacity of a tenant that has only a share of an instance's threads (serving.md section 3,
/// "MPS-share capacity"): the rate at 100 % x kept(share, batch) x phi when another process is
/// active; latency is divided by the same factor. A profile row that was measured at exactly this
/// share is taken instead of kept(). Immutable; any thread may read.
///
/// `phi` in (0, 1]: 0.76 is the median of the pairs published for a Gpulet re-implementation, which
/// favours those who share; 0.68 is the first quartile. The kept throughput is read off the table
/// of serving.md 2.1 (the same publication): linear in the share (0 at 0, 1 at 100 %) and in
/// log2(batch) between batch 1, 8 and 32, constant beyond.
///
/// That table is of one process per tenant, and of a GPU that batch 8 does not fill. Rows of
/// several processes, and models that smaller batches fill, would be counted twice: four tenants at
/// 25 % came to 1.75 times what ParvaGPU measured of the whole GPU at its best. So a share yields
/// at most what it keeps of the best measured throughput of the instance (rows of at least 32
/// requests in flight; without such rows there is no such limit): kept(share, 32) x best x phi in
/// company. Then equal shares add up to 1.00 to 1.14 of the best.
class MpsShareModel {
 public:
  static constexpr double kPhiMedian = 0.76;
  static constexpr double kPhiFirstQuartile = 0.68;

  explicit MpsShareModel(double phi = kPhiMedian);

  double phi() const { return phi_; }
  /// Throughput relative to all of the threads, alone; (0, 1].
  static double kept(ActiveThreadPercentage share, int batch);
  /// kept() x phi in company: the factor on throughput.
  double factor(const MpsUse& use) const;
  /// Nothing where the profile has no row for these slices, batch and processes.
  std::optional<MpsYield> yield(const ModelProfile& profile, const MpsUse& use) const;
  /// Speed of retraining with this share of an instance alone, relative to all of it: MISO's ratios
  /// of slices (serving.md 2.1) at sevenths, linear between, through 0 at 0.
  static double retraining_kept(ActiveThreadPercentage share);
  /// The same, thinned by phi in company (serving.md 3.1: time-sharing is unisolated). Still kind
  /// to those who share: Ekya's own jobs under MPS come to 1.16 of one alone however many there are
  /// (ekya_train_stress.csv), and two halves here to 1.09, seven sevenths to 1.9.
  double retraining_factor(ActiveThreadPercentage share, MpsCompany company) const;

  /// Requests in flight (batch x processes) from which on an instance counts as full.
  static constexpr int kFullInFlight = 32;

 private:
  double phi_;
};

}  // namespace septule::serve
