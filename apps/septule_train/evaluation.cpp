#include "septule_train/evaluation.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "learn/slice_models.hpp"
#include "learn_train/baselines.hpp"

namespace septule::train_app {

namespace {

using learn_train::Judgement;
using learn_train::JudgementScope;
using learn_train::MatrixContents;
using learn_train::TrainingRow;

class Evaluator {
 public:
  Evaluator(const EvaluationPlan& plan, const Session& session, learn_train::DecisionJudge judge)
      : plan_(plan), session_(session), judge_(std::move(judge)) {}

  Result<std::optional<Evaluation>> run() {
    for (const RunSpec& spec : plan_.specs) {
      SEPTULE_TRY(const std::optional<learn::NetworkWeights> weights, weights_of(spec));
      if (!weights) {
        return std::optional<Evaluation>();
      }
      SEPTULE_TRY(const Judgement judgement, judge_weights(spec, *weights));
      keep(spec, *weights, judgement);
    }
    for (auto& [name, best] : best_sums_) {
      mix(name.first).best_epoch.push_back(best.mean().value_or(0));
    }
    SEPTULE_TRY_STATUS(judge_baselines());
    evaluation_.folds.assign(folds_.begin(), folds_.end());
    return std::optional(std::move(evaluation_));
  }

 private:
  Result<std::optional<learn::NetworkWeights>> weights_of(const RunSpec& spec) const {
    const std::string path =
        plan_.runs.empty() ? "" : fmt::format("{}/{}.septule-weights", plan_.runs, spec.name());
    if (plan_.training == EvaluationPlan::Training::kNone) {
      return finished(spec, session_, path);
    }
    SEPTULE_TRY(learn::NetworkWeights weights, train(spec, session_, path));
    return std::optional(std::move(weights));
  }

  Result<Judgement> judge_weights(const RunSpec& spec, const learn::NetworkWeights& weights) const {
    const learn_train::TrainingData& data = *session_.data;
    const learn_train::TrainingSplit split = split_of(data, spec);
    JudgementScope scope{.rows = split.scored, .spread = learn_train::Spread::kGiven};
    scope.family = spec.family;
    if (spec.counters == RunSpec::Counters::kShown) {
      scope.counters = MatrixContents::Part::kShown;
    }
    if (spec.model == Model::kUnet) {
      scope.permutations = JudgementScope::Permutations::kAll;
    }
    SEPTULE_TRY(const auto model, learn::make_slice_model(weights));
    return learn_train::judge(
        data,
        judge_,
        [&](const TrainingRow& row, const MatrixContents& contents) {
          return model->predict(learn_train::matrix_of(data, row, contents));
        },
        scope);
  }

  void keep(const RunSpec& spec, const learn::NetworkWeights& weights, const Judgement& judgement) {
    const std::string name =
        model_name(spec.model) + (spec.counters == RunSpec::Counters::kShown ? " + counters" : "");
    if (spec.left_out == RunSpec::Part::kFamily) {
      families_.insert(spec.family);
      family(name).families[spec.family].push_back(judgement);
      return;
    }
    folds_.insert(spec.fold);
    MixFigures& figures = mix(name);
    const auto [at, is_new] = seed_index_.try_emplace({name, spec.seed}, figures.seeds.size());
    if (is_new) {
      figures.seeds.emplace_back();
    }
    figures.seeds[at->second].add(judgement);
    const auto best = weights.recipe.metrics.find(kBestEpochError);
    if (best != weights.recipe.metrics.end()) {
      learn_train::MeanSum& sum = best_sums_[{name, spec.seed}];
      const auto rows = static_cast<long>(split_of(*session_.data, spec).scored.size());
      sum.add({.total = best->second * static_cast<double>(rows), .count = rows});
    }
  }

  /// Baselines learn from all that is not scored.
  Result<std::vector<std::unique_ptr<learn_train::Baseline>>> baselines_without(
      const learn_train::TrainingSplit& split, const std::string& family) const {
    learn_train::BaselineInput input;
    input.data = session_.data;
    input.rows = split.train;
    input.rows.insert(input.rows.end(), split.validate.begin(), split.validate.end());
    for (std::size_t i = 0; i < session_.data->classes.size(); ++i) {
      if (family.empty() || session_.data->classes[i].model != family) {
        input.classes.push_back(static_cast<int>(i));
      }
    }
    return learn_train::fit_baselines(input);
  }

  Result<Judgement> judge_baseline(const learn_train::Baseline& baseline,
                                   const JudgementScope& scope) const {
    return learn_train::judge(
        *session_.data,
        judge_,
        [&](const TrainingRow& row, const MatrixContents&) -> Result<predict::SlicePredictions> {
          return baseline.estimate(row);
        },
        scope);
  }

