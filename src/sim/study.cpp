#include "sim/study.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/digest.hpp"
#include "predict/table_predictor.hpp"
#include "sim/checkers.hpp"
#include "sim/study_layouts.hpp"

namespace septule::sim {

namespace {

constexpr std::string_view kOnTrace = "optsta-on-trace";
constexpr std::string_view kSearchPolicy = "optsta";
constexpr double kWorkSecondsMax = 8e9;  // below the end of time

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidInput, std::move(message)};
}

template <class T>
bool has_doubles(std::vector<T> values) {
  std::ranges::sort(values);
  return std::ranges::adjacent_find(values) != values.end();
}

bool needs_layout(const StudySpec& spec) {
  return std::ranges::any_of(
      spec.policies, [](const sched::PolicyVariant* policy) { return policy->needs_layout; });
}

Status check_clusters(const StudySpec& spec) {
  if (spec.clusters.empty()) {
    return invalid("gpus: names no cluster");
  }
  std::vector<std::string> names;
  for (const StudyCluster& cluster : spec.clusters) {
    SEPTULE_CHECK(cluster.geometry != nullptr, "a cluster names its geometry");
    names.push_back(cluster.name());
    if (!cluster.geometry->has_profile_table()) {
      return Error{ErrorCode::kNotFound,
                   fmt::format("gpus: no profile table of {} has been published: jobs on it cannot "
                               "be simulated",
                               cluster.geometry->key())};
    }
    if (cluster.gpu_count < 1) {
      return invalid(fmt::format("gpus: {} has no GPU", cluster.name()));
    }
    if (!(cluster.speed >= kStudySpeedMin && cluster.speed <= kStudySpeedMax)) {
      return invalid(
          fmt::format("gpus: the relative speed of {} is out of range; expected {} to {}",
                      cluster.name(),
                      kStudySpeedMin,
                      kStudySpeedMax));
    }
  }
  if (has_doubles(names)) {
    return invalid("gpus: names a cluster twice");
  }
  return {};
}

Status check_spec(const StudySpec& spec) {
  SEPTULE_TRY_STATUS(check_clusters(spec));
  SEPTULE_CHECK(spec.workload != nullptr, "a study has a workload");
  SEPTULE_CHECK(spec.common.latencies != nullptr, "a study has a latency table");
  if (spec.workload->jobs.empty()) {
    return invalid("trace: holds no job");
  }
  if (spec.policies.empty()) {
    return invalid("policies: names no policy");
  }
  if (has_doubles(spec.policies)) {
    return invalid("policies: names a policy twice");
  }
  if (spec.seeds.empty() || has_doubles(spec.seeds)) {
    return invalid("seeds: needs at least one seed, and each once");
  }
  if (spec.gaps.empty() || has_doubles(spec.gaps) || spec.gaps.front() <= Duration()) {
    return invalid("gap: needs at least one gap above 0, and each once");
  }
  const double runs =
      static_cast<double>(spec.clusters.size()) * static_cast<double>(spec.gaps.size()) *
      static_cast<double>(spec.policies.size()) * static_cast<double>(spec.seeds.size());
  if (runs > kRunsMax) {
    return invalid(fmt::format(
        "clusters x gaps x policies x seeds: are {:.0f} runs; at most {}", runs, kRunsMax));
  }
  if (needs_layout(spec) && spec.layout_seeds.empty()) {
    return invalid("layout-seeds: needs at least one seed");
  }
  return {};
}

/// The same jobs on GPUs so many times as fast.
job::Workload at_speed(job::Workload workload, double speed) {
  if (speed == 1) {
    return workload;
  }
  for (job::JobSpec& job : workload.jobs) {
    const double seconds = std::min(job.work.to_seconds() / speed, kWorkSecondsMax);
    job.work = std::max(seconds_to_duration(seconds), Duration::nanoseconds(1));
  }
  return workload;
}

}  // namespace

