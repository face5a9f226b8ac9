#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "job/metrics.hpp"

namespace septule::report {

/// A GPU of the cluster as the timeline draws it: a band of `memory_slices` rows.
struct ReportGpu {
  std::string label;           ///< "GPU 0", with the model where the cluster mixes models
  MemorySlices memory_slices;  ///< of its placement grid: 8 on an A100; > 0
};

/// One run of a policy that stands for all of them in pictures of single jobs.
struct RepresentativeRun {
  job::RunRecord run;                  ///< with timeline and series, where they were recorded
  std::vector<std::string> job_names;  ///< by job id; may be shorter: the rest is named by its id
};

/// What a study found out about one policy. `runs` and `seeds` are of one length and order.
struct PolicyReport {
  std::string name;
  std::vector<std::uint64_t> seeds;
  std::vector<job::RunFigures> runs;
  std::optional<RepresentativeRun> representative;
  std::vector<double> jct_s;  ///< of the finished jobs of all runs, any order: for the distribution
  /// The policy it is compared with, as index; itself = it is compared with none.
  std::size_t base = 0;
  std::vector<ReportGpu> gpus;  ///< of its cluster; empty = those of the study
  std::string policy;           ///< the name without cluster and gap; empty = `name`
  std::string summary;          ///< half a line on the policy; empty = nothing to say
  std::string cluster;          ///< it ran on, in a study of several; else empty
  std::optional<Duration> gap;  ///< mean gap between submissions, in a study of several
  /// Whether all seeds had the same jobs at the same times. Figures that are equal for all seeds
  /// then have no interval: they are one observation, not several that agree.
  bool has_fixed_jobs = false;
  /// How good a learned predictor's forecasts were, over all runs; empty without one.
  std::vector<job::ForecastSums> forecasts;
};

/// A setting of the study as it is to be shown.
struct NamedValue {
  std::string name;
  std::string value;
};

/// All that the tables, files and pictures of a study are made from. A plain value; any text in it
/// may hold any bytes, the writers escape it. Each policy is compared with its base, the first one
/// unless it says another (a study of several gaps has one base for each).
struct StudyReport {
  std::string title;
  std::string cluster;  ///< "8 x A100-40GB"
  std::string trace;    ///< "miso-100, Poisson arrivals, mean gap 60 s"
  std::vector<NamedValue> options;
  std::string command;  ///< what to type to get the same figures again
  std::string version;  ///< of Septule
  std::vector<ReportGpu> gpus;
  std::vector<PolicyReport> policies;
  std::vector<std::string> predictor_notes;  ///< on a learned predictor; a sentence each
  std::vector<std::string> notes;  ///< what has to be known to read the figures; a sentence each
};

/// "GPU 3", "job 17", "job 17 (resnet:64#3)": how all writers name things.
std::string job_label(const RepresentativeRun& run, job::JobId id);
/// The name of the job in its trace; empty if it is not known.
std::string job_name(const RepresentativeRun& run, job::JobId id);

/// Mean and 95 % interval of one figure over the policy's runs. Runs in which no job finished have
/// no times and are left out, but for counts of jobs. Nothing if no run is left.
std::optional<job::Interval> policy_interval(const PolicyReport& policy,
                                             double job::RunFigures::* figure);

/// The change from `base` to `policy`, paired by seed: mean and 95 % interval (Student t) of
/// figure(policy) / figure(base) - 1 over the seeds that both have, so that what all policies share
/// (the arrivals of a seed) cancels out. -0.1 = 10 % less than `base`. Pairs whose base is 0 have
/// no ratio and are left out; nothing if no pair is left.
std::optional<job::Interval> paired_ratio(const PolicyReport& policy,
                                          const PolicyReport& base,
                                          double job::RunFigures::* figure);

/// Whether any run rejected a job.
bool has_rejected_jobs(const StudyReport& study);
/// Means over the policy's runs: "98 / 2", "97.5 / 2.5"; "N/A" without a run.
std::string done_and_rejected_text(const PolicyReport& policy);

/// Whether all policies are compared with the first.
bool has_one_base(const StudyReport& study);
/// What the row of a comparison is called: the policy, and its base if there are several.
std::string comparison_name(const StudyReport& study, const PolicyReport& policy);

/// "seeds 1-20", "seeds 1, 4, 9", "seed 1"; "no seed" for none.
std::string seeds_text(const std::vector<std::uint64_t>& seeds);

}  // namespace septule::report
