#include "serve/layout_dp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "serve/graph_program.hpp"
#include "serve/layout_program.hpp"
#include "serve/plan_value.hpp"
#include "serve/retraining_facts.hpp"

namespace septule::serve {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr double kProofTolerance = 1e-9;
constexpr int kPhasesMax = 4;
constexpr int kDescentRoundsMax = 4;
constexpr int kDescentLabels = 3;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

class LayoutPlanner {
 public:
  LayoutPlanner(const GoodputProblem& problem, WorkBudget& budget, const LayoutDpOptions& options)
      : problem_(problem), budget_(budget), options_(options), shown_(problem) {}

  Result<GoodputPlan> plan() {
    LetterDetail detail = LetterDetail::kExact;
    bool is_exact = soften_changes();
    if (!fits(detail)) {
      detail = LetterDetail::kRelaxed;
      const LabelAlphabet exact = make_alphabet(problem_, LetterDetail::kExact);
      is_exact = is_exact && !exact.has_ages;
    }
    const bool is_whole = fits(detail);
    is_exact = is_exact && is_whole && !forgets_hand_overs();
    if (!is_exact) {
      SEPTULE_TRY(bound_, multiset_bound(problem_, budget_, options_));
    }
    offer(std::vector<LabelledLayout>(at(problem_.step_count), problem_.initial));
    if (is_whole) {
      solve_whole(detail, is_exact);
    } else {
      descend();
    }
    return finish(is_exact);
  }

 private:
  /// Where labels that serve at once meet others under a limit on changes, they are taken as
  /// needing a step. False if that was done.
  bool soften_changes() {
    const LabelAlphabet exact = make_alphabet(problem_, LetterDetail::kExact);
    if (!problem_.changes_per_step_max.has_value() || !exact.has_early || !exact.has_late) {
      return true;
    }
    for (Label& label : shown_.labels) {
      label.warm_up_steps = std::max(1, label.warm_up_steps);
    }
    return false;
  }

  /// Whether some hand-over is beyond the program.
  bool forgets_hand_overs() const {
    const LabelAlphabet exact = make_alphabet(problem_, LetterDetail::kExact);
    return problem_.hand_over != HandOver::kNone &&
           ((exact.has_early && exact.has_late) || has_long_warm_ups(problem_) ||
            (exact.has_ages && problem_.changes_per_step_max.has_value()));
  }

  std::int64_t states_limit() const {
    return std::min(options_.states_max, budget_.units_left() / problem_.step_count);
  }

  bool fits(LetterDetail detail) const {
    const std::int64_t limit = states_limit();
    return spelled_set_count(*problem_.lattice, make_alphabet(shown_, detail), limit) <= limit;
  }

  /// What longer warm-ups than a step lose at most, on top of the creation cost.
  std::vector<LetterCosts> lumps(const LabelAlphabet& alphabet,
                                 std::span<const StepTerms> steps) const {
    std::vector<LetterCosts> costs;
    for (int t = 0; t < problem_.step_count; ++t) {
      LetterCosts& at_step = costs.emplace_back();
      for (std::size_t size = 0; size < kSizesMax; ++size) {
        for (const Letter& letter : alphabet.letters[size]) {
          const Label& label = problem_.labels[at(letter.label)];
          double cost = letter.creation_cost;
          const int ready = std::min(t + label.warm_up_steps, problem_.step_count);
          for (int later = t + 1; later < ready; ++later) {
            for (const Label::Output& output : label.serves) {
              const std::size_t m = at(output.tenant);
              const StepTerms& terms = steps[at(later)];
              cost += terms.worth[m] * std::min(output.rate_rps[size], terms.arrived_rps[m]) *
                      problem_.step.to_seconds();
            }
          }
          at_step[size].push_back(cost);
        }
      }
    }
    return costs;
  }