std::string StudyCluster::name() const {
  const std::string text = fmt::format("{}x{}", gpu_count, geometry->key());
  return speed == 1 ? text : fmt::format("{}@{}", text, speed);
}

SimSetup common_setup(sched::Setting setting) {
  SimSetup common;
  common.error = {.mean = 0.016, .sd = 0.0032};
  common.policy_setup.setting = setting;
  common.policy_setup.characterisation = sched::default_characterisation(setting);
  if (setting == sched::Setting::kArtifact) {
    common.controller.tick = Duration::milliseconds(10000);
    common.device.full_reset = Duration::milliseconds(4000);
    common.waits.after_checkpoint = Duration::milliseconds(1000);
    common.waits.after_mps = Duration::milliseconds(2500);
    common.controller.pace = control::Controller::Options::Pace::kSerialStops;
    // 0.5 s and the rest of a step, seen at the second poll of 0.5 s.
    common.costs.checkpoint_base = Duration::milliseconds(1000);
    // An empty file is written: the footprint costs nothing.
    common.costs.checkpoint_bytes_per_s = std::numeric_limits<double>::infinity();
    common.costs.restart_bytes_per_s = std::numeric_limits<double>::infinity();
    common.costs.finish = Duration::milliseconds(500);
  }
  return common;
}

Result<Study> Study::make(StudySpec spec) {
  SEPTULE_TRY_STATUS(check_spec(spec));
  Study study(std::move(spec));
  for (const StudyCluster& cluster : study.spec_.clusters) {
    SEPTULE_TRY(predict::SpeedBook book,
                predict::SpeedBook::make(*cluster.geometry, study.spec_.workload->signatures));
    study.parts_.push_back({std::move(book), {}});
  }
  for (std::size_t i = 0; i < study.parts_.size(); ++i) {
    Part& part = study.parts_[i];
    part.candidates = study.layouts_to_try(part.book);
  }
  study.list_trials();
  study.list_layout_trials();
  // The first arrivals of each gap and seed are drawn now, so that a seed that a recipe lacks is
  // refused before anything has run.
  for (int gap = 0; gap < static_cast<int>(study.spec_.gaps.size()); ++gap) {
    for (const std::uint64_t seed : study.spec_.seeds) {
      if (auto drawn = study.arrivals(gap, seed); !drawn) {
        return drawn.error();
      }
    }
  }
  return study;
}

std::vector<gpu::Layout> Study::layouts_to_try(const predict::SpeedBook& book) const {
  if (spec_.layout) {
    return {*spec_.layout};
  }
  const gpu::Layout fixed = artifact_layout(book.geometry());
  // The artifact's own layout has no place for jobs that need more than 3g; then the search
  // chooses.
  if (spec_.common.policy_setup.setting == sched::Setting::kArtifact && !fixed.empty() &&
      sim::jobs_without_place(book, *spec_.workload, fixed).empty()) {
    return {fixed};
  }
  return static_layouts(book, *spec_.workload);
}

void Study::list_trials() {
  for (int group = 0; group < group_count(); ++group) {
    for (std::size_t policy = 0; policy < spec_.policies.size(); ++policy) {
      for (const std::uint64_t seed : spec_.seeds) {
        trials_.push_back({group, static_cast<int>(policy), seed});
      }
    }
  }
}

std::span<const std::uint64_t> Study::search_seeds(const sched::PolicyVariant& policy) const {
  const auto& seeds = policy.name == kOnTrace ? spec_.seeds : spec_.layout_seeds;
  // Without drawn arrivals optsta is the same for every seed.
  return spec_.arrivals.kind == job::ArrivalKind::kTrace ? std::span(seeds).first(1)
                                                         : std::span(seeds);
}

