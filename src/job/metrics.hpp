#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "job/job.hpp"

namespace septule::job {

/// What became of one job. Times by TimeKind add up to finish - submit exactly.
struct JobOutcome {
  JobId id;
  JobState state = JobState::kDone;  ///< kDone or kRejected
  SimTime submit;
  std::optional<SimTime> first_start;  ///< process start begins
  std::optional<SimTime> finish;
  std::array<Duration, kTimeKindCount> times{};
  Duration ideal;  ///< one start plus the whole run alone on the whole GPU (miso.md 8)
  Duration work;   ///< useful time alone on the whole GPU, costs' step factor included; x gpus
  int gpu_count = 1;
  int checkpoints = 0;
  int characterisations = 0;
  int gpu_changes = 0;  ///< starts on another GPU than before
};

/// A stretch of time in which one GPU was cut and used in one way: for timelines. Adjacent, in time
/// order per GPU.
struct TimelineSpan {
  struct Use {
    int start = 0;  ///< of the GPU instance, memory slices
    int size = 0;   ///< 0..grid size
    std::optional<JobId> job;
    JobState state = JobState::kRunning;
  };
  int gpu = 0;
  SimTime begin;
  SimTime end;
  bool is_reconfiguring = false;
  std::vector<Use> uses;  ///< by start, then job; several jobs in one place = MPS
};

/// A value that holds from `time` on: queue length, instantaneous STP.
struct SeriesPoint {
  SimTime time;
  double queue = 0;        ///< jobs waiting
  double stp = 0;          ///< sum of progress rates of jobs making progress, all GPUs
  double busy_slices = 0;  ///< compute slices in use
};

/// What was believed of a job's speed alone on an instance when it was put there, and how fast it
/// was. A plain value.
struct SpeedForecast {
  JobId job;
  ComputeSlices slices;  ///< of the instance
  SimTime decided;
  SimTime begin;        ///< of the stretch of running that `actual` is from
  double believed = 0;  ///< relative to the whole GPU; > 0
  double actual = 0;
};

/// Where the columns of characterisation runs came from, where a learned predictor saw them.
struct MeasurementCounts {
  std::int64_t drawn = 0;     ///< measured, at the same number of co-runners
  std::int64_t nearest = 0;   ///< measured, at the nearest number of co-runners
  std::int64_t modelled = 0;  ///< from the truth model
  /// Of these: without a step at any level, so that the job's speed can only be assumed.
  std::int64_t unmeasured = 0;

  friend bool operator==(const MeasurementCounts&, const MeasurementCounts&) = default;
};

/// How good forecasts of one number of compute slices were, error = believed - actual. Sums of
/// several runs add up. A plain value.
struct ForecastSums {
  ComputeSlices slices;
  std::int64_t count = 0;
  double error_abs = 0;  ///< sum of |error|
  double error = 0;      ///< sum

  friend bool operator==(const ForecastSums&, const ForecastSums&) = default;
};
/// By slices, the most first; without forecasts empty.
std::vector<ForecastSums> forecast_sums(std::span<const SpeedForecast> forecasts);
void add_forecast_sums(std::vector<ForecastSums>& sums, std::span<const ForecastSums> more);

/// Everything one simulated run gives. A plain value.
struct RunRecord {
  std::string policy;
  std::string cluster;
  std::uint64_t seed = 0;
  int gpu_count = 0;
  std::vector<JobOutcome> jobs;  ///< by id
  SimTime makespan;              ///< last finish; origin t = 0 (miso.md 8)
  std::int64_t events = 0;
  std::int64_t decisions = 0;
  std::int64_t reconfigurations = 0;   ///< re-cuts of a GPU
  std::int64_t characterisations = 0;  ///< characterisation runs (of a GPU)
  std::int64_t checkpoints = 0;
  double busy_slice_s = 0;        ///< compute slices x seconds in use
  double total_slice_s = 0;       ///< compute slices x seconds until the makespan
  double fragmented_slice_s = 0;  ///< idle compute slices x seconds while a job waits
  double energy_j = 0;            ///< estimate from the power curve, docs/formats.md
  std::uint64_t digest = 0;
  std::vector<TimelineSpan> timeline;    ///< empty unless recorded
  std::vector<SeriesPoint> series;       ///< empty unless recorded
  std::vector<SpeedForecast> forecasts;  ///< by begin; only of learned predictors
  MeasurementCounts measurements;        ///< the same
  std::vector<std::string> violations;   ///< what the checkers found; empty = none (or not checked)
};

/// Figures of one run (docs/formats.md, "Run figures": unit and formula of each).
struct RunFigures {
  double mean_jct_s = 0;
  double median_jct_s = 0;
  double p95_jct_s = 0;
  double makespan_s = 0;
  double stp_per_gpu = 0;  ///< work based: sum of work / (GPUs x makespan)
  double mean_wait_s = 0;
  double mean_characterisation_s = 0;
  double mean_reconfiguration_s = 0;
  double mean_running_s = 0;
  double slowdown_median = 0;  ///< slowdown = JCT / ideal
  double slowdown_p90 = 0;
  double slowdown_p99 = 0;
  double slowdown_max = 0;
  double share_within_1_5 = 0;  ///< jobs with JCT <= 1.5 x ideal
  double share_within_2 = 0;
  double utilisation = 0;    ///< busy compute slices / all
  double fragmentation = 0;  ///< idle compute slices while a job waits / all
  double reconfigurations = 0;
  double characterisations = 0;
  double checkpoints = 0;
  double energy_kwh = 0;
  double jobs_done = 0;
  double jobs_rejected = 0;
};
/// Means over finished jobs; rejected jobs are counted, never averaged. All 0 if no job finished.
RunFigures figures_of(const RunRecord& run);

/// A column of RunFigures: how it is written and what it means. One table behind CSV, JSON, report
/// and docs/formats.md.
struct FigureColumn {
  const char* name;
  const char* unit;
  const char* formula;
  double RunFigures::* member;
  int decimals;
};
std::span<const FigureColumn> figure_columns();

/// Mean with the 95 % confidence interval over seeds (Student t, two-sided). `low`, `high` absent
/// for one value.
struct Interval {
  double mean = 0;
  std::optional<double> low;
  std::optional<double> high;
};
Interval confidence_interval(std::span<const double> values);
/// Quantile of the sorted copy, linear between order statistics. `values` not empty, q in [0, 1].
double quantile(std::span<const double> values, double q);

}  // namespace septule::job