  /// Runs the program for the labels of `part` beside the reservations and keeps the plan if it is
  /// better than what there is. The program's own value is given back.
  std::optional<double> solve(const GoodputProblem& part,
                              const LabelledStates& states,
                              std::span<const Reservation> reservations,
                              LetterDetail detail,
                              int phase) {
    LayoutProgramInput input;
    input.steps = make_step_terms(problem_, reservations, frozen_retraining(problem_));
    if (detail == LetterDetail::kRelaxed) {
      input.costs = lumps(states.alphabet(), input.steps);
      if (problem_.dwell_steps > 1) {
        for (int t = 0; t < problem_.step_count; ++t) {
          input.may_change.push_back(t % problem_.dwell_steps == phase ? 1 : 0);
        }
      }
    }
    LayoutProgram program(part, states, options_.bytes_max);
    LayoutProgramAnswer answer = program.solve(input, budget_);
    if (answer.dead_step.has_value()) {
      dead_step_ = answer.dead_step;
      return std::nullopt;
    }
    const bool is_all_over = std::ranges::all_of(reservations, [&](const Reservation& reserved) {
      return reserved.begin == 0 && reserved.end == problem_.step_count;
    });
    if (answer.layouts.empty() || (!answer.is_complete && !is_all_over)) {
      return std::nullopt;  // a held layout may be in the way of a reservation
    }
    add_reservations(reservations, answer.layouts);
    offer(std::move(answer.layouts));
    return answer.is_complete ? std::optional<double>(answer.value) : std::nullopt;
  }

  void offer(std::vector<LabelledLayout> layouts) {
    const PlanValue value = value_plan(problem_, layouts);
    if (value.is_feasible && (layouts_.empty() || value.objective > value_.objective)) {
      layouts_ = std::move(layouts);
      value_ = value;
    }
  }

  void solve_whole(LetterDetail detail, bool is_exact) {
    const LabelledStates states(shown_, make_alphabet(shown_, detail));
    const std::vector<Reservation> frozen = frozen_reservations(problem_);
    const bool is_phased = detail == LetterDetail::kRelaxed && problem_.dwell_steps > 1;
    const int phases = is_phased ? std::min(kPhasesMax, problem_.dwell_steps) : 1;
    for (int i = 0; i < phases; ++i) {
      const int phase = i * problem_.dwell_steps / phases;
      const std::optional<double> value = solve(shown_, states, frozen, detail, phase);
      if (is_exact && value.has_value()) {
        bound_ = value;
      }
    }
    method_ = is_exact ? "layout-dp" : "layout-dp-lumped";
  }

  /// Labels `first` .. of the serving ones, as many as wanted, the rest as if of no use.
  GoodputProblem part_of(std::span<const int> serving, std::size_t first, int count) const {
    GoodputProblem part = shown_;
    for (Label& label : part.labels) {
      label.serves.clear();
    }
    for (int i = 0; i < count; ++i) {
      const int l = serving[(first + at(i)) % serving.size()];
      part.labels[at(l)].serves = shown_.labels[at(l)].serves;
    }
    return part;
  }

  void descend() {
    method_ = "layout-dp-descent";
    std::vector<int> serving;
    for (int l = 0; l < static_cast<int>(shown_.labels.size()); ++l) {
      if (!shown_.labels[at(l)].serves.empty()) {
        serving.push_back(l);
      }
    }
    for (int round = 0; round < kDescentRoundsMax; ++round) {
      const double before = layouts_.empty() ? kNever : value_.objective;
      for (std::size_t first = 0; first < serving.size(); first += 2) {
        for (int count = kDescentLabels; count > 0; --count) {
          if (improve(part_of(serving, first, count))) {
            break;
          }
        }
      }
      if (!layouts_.empty() && value_.objective <= before) {
        return;
      }
    }
  }