void Study::list_layout_trials() {
  std::vector<std::uint64_t> seeds;
  for (const sched::PolicyVariant* policy : spec_.policies) {
    if (policy->needs_layout) {
      const auto wanted = search_seeds(*policy);
      seeds.insert(seeds.end(), wanted.begin(), wanted.end());
    }
  }
  std::ranges::sort(seeds);
  seeds.erase(std::unique(seeds.begin(), seeds.end()), seeds.end());
  for (int group = 0; group < group_count(); ++group) {
    const std::size_t count = candidates(cluster_of(group)).size();
    for (std::size_t candidate = 0; count > 1 && candidate < count; ++candidate) {
      for (const std::uint64_t seed : seeds) {
        layout_trials_.push_back({group, static_cast<int>(candidate), seed});
      }
    }
  }
}

std::vector<UnfittingJob> Study::unfitting_jobs() const {
  std::vector<UnfittingJob> jobs;
  for (std::size_t cluster = 0; cluster < parts_.size(); ++cluster) {
    predict::TablePredictor predictor(parts_[cluster].book, {});
    for (std::size_t job = 0; job < spec_.workload->jobs.size(); ++job) {
      const job::JobSpec& spec = spec_.workload->jobs[job];
      predictor.submitted(spec);
      if (spec.gpus > spec_.clusters[cluster].gpu_count || !predictor.smallest(spec.id)) {
        jobs.push_back({static_cast<int>(job), static_cast<int>(cluster), predictor.need(spec.id)});
      }
    }
  }
  return jobs;
}

std::vector<UnfittingJob> Study::jobs_without_place() const {
  std::vector<UnfittingJob> jobs;
  for (std::size_t cluster = 0; spec_.layout && needs_layout(spec_) && cluster < parts_.size();
       ++cluster) {
    predict::TablePredictor predictor(parts_[cluster].book, {});
    const auto without =
        sim::jobs_without_place(parts_[cluster].book, *spec_.workload, *spec_.layout);
    for (const int job : without) {
      const job::JobSpec& spec = spec_.workload->jobs[static_cast<std::size_t>(job)];
      predictor.submitted(spec);
      jobs.push_back({job, static_cast<int>(cluster), predictor.need(spec.id)});
    }
  }
  return jobs;
}

Result<job::Workload> Study::arrivals(int group, std::uint64_t seed) const {
  const double speed = spec_.clusters[static_cast<std::size_t>(cluster_of(group))].speed;
  if (spec_.arrivals.kind == job::ArrivalKind::kTrace) {
    return at_speed(*spec_.workload, speed);
  }
  job::ArrivalOptions options = spec_.arrivals;
  options.gap = gap_of(group);
  SEPTULE_TRY(const std::vector<job::Arrival> drawn,
              job::draw_arrivals(static_cast<int>(spec_.workload->jobs.size()), options, seed));
  return at_speed(job::with_arrivals(*spec_.workload, drawn), speed);
}

Result<job::Workload> Study::workload_of(const Trial& trial) const {
  return arrivals(trial.group, trial.seed);
}

SimSetup Study::setup_of(int group, std::uint64_t seed, const job::Workload& workload) const {
  const auto cluster = static_cast<std::size_t>(cluster_of(group));
  SimSetup setup = spec_.common;
  setup.geometry = spec_.clusters[cluster].geometry;
  setup.gpu_count = spec_.clusters[cluster].gpu_count;
  setup.workload = &workload;
  setup.book = &parts_[cluster].book;
  setup.seed = seed;
  setup.cluster_name = spec_.clusters[cluster].name();
  return setup;
}

Result<double> Study::run_layout_trial(const LayoutTrial& trial) const {
  SEPTULE_TRY(const job::Workload workload, arrivals(trial.group, trial.seed));
  SimSetup setup = setup_of(trial.group, trial.seed, workload);
  SEPTULE_TRY(setup.policy, sched::find_policy(kSearchPolicy));
  setup.policy_setup.static_layout =
      candidates(cluster_of(trial.group))[static_cast<std::size_t>(trial.candidate)];
  SEPTULE_TRY(const job::RunRecord run, simulate(setup));
  return job::figures_of(run).mean_jct_s;
}

