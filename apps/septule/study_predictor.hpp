#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "septule/study_options.hpp"
#include "sim/cluster_sim.hpp"
#include "sim/study.hpp"

namespace septule::app {

/// What policies that predict believe in a study, and the instruments that tell them. Both are null
/// for the table. Outlives the study.
struct StudyPredictor {
  std::unique_ptr<sim::PredictorFactory> factory;
  std::unique_ptr<sim::MpsMeasurementSource> measurements;
  std::string text;  ///< for reports: "ours (built in)"; empty for the table
  /// Why its errors are not those of docs/predict.md, a sentence each: what measurements are, what
  /// it was trained on.
  std::vector<std::string> cautions;
  /// That it has seen what it is told: its errors look too small. Empty if it has not.
  std::string warning;
  std::uint64_t digest = 0;  ///< of the files it was made from

  bool is_learned() const { return factory != nullptr; }
  /// Enters it into a study's common set-up.
  void apply(sim::SimSetup& common) const {
    common.predictors = factory.get();
    common.measurements = measurements.get();
  }
};

/// Whether a policy of the study predicts, so that it believes a learned predictor if there is one.
bool has_predicting_policy(const sim::StudySpec& spec);

/// Reads weights and measured columns as --predictor, --mps-data and --mps-fold say. Fails, naming
/// the setting, for files that are none, settings that do not go together, and levels of
/// characterisation runs (of `common`) or GPU models (of `spec`) that the model does not know.
Result<StudyPredictor> load_study_predictor(const StudySettings& settings,
                                            const sim::StudySpec& spec);

}  // namespace septule::app
