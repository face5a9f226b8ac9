#pragma once

#include <array>
#include <optional>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "learn_train/training_data.hpp"
#include "optimize/slice_assignment.hpp"
#include "predict/slice_prediction.hpp"

namespace septule::learn_train {

/// What a wrong prediction costs (miso.md 12.3): total true speed of the layout chosen from
/// predictions against the best there is. All layouts of the GPU, idle instances allowed; truth =
/// profiles.csv; whether a job fits is given, not predicted. Immutable; any thread may call.
class DecisionJudge {
 public:
  /// For a seven-slice GPU ("A100-40GB", on which the data was measured). Fails if it has no plain
  /// profile of 7, 4, 3, 2 or 1 compute slices. `geometry` must outlive the judge.
  static Result<DecisionJudge> make(const gpu::Geometry& geometry);

  /// Share of the best total speed that is lost, in 0..1. Nothing for fewer than two real jobs, a
  /// mix that no layout serves, or an estimate that is missing for a real job.
  std::optional<double> loss(const TrainingData& data,
                             const TrainingRow& row,
                             const predict::SlicePredictions& estimates) const;

 private:
  DecisionJudge(optimize::SliceAssigner assigner,
                std::array<ProfileIndex, predict::kSlices> profiles);

  optimize::SliceAssigner assigner_;
  std::array<ProfileIndex, predict::kSlices> profiles_;
};

}  // namespace septule::learn_train
