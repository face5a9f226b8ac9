// septule simulate: what a trace would have done under each policy.
#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "base/text.hpp"
#include "report/study_table.hpp"
#include "septule/app.hpp"
#include "septule/study_document.hpp"
#include "septule/study_inputs.hpp"
#include "septule/study_options.hpp"
#include "septule/study_runner.hpp"
#include "sim/study.hpp"

namespace septule::app {

namespace {

constexpr int kThreadsMax = 256;

int thread_count(const Invocation& invocation) {
  if (invocation.is_given("jobs")) {
    return static_cast<int>(invocation.number("jobs"));
  }
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kThreadsMax);
}

/// Jobs that fit no GPU are counted and named; with --strict they end the study.
Status say_unfitting(const sim::Study& study, const StudyJobs& jobs, bool is_strict) {
  const std::vector<sim::UnfittingJob> unfitting = study.unfitting_jobs();
  for (std::size_t cluster = 0; cluster < study.spec().clusters.size(); ++cluster) {
    std::vector<std::string> names;
    std::size_t count = 0;
    for (const sim::UnfittingJob& job : unfitting) {
      if (job.cluster == static_cast<int>(cluster)) {
        ++count;
        if (names.size() < 3) {
          const auto at = static_cast<std::size_t>(job.job);
          names.push_back(quoted_for_message(jobs.workload.jobs[at].name));
        }
      }
    }
    if (count == 0) {
      continue;
    }
    const std::string message = fmt::format("{}: {} {} no GPU of {} and {} rejected: {}{}",
                                            jobs.source_name,
                                            count,
                                            count == 1 ? "job fits" : "jobs fit",
                                            study.spec().clusters[cluster].name(),
                                            count == 1 ? "is" : "are",
                                            joined_with_and(names),
                                            count > names.size() ? " ..." : "");
    if (is_strict) {
      return Error{ErrorCode::kInvalidInput, message + " (refused because of --strict)"};
    }
    say_warning(message);
  }
  return {};
}

Status choose_layouts(sim::Study& study, int threads) {
  const auto trials = study.layout_trials();
  std::vector<double> mean_jct_s(trials.size());
  Progress progress("layouts", trials.size());
  SEPTULE_TRY_STATUS(run_parallel(trials.size(), threads, [&](std::size_t i) -> Status {
    SEPTULE_TRY(mean_jct_s[i], study.run_layout_trial(trials[i]));
    progress.advance();
    return {};
  }));
  study.choose_layouts(mean_jct_s);
  return {};
}

Status run_trials(FinishedStudy& finished, int threads) {
  const sim::Study& study = *finished.study;
  const auto trials = study.trials();
  finished.results.resize(trials.size());
  finished.representatives.resize(trials.size());
  Progress progress("runs", trials.size());
  return run_parallel(trials.size(), threads, [&](std::size_t i) -> Status {
    SEPTULE_TRY(finished.results[i], study.run_trial(trials[i]));
    progress.advance();
    return {};
  });
}

std::string people_text(const FinishedStudy& finished) {
  std::string text;
  for (const report::StudyReport& report : study_reports(finished)) {
    text += (text.empty() ? "" : "\n") + report::study_table(report);
  }
  return text;
}

Result<int> run_simulate(const Invocation& invocation, Context& context) {
  SEPTULE_TRY(const StudySettings settings, StudySettings::make(invocation));
  SEPTULE_TRY(const StudyJobs jobs, load_study_jobs(settings));
  if (invocation.is_given("strict")) {
    SEPTULE_TRY_STATUS(interop::check_no_faults(jobs.source_name, jobs.findings));
  }
  SEPTULE_TRY(sim::StudySpec spec, study_spec(settings, jobs, context));
  SEPTULE_TRY(sim::Study study, sim::Study::make(std::move(spec)));
  SEPTULE_TRY_STATUS(say_unfitting(study, jobs, invocation.is_given("strict")));
  const int threads = thread_count(invocation);
  SEPTULE_TRY_STATUS(choose_layouts(study, threads));
  FinishedStudy finished{&settings, &jobs, &study, {}, {}};
  SEPTULE_TRY_STATUS(run_trials(finished, threads));
  SEPTULE_TRY_STATUS(
      context.output.emit(study_document(finished), [&] { return people_text(finished); }));
  return 0;
}

std::vector<OptionRecord> simulate_options() {
  std::vector<OptionRecord> options = {
      {.name = "study",
       .value = "FILE",
       .text = "A YAML file with these options as keys; flags override it. - reads standard input.",
       .completion = CompletionKind::kFile}};
  for (OptionRecord& record : study_records()) {
    options.push_back(std::move(record));
  }
  options.push_back({.name = "jobs",
                     .value = "N",
                     .text = "Runs at a time; results do not depend on it. Without it: one per "
                             "processor.",
                     .min = 1,
                     .max = kThreadsMax,
                     .is_integer = true});
  options.push_back({.name = "strict",
                     .text = "Fail (exit code 3) if any row of the trace is dropped, repaired or "
                             "cannot be simulated, or a job fits no GPU."});
  options.push_back(output_option());
  options.push_back(verbose_option());
  return options;
}

}  // namespace

Command simulate_command() {
  return {
      .record =
          {.path = {"simulate"},
           .summary = "simulate a trace of jobs under several policies",
           .description =
               {"Plays the jobs on a cluster of virtual GPUs with the scheduling code of the live "
                "system, once for each policy and seed, and compares the policies paired by seed. "
                "Equal options give equal output, byte for byte, on every machine."},
           .options = simulate_options(),
           .examples = {{"septule simulate", "the MISO paper's testbed: 8 A100, 100 jobs"},
                        {"septule simulate --gpus 40xA100-40GB --trace miso-1000 --policies "
                         "nopart,miso --seeds 1-3 -o json",
                         "the larger study, for a program"}},
           .exit_codes = {0, 1, 2, 3, 4, 7}},
      .run = run_simulate};
}

}  // namespace septule::app
