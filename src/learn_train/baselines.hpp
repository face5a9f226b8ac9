#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "learn_train/training_data.hpp"
#include "predict/slice_prediction.hpp"

namespace septule::learn_train {

/// A simple predictor that a network must beat, fitted to some rows. Untuned on purpose. Immutable;
/// any thread may call. `estimate` reads a row's input (and classes only where it says so).
class Baseline {
 public:
  Baseline() = default;
  Baseline(const Baseline&) = delete;
  Baseline& operator=(const Baseline&) = delete;
  virtual ~Baseline() = default;

  virtual std::string_view name() const = 0;
  virtual predict::SlicePredictions estimate(const TrainingRow& row) const = 0;
};

/// Rows a baseline learns from, and the classes whose figures it may know.
struct BaselineInput {
  const TrainingData* data = nullptr;  ///< not null; must outlive the baselines
  std::vector<int> rows;
  std::vector<int> classes;
};

/// "mean": of each cell; "mean of jobs": per slice, over real jobs; "nearest level": the time at
/// 100 % for 7g, at 50 % for 4g and 3g; "ridge": 21 cells to 21 cells; "kNN-9": nine nearest
/// columns by own times and the mean of the other six; "true + regression": knows 7g, 4g and 3g. 2g
/// and 1g come from the regression of miso.md 3.5, except for the means and kNN-9, which predict
/// them.
Result<std::vector<std::unique_ptr<Baseline>>> fit_baselines(const BaselineInput& input);

}  // namespace septule::learn_train
