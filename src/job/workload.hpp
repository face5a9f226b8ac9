#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/rng.hpp"
#include "job/job.hpp"

namespace septule::job {

/// Jobs with the signatures they refer to. Invariants (check_workload): ids dense from 0, submit
/// times ascending from >= 0, work > 0, signatures and phases in range, names unique.
struct Workload {
  std::string name;  ///< "miso-100", a file name
  std::vector<PerfSignature> signatures;
  std::vector<JobSpec> jobs;
};
Status check_workload(const Workload& workload);

/// How arrivals are drawn (miso.md 2.4). Own random streams for every seed.
enum class ArrivalKind {
  kPoisson,       ///< exponential gaps
  kNearPeriodic,  ///< whole seconds drawn from a Poisson distribution of this mean
  kBursty,  ///< gaps of a two-phase hyperexponential distribution, squared coefficient of variation
            ///< `burstiness`
  kTrace,   ///< the submit times of the trace itself
  kBatch,   ///< as many as `batch_jobs` says, drawn without replacement, all at 0
  kArtifact,  ///< the published recipe's result for its seeds 1..20 (100 jobs) and 1..3 (1,000
              ///< jobs)
};
/// Whether gaps are drawn with a mean.
bool has_gaps(ArrivalKind kind);
std::string_view arrival_kind_name(ArrivalKind kind);
std::optional<ArrivalKind> parse_arrival_kind(std::string_view text);

struct ArrivalOptions {
  ArrivalKind kind = ArrivalKind::kPoisson;
  Duration gap;                   ///< mean gap; the first int(n/3)+1 jobs arrive at half of it
  bool is_rate_constant = false;  ///< true: the same mean gap throughout
  double burstiness = 14;         ///< > 1, for kBursty
  int batch_jobs = 0;             ///< for kBatch: at most the number of jobs; 0 = all of them
};

/// The order and submit times of `count` jobs: entry k = (index of the job of the base list that
/// arrives k-th, its submit time). Order and gaps come from streams of their own. kTrace is the
/// caller's business. kBatch gives fewer entries than `count` if told so. kArtifact needs count 100
/// or 1,000 and a seed the recipe covers (kInvalidInput otherwise, naming them); see
/// `artifact_arrivals`.
struct Arrival {
  int job = 0;
  SimTime submit;
};
Result<std::vector<Arrival>> draw_arrivals(int count,
                                           const ArrivalOptions& options,
                                           std::uint64_t seed);
/// The arrivals of the published recipe, carried as figures (data/jobs/). `count` 100 (seeds 1-20,
/// mean gap 60 s) or 1,000 (seeds 1-3, 10 s).
Result<std::vector<Arrival>> artifact_arrivals(int count, std::uint64_t seed);

/// The published 100-job mix ("miso-100") or the same ten times ("miso-1000"), jobs in list order,
/// all submitted at 0: give them arrivals with with_arrivals().
Result<Workload> miso_workload(std::string_view name);
/// 4,000 generated jobs of 48 kinds, 16 each with the fitted parameters of Rodinia's programs
/// (hpc), of training and of inference jobs (train, infer): times on all slices of an A100-40GB
/// from the law t0 + A / min(c, w) + B / b, kernels, memory; durations up to 1 h on the published
/// Helios curve; ten users. All submitted at 0. Always the same.
inline constexpr std::string_view kMixedName = "hpc-dl";
Workload mixed_workload();
/// The workload with the jobs of `arrivals`, renumbered in order of submission.
Workload with_arrivals(const Workload& base, std::span<const Arrival> arrivals);

/// A new workload drawn by the MISO recipe (workloads.md section 4): durations from the published
/// Helios curve cut at `duration_max`, model and batch uniform over the table.
struct GenerateOptions {
  int jobs = 100;
  std::uint64_t seed = 1;
  Duration duration_max;  ///< 2 h by default of the command
  ArrivalOptions arrivals;
  double gang_share = 0;  ///< share of jobs on 2, 4 or 8 whole GPUs
  int users = 10;
  /// Share of jobs that change to another signature once, at a uniform fraction of their work.
  double phase_share = 0;
  double priority_share = 0;  ///< share of jobs of priority 1; the others have 0
};
Result<Workload> generate_workload(const GenerateOptions& options);
/// The inverse of the Helios duration curve cut at `duration_max`, at u in [0, 1): log-linear
/// between the published points.
Duration helios_duration(double u, Duration duration_max);

}  // namespace septule::job
