#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "learn_train/decision_loss.hpp"
#include "learn_train/scores.hpp"
#include "learn_train/training_data.hpp"

namespace septule::learn_train {

/// How a predictor did on rows that it was not trained on. Pooled over folds by add(). A plain
/// value.
struct Judgement {
  ErrorSums errors;           ///< the fillers' columns as they were measured
  ErrorSums without_fillers;  ///< the fillers' columns left empty (real jobs only)
  /// The same of a predictor that is told the smallest slice in which each job fits, where it says
  /// how sure it is.
  ErrorSums informed;
  ErrorSums informed_without_fillers;
  /// Losses of decisions, as DecisionJudge says: fillers as measured or left empty; with
  /// `_informed` the predictor is told the smallest slice in which each job fits, as it is in use.
  std::vector<double> losses;
  std::vector<double> losses_informed;
  std::vector<double> losses_without_fillers;
  std::vector<double> losses_informed_without_fillers;

  void add(const Judgement& other);
};

/// What a predictor says of a row, given so much of it.
using Estimator = std::function<Result<predict::SlicePredictions>(const TrainingRow& row,
                                                                  const MatrixContents& contents)>;

/// On what a predictor is judged.
struct JudgementScope {
  enum class Permutations { kFirst, kAll };
  std::span<const int> rows;
  /// kFirst for predictors to which the order of columns means nothing: a fifth of the work.
  /// Decisions are judged on the first permutation of each measurement always.
  Permutations permutations = Permutations::kFirst;
  Spread spread = Spread::kNone;
  std::string family;  ///< only its columns' errors, and no decisions; empty = all
  MatrixContents::Part counters = MatrixContents::Part::kHidden;
  /// Some baselines take in the filler's columns as they were measured and nothing else.
  enum class Modes { kMeasuredOnly, kBoth };
  Modes modes = Modes::kBoth;
};

/// Fails as `estimate` does.
Result<Judgement> judge(const TrainingData& data,
                        const DecisionJudge& decisions,
                        const Estimator& estimate,
                        const JudgementScope& scope);

}  // namespace septule::learn_train
