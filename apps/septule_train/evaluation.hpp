#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "gpu/geometry.hpp"
#include "learn_train/judgement.hpp"
#include "septule_train/run_spec.hpp"
#include "septule_train/training.hpp"

namespace septule::train_app {

/// How a predictor did by job mix, folds pooled; a judgement for each seed (one for baselines).
struct MixFigures {
  std::string name;
  std::vector<learn_train::Judgement> seeds;
  /// Mean absolute error of all cells in the epoch that was best on the scored fold, folds pooled;
  /// by seed. Only for comparison with the literature: such a choice is not honest.
  std::vector<double> best_epoch;
};
/// How a predictor did on families it never saw; a judgement for each family and seed.
struct FamilyFigures {
  std::string name;
  std::map<std::string, std::vector<learn_train::Judgement>> families;
};
/// All figures of one evaluation. A plain value.
struct Evaluation {
  std::vector<MixFigures> by_mix;
  std::vector<FamilyFigures> by_family;
  std::vector<int> folds;  ///< those that are in `by_mix`
};

/// What is to be judged.
struct EvaluationPlan {
  enum class Training { kAllowed, kNone };  ///< kNone: only what is finished in `runs` counts

  std::vector<RunSpec> specs;  ///< each with a part left out
  std::string runs;            ///< folder of weights; empty = none are kept
  Training training = Training::kAllowed;
};

/// The trainings of `septule train predictor --evaluate`: every fold and family, `seeds` seeds.
std::vector<RunSpec> evaluation_specs(const learn_train::TrainingData& data,
                                      const std::vector<Model>& models,
                                      std::uint64_t seed,
                                      int seeds);

/// Trains what is not there yet and judges all of it, and the baselines on the same parts. Nothing
/// if a training is missing and none is allowed.
Result<std::optional<Evaluation>> evaluate(const EvaluationPlan& plan,
                                           const Session& session,
                                           const gpu::Geometry& geometry);

/// The headline figures of one model, for the recipe of shipped weights.
std::map<std::string, double> recipe_metrics(const MixFigures& figures);

}  // namespace septule::train_app
