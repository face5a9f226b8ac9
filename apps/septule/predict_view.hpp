#pragma once

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "septule/predict_run.hpp"

namespace septule::app {

/// Everything that one call of predict shows. Borrows; must not outlive what it was made of.
struct PredictView {
  const std::string& source_name;
  const LoadedModel& model;
  const gpu::Geometry& geometry;
  const optimize::SliceProfiles& profiles;
  std::span<const PredictedRun> runs;
};

/// "septule-predict/1" (docs/output.md).
nlohmann::ordered_json predict_document(const PredictView& view);
/// A row for each job and slice (docs/formats.md, "Predicted speeds").
std::string predict_csv(const PredictView& view);
/// For people.
std::string predict_text(const PredictView& view);

}  // namespace septule::app
