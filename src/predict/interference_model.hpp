#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "predict/solo_model.hpp"

namespace septule::predict {

/// Clients of one MPS daemon at most (48 a device up to CUDA 13.0).
inline constexpr std::size_t kMpsClientsMax = 48;

/// Fitted by signature_model_report (docs/performance-model.md) on measured pairs of six models; a
/// test fits them anew and compares.
inline constexpr double kKernelExponent = 0.894;
inline constexpr double kUnusedExponent = 0.235;
/// Kernels per step of jobs whose number is not known: only ratios between jobs count.
inline constexpr int kKernelsUnknown = 1;

/// A job that shares a GPU (or an instance) under MPS, relative to its step alone there.
struct InterferenceClient {
  double serial = 0;  ///< part in which it needs nothing of the GPU, 0..1
  double busy = 1;    ///< its work on the GPU as part of the step; what is left is slack: launches
                      ///< that wait for nothing. 0..1 - serial
  double kernel_length = 1;  ///< mean time of one of its kernels; any unit, one for all
};

/// What a job alone is as a client. Work that cannot use all SMs leaves room: it counts as
/// used^unused_exponent of its time. `kernels` >= 1: in one step.
InterferenceClient interference_client(const SoloTerms& alone,
                                       int kernels,
                                       double unused_exponent = kUnusedExponent);

/// Rates of jobs that share one GPU under MPS without percentages. The one implementation for the
/// simulator's truth (MpsModel) and for beliefs (SignatureModel).
///
/// Source: performance-model.md section 4.2 as the starting point, form and constants ours [C].
/// Kernels of the clients take turns, so what a kernel waits depends on the length of the others':
///   R_ij   = (length_j / length_i)^exponent
///   step_i = max(1, serial_i + busy_i x_i)              relative to alone; rate_i = 1 / step_i
///   x_i    = 1 + sum over j of p_j u_j R_ij / (1 + (1 - p_j) u_j R_ij)
///   p_j    = 1 - serial_j / step_j       part of time in which j is not in its serial part
///   u_j    = busy_j x_j / (step_j - serial_j)           and of that, in which it has work
/// Serial parts are long (a client runs freely meanwhile: rates are averaged), gaps between
/// launches are short (delays are averaged). Two clients without serial part and slack give
/// rate_i = length_i^exponent / sum, section 4.2's split. The least solution is approached from
/// x = 1 (every step is monotone), kRounds times at most or until nothing moves by kTolerance.
/// - rates are in (0, 1]; equal clients have equal rates; the order of clients does not matter; one
///   more client makes nobody faster.
/// - Not seen: caches, and bandwidth where no percentages are set (kernels that take turns do not
///   compete for it).
/// Cost: O(rounds x clients^2), no heap. A plain value.
struct InterferenceModel {
  double exponent = kKernelExponent;

  static constexpr int kRounds = 100;
  static constexpr double kTolerance = 1e-10;

  /// One rate for each client; same lengths, 1 to kMpsClientsMax.
  void rates(std::span<const InterferenceClient> clients, std::span<double> out) const;
};

/// A client with an active thread percentage, relative to its step alone on its part of the SMs.
struct PartedClient {
  double part = 1;    ///< of the instance's SMs, above 0; see capped_part()
  double serial = 0;  ///< part of the step in which it needs nothing of the GPU, 0..1
  double memory = 0;  ///< part in which it waits for memory, 0..1 - serial; 0 also if not known
};

/// Of jobs with percentages: what one loses to caches and memory that the others use, per part of
/// the SMs that they keep busy. Fitted by signature_model_report on pairs of one model (resnet50)
/// only, held by a test [C].
inline constexpr double kPartContention = 0.59;

/// Part of the instance's SMs that a client with this part (its active thread percentage) gets, if
/// the parts of all add up to `sum`: more than everything shrinks together.
double capped_part(double part, double sum);

/// Rates relative to running alone on the same part, in (0, 1]: nobody starves. Memory parts grow
/// by the sum of the clients' shares of the bandwidth where it is above 1
/// (performance-model.md 4.2, "explicit percentages"); and what is not serial grows by `contention`
/// times the sum over the others of part x (1 - serial) (ours). Same lengths, 1 to kMpsClientsMax;
/// no heap.
void parted_rates(std::span<const PartedClient> clients, double contention, std::span<double> out);

}  // namespace septule::predict
