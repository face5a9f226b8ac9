#include "septule/predict_run.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "learn/slice_models.hpp"
#include "optimize/assign_slices.hpp"
#include "plan/plan_checker.hpp"
#include "predict/regressed_prediction.hpp"
#include "septule/files.hpp"
#include "septule/inputs.hpp"

namespace septule::app {

Result<predict::SlicePredictions> LoadedModel::predict(const predict::MpsMatrix& matrix) const {
  SEPTULE_TRY(predict::SlicePredictions predictions, model->predict(matrix));
  if (is_regressed) {
    for (std::optional<predict::SlicePrediction>& prediction : predictions) {
      if (prediction.has_value()) {
        prediction = predict::regressed(*prediction, predict::kMisoRegression);
      }
    }
  }
  return predictions;
}

std::vector<OptionRecord> predict_model_options() {
  return {{.name = "model",
           .short_name = 'm',
           .value = "NAME",
           .text = "Which built-in network predicts: ours (all five slices; of "
                   "other percentages, those that enclose 100, 50 or 14 % count), unet (the MISO "
                   "paper's: exactly 100, 50 and 14 %).",
           .default_text = "ours",
           .choices = {"ours", "unet"}},
          {.name = "weights",
           .short_name = 'w',
           .value = "FILE",
           .text = "Weights of your own, written by septule train predictor, instead of built-in "
                   "ones.",
           .completion = CompletionKind::kFile},
          {.name = "regression",
           .text = "Take 2g and 1g from 4g and 3g by the paper's linear regression, not from the "
                   "network."}};
}

Result<LoadedModel> load_model(const Invocation& invocation) {
  LoadedModel loaded;
  loaded.is_regressed = invocation.is_given("regression");
  learn::NetworkWeights weights;
  if (invocation.is_given("weights")) {
    const std::string path = invocation.text("weights");
    SEPTULE_TRY(const std::string bytes, read_input(path, learn::kWeightsBytesMax));
    SEPTULE_TRY(weights, learn::parse_weights(bytes, source_name_of(path)));
    loaded.source = source_name_of(path);
  } else {
    SEPTULE_TRY(weights, learn::builtin_weights(invocation.text("model")));
    loaded.source = "built in";
  }
  SEPTULE_TRY(loaded.model, learn::make_slice_model(weights));
  if (invocation.is_given("weights") && invocation.is_given("model") &&
      loaded.model->name() != invocation.text("model")) {
    return Error{ErrorCode::kUsage,
                 fmt::format("--model {}: the file of --weights holds {}; leave --model out",
                             invocation.text("model"),
                             loaded.model->name())};
  }
  const auto counters = weights.settings.find("counters");
  loaded.has_counters = counters != weights.settings.end() && counters->second == 1;
  loaded.recipe = std::move(weights.recipe);
  return loaded;
}

namespace {

/// The matrix with the smallest slice that each job's declared memory fits, which narrows what a
/// network believes of it. Only on the GPU model that the network knows: elsewhere equal slices
/// have other memory.
predict::MpsMatrix matrix_with_fits(const interop::MpsRun& run,
                                    const gpu::Geometry& geometry,
                                    const optimize::SliceProfiles& profiles) {
  predict::MpsMatrix matrix = run.matrix;
  if (geometry.key() != learn::kTrainedGpu) {
    return matrix;
  }
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    const optimize::SliceFits fits = optimize::slice_fits(
        geometry, profiles, {.memory = run.jobs[j].memory, .smallest = run.jobs[j].smallest});
    for (std::size_t i = 0; i < predict::kSlices; ++i) {
      if (fits[i] == optimize::MemoryFit::kFits) {  // slices come from the largest
        matrix.smallest[j] = ComputeSlices(predict::kSliceComputeSlices[i]);
      }
    }
  }
  return matrix;
}

/// What a model says of a matrix, whose columns it counts from 1, with the names of run and jobs.
std::string with_names(std::string message, const interop::MpsRun& run) {
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    const std::string column = fmt::format("column {} ", j + 1);
    if (const std::size_t at = message.find(column); at != std::string::npos) {
      message.replace(
          at, column.size(), fmt::format("job {} ", quoted_for_message(run.jobs[j].name)));
      break;
    }
  }
  return (run.name.empty() ? "" : fmt::format("run {}: ", quoted_for_message(run.name))) + message;
}

}  // namespace

Result<PredictedRun> predict_run(const interop::MpsRun& run,
                                 const LoadedModel& model,
                                 const gpu::Geometry& geometry,
                                 const optimize::SliceProfiles& profiles) {
  const auto predictions = model.predict(matrix_with_fits(run, geometry, profiles));
  if (!predictions) {
    return Error{predictions.error().code, with_names(predictions.error().message, run)};
  }
  PredictedRun result{.name = run.name, .matrix = run.matrix};
  for (std::size_t i = 0; i < run.jobs.size(); ++i) {
    const interop::MeasuredJob& job = run.jobs[i];
    result.jobs.push_back({.name = job.name,
                           .memory = job.memory,
                           .smallest = job.smallest,
                           .prediction = checked_value(
                               (*predictions)[i], "a model predicts every job that is there")});
    result.fits.push_back(optimize::slice_fits(geometry, profiles, result.jobs.back()));
    result.speeds.push_back(optimize::expected_speeds(geometry, profiles, result.jobs.back()));
  }
  SEPTULE_TRY(result.plan, optimize::assign_slices(geometry, result.speeds, {}));
  const auto violations = plan::check_plan(result.plan, result.speeds, {});
  SEPTULE_CHECK(!result.plan.is_feasible || violations.empty(),
                "the plan passes the independent checker");
  result.limits.resize(result.jobs.size());
  result.drawn.coverage = kIntervalCoverage;
  SEPTULE_TRY(result.confidence,
              optimize::layout_confidence(geometry, profiles, result.jobs, result.drawn));
  return result;
}

Status explain_runs(std::span<PredictedRun> runs,
                    const std::string& name,
                    const gpu::Geometry& geometry,
                    const optimize::SliceProfiles& profiles) {
  std::vector<std::string> names;
  bool is_found = false;
  for (PredictedRun& run : runs) {
    for (std::size_t j = 0; j < run.jobs.size(); ++j) {
      names.push_back(run.jobs[j].name);
      if (name != "all" && name != run.jobs[j].name) {
        continue;
      }
      is_found = true;
      predict::SliceLimitsQuestion question{.profiles = profiles, .column = j};
      for (std::size_t i = 0; i < predict::kSlices; ++i) {
        question.is_open[i] = optimize::may_be_used(run.fits[j][i]);
      }
      SEPTULE_TRY(run.limits[j],
                  predict::slice_limits(geometry, run.matrix, run.jobs[j].prediction, question));
    }
  }
  if (is_found) {
    return {};
  }
  const std::vector<std::string> near = nearest_names(name, names, 1);
  return Error{ErrorCode::kNotFound,
               fmt::format("--explain: no job is called {}{}; give one of them, or all",
                           quoted_for_message(name),
                           near.empty() ? "" : "; the nearest is " + near.front())};
}

}  // namespace septule::app
