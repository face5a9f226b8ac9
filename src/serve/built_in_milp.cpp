#include "serve/built_in_milp.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/work_budget.hpp"
#include "optimize/linear_program.hpp"
#include "port/milp_check.hpp"
#include "serve/milp_branching.hpp"
#include "serve/milp_rounding.hpp"

namespace septule::serve {

namespace {

using optimize::LinearOutcome;
using optimize::LinearProgram;
using optimize::LinearSolution;
using port::MilpGoal;
using port::MilpLimits;
using port::MilpOutcome;
using port::MilpProblem;
using port::MilpSolution;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A node of the tree: its parent with one column's bounds changed. Objectives are as minimised.
struct Node {
  int parent = -1;
  int column = -1;
  double lower = 0;
  double upper = 0;
  double bound = -kInfinity;  ///< of the parent's linear program
  double step = 0;            ///< how far the column's value was moved, for the pseudo-cost
};

/// One search. Objectives inside are as minimised.
class Search {
 public:
  Search(const MilpProblem& problem, const MilpLimits& limits, const BuiltInMilpOptions& options)
      : problem_(problem),
        limits_(limits),
        options_(options),
        sign_(problem.goal == MilpGoal::kMinimise ? 1 : -1),
        unit_(cost_unit(problem)),
        program_(optimize::LinearGoal::kMinimise),
        budget_(std::min(options.nodes_max, limits.nodes)),
        pseudo_costs_(problem),
        locks_(locks_of(problem)) {}

  MilpSolution run(std::span<const double> seed);

 private:
  enum class Visit { kDone, kBroken, kUnbounded };
  enum class Repair { kAllowed, kNever };

  /// False where an integer column has no whole number between its bounds.
  bool build();
  void keep(std::vector<double> values);
  void round(const LinearSolution& relaxed);
  void dive(LinearSolution relaxed, MilpRounding rounding);
  std::vector<std::size_t> nearest_columns(const LinearSolution& relaxed) const;
  std::optional<LinearSolution> solve_fixed(const LinearSolution& relaxed,
                                            std::span<const std::size_t> columns,
                                            MilpRounding rounding);
  /// Values with whole numbers in the integer columns: as they are or, if a row breaks, with the
  /// continuous columns worked out again where that is allowed.
  void keep_whole(std::vector<double> values, Repair repair);
  MilpSolution run_unbounded();
  void enter(int node);
  Visit visit(int node);
  void branch(int node, std::size_t column, double value, double bound);
  double rounded_bound(double bound) const;
  bool is_hopeless(double bound) const;
  /// At the root, and now and then.
  bool dives_due();
  /// Gives columns the bounds of the root back, whatever a branch made of them: dives may leave it.
  void release(std::span<const std::size_t> columns);
  bool take_unit() { return budget_.units_left() > 0 && budget_.spend(1); }
  void leave(double bound) { unresolved_ = std::min(unresolved_, bound); }
  std::optional<int> next_node();
  MilpSolution answer(MilpOutcome without_solution) const;

