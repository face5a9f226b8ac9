#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "learn_train/training_data.hpp"
#include "predict/slice_prediction.hpp"

namespace septule::learn_train {

/// Whether a model says how sure it is.
enum class Spread { kNone, kGiven };

/// A mean that can be pooled. A plain value.
struct MeanSum {
  double total = 0;
  long count = 0;

  void add(double value) {
    total += value;
    ++count;
  }
  void add(const MeanSum& other) {
    total += other.total;
    count += other.count;
  }
  /// Nothing without any value.
  std::optional<double> mean() const;
};

/// Mean absolute errors as miso.md section 11 reports them. Times are normalised step times, speeds
/// relative to 7g. Pooled over folds by add(). A plain value.
struct ErrorSums {
  MeanSum all;                                  ///< the 21 cells of a row
  MeanSum real;                                 ///< the cells of real jobs
  MeanSum dummy;                                ///< the cells of the filler
  std::array<MeanSum, kTargetSlices> time;      ///< real jobs on 7g, 4g, 3g
  std::array<MeanSum, predict::kSlices> speed;  ///< real jobs on slices where they fit
  MeanSum within_one_sd;                        ///< speeds on 4g to 1g: share within one sd
  MeanSum within_two_sd;                        ///< and within two

  void add(const ErrorSums& other);
};

/// Of which columns errors are counted.
struct ScoreScope {
  Spread spread = Spread::kNone;
  std::string_view family = {};  ///< empty = all columns
};

/// Errors of one row's estimates. A column without an estimate is not counted, and a row of which
/// not all columns are counted does not count towards `all`.
ErrorSums score_row(const TrainingData& data,
                    const TrainingRow& row,
                    const predict::SlicePredictions& estimates,
                    const ScoreScope& scope);

/// Mean, 95th percentile (linear between order statistics) and largest of some losses.
struct LossSummary {
  double mean = 0;
  double p95 = 0;
  double max = 0;
  int count = 0;
};
/// Nothing for no loss.
std::optional<LossSummary> summarise(std::vector<double> losses);

}  // namespace septule::learn_train
