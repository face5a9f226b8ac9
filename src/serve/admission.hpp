#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "serve/layout_lattice.hpp"
#include "serve/tenant.hpp"

namespace septule::serve {

/// How a latency is compared with margin * SLO.
enum class SloComparison { kAtMost, kStrictlyBelow };
/// Whether a batch must fill in time at the planned load.
enum class BatchForming { kChecked, kIgnored };
/// Rows that the profile marks as doubtful (ProfileRow).
enum class SuspectRows { kDropped, kKept };

/// Which rows of a profile are good enough for an SLO (serving.md 2.2 step 1): latency <= margin *
/// SLO (one batch executing, one being formed, 10 % in hand), and a batch fills in time at the
/// planned load: (batch - 1) / rate per instance <= SLO - 2 latency; at low load a smaller batch is
/// taken.
struct AdmissionRule {
  double margin = 0.45;  ///< (0, 1]
  SloComparison comparison = SloComparison::kAtMost;
  BatchForming batch_forming = BatchForming::kChecked;
  SuspectRows suspect = SuspectRows::kDropped;
  int processes_max = 5;  ///< 1 = no MPS
  /// ParvaGPU's code truncates the SLO to whole milliseconds.
  bool is_slo_truncated_to_ms = false;
};
/// serving.md section 5: strict <, no batch-forming check, suspect rows dropped, MPS allowed.
AdmissionRule parvagpu_rule(double margin);

/// How a tenant runs on one size of instance.
struct OperatingPoint {
  int batch = 1;
  int processes = 1;
  ActiveThreadPercentage share{100};
  double throughput_rps = 0;
  Duration latency;
  std::optional<Bytes> memory;
};

/// A tenant with what it gets out of each size. `serving[s]` is the point of greatest throughput
/// among the admissible rows of size s (ties: smaller batch, fewer processes); nothing = none.
/// `retraining_speed[s]` is 0 where the job does not fit.
struct AdmittedTenant {
  Tenant tenant;
  SizeTable<std::optional<OperatingPoint>> serving{};
  SizeTable<double> retraining_speed{};

  double throughput_rps(int size) const;  ///< 0 where there is no point
};

/// Why a tenant cannot be served at all.
struct Rejection {
  std::string tenant;
  std::string reason;  ///< one sentence: "SLO 5 ms is below ..."
  std::string needed;  ///< what would be needed: "an SLO of at least 28.9 ms (7g, batch 1)"
};

/// Who can be served and who cannot.
struct AdmissionOutcome {
  std::vector<AdmittedTenant> admitted;  ///< in the order given
  std::vector<Rejection> rejected;
};
/// Looks up every tenant's points. Pure; any thread. Cost: tenants x rows of their profiles.
AdmissionOutcome admit(std::span<const Tenant> tenants,
                       const LayoutLattice& lattice,
                       const AdmissionRule& rule);
/// The first rejection as an error (kInvalidInput, exit 3) that names all of them.
Result<std::vector<AdmittedTenant>> admit_all(std::span<const Tenant> tenants,
                                              const LayoutLattice& lattice,
                                              const AdmissionRule& rule);

}  // namespace septule::serve
