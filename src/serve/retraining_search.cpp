#include "serve/retraining_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "serve/graph_program.hpp"
#include "serve/layout_program.hpp"
#include "serve/plan_value.hpp"
#include "serve/retraining_facts.hpp"
#include "serve/retraining_runs.hpp"

namespace septule::serve {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr double kProofTolerance = 1e-9;
constexpr int kLevelsMax = 512;
constexpr std::size_t kGroupMax = 3;
constexpr std::int64_t kGraphStatesMax = 120'000;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

std::uint64_t mask_of(std::span<const int> tenants) {
  std::uint64_t mask = 0;
  for (const int m : tenants) {
    mask |= std::uint64_t{1} << static_cast<unsigned>(m);
  }
  return mask;
}

std::vector<int> worth_retraining(const GoodputProblem& problem) {
  std::vector<int> tenants;
  for (int m = 0; m < static_cast<int>(problem.tenants.size()); ++m) {
    if (is_worth_retraining(problem, m)) {
      tenants.push_back(m);
    }
  }
  return tenants;
}

/// All subsets of so many tenants.
std::vector<std::vector<int>> groups_of(const std::vector<int>& tenants, std::size_t size) {
  std::vector<std::vector<int>> groups;
  for (std::uint32_t bits = 0; bits < std::uint32_t{1} << tenants.size(); ++bits) {
    std::vector<int> group;
    for (std::size_t i = 0; i < tenants.size(); ++i) {
      if ((bits >> i & 1U) != 0) {
        group.push_back(tenants[i]);
      }
    }
    if (group.size() == size) {
      groups.push_back(group);
    }
  }
  return groups;
}

/// Multisets with the letters of a group's retraining, ages as far as they fit.
std::optional<LayoutGraph> make_graph(const GoodputProblem& problem, std::span<const int> group) {
  for (const LetterDetail detail : {LetterDetail::kExact, LetterDetail::kRelaxed}) {
    if (detail == LetterDetail::kExact && !bounds_when_exact(problem)) {
      continue;
    }
    std::optional<LayoutGraph> graph =
        LayoutGraph::make(problem,
                          make_alphabet(problem, detail, mask_of(group)),
                          GraphDetail::kMultisets,
                          kGraphStatesMax);
    if (graph.has_value()) {
      return graph;
    }
  }
  return std::nullopt;
}

/// The bound with the work of a group followed, the others retrained for nothing; nothing if that
/// takes more than `units_max`.
std::optional<double> group_bound(const GoodputProblem& problem,
                                  std::span<const int> group,
                                  std::int64_t units_max,
                                  WorkBudget& budget) {
  const std::optional<LayoutGraph> graph = make_graph(problem, group);
  if (!graph.has_value()) {
    return std::nullopt;
  }
  std::vector<std::optional<int>> others = free_retraining(problem);
  for (const int m : group) {
    others[at(m)] = std::nullopt;
  }
  GraphInput input;
  input.steps = make_step_terms(problem, frozen_reservations(problem), others);
  input.hand_over = problem.hand_over;
  for (const int parts : {32, 24, 16, 12, 8}) {
    input.tracked.clear();
    for (const int m : group) {
      std::optional<WorkLevels> exact = make_exact_levels(problem, m, parts);
      input.tracked.push_back(exact.has_value() ? *std::move(exact)
                                                : make_bound_levels(problem, m, parts));
    }
    GraphProgram program(problem, *graph, input);
    if (program.units() <= units_max) {
      return program.value(budget);
    }
  }
  return std::nullopt;
}

Result<WindowBound> bound_of(const GoodputProblem& problem,
                             WorkBudget& budget,
                             const RetrainingOptions& options) {
  WindowBound best{arrivals_bound(problem), "arrivals"};
  const auto offer = [&](double value, std::string_view method) {
    if (value < best.value) {
      best = {value, method};
    }
  };
  SEPTULE_TRY(const double free, multiset_bound(problem, budget, options.layouts));
  offer(free, "multisets");
  const std::vector<int> tenants = worth_retraining(problem);
  // Few together with fine levels before many with coarse ones, which bound less.
  for (std::size_t size = 1; size <= std::min<std::size_t>(tenants.size(), kGroupMax); ++size) {
    const std::vector<std::vector<int>> groups = groups_of(tenants, size);
    const std::int64_t units = std::min(options.bound_units_max, budget.units_left()) /
                               std::max<std::int64_t>(2, std::ssize(groups));
    for (const std::vector<int>& group : groups) {
      const std::optional<double> value = group_bound(problem, group, units, budget);
      if (!value.has_value()) {
        return best;
      }
      offer(*value + kProofTolerance * std::abs(*value), "joint-multisets");
    }
  }
  return best;
}

class RetrainingSearch {
 public:
  RetrainingSearch(const GoodputProblem& problem,
                   WorkBudget& budget,
                   const RetrainingOptions& options)
      : problem_(problem),
        budget_(budget),
        options_(options),
        slowed_(problem),
        tenants_(worth_retraining(problem)) {
    // The way back through a graph knows no labels that serve at once.
    for (Label& label : slowed_.labels) {
      label.warm_up_steps = std::max(1, label.warm_up_steps);
    }
  }

