#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "interop/mps_measurements.hpp"
#include "learn/weights_file.hpp"
#include "optimize/layout_confidence.hpp"
#include "optimize/predicted_speeds.hpp"
#include "plan/plan.hpp"
#include "predict/slice_limits.hpp"
#include "predict/slice_prediction.hpp"
#include "septule/app.hpp"

namespace septule::app {

/// Of the intervals that are shown; kIntervalSds standard deviations either side (normal law).
inline constexpr double kIntervalCoverage = 0.9;
inline constexpr double kIntervalSds = 1.6449;

/// The network that predicts, and where it comes from. One owner.
struct LoadedModel {
  std::unique_ptr<predict::SliceModel> model;
  std::string source;  ///< "built in" or the path of --weights
  learn::TrainingRecipe recipe;
  bool has_counters = false;  ///< it looks at the four counters of a job, if it has all of them
  bool is_regressed = false;  ///< 2g and 1g by regression (--regression)

  /// What the model believes; 2g and 1g replaced with --regression.
  Result<predict::SlicePredictions> predict(const predict::MpsMatrix& matrix) const;
};

/// --model, --weights and --regression: loads and names what is wrong.
std::vector<OptionRecord> predict_model_options();
Result<LoadedModel> load_model(const Invocation& invocation);

/// What is predicted of one co-run, and the layout that follows. A plain value.
struct PredictedRun {
  std::string name;           ///< of the run; empty where it has none
  predict::MpsMatrix matrix;  ///< what was measured; column i is job i
  std::vector<optimize::PredictedJob> jobs;
  std::vector<optimize::SliceFits> fits;  ///< by job
  /// By job, for those of --explain.
  std::vector<std::optional<predict::SliceLimits>> limits;
  std::vector<plan::JobSpeeds> speeds;  ///< by job, as the optimizer got them
  plan::Plan plan;
  optimize::ConfidenceOptions drawn;
  std::optional<optimize::LayoutConfidence> confidence;  ///< nothing if no layout is feasible
};

/// Predicts a run and finds the layout that is best for the expected speeds (sum; every legal
/// layout of plain profiles). Fails as the model does, naming the run.
Result<PredictedRun> predict_run(const interop::MpsRun& run,
                                 const LoadedModel& model,
                                 const gpu::Geometry& geometry,
                                 const optimize::SliceProfiles& profiles);

/// Adds what limits the jobs of this name ("all": every job) in all runs. Fails with kNotFound,
/// naming the jobs there are, if there is none.
Status explain_runs(std::span<PredictedRun> runs,
                    const std::string& name,
                    const gpu::Geometry& geometry,
                    const optimize::SliceProfiles& profiles);

}  // namespace septule::app
