#include "job/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.hpp"
#include "job/student_t.hpp"

namespace septule::job {

namespace {

constexpr double kJoulesPerKilowattHour = 3.6e6;

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

double share_at_most(const std::vector<double>& values, double limit) {
  const auto count =
      std::count_if(values.begin(), values.end(), [&](double value) { return value <= limit; });
  return static_cast<double>(count) / static_cast<double>(values.size());
}

/// Of ascending values.
double quantile_sorted(std::span<const double> sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = place - std::floor(place);
  return sorted[below] + (sorted[above] - sorted[below]) * part;
}

/// What is taken from each finished job, in seconds, by id.
struct FinishedJobs {
  std::vector<double> jct_s;
  std::vector<double> slowdown;
  std::array<std::vector<double>, kTimeKindCount> times_s;
  double work_s = 0;
};

FinishedJobs finished_jobs(const RunRecord& run, RunFigures& figures) {
  FinishedJobs finished;
  for (const JobOutcome& job : run.jobs) {
    if (job.state == JobState::kRejected) {
      figures.jobs_rejected += 1;
      continue;
    }
    const SimTime finish = checked_value(job.finish, "a job that is done has finished");
    SEPTULE_CHECK(job.ideal > Duration(), "a job alone takes time");
    figures.jobs_done += 1;
    const double jct = (finish - job.submit).to_seconds();
    finished.jct_s.push_back(jct);
    finished.slowdown.push_back(jct / job.ideal.to_seconds());
    finished.work_s += job.work.to_seconds();
    for (std::size_t kind = 0; kind < kTimeKindCount; ++kind) {
      finished.times_s[kind].push_back(job.times[kind].to_seconds());
    }
  }
  return finished;
}

double mean_time(const FinishedJobs& finished, TimeKind kind) {
  return mean(finished.times_s[static_cast<std::size_t>(kind)]);
}

void fill_slowdowns(std::vector<double> slowdown, RunFigures& figures) {
  figures.share_within_1_5 = share_at_most(slowdown, 1.5);
  figures.share_within_2 = share_at_most(slowdown, 2);
  std::sort(slowdown.begin(), slowdown.end());
  figures.slowdown_median = quantile_sorted(slowdown, 0.5);
  figures.slowdown_p90 = quantile_sorted(slowdown, 0.9);
  figures.slowdown_p99 = quantile_sorted(slowdown, 0.99);
  figures.slowdown_max = slowdown.back();
}

constexpr std::array<FigureColumn, 23> kColumns{{
    {"mean_jct_s", "s", "mean over finished jobs of finish - submit", &RunFigures::mean_jct_s, 2},
    {"median_jct_s", "s", "median of the same", &RunFigures::median_jct_s, 2},
    {"p95_jct_s", "s", "95th percentile of the same", &RunFigures::p95_jct_s, 2},
    {"makespan_s", "s", "last finish - start of the run (t = 0)", &RunFigures::makespan_s, 2},
    {"stp_per_gpu",
     "1",
     "sum over finished jobs of work / (GPUs x makespan); work = time alone on the whole GPU "
     "without start-up, times the job's GPUs",
     &RunFigures::stp_per_gpu,
     4},
    {"mean_wait_s", "s", "mean time submitted but on no GPU", &RunFigures::mean_wait_s, 2},
    {"mean_characterisation_s",
     "s",
     "mean time in characterisation runs",
     &RunFigures::mean_characterisation_s,
     2},
    {"mean_reconfiguration_s",
     "s",
     "mean time starting, saving a checkpoint or saved",
     &RunFigures::mean_reconfiguration_s,
     2},
    {"mean_running_s", "s", "mean time running", &RunFigures::mean_running_s, 2},
    {"slowdown_median",
     "1",
     "median of slowdown = (finish - submit) / ideal; ideal = one start and the whole run alone on "
     "the whole GPU",
     &RunFigures::slowdown_median,
     4},
    {"slowdown_p90", "1", "90th percentile of slowdown", &RunFigures::slowdown_p90, 4},
    {"slowdown_p99", "1", "99th percentile of slowdown", &RunFigures::slowdown_p99, 4},
    {"slowdown_max", "1", "largest slowdown", &RunFigures::slowdown_max, 4},
    {"share_within_1_5",
     "1",
     "share of finished jobs with slowdown <= 1.5",
     &RunFigures::share_within_1_5,
     4},
    {"share_within_2",
     "1",
     "share of finished jobs with slowdown <= 2",
     &RunFigures::share_within_2,
     4},
    {"utilisation",
     "1",
     "compute-slice seconds in use / all until the makespan",
     &RunFigures::utilisation,
     4},
    {"fragmentation",
     "1",
     "compute-slice seconds idle while a job waits / all until the makespan",
     &RunFigures::fragmentation,
     4},
    {"reconfigurations", "1", "re-cuts of a GPU", &RunFigures::reconfigurations, 0},
    {"characterisations", "1", "characterisation runs of a GPU", &RunFigures::characterisations, 0},
    {"checkpoints", "1", "checkpoints saved", &RunFigures::checkpoints, 0},
    {"energy_kwh",
     "kWh",
     "integral of the power curve at the busy compute slices of each GPU until the makespan "
     "(an estimate)",
     &RunFigures::energy_kwh,
     3},
    {"jobs_done", "1", "jobs finished", &RunFigures::jobs_done, 0},
    {"jobs_rejected", "1", "jobs that fit no GPU of the cluster", &RunFigures::jobs_rejected, 0},
}};

}  // namespace

RunFigures figures_of(const RunRecord& run) {
  RunFigures figures;
  FinishedJobs finished = finished_jobs(run, figures);
  figures.reconfigurations = static_cast<double>(run.reconfigurations);
  figures.characterisations = static_cast<double>(run.characterisations);
  figures.checkpoints = static_cast<double>(run.checkpoints);
  figures.energy_kwh = run.energy_j / kJoulesPerKilowattHour;
  if (run.total_slice_s > 0) {
    figures.utilisation = run.busy_slice_s / run.total_slice_s;
    figures.fragmentation = run.fragmented_slice_s / run.total_slice_s;
  }
  if (finished.jct_s.empty()) {
    return figures;
  }
  figures.makespan_s = run.makespan.to_seconds();
  SEPTULE_CHECK(run.gpu_count > 0 && figures.makespan_s > 0, "finished jobs took time on a GPU");
  figures.stp_per_gpu = finished.work_s / (run.gpu_count * figures.makespan_s);
  figures.mean_jct_s = mean(finished.jct_s);
  std::sort(finished.jct_s.begin(), finished.jct_s.end());
  figures.median_jct_s = quantile_sorted(finished.jct_s, 0.5);
  figures.p95_jct_s = quantile_sorted(finished.jct_s, 0.95);
  figures.mean_wait_s = mean_time(finished, TimeKind::kWaiting);
  figures.mean_characterisation_s = mean_time(finished, TimeKind::kCharacterisation);
  figures.mean_reconfiguration_s = mean_time(finished, TimeKind::kReconfiguration);
  figures.mean_running_s = mean_time(finished, TimeKind::kRunning);
  fill_slowdowns(std::move(finished.slowdown), figures);
  return figures;
}

std::span<const FigureColumn> figure_columns() {
  return kColumns;
}

Interval confidence_interval(std::span<const double> values) {
  SEPTULE_CHECK(!values.empty(), "an interval is taken of at least one value");
  const std::vector<double> copy(values.begin(), values.end());
  const double centre = mean(copy);
  if (copy.size() == 1) {
    return {.mean = centre, .low = std::nullopt, .high = std::nullopt};
  }
  double squares = 0;
  for (const double value : copy) {
    squares += (value - centre) * (value - centre);
  }
  const auto count = static_cast<double>(copy.size());
  const double error = std::sqrt(squares / (count - 1) / count);
  const double half =
      student_t_quantile({.probability = 0.975, .degrees = static_cast<int>(copy.size()) - 1}) *
      error;
  return {.mean = centre, .low = centre - half, .high = centre + half};
}

double quantile(std::span<const double> values, double q) {
  SEPTULE_CHECK(!values.empty(), "a quantile is taken of at least one value");
  SEPTULE_CHECK(q >= 0 && q <= 1, "a quantile lies between 0 and 1");
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return quantile_sorted(sorted, q);
}

std::vector<ForecastSums> forecast_sums(std::span<const SpeedForecast> forecasts) {
  std::vector<ForecastSums> sums;
  for (const SpeedForecast& forecast : forecasts) {
    const double error = forecast.believed - forecast.actual;
    const ForecastSums one{forecast.slices, 1, std::abs(error), error};
    add_forecast_sums(sums, {&one, 1});
  }
  return sums;
}

void add_forecast_sums(std::vector<ForecastSums>& sums, std::span<const ForecastSums> more) {
  for (const ForecastSums& one : more) {
    auto place = std::ranges::find_if(
        sums, [&](const ForecastSums& other) { return other.slices <= one.slices; });
    if (place == sums.end() || place->slices != one.slices) {
      place = sums.insert(place, ForecastSums{.slices = one.slices});
    }
    place->count += one.count;
    place->error_abs += one.error_abs;
    place->error += one.error;
  }
}

}  // namespace septule::job
