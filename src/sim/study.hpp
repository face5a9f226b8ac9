#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "gpu/layout.hpp"
#include "job/metrics.hpp"
#include "job/workload.hpp"
#include "predict/speed_book.hpp"
#include "sim/cluster_sim.hpp"
#include "sim/recorder.hpp"

namespace septule::sim {

inline constexpr double kStudySpeedMin = 0.001;
inline constexpr double kStudySpeedMax = 1000;

/// A cluster of equal GPUs.
struct StudyCluster {
  const gpu::Geometry* geometry = nullptr;  ///< with a profile table
  int gpu_count = 8;
  /// How many times as fast the whole GPU of this model is as the one the work of the jobs was
  /// measured on: their work is divided by it; > 0.
  double speed = 1;

  std::string name() const;  ///< "8xA100-40GB"; "8xH100-80GB-SXM@2.2" with another speed than 1
};

/// Whether the checkers of sim/checkers.hpp watch every run.
enum class RunChecks { kOff, kOn };

/// What is to be simulated: every policy with every seed on every cluster at every arrival gap. A
/// value; what is pointed to outlives the study.
struct StudySpec {
  std::vector<StudyCluster> clusters;
  const job::Workload* workload = nullptr;  ///< jobs in list order; kTrace: with their submit times
  job::ArrivalOptions arrivals;             ///< `gap` is taken from `gaps`
  std::vector<Duration> gaps;               ///< mean gaps; one entry for kTrace (not used)
  std::vector<const sched::PolicyVariant*> policies;
  std::vector<std::uint64_t> seeds;
  std::vector<std::uint64_t> layout_seeds;  ///< on which the layout of optsta is chosen
  std::optional<gpu::Layout> layout;        ///< of optsta, instead of the search (one geometry)
  /// Costs, error, models, waits, controller and policy options. What the study varies (geometry,
  /// counts, workload, policy, seed, layout) is filled in.
  SimSetup common;
  RunChecks checks = RunChecks::kOff;
};

/// The SimSetup of a setting: costs, waits, tick, resets and characterisation of the paper (ours)
/// or of the public artifact (miso.md 6.3). Latencies are the caller's.
SimSetup common_setup(sched::Setting setting);

/// One run of the study. `group` counts pairs of (cluster, gap), the gap varying faster.
struct Trial {
  int group = 0;
  int policy = 0;  ///< index into StudySpec::policies
  std::uint64_t seed = 0;
};

/// What is kept of a run.
struct TrialResult {
  job::RunFigures figures;
  std::vector<Duration> jct;  ///< of the finished jobs, by id
  std::uint64_t digest = 0;
  std::int64_t events = 0;
  std::vector<job::ForecastSums> forecasts;  ///< of a learned predictor
  job::MeasurementCounts measurements;       ///< the same
};

/// Runs of one study at most.
inline constexpr int kRunsMax = 1000000;

/// What is recorded of a run beside its result. A value.
struct RunRecording {
  std::optional<job::JobId> story_of;  ///< in: whose story is wanted
  job::RunRecord run;                  ///< out: with timeline and series
  std::vector<std::string> job_names;  ///< out: by job id
  std::vector<StoryEvent> story;       ///< out
};

/// A run with a static layout, made to choose one.
struct LayoutTrial {
  int group = 0;
  int candidate = 0;  ///< index into Study::candidates() of the group's cluster
  std::uint64_t seed = 0;
};

/// A job that fits no GPU of a cluster, and will be rejected.
struct UnfittingJob {
  int job = 0;  ///< index into the workload
  int cluster = 0;
  Bytes need;  ///< memory it needs on each of its GPUs, as far as is known
};

/// A study made ready: the speeds on each GPU model, the list of runs, the layouts to choose from.
/// Runs are independent: run_trial() and run_layout_trial() may go on in several threads at once;
/// all else belongs to one thread.
///
/// How optsta's layout is chosen (miso.md section 7): every maximal multiset of plain profiles
/// whose instances take every job of the workload that fits the model at all; the least mean over
/// layout_seeds of the mean JCT of `optsta` (without promotion); ties by the order of layouts.
/// optsta-on-trace: the same over the seeds of the study. In the artifact's setting it is 3g+2g+2g,
/// if that has a place for every job.
class Study {
 public:
  /// Fails with kInvalidInput, naming the field, if something is missing, empty, doubled or out of
  /// range, kNotFound for a model without a profile table.
  static Result<Study> make(StudySpec spec);

  const StudySpec& spec() const { return spec_; }
  int group_count() const { return static_cast<int>(spec_.clusters.size() * spec_.gaps.size()); }
  int cluster_of(int group) const { return group / static_cast<int>(spec_.gaps.size()); }
  Duration gap_of(int group) const {
    return spec_.gaps[static_cast<std::size_t>(group) % spec_.gaps.size()];
  }
  /// Ordered by group, policy, seed (as given).
  std::span<const Trial> trials() const { return trials_; }
  /// Whether pictures of single jobs come from this run: it has the first seed of its policy.
  bool is_representative(const Trial& trial) const { return trial.seed == spec_.seeds.front(); }
  /// Jobs that fit no GPU, by cluster, then job.
  std::vector<UnfittingJob> unfitting_jobs() const;

  /// Jobs for which StudySpec::layout has no place although their GPU has, by cluster, then job:
  /// with such a layout they would wait for ever.
  std::vector<UnfittingJob> jobs_without_place() const;

  /// The jobs of a run, in order of submission, with their work on the GPUs of its cluster.
  Result<job::Workload> workload_of(const Trial& trial) const;

  /// What has to be run before layouts can be chosen; empty if no policy needs one.
  std::span<const LayoutTrial> layout_trials() const { return layout_trials_; }
  /// Mean JCT in seconds.
  Result<double> run_layout_trial(const LayoutTrial& trial) const;
  /// `mean_jct_s`: one for each of layout_trials(). Must be called before run_trial().
  void choose_layouts(std::span<const double> mean_jct_s);
  std::span<const gpu::Layout> candidates(int cluster) const {
    return parts_[static_cast<std::size_t>(cluster)].candidates;
  }
  /// The layout of a policy that needs one, else empty.
  const gpu::Layout& layout_of(const Trial& trial) const;

  /// Runs it. With RunChecks::kOn a violation is kFailed, naming the run. `recording`, if not null,
  /// is filled; the result is the same with and without.
  Result<TrialResult> run_trial(const Trial& trial, RunRecording* recording = nullptr) const;

 private:
  /// What belongs to one cluster.
  struct Part {
    predict::SpeedBook book;
    std::vector<gpu::Layout> candidates;
  };
  explicit Study(StudySpec spec) : spec_(std::move(spec)) {}
  std::vector<gpu::Layout> layouts_to_try(const predict::SpeedBook& book) const;
  void list_trials();
  void list_layout_trials();
  Result<job::Workload> arrivals(int group, std::uint64_t seed) const;
  SimSetup setup_of(int group, std::uint64_t seed, const job::Workload& workload) const;
  Result<job::RunRecord> run_watched(const SimSetup& setup, RunRecording* recording) const;
  const gpu::Layout& best_layout(int group, std::span<const std::uint64_t> seeds) const;
  std::span<const std::uint64_t> search_seeds(const sched::PolicyVariant& policy) const;

  StudySpec spec_;
  std::vector<Part> parts_;
  std::vector<Trial> trials_;
  std::vector<LayoutTrial> layout_trials_;
  std::vector<double> layout_jct_s_;
  std::vector<std::vector<gpu::Layout>> layouts_;  ///< by group and policy; chosen
};

}  // namespace septule::sim