  Result<GoodputPlan> plan() {
    if (tenants_.empty()) {
      return plan_layouts(problem_, budget_, options_.layouts);
    }
    if (solve_outright()) {
      return finish();
    }
    SEPTULE_TRY(const WindowBound bound, bound_of(problem_, budget_, options_));
    bound_ = bound;
    SEPTULE_TRY_STATUS(plan_without());
    descend();
    finish_runs();
    return finish();
  }

 private:
  void offer(std::vector<LabelledLayout> layouts, std::string_view method) {
    const PlanValue value = value_plan(problem_, layouts);
    if (value.is_feasible && (layouts_.empty() || value.objective > value_.objective)) {
      layouts_ = std::move(layouts);
      value_ = value;
      method_ = method;
    }
  }

  /// The joint program on placed layouts with exact levels; true if that is the answer.
  bool solve_outright() {
    const LabelAlphabet alphabet = make_alphabet(problem_, LetterDetail::kExact, mask_of(tenants_));
    const bool has_hand_overs = problem_.hand_over != HandOver::kNone;
    if (alphabet.has_early || (has_hand_overs && alphabet.has_ages)) {
      return false;
    }
    std::vector<WorkLevels> tracked;
    std::int64_t combinations = 1;
    for (const int m : tenants_) {
      std::optional<WorkLevels> levels = make_exact_levels(problem_, m, kLevelsMax);
      if (!levels.has_value()) {
        return false;
      }
      combinations *= levels->idle_count;
      tracked.push_back(*std::move(levels));
    }
    const std::int64_t units_max = std::min(options_.exact_units_max, budget_.units_left() / 2);
    const std::int64_t states_max = units_max / problem_.step_count / combinations;
    const std::optional<LayoutGraph> graph =
        LayoutGraph::make(problem_, alphabet, GraphDetail::kPlaced, states_max);
    if (!graph.has_value()) {
      return false;
    }
    GraphInput input;
    input.steps =
        make_step_terms(problem_, frozen_reservations(problem_), frozen_retraining(problem_));
    input.tracked = std::move(tracked);
    input.hand_over = problem_.hand_over;
    const std::optional<GraphAnswer> answer =
        GraphProgram(problem_, *graph, std::move(input)).solve(budget_);
    if (!answer.has_value() || answer->path.empty()) {
      return false;
    }
    std::vector<LabelledLayout> layouts;
    for (const LayoutGraph::Counts& counts : answer->path) {
      LabelledLayout& layout = layouts.emplace_back();
      for (std::size_t slot = 0; slot < counts.size(); ++slot) {
        if (counts[slot] > 0) {
          layout.push_back({graph->slots()[slot].placement, graph->letter(slot).label});
        }
      }
    }
    add_reservations(frozen_reservations(problem_), layouts);
    offer(std::move(layouts), "joint-dp");
    bound_ = {answer->value, "joint-dp"};
    return !layouts_.empty() && value_.objective >= answer->value - slack();
  }

  /// The best plan that retrains nobody: what every search begins from.
  Status plan_without() {
    GoodputProblem without = problem_;
    for (const int m : tenants_) {
      without.tenants[at(m)].retraining.reset();
    }
    SEPTULE_TRY(GoodputPlan plan, plan_layouts(without, budget_, options_.layouts));
    offer(std::move(plan.layouts), "retraining-descent");
    return {};
  }

  /// Runs of as many tenants together as fit, in turn.
  void descend() {
    std::size_t size = tenants_.size() <= kGroupMax ? tenants_.size() : 2;
    for (int pass = 0; pass < options_.passes_max;) {
      const RetrainingRuns before = runs_;
      bool has_any = false;
      for (const std::vector<int>& group : groups_of(tenants_, size)) {
        has_any = improve(group) || has_any;
      }
      if (!has_any && size > 1) {
        --size;
        continue;
      }
      ++pass;
      if (runs_ == before || size == tenants_.size()) {
        return;
      }
    }
  }

