#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/work_budget.hpp"
#include "serve/labelled_states.hpp"
#include "serve/predecessor_search.hpp"
#include "serve/step_terms.hpp"

namespace septule::serve {

/// One run of the exact program: what is asked of it beside the problem.
struct LayoutProgramInput {
  std::vector<StepTerms> steps;  ///< as make_step_terms() gives them
  /// What a creation costs, by step, size and letter; empty = the letters' own costs always.
  std::vector<LetterCosts> costs;
  /// Steps at whose begin instances may change; empty = all.
  std::vector<std::uint8_t> may_change;
};

struct LayoutProgramAnswer {
  std::vector<LabelledLayout> layouts;  ///< by step, without reserved instances
  double value = 0;                     ///< of the program's best way, terminal value included
  bool is_complete = false;             ///< false: the work ended; the last layout is held since
  std::optional<int> dead_step;         ///< no state keeps the floors of this step; no layouts
};

/// The dynamic program of serving.md 2.4 over LabelledStates, with the way back.
///
/// Per step: close under drops; create what serves at once; add the step's value; let time pass;
/// create what serves later; where instances are handed over, what serves later takes their place
/// then too. Values after the step's value ("layers") are kept for the way back,
/// all of them if they fit into `bytes_max`, otherwise only values before every sqrt(T)-th step,
/// from which a stretch of layers is worked out again when the way back comes to it. Ties on the
/// way back: PredecessorSearch; the last state is the lowest of the best ones.
/// Cost: one unit for each open state and step (twice with stretches). One owner.
class LayoutProgram {
 public:
  LayoutProgram(const GoodputProblem& problem, const LabelledStates& states, std::size_t bytes_max);

  LayoutProgramAnswer solve(const LayoutProgramInput& input, WorkBudget& budget);
  /// The value alone, without the way back; minus infinity where nothing keeps the floors or the
  /// work ended.
  double best_value(const LayoutProgramInput& input, WorkBudget& budget);

 private:
  enum class Keeping { kNothing, kLayers, kCheckpoints };
  struct Open {
    std::uint32_t reserved = 0;
    LabelledStates::OpenSets sets;
    std::int64_t states = 0;
  };

  void begin(const LayoutProgramInput& input);
  /// Runs the steps from `from` on; gives the first step not run.
  int run(int from, int to, Keeping keeping, WorkBudget& budget);
  void run_step(int t, Keeping keeping);
  const Open& open_at(int t);
  void add_values(int t, const Open& open);
  bool is_dead() const;
  const LetterCosts& costs_at(int t) const;
  bool may_change(int t) const;
  int created_max(int t) const;
  std::span<const double> layer(int t);
  /// The state with the greatest value after step t, holding its layout from then on.
  std::size_t best_last(int t, double& value);
  std::vector<LabelledLayout> trace(std::size_t last, int steps);
  Spelling pick_kept(int t, const Spelling& state);
  StepRules rules_at(int t);
  Spelling initial() const;

  const GoodputProblem& problem_;
  const LabelledStates& states_;
  std::size_t bytes_max_;
  double step_s_;
  LetterCosts own_costs_;

  const LayoutProgramInput* input_ = nullptr;
  std::vector<double> values_;
  std::vector<double> worth_;                     // of contents, in the step at hand
  std::vector<std::vector<double>> shape_worth_;  // of shapes by digits
  std::deque<Open> open_;                         // by reserved placements, as met
  std::vector<std::vector<double>> layers_;       // by step; empty = not kept
  std::vector<std::vector<double>> checkpoints_;  // before a step; empty = not kept
  int stretch_ = 0;                               // steps between checkpoints; 0 = layers kept
};

}  // namespace septule::serve
