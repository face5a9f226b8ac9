#include "septule/study_run.hpp"

#include <array>
#include <filesystem>
#include <functional>
#include <system_error>

#include <fmt/format.h>

#include "base/digest.hpp"
#include "base/text.hpp"
#include "report/forecasts.hpp"
#include "report/html_report.hpp"
#include "report/study_csv.hpp"
#include "septule/files.hpp"
#include "septule/study_runner.hpp"
#include "septule/study_sweep.hpp"

namespace septule::app {

namespace {

constexpr std::array<std::string_view, 7> kStudyFiles = {"trials.jsonl",
                                                         "sweep.svg",
                                                         "study.json",
                                                         "runs.csv",
                                                         "jobs.csv",
                                                         "forecasts.csv",
                                                         "report.html"};

/// The rows of every representative run under one heading.
template <typename Rows>
std::string rows_of_all(const report::StudyReport& report, const Rows& rows_of) {
  std::string all;
  for (const report::PolicyReport& policy : report.policies) {
    if (policy.representative) {
      const std::string rows = rows_of(*policy.representative);
      all += all.empty() ? rows : rows.substr(rows.find('\n') + 1);
    }
  }
  return all;
}

constexpr std::string_view kInterrupted = "interrupted";

Result<double> layout_result(const sim::Study& study, std::size_t i, StudyJournal* journal) {
  if (journal != nullptr && journal->layouts().contains(i)) {
    return journal->layouts().at(i);
  }
  SEPTULE_TRY(const double mean_jct_s, study.run_layout_trial(study.layout_trials()[i]));
  if (journal != nullptr) {
    SEPTULE_TRY_STATUS(journal->record_layout(i, mean_jct_s));
  }
  return mean_jct_s;
}

Status run_one(const sim::Study& study,
               FinishedStudy& finished,
               std::size_t i,
               const StudyRun& how) {
  const sim::Trial& trial = study.trials()[i];
  const bool is_known = how.journal != nullptr && how.journal->trials().contains(i);
  const bool has_pictures =
      how.pictures == Pictures::kRepresentatives && study.is_representative(trial);
  if (is_known && !has_pictures) {
    finished.results[i] = how.journal->trials().at(i);
    return {};
  }
  sim::RunRecording recording;
  SEPTULE_TRY(finished.results[i], study.run_trial(trial, has_pictures ? &recording : nullptr));
  if (has_pictures) {
    finished.representatives[i] =
        report::RepresentativeRun{std::move(recording.run), std::move(recording.job_names)};
  }
  if (is_known && how.journal->trials().at(i).digest != finished.results[i].digest) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("trial {} of the journal was made by another program: its digest "
                             "differs; begin the study anew",
                             i)};
  }
  return how.journal != nullptr && !is_known ? how.journal->record_trial(i, finished.results[i])
                                             : Status();
}

/// Does work(i) for each index, until it is done or interrupted.
Status run_all(const std::string& what,
               std::size_t count,
               const StudyRun& how,
               const std::function<Status(std::size_t)>& work) {
  Progress progress(what, count);
  const auto is_interrupted = [&] {
    return how.interruption != nullptr && how.interruption->signal().has_value();
  };
  Status done = run_parallel(count, how.threads, [&](std::size_t i) -> Status {
    if (is_interrupted()) {
      return Error{ErrorCode::kFailed, std::string(kInterrupted)};
    }
    SEPTULE_TRY_STATUS(work(i));
    progress.advance();
    return {};
  });
  if (done || done.error().message != kInterrupted) {
    return done;  // a fault found before the interruption is told
  }
  return Error{ErrorCode::kFailed,
               fmt::format("interrupted after {} of {} {}{}",
                           progress.done(),
                           count,
                           what,
                           how.journal != nullptr ? "; go on with --resume" : "")};
}

}  // namespace

std::uint64_t study_fingerprint(const StudySettings& settings,
                                const StudyJobs& jobs,
                                const StudyPredictor& predictor) {
  Digest digest;
  digest.add(version());
  for (const auto& [name, text] : settings.all()) {
    digest.add(name);
    digest.add(text);
  }
  digest.add(jobs.digest);
  digest.add(predictor.digest);
  return digest.value();
}

Status choose_layouts(sim::Study& study, const StudyRun& how) {
  const auto trials = study.layout_trials();
  std::vector<double> mean_jct_s(trials.size());
  const Status done = run_all("layout runs", trials.size(), how, [&](std::size_t i) -> Status {
    SEPTULE_TRY(mean_jct_s[i], layout_result(study, i, how.journal));
    return {};
  });
  if (done) {
    study.choose_layouts(mean_jct_s);
  }
  return done;
}

Status run_study(sim::Study& study, FinishedStudy& finished, const StudyRun& how) {
  SEPTULE_TRY_STATUS(choose_layouts(study, how));
  const std::size_t count = study.trials().size();
  finished.results.resize(count);
  finished.representatives.resize(count);
  return run_all(
      "runs", count, how, [&](std::size_t i) { return run_one(study, finished, i, how); });
}

std::string journal_path(const std::string& folder) {
  return (std::filesystem::path(folder) / "trials.jsonl").string();
}

Status prepare_folder(const std::string& folder, StudyJournal::Opening opening) {
  std::error_code fault;
  std::filesystem::create_directories(folder, fault);
  if (fault || !std::filesystem::is_directory(folder, fault)) {
    return Error{ErrorCode::kFailed,
                 fmt::format("--out: folder {} cannot be made{}",
                             quoted_for_message(folder),
                             fault ? ": " + fault.message() : std::string())};
  }
  if (opening == StudyJournal::Opening::kResume) {
    return {};
  }
  for (const std::string_view name : kStudyFiles) {
    if (std::filesystem::exists(std::filesystem::path(folder) / name, fault)) {
      return Error{
          ErrorCode::kUsage,
          fmt::format("--out: {} holds a study already ({}); go on with it by --resume, or "
                      "choose another folder",
                      quoted_for_message(folder),
                      name)};
    }
  }
  return {};
}

Status write_study(const std::string& folder, const FinishedStudy& finished) {
  const report::StudyReport report = study_report(finished);
  const auto path = [&](std::string_view name) {
    return (std::filesystem::path(folder) / name).string();
  };
  const auto document = study_document(finished).dump(
      2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  SEPTULE_TRY_STATUS(write_file(path("study.json"), document + "\n"));
  SEPTULE_TRY_STATUS(write_file(path("runs.csv"), report::runs_csv(report)));
  SEPTULE_TRY_STATUS(write_file(path("jobs.csv"), rows_of_all(report, report::jobs_csv)));
  if (report::has_forecasts(report)) {
    SEPTULE_TRY_STATUS(
        write_file(path("forecasts.csv"), rows_of_all(report, report::forecasts_csv)));
  }
  if (const std::string sweep = sweep_drawing(finished); !sweep.empty()) {
    SEPTULE_TRY_STATUS(write_file(path("sweep.svg"), sweep));
  }
  return write_file(path("report.html"), report::html_report(report));
}

}  // namespace septule::app