  /// Plans the runs of a group anew beside the others'; false if that does not fit.
  bool improve(const std::vector<int>& group) {
    auto [known, is_new] = graphs_.try_emplace(group);
    if (is_new) {
      known->second = make_graph(slowed_, group);
    }
    const std::optional<LayoutGraph>& graph = known->second;
    if (!graph.has_value()) {
      return false;
    }
    RetrainingRuns others = runs_;
    std::erase_if(others, [&](const RetrainingRun& run) {
      return std::ranges::find(group, run.tenant) != group.end();
    });
    if (const auto seen = seen_.find(group); seen != seen_.end() && seen->second == others) {
      return true;
    }
    seen_[group] = others;
    const std::vector<std::optional<int>> from = complete_runs(problem_, others);
    GraphInput input;
    input.steps = make_step_terms(problem_, frozen_reservations(problem_), from);
    input.beside = sizes_beside(problem_, others);
    input.hand_over = graph->has_ages() ? HandOver::kNone : problem_.hand_over;
    for (const int m : group) {
      input.tracked.push_back(make_run_levels(slowed_, m));
    }
    GraphProgram program(slowed_, *graph, std::move(input));
    if (program.units() > std::min(options_.joint_units_max, budget_.units_left() / 2)) {
      return false;
    }
    const std::optional<GraphAnswer> answer = program.solve(budget_);
    if (!answer.has_value() || answer->path.empty() || answer->value < best_joint_) {
      return answer.has_value();
    }
    best_joint_ = answer->value;
    RetrainingRuns runs = runs_of(problem_, *graph, answer->path, group);
    runs.insert(runs.end(), others.begin(), others.end());
    std::ranges::stable_sort(
        runs, {}, [](const RetrainingRun& run) { return std::pair(run.tenant, run.begin); });
    complete_runs(problem_, runs);
    runs_ = std::move(runs);
    return true;
  }

  /// Places the runs, the best ways to the end.
  void finish_runs() {
    RetrainingRuns runs = runs_;
    for (RetrainingRun& run : runs) {
      const bool is_at_once = problem_.labels[at(run.label)].warm_up_steps == 0;
      run.begin += is_at_once && !run.continues.has_value() ? 1 : 0;
    }
    const std::vector<std::optional<int>> from = complete_runs(problem_, runs);
    if (runs.empty()) {
      return;
    }
    const LabelAlphabet exact = make_alphabet(problem_, LetterDetail::kExact);
    const std::int64_t limit = options_.layouts.states_max;
    const bool fits = spelled_set_count(*problem_.lattice, exact, limit) <= limit;
    const LabelledStates states(problem_,
                                fits ? exact : make_alphabet(problem_, LetterDetail::kRelaxed));
    LayoutProgram program(problem_, states, options_.layouts.bytes_max);
    double best = kNever;
    LayoutProgramInput best_input;
    std::vector<Reservation> best_way;
    for (std::vector<Reservation>& way : place_runs(problem_, runs, at(options_.places_max))) {
      const std::vector<Reservation> frozen = frozen_reservations(problem_);
      way.insert(way.end(), frozen.begin(), frozen.end());
      LayoutProgramInput input;
      input.steps = make_step_terms(problem_, way, from);
      const double value = program.best_value(input, budget_);
      if (value > best) {
        best = value;
        best_input = std::move(input);
        best_way = std::move(way);
      }
    }
    if (best == kNever) {
      return;
    }
    LayoutProgramAnswer answer = program.solve(best_input, budget_);
    if (answer.is_complete) {
      add_reservations(best_way, answer.layouts);
      offer(std::move(answer.layouts), "retraining-descent");
    }
  }

  double slack() const { return kProofTolerance * std::max(1.0, std::abs(value_.objective)); }

  GoodputPlan finish() {
    GoodputPlan plan;
    plan.layouts = std::move(layouts_);
    plan.retrained_from = value_.retrained_from;
    plan.goodput = value_.goodput;
    plan.objective = value_.objective;
    plan.bound = std::max(bound_.value, plan.objective);
    plan.bound_method = bound_.method;
    if (plan.bound <= plan.objective + slack()) {
      plan.proof = GoodputProof::kOptimal;
      plan.bound = plan.objective;
    }
    plan.method = method_;
    plan.units_spent = budget_.units_spent();
    return plan;
  }

  const GoodputProblem& problem_;
  WorkBudget& budget_;
  const RetrainingOptions& options_;
  GoodputProblem slowed_;
  std::vector<int> tenants_;                                       // whose retraining is planned
  std::map<std::vector<int>, std::optional<LayoutGraph>> graphs_;  // by group
  std::map<std::vector<int>, RetrainingRuns> seen_;  // what a group was last planned beside
  RetrainingRuns runs_;
  double best_joint_ = kNever;
  std::vector<LabelledLayout> layouts_;
  PlanValue value_;
  std::string_view method_;
  WindowBound bound_;
};

}  // namespace

Result<GoodputPlan> plan_window(const GoodputProblem& problem,
                                WorkBudget& budget,
                                const RetrainingOptions& options) {
  SEPTULE_TRY_STATUS(validate(problem));
  return RetrainingSearch(problem, budget, options).plan();
}

Result<WindowBound> window_bound(const GoodputProblem& problem,
                                 WorkBudget& budget,
                                 const RetrainingOptions& options) {
  SEPTULE_TRY_STATUS(validate(problem));
  return bound_of(problem, budget, options);
}

}  // namespace septule::serve