const gpu::Layout& Study::best_layout(int group, std::span<const std::uint64_t> seeds) const {
  const auto layouts = candidates(cluster_of(group));
  std::vector<double> sums(layouts.size(), 0);
  for (std::size_t i = 0; i < layout_trials_.size(); ++i) {
    const LayoutTrial& trial = layout_trials_[i];
    if (trial.group == group && std::ranges::find(seeds, trial.seed) != seeds.end()) {
      sums[static_cast<std::size_t>(trial.candidate)] += layout_jct_s_[i];
    }
  }
  const auto best = std::ranges::min_element(sums);
  return layouts[static_cast<std::size_t>(best - sums.begin())];
}

void Study::choose_layouts(std::span<const double> mean_jct_s) {
  SEPTULE_CHECK(mean_jct_s.size() == layout_trials_.size(), "one mean JCT for each layout trial");
  layout_jct_s_.assign(mean_jct_s.begin(), mean_jct_s.end());
  layouts_.clear();
  for (int group = 0; group < group_count(); ++group) {
    std::vector<gpu::Layout>& chosen = layouts_.emplace_back();
    for (const sched::PolicyVariant* policy : spec_.policies) {
      chosen.push_back(policy->needs_layout ? best_layout(group, search_seeds(*policy))
                                            : gpu::Layout());
    }
  }
}

const gpu::Layout& Study::layout_of(const Trial& trial) const {
  SEPTULE_CHECK(!layouts_.empty(), "layouts are chosen before they are asked for");
  return layouts_[static_cast<std::size_t>(trial.group)][static_cast<std::size_t>(trial.policy)];
}

Result<job::RunRecord> Study::run_watched(const SimSetup& setup, RunRecording* recording) const {
  std::optional<RunChecker> checker;
  SimObservers observers;
  if (spec_.checks == RunChecks::kOn) {
    checker.emplace(setup);
    observers = checker->observers();
  }
  std::optional<RunRecorder> recorder;
  if (recording != nullptr) {
    RunRecorder::Options options;
    options.story_of = recording->story_of;
    options.next = observers;
    recorder.emplace(*setup.geometry, *setup.workload, options);
    observers = recorder->observers();
  }
  SEPTULE_TRY(job::RunRecord run, simulate(setup, observers));
  if (checker) {
    run.violations = checker->finish(run);
    if (!run.violations.empty()) {
      return Error{ErrorCode::kFailed,
                   fmt::format("policy {}, seed {}, {}: the checkers found {} violations, the "
                               "first being: {}",
                               setup.policy->name,
                               setup.seed,
                               setup.cluster_name,
                               run.violations.size(),
                               run.violations.front())};
    }
  }
  if (recorder) {
    recorder->finish(run);
    recording->story = recorder->story();
  }
  return run;
}

Result<TrialResult> Study::run_trial(const Trial& trial, RunRecording* recording) const {
  SEPTULE_TRY(const job::Workload workload, workload_of(trial));
  SimSetup setup = setup_of(trial.group, trial.seed, workload);
  setup.policy = spec_.policies[static_cast<std::size_t>(trial.policy)];
  setup.policy_setup.static_layout = layout_of(trial);
  if (setup.policy_setup.setting == sched::Setting::kArtifact &&
      setup.policy->name.starts_with("mps-only")) {
    setup.controller.memory_rule = sched::MemoryRule::kIgnored;
  }
  SEPTULE_TRY(job::RunRecord run, run_watched(setup, recording));
  TrialResult result;
  result.figures = job::figures_of(run);
  for (const job::JobOutcome& outcome : run.jobs) {
    if (outcome.finish) {
      result.jct.push_back(*outcome.finish - outcome.submit);
    }
  }
  result.digest = run.digest;
  result.events = run.events;
  result.forecasts = job::forecast_sums(run.forecasts);
  result.measurements = run.measurements;
  if (recording != nullptr) {
    recording->run = std::move(run);
    for (const job::JobSpec& job : workload.jobs) {
      recording->job_names.push_back(job.name);
    }
  }
  return result;
}

}  // namespace septule::sim