  /// Plans the labels of a part anew beside what the others have; false if that does not fit.
  bool improve(const GoodputProblem& part) {
    const LabelAlphabet alphabet = make_alphabet(part, LetterDetail::kRelaxed);
    const std::int64_t limit = states_limit();
    if (spelled_set_count(*part.lattice, alphabet, limit) > limit) {
      return false;
    }
    const auto is_other = [&](int l) { return part.labels[at(l)].serves.empty(); };
    std::vector<Reservation> reservations = reservations_of(problem_, layouts_, is_other);
    const std::vector<Reservation> frozen = frozen_reservations(problem_);
    reservations.insert(reservations.end(), frozen.begin(), frozen.end());
    solve(part, LabelledStates(part, alphabet), reservations, LetterDetail::kRelaxed, 0);
    return true;
  }

  Result<GoodputPlan> finish(bool is_exact) {
    if (layouts_.empty()) {
      if (dead_step_.has_value()) {
        return Error{ErrorCode::kBlocked,
                     fmt::format("step {}: no layout serves every tenant's floor; lower floors, or "
                                 "a layout in force that keeps them, would be needed",
                                 *dead_step_)};
      }
      return Error{
          ErrorCode::kTimedOut,
          fmt::format("the work limit ended after {} units, before a plan for {} steps was "
                      "found; more units, or fewer labels, would be needed",
                      budget_.units_spent(),
                      problem_.step_count)};
    }
    GoodputPlan plan;
    plan.layouts = std::move(layouts_);
    plan.retrained_from = value_.retrained_from;
    plan.goodput = value_.goodput;
    plan.objective = value_.objective;
    const double slack = kProofTolerance * std::max(1.0, std::abs(plan.objective));
    plan.bound = std::max(bound_.value_or(arrivals_bound(problem_)), plan.objective);
    if (plan.bound <= plan.objective + slack) {
      plan.proof = GoodputProof::kOptimal;
      plan.bound = plan.objective;
    }
    plan.method = method_;
    plan.bound_method = is_exact && bound_.has_value() ? "layout-dp" : "multisets";
    plan.units_spent = budget_.units_spent();
    return plan;
  }

  const GoodputProblem& problem_;
  WorkBudget& budget_;
  const LayoutDpOptions& options_;
  GoodputProblem shown_;  // what the program is shown
  std::vector<LabelledLayout> layouts_;
  PlanValue value_;
  std::optional<double> bound_;
  std::optional<int> dead_step_;
  std::string_view method_;
};

}  // namespace

Result<GoodputPlan> plan_layouts(const GoodputProblem& problem,
                                 WorkBudget& budget,
                                 const LayoutDpOptions& options) {
  SEPTULE_TRY_STATUS(validate(problem));
  for (std::size_t m = 0; m < problem.tenants.size(); ++m) {
    if (is_worth_retraining(problem, static_cast<int>(m))) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("tenant '{}': it has a model to retrain, which the exact program "
                               "does not plan; the retraining search does",
                               problem.tenants[m].name)};
    }
  }
  return LayoutPlanner(problem, budget, options).plan();
}

Result<double> multiset_bound(const GoodputProblem& problem,
                              WorkBudget& budget,
                              const LayoutDpOptions& options) {
  SEPTULE_TRY_STATUS(validate(problem));
  const std::vector<StepTerms> steps =
      make_step_terms(problem, frozen_reservations(problem), free_retraining(problem));
  double bound = arrivals_bound(problem);
  for (const LetterDetail detail : {LetterDetail::kExact, LetterDetail::kRelaxed}) {
    if (detail == LetterDetail::kExact && !bounds_when_exact(problem)) {
      continue;
    }
    const std::optional<LayoutGraph> graph = LayoutGraph::make(
        problem, make_alphabet(problem, detail), GraphDetail::kMultisets, options.multisets_max);
    if (!graph.has_value()) {
      continue;
    }
    const std::optional<double> value =
        GraphProgram(problem,
                     *graph,
                     {.steps = steps, .tracked = {}, .beside = {}, .hand_over = problem.hand_over})
            .value(budget);
    if (value.has_value()) {
      bound = std::min(bound, *value + kProofTolerance * std::abs(*value));
    }
    break;
  }
  return bound;
}

}  // namespace septule::serve
