#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "report/study.hpp"
#include "septule/study_inputs.hpp"
#include "septule/study_options.hpp"
#include "septule/study_predictor.hpp"
#include "sim/study.hpp"

namespace septule::app {

/// A study that has been run: one result per trial, in order, and the whole record of those runs
/// that stand for their policies in pictures.
struct FinishedStudy {
  const StudySettings* settings = nullptr;
  const StudyJobs* jobs = nullptr;
  const StudyPredictor* predictor = nullptr;
  const sim::Study* study = nullptr;
  std::vector<sim::TrialResult> results;
  std::vector<std::optional<report::RepresentativeRun>> representatives;  ///< by trial
};

/// The study as the report layer has it. With several clusters or gaps a policy occurs once for
/// each, and is compared with the first policy of the first cluster at the same gap: arrivals are
/// equal there.
report::StudyReport study_report(const FinishedStudy& finished);

/// What a comparison of clusters of different models leaves out, as half a sentence; empty if all
/// are of one model.
std::string models_note(const sim::StudySpec& spec);

/// {"schema": "septule-study/1", ...}, docs/formats.md.
nlohmann::ordered_json study_document(const FinishedStudy& finished);

}  // namespace septule::app
