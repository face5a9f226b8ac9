#include "predict/slice_limits.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "predict/signature_model.hpp"

namespace septule::predict {

namespace {

/// The place that a slice's figures are about: 7g is the whole GPU with MIG off (miso.md 2.2).
std::optional<ProfileIndex> place_of(const SliceLimitsQuestion& question, std::size_t slice) {
  return slice == 0 ? std::nullopt : std::optional(question.profiles[slice]);
}

std::vector<MeasuredStep> measured_steps(const MpsMatrix& matrix, std::size_t column) {
  std::vector<MeasuredStep> steps;
  for (const MpsMatrix::Level& level : matrix.levels) {
    if (level.step[column].has_value()) {
      steps.push_back(
          {.profile = std::nullopt, .atp = level.atp, .step = level.step[column].value_or(0)});
    }
  }
  return steps;
}

/// A speed is one step on the whole GPU over one on the slice.
std::vector<MeasuredStep> predicted_steps(const SlicePrediction& prediction,
                                          const SliceLimitsQuestion& question) {
  constexpr double kSpeedMin = 1e-3;
  std::vector<MeasuredStep> steps;
  for (std::size_t i = 0; i < kSlices; ++i) {
    if (i == 0 || question.is_open[i]) {
      steps.push_back({.profile = place_of(question, i),
                       .atp = ActiveThreadPercentage(100),
                       .step = 1 / std::max(prediction.speed[i], kSpeedMin)});
    }
  }
  return steps;
}

}  // namespace

Result<SliceLimits> slice_limits(const gpu::Geometry& geometry,
                                 const MpsMatrix& matrix,
                                 const SlicePrediction& prediction,
                                 const SliceLimitsQuestion& question) {
  SEPTULE_CHECK(matrix.is_present(question.column), "only jobs that are there are explained");
  SliceLimits limits;
  limits.is_measured = matrix.present_count() == 1;
  const std::vector<MeasuredStep> steps = limits.is_measured
                                              ? measured_steps(matrix, question.column)
                                              : predicted_steps(prediction, question);
  limits.point_count = steps.size();
  SignatureOptions options;
  options.solo.counters = matrix.counters[question.column];
  SEPTULE_TRY(const SignatureModel model, SignatureModel::fit(geometry, steps, options));
  for (std::size_t i = 0; i < kSlices; ++i) {
    if (!question.is_open[i]) {
      continue;
    }
    const SignatureClient alone{.model = &model};
    SEPTULE_TRY(const std::vector<ShareBelief> beliefs,
                predict_sharing({.gpu = &geometry, .profile = place_of(question, i)}, {&alone, 1}));
    limits.shares[i] = beliefs.front().limits;
  }
  return limits;
}

}  // namespace septule::predict
