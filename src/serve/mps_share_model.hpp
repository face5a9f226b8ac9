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
  /// Speed of retraining with this share of an instance, relative to all of it: MISO's ratios of
  /// slices (serving.md 2.1) at sevenths, linear between, through 0 at 0. Not thinned by phi, as
  /// in serving.md section 3.
  static double retraining_kept(ActiveThreadPercentage share);

 private:
  double phi_;
};

}  // namespace septule::serve
