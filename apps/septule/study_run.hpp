#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "septule/interruption.hpp"
#include "septule/study_document.hpp"
#include "septule/study_journal.hpp"

namespace septule::app {

/// Of all that the results of a study depend on, so that runs of one are not taken for another's.
std::uint64_t study_fingerprint(const StudySettings& settings,
                                const StudyJobs& jobs,
                                const StudyPredictor& predictor);

enum class Pictures { kNone, kRepresentatives };

/// How a study is run. `journal` and `interruption` may be null.
struct StudyRun {
  int threads = 1;
  Pictures pictures = Pictures::kNone;
  StudyJournal* journal = nullptr;
  const Interruption* interruption = nullptr;
};

/// Makes the runs on which layouts are chosen, and chooses. kFailed if it was interrupted.
Status choose_layouts(sim::Study& study, const StudyRun& how);

/// Chooses layouts and runs what the journal does not hold yet. Representative runs are always made
/// anew when pictures are wanted: their timelines are in no journal. kFailed, saying how far it
/// was, if it was interrupted: what is under way then is finished first.
Status run_study(sim::Study& study, FinishedStudy& finished, const StudyRun& how);

/// The folder of --out. Makes it if needed. kUsage if it holds a study and is not to be resumed.
Status prepare_folder(const std::string& folder, StudyJournal::Opening opening);
std::string journal_path(const std::string& folder);
/// study.json, runs.csv, jobs.csv, report.html, and sweep.svg of a study of several gaps.
Status write_study(const std::string& folder, const FinishedStudy& finished);

}  // namespace septule::app
