#include "learn_train/judgement.hpp"

#include <array>
#include <cstddef>
#include <set>

namespace septule::learn_train {

namespace {

void append(std::vector<double>& to, const std::vector<double>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

void Judgement::add(const Judgement& other) {
  errors.add(other.errors);
  without_fillers.add(other.without_fillers);
  informed.add(other.informed);
  informed_without_fillers.add(other.informed_without_fillers);
  append(losses, other.losses);
  append(losses_informed, other.losses_informed);
  append(losses_without_fillers, other.losses_without_fillers);
  append(losses_informed_without_fillers, other.losses_informed_without_fillers);
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
    const auto estimate_with = [&](Fillers fillers, MatrixContents::Part smallest) {
      return estimate(row, {.fillers = fillers, .counters = scope.counters, .smallest = smallest});
    };
    const auto judge_one = [&](Fillers fillers,
                               std::array<ErrorSums*, 2> errors,
                               std::array<std::vector<double>*, 2> losses) -> Status {
      SEPTULE_TRY(const predict::SlicePredictions estimates,
                  estimate_with(fillers, MatrixContents::Part::kHidden));
      errors[0]->add(score_row(data, row, estimates, scored));
      const bool has_decision = is_first && scope.family.empty();
      if (!has_decision && scope.spread == Spread::kNone) {
        return {};
      }
      SEPTULE_TRY(const predict::SlicePredictions informed,
                  estimate_with(fillers, MatrixContents::Part::kShown));
      if (scope.spread == Spread::kGiven) {
        errors[1]->add(score_row(data, row, informed, scored));
      }
      if (!has_decision) {
        return {};
      }
      if (const auto loss = decisions.loss(data, row, estimates)) {
        losses[0]->push_back(*loss);
      }
      if (const auto loss = decisions.loss(data, row, informed)) {
        losses[1]->push_back(*loss);
      }
      return {};
    };
    SEPTULE_TRY_STATUS(judge_one(Fillers::kMeasured,
                                 {&judgement.errors, &judgement.informed},
                                 {&judgement.losses, &judgement.losses_informed}));
    if (scope.modes == JudgementScope::Modes::kBoth) {
      SEPTULE_TRY_STATUS(judge_one(
          Fillers::kAbsent,
          {&judgement.without_fillers, &judgement.informed_without_fillers},
          {&judgement.losses_without_fillers, &judgement.losses_informed_without_fillers}));
    }
  }
  return judgement;
}

}  // namespace septule::learn_train