  const MilpProblem& problem_;
  const MilpLimits& limits_;
  const BuiltInMilpOptions& options_;
  const double sign_;
  const double unit_;
  LinearProgram program_;
  WorkBudget budget_;
  MilpPseudoCosts pseudo_costs_;
  std::vector<std::pair<double, double>> root_bounds_;  // by column
  std::vector<MilpLocks> locks_;                        // by column
  std::vector<std::size_t> changed_;  // columns whose bounds are not those of the root
  std::vector<Node> nodes_;
  std::vector<int> diving_;  // the child to go on with, at most one
  // Open nodes by bound, then age.
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>>
      open_;
  // Least bound of the nodes that broke down or were left because of a gap.
  double unresolved_ = kInfinity;
  std::int64_t rounded_ = 0;
  std::int64_t branched_ = 0;
  std::vector<double> best_;
  double best_objective_ = kInfinity;
};

bool Search::build() {
  std::vector<optimize::LinearRow> rows;
  for (const port::MilpRow& row : problem_.rows) {
    rows.push_back({.lower = row.lower, .upper = row.upper, .entries = {}});
  }
  std::vector<optimize::LinearColumn> columns;
  for (const port::MilpColumn& column : problem_.columns) {
    const double lower = column.is_integer ? std::ceil(column.lower - kMilpWhole) : column.lower;
    const double upper = column.is_integer ? std::floor(column.upper + kMilpWhole) : column.upper;
    if (lower > upper) {
      return false;
    }
    root_bounds_.emplace_back(lower, upper);
    columns.push_back({.cost = sign_ * column.cost, .lower = lower, .upper = upper, .entries = {}});
  }
  for (std::size_t row = 0; row < problem_.rows.size(); ++row) {
    for (const port::MilpEntry& entry : problem_.rows[row].entries) {
      columns[static_cast<std::size_t>(entry.column)].entries.push_back(
          {.index = static_cast<int>(row), .coefficient = entry.coefficient});
    }
  }
  program_.add_rows(rows);
  program_.add_columns(columns);
  return true;
}

void Search::keep(std::vector<double> values) {
  const double objective = sign_ * port::objective_of(problem_, values);
  if (objective < best_objective_ && port::check_values(problem_, values)) {
    best_objective_ = objective;
    best_ = std::move(values);
  }
}

void Search::keep_whole(std::vector<double> values, Repair repair) {
  port::tidy_values(problem_, values);
  if (port::check_values(problem_, values)) {
    keep(std::move(values));
    return;
  }
  const auto is_continuous = [](const port::MilpColumn& column) { return !column.is_integer; };
  if (repair == Repair::kNever ||
      std::none_of(problem_.columns.begin(), problem_.columns.end(), is_continuous) ||
      !take_unit()) {
    return;
  }
  for (std::size_t column = 0; column < values.size(); ++column) {
    if (problem_.columns[column].is_integer) {
      const double value =
          std::clamp(values[column], root_bounds_[column].first, root_bounds_[column].second);
      program_.set_column_bounds(static_cast<int>(column), value, value);
      changed_.push_back(column);
    }
  }
  const Result<LinearSolution> solution = program_.solve(options_.iterations_max);
  if (solution && solution->outcome == LinearOutcome::kOptimal) {
    std::vector<double> repaired = solution->values;
    port::tidy_values(problem_, repaired);
    keep(std::move(repaired));
  }
}

void Search::round(const LinearSolution& relaxed) {
  // A repair costs a linear program: often at first, later now and then.
  constexpr std::int64_t kRepairEvery = 16;
  const bool is_due = best_.empty() || rounded_++ % kRepairEvery == 0;
  for (const MilpRounding rounding : {MilpRounding::kNearest,
                                      MilpRounding::kUp,
                                      MilpRounding::kDown,
                                      MilpRounding::kAwayFromRows}) {
    std::vector<double> values = relaxed.values;
    for (std::size_t column = 0; column < values.size(); ++column) {
      if (problem_.columns[column].is_integer) {
        values[column] = std::clamp(rounded(values[column], rounding, locks_[column]),
                                    root_bounds_[column].first,
                                    root_bounds_[column].second);
      }
    }
    keep_whole(std::move(values), is_due ? Repair::kAllowed : Repair::kNever);
  }
}

/// An eighth of the fractional columns that a row holds from both sides, those nearest to a whole
/// number.
std::vector<std::size_t> Search::nearest_columns(const LinearSolution& relaxed) const {
  constexpr std::size_t kPart = 8;
  std::vector<std::pair<double, std::size_t>> candidates;
  for (std::size_t column = 0; column < relaxed.values.size(); ++column) {
    const double distance = std::abs(relaxed.values[column] - std::round(relaxed.values[column]));
    if (problem_.columns[column].is_integer && distance > kMilpWhole && locks_[column].up > 0 &&
        locks_[column].down > 0) {
      candidates.emplace_back(distance, column);
    }
  }
  std::sort(candidates.begin(), candidates.end());
  candidates.resize(std::min(candidates.size(), 1 + candidates.size() / kPart));
  std::vector<std::size_t> columns;
  for (const auto& [distance, column] : candidates) {
    columns.push_back(column);
  }
  return columns;
}

/// Fixes columns at their rounded values and solves; nothing where that leaves no solution.
std::optional<LinearSolution> Search::solve_fixed(const LinearSolution& relaxed,
                                                  std::span<const std::size_t> columns,
                                                  MilpRounding rounding) {
  if (!take_unit()) {
    return std::nullopt;
  }
  for (const std::size_t column : columns) {
    const double value = rounded(relaxed.values[column], rounding, {});
    program_.set_column_bounds(static_cast<int>(column), value, value);
    changed_.push_back(column);
  }
  Result<LinearSolution> solved = program_.solve(options_.iterations_max);
  if (!solved || solved->outcome != LinearOutcome::kOptimal) {
    return std::nullopt;
  }
  return std::move(solved).value();
}

void Search::release(std::span<const std::size_t> columns) {
  for (const std::size_t column : columns) {
    program_.set_column_bounds(
        static_cast<int>(column), root_bounds_[column].first, root_bounds_[column].second);
  }
}

/// Fixes columns a few at a time at rounded values, solving in between; if nothing is left then,
/// one of them above (covers) or below (packings). What rows hold from one side only
/// is rounded away from it in the end.
void Search::dive(LinearSolution relaxed, MilpRounding rounding) {
  while (true) {
    const std::vector<std::size_t> columns = nearest_columns(relaxed);
    if (columns.empty()) {
      round(relaxed);
      return;
    }
    std::optional<LinearSolution> next = solve_fixed(relaxed, columns, rounding);
    for (const MilpRounding other : {MilpRounding::kUp, MilpRounding::kDown}) {
      if (!next) {
        release(columns);
        next = solve_fixed(relaxed, std::span(columns).first(1), other);
      }
    }
    if (!next || is_hopeless(rounded_bound(next->objective))) {
      return;
    }
    relaxed = *std::move(next);
  }
}

/// Bounds of the program as the path from the root to `node` has them.
void Search::enter(int node) {
  for (const std::size_t column : changed_) {
    program_.set_column_bounds(
        static_cast<int>(column), root_bounds_[column].first, root_bounds_[column].second);
  }
  changed_.clear();
  std::vector<int> path;
  for (int at = node; nodes_[static_cast<std::size_t>(at)].column >= 0;
       at = nodes_[static_cast<std::size_t>(at)].parent) {
    path.push_back(at);
  }
  std::reverse(path.begin(), path.end());
  for (const int at : path) {
    const Node& step = nodes_[static_cast<std::size_t>(at)];
    program_.set_column_bounds(step.column, step.lower, step.upper);
    changed_.push_back(static_cast<std::size_t>(step.column));
  }
}

double Search::rounded_bound(double bound) const {
  if (unit_ == 0) {
    return bound;
  }
  return unit_ * std::ceil(bound / unit_ - kMilpWhole);
}

bool Search::is_hopeless(double bound) const {
  return !best_.empty() &&
         (bound >= best_objective_ || port::is_within_gap(best_objective_, bound, limits_));
}

void Search::branch(int node, std::size_t column, double value, double bound) {
  double lower = root_bounds_[column].first;
  double upper = root_bounds_[column].second;
  for (int at = node; at >= 0; at = nodes_[static_cast<std::size_t>(at)].parent) {
    const Node& step = nodes_[static_cast<std::size_t>(at)];
    if (std::cmp_equal(step.column, column)) {
      lower = step.lower;
      upper = step.upper;
      break;
    }
  }
  const double below = std::floor(value);
  Node down{.parent = node, .column = static_cast<int>(column), .lower = lower, .upper = below};
  Node up{.parent = node, .column = static_cast<int>(column), .lower = below + 1, .upper = upper};
  down.bound = up.bound = bound;
  down.step = below - value;
  up.step = below + 1 - value;
  const bool is_up_first = value - below > 0.5;
  const int first = static_cast<int>(nodes_.size());
  nodes_.push_back(is_up_first ? up : down);
  nodes_.push_back(is_up_first ? down : up);
  diving_.push_back(first);
  open_.emplace(bound, first + 1);
}

Search::Visit Search::visit(int node) {
  enter(node);
  const Result<LinearSolution> solved = program_.solve(options_.iterations_max);
  const Node entered = nodes_[static_cast<std::size_t>(node)];
  if (!solved) {
    return Visit::kBroken;
  }
  if (solved->outcome == LinearOutcome::kUnbounded) {
    return Visit::kUnbounded;
  }
  if (solved->outcome == LinearOutcome::kInfeasible) {
    return Visit::kDone;
  }
  if (entered.column >= 0) {
    pseudo_costs_.learn(entered.column, entered.step, solved->objective - entered.bound);
  }
  const double bound = std::max(entered.bound, rounded_bound(solved->objective));
  if (is_hopeless(bound)) {
    leave(bound);
    return Visit::kDone;
  }
  const std::optional<std::size_t> column = pseudo_costs_.choose(solved->values);
  if (!column) {
    // Whole. If rounding the last digits broke a row for good, nothing was proved.
    keep_whole(solved->values, Repair::kAllowed);
    leave(bound);
    return is_hopeless(bound) ? Visit::kDone : Visit::kBroken;
  }
  round(*solved);
  if (dives_due()) {
    for (const MilpRounding rounding :
         {MilpRounding::kNearest, MilpRounding::kUp, MilpRounding::kDown}) {
      enter(node);
      dive(*solved, rounding);
    }
  }
  if (is_hopeless(bound)) {
    leave(bound);
  } else {
    branch(node, *column, solved->values[*column], bound);
  }
  return Visit::kDone;
}

bool Search::dives_due() {
  constexpr std::int64_t kDiveEvery = 1024;
  constexpr std::int64_t kDiveEveryWithout = 128;  // while there is no solution
  return branched_++ % (best_.empty() ? kDiveEveryWithout : kDiveEvery) == 0;
}

std::optional<int> Search::next_node() {
  if (!diving_.empty()) {
    const int node = diving_.back();
    diving_.pop_back();
    return node;
  }
  if (open_.empty()) {
    return std::nullopt;
  }
  const int node = open_.top().second;
  open_.pop();
  return node;
}

MilpSolution Search::answer(MilpOutcome without_solution) const {
  MilpSolution solution;
  solution.nodes = budget_.units_spent();
  double bound = std::min(unresolved_, best_objective_);
  for (const int node : diving_) {
    bound = std::min(bound, nodes_[static_cast<std::size_t>(node)].bound);
  }
  if (!open_.empty()) {
    bound = std::min(bound, open_.top().first);
  }
  solution.outcome = without_solution;
  if (!best_.empty()) {
    solution.values = best_;
    solution.objective = port::objective_of(problem_, best_);
    solution.outcome = port::is_within_gap(best_objective_, bound, limits_)
                           ? MilpOutcome::kOptimal
                           : MilpOutcome::kFeasible;
  }
  if (std::isfinite(bound)) {
    solution.bound = sign_ * bound;
  }
  return solution;
}

/// The linear program is unbounded: so is the problem, unless it has no solution at all.
MilpSolution Search::run_unbounded() {
  MilpSolution solution;
  solution.outcome = MilpOutcome::kUnbounded;
  if (!best_.empty()) {
    return solution;
  }
  MilpProblem without_costs = problem_;
  for (port::MilpColumn& column : without_costs.columns) {
    column.cost = 0;
  }
  const MilpSolution any = Search(without_costs, limits_, options_).run({});
  solution.nodes = any.nodes;
  if (any.values.empty()) {
    solution.outcome = any.outcome;
  }
  return solution;
}

MilpSolution Search::run(std::span<const double> seed) {
  if (!seed.empty()) {
    std::vector<double> values(seed.begin(), seed.end());
    port::tidy_values(problem_, values);
    keep(std::move(values));
  }
  if (!build()) {
    return answer(MilpOutcome::kInfeasible);
  }
  nodes_.push_back({});
  diving_.push_back(0);
  bool is_stopped = false;
  while (const std::optional<int> node = next_node()) {
    const double bound = nodes_[static_cast<std::size_t>(*node)].bound;
    if (is_hopeless(bound)) {
      leave(bound);
      continue;
    }
    if (!take_unit()) {
      leave(bound);
      is_stopped = true;
      break;
    }
    const Visit visited = visit(*node);
    if (visited == Visit::kUnbounded && *node == 0) {
      return run_unbounded();
    }
    if (visited != Visit::kDone) {
      leave(bound);
      is_stopped = true;
    }
  }
  return answer(is_stopped ? MilpOutcome::kUnknown : MilpOutcome::kInfeasible);
}

}  // namespace

Result<MilpSolution> BuiltInMilp::solve(const MilpProblem& problem,
                                        const MilpLimits& limits,
                                        std::span<const double> seed) {
  SEPTULE_TRY_STATUS(port::validate(problem));
  SEPTULE_TRY_STATUS(port::validate_seed(problem, seed));
  if (const auto known = port::solution_without_columns(problem)) {
    return *known;
  }
  return Search(problem, limits, options_).run(seed);
}

}  // namespace septule::serve
