#include "learn_train/judgement.hpp"

#include <cstddef>
#include <set>

namespace septule::learn_train {

void Judgement::add(const Judgement& other) {
  errors.add(other.errors);
  without_fillers.add(other.without_fillers);
  losses.insert(losses.end(), other.losses.begin(), other.losses.end());
  losses_without_fillers.insert(losses_without_fillers.end(),
                                other.losses_without_fillers.begin(),
                                other.losses_without_fillers.end());
}

Result<Judgement> judge(const TrainingData& data,
                        const DecisionJudge& decisions,
                        const Estimator& estimate,
                        const JudgementScope& scope) {
  Judgement judgement;
  std::set<int> seen;
  const ScoreScope scored{.spread = scope.spread, .family = scope.family};
  for (const int index : scope.rows) {
    const TrainingRow& row = data.rows[static_cast<std::size_t>(index)];
    const bool is_first = seen.insert(row.measurement).second;
    if (!is_first && scope.permutations == JudgementScope::Permutations::kFirst) {
      continue;
    }
    const auto judge_one =
        [&](Fillers fillers, ErrorSums& errors, std::vector<double>& losses) -> Status {
      SEPTULE_TRY(const predict::SlicePredictions estimates, estimate(row, fillers));
      errors.add(score_row(data, row, estimates, scored));
      if (is_first && scope.family.empty()) {
        if (const auto loss = decisions.loss(data, row, estimates)) {
          losses.push_back(*loss);
        }
      }
      return {};
    };
    SEPTULE_TRY_STATUS(judge_one(Fillers::kMeasured, judgement.errors, judgement.losses));
    if (scope.modes == JudgementScope::Modes::kBoth) {
      SEPTULE_TRY_STATUS(
          judge_one(Fillers::kAbsent, judgement.without_fillers, judgement.losses_without_fillers));
    }
  }
  return judgement;
}

}  // namespace septule::learn_train
