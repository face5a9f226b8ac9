#include "learn_train/decision_loss.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "optimize/speed_matrix.hpp"
#include "plan/objective.hpp"

namespace septule::learn_train {

namespace {

// Speeds below or above are as good as these (SpeedMatrix takes no others).
constexpr double kLeast = 1e-3;
constexpr double kMost = 10;

using Speeds = std::array<std::optional<double>, predict::kSlices>;

}  // namespace

DecisionJudge::DecisionJudge(optimize::SliceAssigner assigner,
                             std::array<ProfileIndex, predict::kSlices> profiles)
    : assigner_(std::move(assigner)), profiles_(profiles) {}

Result<DecisionJudge> DecisionJudge::make(const gpu::Geometry& geometry) {
  std::array<ProfileIndex, predict::kSlices> profiles;
  for (std::size_t slice = 0; slice < predict::kSlices; ++slice) {
    const auto profile = geometry.plain_profile(ComputeSlices(predict::kSliceComputeSlices[slice]));
    if (!profile) {
      return Error{ErrorCode::kNotFound,
                   fmt::format("{} has no plain profile of {} compute slices",
                               geometry.key(),
                               predict::kSliceComputeSlices[slice])};
    }
    profiles[slice] = *profile;
  }
  SEPTULE_TRY(optimize::SliceAssigner assigner, optimize::SliceAssigner::make(geometry, {}));
  return DecisionJudge(std::move(assigner), profiles);
}

std::optional<double> DecisionJudge::loss(const TrainingData& data,
                                          const TrainingRow& row,
                                          const predict::SlicePredictions& estimates) const {
  std::vector<Speeds> truth;
  std::vector<Speeds> belief;
  for (std::size_t column = 0; column < kColumns; ++column) {
    const JobClass& job = data.classes[static_cast<std::size_t>(row.classes[column])];
    if (job.is_dummy) {
      continue;
    }
    const std::optional<predict::SlicePrediction>& estimate = estimates[column];
    if (!estimate) {
      return std::nullopt;
    }
    truth.push_back(job.speed);
    Speeds& believed = belief.emplace_back();
    for (std::size_t slice = 0; slice < predict::kSlices; ++slice) {
      if (job.speed[slice]) {
        believed[slice] = std::clamp(estimate->speed[slice], kLeast, kMost);
      }
    }
  }
  if (truth.size() < 2) {
    return std::nullopt;
  }
  const auto solve = [&](const std::vector<Speeds>& speeds) {
    optimize::SpeedMatrix matrix(static_cast<int>(speeds.size()));
    for (std::size_t job = 0; job < speeds.size(); ++job) {
      for (std::size_t slice = 0; slice < predict::kSlices; ++slice) {
        const bool is_set = matrix.set_speed(
            static_cast<int>(job), profiles_[slice], speeds[job][slice].value_or(0));
        SEPTULE_CHECK(is_set, "speeds are kept in the range that a speed matrix takes");
      }
    }
    optimize::SliceAssignment assignment;
    assigner_.solve(matrix, plan::ObjectiveKind::kSumOfSpeeds, assignment);
    return assignment;
  };
  const optimize::SliceAssignment best = solve(truth);
  if (!best.is_feasible()) {
    return std::nullopt;
  }
  const optimize::SliceAssignment chosen = solve(belief);
  SEPTULE_CHECK(chosen.is_feasible(), "predictions change speeds, not what fits");
  double realised = 0;
  for (std::size_t job = 0; job < truth.size(); ++job) {
    const ProfileIndex profile = chosen.slots[job].placed.profile;
    const auto slice =
        static_cast<std::size_t>(std::ranges::find(profiles_, profile) - profiles_.begin());
    realised += checked_value(truth[job][slice], "a job runs only where it fits");
  }
  // Speeds are compared in multiples of 1e-9; what is left of that is no loss.
  return std::max(0.0, 1 - realised / best.objective);
}

}  // namespace septule::learn_train
