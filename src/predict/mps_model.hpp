#pragma once

#include <span>

#include "base/units.hpp"
#include "job/perf_signature.hpp"
#include "predict/interference_model.hpp"
#include "predict/speed_book.hpp"

namespace septule::predict {

/// A client of an MPS daemon.
struct MpsClient {
  job::SignatureIndex signature;
  ActiveThreadPercentage atp{100};
};

/// A client by what is known of its speed, whoever knows it.
struct SharingJob {
  const SpeedCurve* curve = nullptr;
  int kernels = 0;    ///< per step; 0 = not known
  double step_s = 1;  ///< alone on the whole GPU, > 0
  ActiveThreadPercentage atp{100};
};

/// Truth about jobs that share a GPU (or a GPU instance) under MPS, for the simulator.
/// - Default (miso.md 9.1): speed = s(min(atp, 1/n) x share) / (1 + 0.15 (n - 1)), s = speed alone
///   on that share of compute, n = clients, share = the instance's share of the compute slices. The
///   constant is an assumption and an option.
/// - Where every client has a kernel count: InterferenceModel on Amdahl's law (serial part, the
///   rest busy; kernel length = busy time / kernels); explicit percentages replace the turns by
///   caps (parted_rates()).
struct MpsModel {
  double interference = 0.15;
  double kernel_exponent = kKernelExponent;

  /// Speeds relative to the whole GPU, one per client. `profile` = the instance they share (the
  /// whole GPU if it is the whole profile). Not empty, same length, at most kMpsClientsMax. Memory
  /// is not looked at: that is the admission's business. Never allocates.
  void speeds(const SpeedBook& book,
              ProfileIndex profile,
              std::span<const MpsClient> clients,
              std::span<double> out) const;
  /// The same on a share of the GPU's compute slices, in (0, 1]: also for beliefs.
  void speeds(double share, std::span<const SharingJob> jobs, std::span<double> out) const;
};

}  // namespace septule::predict