  Status judge_baselines() {
    for (const int fold : folds_) {
      const auto split = learn_train::split_by_mix(*session_.data, fold);
      SEPTULE_TRY(const auto baselines, baselines_without(split, ""));
      for (const auto& baseline : baselines) {
        JudgementScope scope{.rows = split.scored,
                             .permutations = baseline->name() == "kNN-9"
                                                 ? JudgementScope::Permutations::kFirst
                                                 : JudgementScope::Permutations::kAll};
        scope.modes = JudgementScope::Modes::kMeasuredOnly;
        SEPTULE_TRY(const Judgement judgement, judge_baseline(*baseline, scope));
        MixFigures& figures = mix(std::string(baseline->name()));
        figures.seeds.resize(1);
        figures.seeds[0].add(judgement);
      }
    }
    for (const std::string& name : families_) {
      const auto split = learn_train::split_by_family(*session_.data, name);
      SEPTULE_TRY(const auto baselines, baselines_without(split, name));
      for (const auto& baseline : baselines) {
        if (baseline->name() == "true + regression") {
          continue;  // it knows the times of the family that is left out
        }
        JudgementScope scope{.rows = split.scored};
        scope.family = name;
        scope.modes = JudgementScope::Modes::kMeasuredOnly;
        SEPTULE_TRY(const Judgement judgement, judge_baseline(*baseline, scope));
        family(std::string(baseline->name())).families[name].push_back(judgement);
      }
    }
    return {};
  }

  MixFigures& mix(const std::string& name) {
    for (MixFigures& one : evaluation_.by_mix) {
      if (one.name == name) {
        return one;
      }
    }
    evaluation_.by_mix.push_back({.name = name, .seeds = {}, .best_epoch = {}});
    return evaluation_.by_mix.back();
  }
  FamilyFigures& family(const std::string& name) {
    for (FamilyFigures& one : evaluation_.by_family) {
      if (one.name == name) {
        return one;
      }
    }
    evaluation_.by_family.push_back({.name = name, .families = {}});
    return evaluation_.by_family.back();
  }

  const EvaluationPlan& plan_;
  const Session& session_;
  learn_train::DecisionJudge judge_;
  Evaluation evaluation_;
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> seed_index_;
  std::map<std::pair<std::string, std::uint64_t>, learn_train::MeanSum> best_sums_;
  std::set<int> folds_;
  std::set<std::string> families_;
};

}  // namespace

std::vector<RunSpec> evaluation_specs(const learn_train::TrainingData& data,
                                      const std::vector<Model>& models,
                                      std::uint64_t seed,
                                      int seeds) {
  std::vector<RunSpec> specs;
  for (const Model model : models) {
    for (int i = 0; i < seeds; ++i) {
      RunSpec spec;
      spec.model = model;
      spec.seed = seed + static_cast<std::uint64_t>(i);
      spec.left_out = RunSpec::Part::kMix;
      for (spec.fold = 0; spec.fold < learn_train::kFolds; ++spec.fold) {
        specs.push_back(spec);
      }
      if (model == Model::kUnet) {
        continue;  // its published form has nothing to say of families
      }
      spec.fold = 0;
      spec.left_out = RunSpec::Part::kFamily;
      for (const RunSpec::Counters counters :
           {RunSpec::Counters::kHidden, RunSpec::Counters::kShown}) {
        spec.counters = counters;
        for (const std::string& family : data.families()) {
          spec.family = family;
          specs.push_back(spec);
        }
      }
    }
  }
  return specs;
}

Result<std::optional<Evaluation>> evaluate(const EvaluationPlan& plan,
                                           const Session& session,
                                           const gpu::Geometry& geometry) {
  SEPTULE_TRY(learn_train::DecisionJudge judge, learn_train::DecisionJudge::make(geometry));
  return Evaluator(plan, session, std::move(judge)).run();
}

std::map<std::string, double> recipe_metrics(const MixFigures& figures) {
  std::map<std::string, double> metrics;
  const auto count = static_cast<double>(figures.seeds.size());
  const auto add = [&](const char* name, const learn_train::MeanSum& sum) {
    metrics[name] += sum.mean().value_or(0) / count;
  };
  for (const Judgement& seed : figures.seeds) {
    add("val5_all", seed.errors.all);
    add("val5_real", seed.errors.real);
    add("val5_7g", seed.errors.time[0]);
    add("val5_real_without_fillers", seed.without_fillers.real);
    add("val5_7g_without_fillers", seed.without_fillers.time[0]);
    if (const auto losses = learn_train::summarise(seed.losses_informed)) {
      metrics["val5_loss_mean"] += losses->mean / count;
      metrics["val5_loss_p95"] += losses->p95 / count;
    }
  }
  metrics["val5_seeds"] = count;
  return metrics;
}

}  // namespace septule::train_app
