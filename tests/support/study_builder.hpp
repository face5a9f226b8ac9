#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "report/study.hpp"

namespace septule::test {

/// What a made-up study is made of. Its figures are drawn, and obey the identities of real ones.
struct StudySpec {
  std::vector<std::string> policies = {"nopart", "optsta", "miso"};
  int seeds = 5;
  int jobs = 40;
  int gpus = 2;
};

inline SimTime at_seconds(double seconds) {
  return SimTime() + seconds_to_duration(seconds);
}

/// One job that waited, was characterised, stopped and ran.
inline job::JobOutcome made_up_job(int id, double speed, Rng& rng) {
  job::JobOutcome outcome;
  outcome.id = job::JobId(id);
  outcome.submit = at_seconds(60.0 * id);
  outcome.work = seconds_to_duration(60 + rng.exponential(600));
  outcome.ideal = outcome.work + seconds_to_duration(10);
  outcome.times = {seconds_to_duration(rng.exponential(400 / speed)),
                   seconds_to_duration(30 * rng.uniform()),
                   seconds_to_duration(10 + 20 * rng.uniform()),
                   seconds_to_duration(outcome.work.to_seconds() * (1 + rng.uniform() / speed))};
  outcome.first_start = outcome.submit + outcome.times[0];
  outcome.finish = *outcome.first_start + outcome.times[1] + outcome.times[2] + outcome.times[3];
  outcome.checkpoints = static_cast<int>(rng.below(3));
  return outcome;
}

/// Layouts {start, size} that the phases of a made-up timeline take in turn.
inline const std::vector<std::vector<std::pair<int, int>>>& made_up_layouts() {
  static const std::vector<std::vector<std::pair<int, int>>> layouts = {
      {{0, 8}},
      {{0, 4}, {4, 4}},
      {{0, 4}, {4, 2}, {6, 1}},
      {{0, 2}, {2, 2}, {4, 2}, {6, 1}},
      {{0, 1}, {1, 1}, {2, 2}, {4, 4}}};
  return layouts;
}

/// The timeline of one GPU: characterise under MPS, re-cut, start, run, and again.
inline void add_made_up_spans(job::RunRecord& run, int gpu, Rng& rng) {
  using Use = job::TimelineSpan::Use;
  const double end_s = run.makespan.to_seconds();
  double now_s = 60.0 * gpu;
  const auto job_count = static_cast<std::uint64_t>(run.jobs.size());
  const auto next = [&](double length_s, bool is_recut, std::vector<Use> uses) {
    const double to_s = std::min(now_s + length_s, end_s);
    run.timeline.push_back({gpu, at_seconds(now_s), at_seconds(to_s), is_recut, std::move(uses)});
    now_s = to_s;
  };
  while (now_s < end_s) {
    const auto& layout = made_up_layouts()[rng.below(made_up_layouts().size())];
    std::vector<Use> sampled;
    std::vector<Use> placed;
    for (const auto& [start, size] : layout) {
      const job::JobId id(static_cast<int>(rng.below(job_count)));
      sampled.push_back({0, 8, id, job::JobState::kCharacterising});
      placed.push_back({start, size, id, job::JobState::kRunning});
    }
    std::vector<Use> starting = placed;
    for (Use& use : starting) {
      use.state = job::JobState::kStarting;
    }
    next(30, false, sampled);
    next(6, true, {});
    next(25, false, starting);
    next(200 + 600 * rng.uniform(), false, placed);
    placed.back().job.reset();
    next(100 * rng.uniform(), false, placed);
  }
}

inline report::RepresentativeRun made_up_run(const StudySpec& spec,
                                             int policy,
                                             std::uint64_t seed) {
  const double speed = 1 + 0.5 * policy;
  Rng rng = Rng(seed).stream("job", static_cast<std::uint64_t>(policy));
  report::RepresentativeRun made;
  made.run.policy = spec.policies[static_cast<std::size_t>(policy)];
  made.run.cluster = fmt::format("{} x A100-40GB", spec.gpus);
  made.run.seed = seed;
  made.run.gpu_count = spec.gpus;
  for (int id = 0; id < spec.jobs; ++id) {
    made.run.jobs.push_back(made_up_job(id, speed, rng));
    made.run.makespan = std::max(made.run.makespan, *made.run.jobs.back().finish);
    made.job_names.push_back(fmt::format("resnet:{}#{}", 64 << (id % 4), id));
  }
  for (int gpu = 0; gpu < spec.gpus; ++gpu) {
    add_made_up_spans(made.run, gpu, rng);
  }
  for (double time = 0; time < made.run.makespan.to_seconds(); time += 20 + 40 * rng.uniform()) {
    const double share = time / made.run.makespan.to_seconds();
    made.run.series.push_back({at_seconds(time),
                               static_cast<double>(rng.below(4)) + 20 * share * (1 - share) / speed,
                               spec.gpus * (0.7 + 0.3 * rng.uniform()) * (speed + 1) / 2,
                               5.0 * spec.gpus});
  }
  made.run.reconfigurations = std::int64_t{20} * policy;
  made.run.total_slice_s = 7 * made.run.makespan.to_seconds() * spec.gpus;
  made.run.busy_slice_s = 0.8 * made.run.total_slice_s;
  made.run.fragmented_slice_s = 0.03 * made.run.total_slice_s;
  made.run.energy_j = 2e7 / speed;
  return made;
}

inline report::StudyReport made_up_study(const StudySpec& spec = {}) {
  report::StudyReport study;
  study.title = "Made-up study";
  study.cluster = fmt::format("{} x A100-40GB", spec.gpus);
  study.trace = "miso-100, Poisson arrivals, mean gap 60 s";
  study.options = {{"costs", "nominal"}, {"arrivals", "poisson"}};
  study.command = "septule simulate --gpus 8xA100-40GB --trace miso-100 --seeds 1-5";
  study.version = "0.1.0";
  for (int gpu = 0; gpu < spec.gpus; ++gpu) {
    study.gpus.push_back({fmt::format("GPU {}", gpu), MemorySlices(8)});
  }
  for (int policy = 0; policy < static_cast<int>(spec.policies.size()); ++policy) {
    report::PolicyReport made;
    made.name = spec.policies[static_cast<std::size_t>(policy)];
    for (int seed = 1; seed <= spec.seeds; ++seed) {
      const auto number = static_cast<std::uint64_t>(seed);
      report::RepresentativeRun run = made_up_run(spec, policy, number);
      made.seeds.push_back(number);
      made.runs.push_back(job::figures_of(run.run));
      for (const job::JobOutcome& outcome : run.run.jobs) {
        made.jct_s.push_back((*outcome.finish - outcome.submit).to_seconds());
      }
      if (seed == 1) {
        made.representative = std::move(run);
      }
    }
    study.policies.push_back(std::move(made));
  }
  return study;
}

}  // namespace septule::test
