// septule simulate: what a trace would have done under each policy.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "base/text.hpp"
#include "learn/window_agent.hpp"
#include "report/study_table.hpp"
#include "septule/app.hpp"
#include "septule/study_document.hpp"
#include "septule/study_explain.hpp"
#include "septule/study_inputs.hpp"
#include "septule/study_options.hpp"
#include "septule/study_run.hpp"
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

/// "job-7" (needs 43.4 GiB, drawn).
std::string unfitting_text(const sim::Study& study, const sim::UnfittingJob& unfitting) {
  const job::Workload& workload = *study.spec().workload;
  const job::JobSpec& job = workload.jobs[static_cast<std::size_t>(unfitting.job)];
  const auto cluster = static_cast<std::size_t>(unfitting.cluster);
  const std::string name = quoted_for_message(job.name);
  if (job.gpus > study.spec().clusters[cluster].gpu_count) {
    return fmt::format("{} (needs {} GPUs)", name, job.gpus);
  }
  const job::PerfSignature& signature =
      workload.signatures[static_cast<std::size_t>(job.signature.value())];
  return fmt::format("{} (needs {:.1f} GiB, {})",
                     name,
                     unfitting.need.to_gibibytes(),
                     job.memory                        ? "stated"
                     : signature.synthetic.has_value() ? "drawn"
                                                       : "measured");
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
          names.push_back(unfitting_text(study, job));
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

/// --layout must have a place for every job that fits the GPU at all.
Status check_layout(const sim::Study& study, const StudySettings& settings) {
  const std::vector<sim::UnfittingJob> jobs = study.jobs_without_place();
  if (jobs.empty()) {
    return {};
  }
  const int cluster = jobs.front().cluster;
  const auto count = std::ranges::count(jobs, cluster, &sim::UnfittingJob::cluster);
  return Error{
      ErrorCode::kInvalidInput,
      fmt::format("--layout: {} has no place for {} {}, e.g. {}; expected an instance that "
                  "holds each, or no layout for the best one",
                  settings.text("layout"),
                  count,
                  count == 1 ? "job" : "jobs",
                  unfitting_text(study, jobs.front()))};
}

Result<int> print_study(const FinishedStudy& finished,
                        const std::string& folder,
                        Context& context) {
  SEPTULE_TRY_STATUS(context.output.emit(study_document(finished), [&] {
    std::string text = report::study_table(study_report(finished));
    if (!folder.empty()) {
      text +=
          fmt::format("\nReport: {}\n", (std::filesystem::path(folder) / "report.html").string());
    }
    return text;
  }));
  return 0;
}

/// Runs it; the exit code is not 0 if it was interrupted.
Result<int> run_interruptibly(sim::Study& study, FinishedStudy& finished, StudyRun how) {
  const Interruption interruption("the runs under way are finished first");
  how.interruption = &interruption;
  const Status done = run_study(study, finished, how);
  const auto signal = interruption.signal();
  if (!done && signal) {
    say_error(done.error().message);
    return exit_code_of_signal(*signal);
  }
  return done ? Result<int>(0) : Result<int>(done.error());
}

bool has_policy(const sim::StudySpec& spec, std::string_view name) {
  return std::ranges::any_of(
      spec.policies, [&](const sched::PolicyVariant* policy) { return policy->name == name; });
}

Result<int> run_simulate(const Invocation& invocation, Context& context) {
  const std::string folder = invocation.text("out");
  const auto opening =
      invocation.is_given("resume") ? StudyJournal::Opening::kResume : StudyJournal::Opening::kNew;
  if (folder.empty() && opening == StudyJournal::Opening::kResume) {
    return Error{ErrorCode::kUsage, "--resume: needs --out DIR, the folder of the study"};
  }
  if (!folder.empty() && invocation.is_given("explain")) {
    return Error{ErrorCode::kUsage,
                 "--explain: prints one story and writes no files; expected it without --out"};
  }
  SEPTULE_TRY(const StudySettings settings, StudySettings::make(invocation));
  SEPTULE_TRY(const StudyJobs jobs, load_study_jobs(settings));
  if (invocation.is_given("strict")) {
    SEPTULE_TRY_STATUS(interop::check_no_faults(jobs.source_name, jobs.findings));
  }
  SEPTULE_TRY(sim::StudySpec spec, study_spec(settings, jobs, context));
  SEPTULE_TRY(const StudyPredictor predictor, load_study_predictor(settings, spec));
  if (!predictor.warning.empty()) {
    say_warning(predictor.warning);
  }
  predictor.apply(spec.common);
  std::unique_ptr<learn::WindowAgent> agent;
  if (has_policy(spec, "hierarchical-rl")) {
    // Without it (weights may not be built in) that policy plans exactly.
    if (auto made = learn::WindowAgent::builtin(); made) {
      agent = std::move(made).value();
    }
    spec.common.policy_setup.windows.learned = agent.get();
  }
  SEPTULE_TRY(sim::Study study, sim::Study::make(std::move(spec)));
  SEPTULE_TRY_STATUS(check_layout(study, settings));
  SEPTULE_TRY_STATUS(say_unfitting(study, jobs, invocation.is_given("strict")));
  if (const std::string note = models_note(study.spec()); !note.empty()) {
    say_note(note);
  }
  StudyRun how{.threads = thread_count(invocation)};
  FinishedStudy finished{&settings, &jobs, &predictor, &study, {}, {}};
  if (invocation.is_given("explain")) {
    return explain_job(invocation.text("explain"), study, finished, how, context);
  }
  std::unique_ptr<StudyJournal> journal;
  if (!folder.empty()) {
    SEPTULE_TRY_STATUS(prepare_folder(folder, opening));
    SEPTULE_TRY(journal,
                StudyJournal::open(
                    journal_path(folder), study_fingerprint(settings, jobs, predictor), opening));
    how.journal = journal.get();
    how.pictures = Pictures::kRepresentatives;
  }
  if (const auto stopped = run_interruptibly(study, finished, how); !stopped || *stopped != 0) {
    return stopped;
  }
  if (!folder.empty()) {
    SEPTULE_TRY_STATUS(write_study(folder, finished));
  }
  return print_study(finished, folder, context);
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
  options.push_back({.name = "out",
                     .value = "DIR",
                     .text = "Folder for report.html, study.json, runs.csv, jobs.csv, the "
                             "journal of finished runs (trials.jsonl), forecasts.csv of learned "
                             "predictors, and sweep.svg of several gaps.",
                     .completion = CompletionKind::kDirectory});
  options.push_back({.name = "resume",
                     .text = "Go on with the study in --out: runs that are finished are not made "
                             "again."});
  options.push_back({.name = "explain",
                     .value = "JOB",
                     .text =
                         "Tell the story of one job, by name, or as #N by its number in order of "
                         "submission from 0, under the first policy and seed."});
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
           .exit_codes = {0, 1, 2, 3, 4, 7, 130, 143}},
      .run = run_simulate};
}

}  // namespace septule::app
