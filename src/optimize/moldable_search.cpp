#include "optimize/moldable_search.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.hpp"
#include "optimize/moldable_annealing.hpp"
#include "optimize/moldable_far.hpp"
#include "optimize/moldable_static.hpp"
#include "optimize/moldable_tree.hpp"

namespace septule::optimize {

namespace {

constexpr std::int64_t kTimelineUnits = 8;
/// Steps of annealing: many for few tasks, whose assignments matter most; then as many as keep 100
/// tasks within 5 ms of one core.
constexpr std::int64_t kStepsMost = 100000;
constexpr std::int64_t kStepsLeast = 50000;
constexpr std::int64_t kStepsTimesTasks = 4000000;

/// Descent by exact timelines.
class Descent {
 public:
  Descent(const MoldableGpu& gpu, const MoldableTimes& times, MoldableAssignment assignment)
      : gpu_(gpu),
        times_(times),
        assignment_(std::move(assignment)),
        loads_(loads_of(gpu, times, assignment_)),
        makespan_(timeline().makespan) {}

  const MoldableAssignment& assignment() const { return assignment_; }
  std::int64_t makespan() const { return makespan_; }

  /// To a local optimum, or until the budget ends.
  void run(WorkBudget& budget) {
    while (!budget.is_exhausted() && improve(budget)) {
    }
  }

 private:
  TreePass timeline() const { return tree_pass(gpu_, loads_, TreeTies::kLongestFirst); }

  /// Nodes whose load lies on a way that ends last.
  std::array<bool, kMoldableNodesMax> critical_nodes() const {
    const TreePass pass = timeline();
    std::array<bool, kMoldableNodesMax> critical{};
    for (std::size_t node = gpu_.nodes().size(); node-- > 0;) {
      critical[node] = critical[node] || pass.end[node] == pass.makespan;
      if (critical[node] && node > 0) {
        critical[checked_value(gpu_.node(node).parent, "only the root has no parent")] = true;
      }
    }
    return critical;
  }

  /// One improvement; false where there is none.
  bool improve(WorkBudget& budget) {
    const std::array<bool, kMoldableNodesMax> critical = critical_nodes();
    for (std::size_t task = 0; task < assignment_.size() && !budget.is_exhausted(); ++task) {
      if (critical[assignment_[task]] &&
          (improve_by_move(task, budget) || improve_by_swap(task, budget))) {
        return true;
      }
    }
    return false;
  }

  void shift(std::size_t task, std::size_t node, std::int32_t tasks) {
    loads_[node].time += tasks * times_.at(task, gpu_.node(node).size);
    loads_[node].tasks += tasks;
  }

  bool is_better(WorkBudget& budget) {
    if (!budget.spend(kTimelineUnits)) {
      return false;
    }
    const std::int64_t makespan = timeline().makespan;
    if (makespan >= makespan_) {
      return false;
    }
    makespan_ = makespan;
    return true;
  }

  bool improve_by_move(std::size_t task, WorkBudget& budget) {
    const std::size_t from = assignment_[task];
    for (std::size_t to = 0; to < gpu_.nodes().size(); ++to) {
      if (to == from || !times_.fits(task, gpu_.node(to).size)) {
        continue;
      }
      shift(task, from, -1);
      shift(task, to, 1);
      if (is_better(budget)) {
        assignment_[task] = to;
        return true;
      }
      shift(task, to, -1);
      shift(task, from, 1);
    }
    return false;
  }

  bool improve_by_swap(std::size_t a, WorkBudget& budget) {
    for (std::size_t b = 0; b < assignment_.size() && !budget.is_exhausted(); ++b) {
      const std::size_t node_a = assignment_[a];
      const std::size_t node_b = assignment_[b];
      if (node_a == node_b || !times_.fits(a, gpu_.node(node_b).size) ||
          !times_.fits(b, gpu_.node(node_a).size)) {
        continue;
      }
      exchange(a, b);
      if (is_better(budget)) {
        return true;
      }
      exchange(a, b);
    }
    return false;
  }

  void exchange(std::size_t a, std::size_t b) {
    const std::size_t node_a = assignment_[a];
    const std::size_t node_b = assignment_[b];
    shift(a, node_a, -1);
    shift(b, node_b, -1);
    shift(a, node_b, 1);
    shift(b, node_a, 1);
    std::swap(assignment_[a], assignment_[b]);
  }

  const MoldableGpu& gpu_;
  const MoldableTimes& times_;
  MoldableAssignment assignment_;
  NodeLoads loads_;
  std::int64_t makespan_ = 0;
};

/// The best assignment so far, and under which ties its timeline is made.
struct Best {
  MoldableAssignment assignment;
  std::int64_t makespan = MoldableTimes::kNever;
  TreeTies ties = TreeTies::kNodeOrder;
  std::string_view found_by;

  void offer(const MoldableAssignment& other,
             std::int64_t other_makespan,
             TreeTies other_ties,
             std::string_view by) {
    if (other_makespan < makespan) {
      *this = {other, other_makespan, other_ties, by};
    }
  }
};

std::int64_t area_target(const MoldableGpu& gpu, const MoldableTimes& times) {
  std::int64_t sum = 0;
  for (std::size_t task = 0; task < times.task_count(); ++task) {
    std::int64_t least = MoldableTimes::kNever;
    for (std::size_t size = 0; size < times.size_count(); ++size) {
      if (times.fits(task, size)) {
        least = std::min(
            least,
            gpu.sizes()[size].slices.value() * times.at(task, size) / gpu.compute_slices().value());
      }
    }
    sum += least;
  }
  return sum;
}

void search(const MoldableGpu& gpu,
            const MoldableTimes& times,
            std::uint64_t seed,
            WorkBudget& budget,
            Best& best) {
  const auto descend = [&](const MoldableAssignment& from) {
    Descent descent(gpu, times, from);
    descent.run(budget);
    best.offer(descent.assignment(), descent.makespan(), TreeTies::kLongestFirst, "search");
  };
  AnnealingOptions options;
  options.seed = seed;
  options.target = area_target(gpu, times);
  const std::int64_t wanted = std::clamp(
      kStepsTimesTasks / static_cast<std::int64_t>(times.task_count()), kStepsLeast, kStepsMost);
  options.steps = std::min(wanted, budget.units_left() / 2);
  if (budget.spend(options.steps)) {
    descend(anneal(gpu, times, best.assignment, options));
  }
  if (best.found_by != "search") {
    descend(MoldableAssignment(best.assignment));
  }
}

}  // namespace

Result<MoldableAnswer> search_moldable(const MoldableProblem& problem,
                                       WorkBudget& budget,
                                       std::uint64_t seed) {
  const std::int64_t units_before = budget.units_spent();
  SEPTULE_TRY(const FarAnswer far, far_schedule(problem, budget));
  MoldableAnswer answer;
  answer.found_by = "far";
  if (problem.tasks.empty()) {
    return answer;
  }
  Best best;
  best.offer(far.assignment, far.makespan.to_nanoseconds(), TreeTies::kNodeOrder, answer.found_by);
  answer.far = far.makespan;
  for (const StaticOrder order : {StaticOrder::kFirstComeFirstServed, StaticOrder::kLongestFirst}) {
    const Result<StaticAnswer> fixed = best_static_schedule(problem, order);
    if (!fixed.has_value()) {
      continue;  // no layout fits all tasks; FAR has an answer all the same
    }
    best.offer(fixed->assignment, fixed->makespan.to_nanoseconds(), TreeTies::kNodeOrder, "static");
    if (!answer.best_static.has_value() || fixed->makespan < *answer.best_static) {
      answer.best_static = fixed->makespan;
    }
  }
  const MoldableTimes times(problem);
  search(*problem.gpu, times, seed, budget, best);
  answer.found_by = best.found_by;
  answer.schedule = lay_out(problem, tree_blocks(*problem.gpu, times, best.assignment, best.ties));
  answer.assignment = std::move(best.assignment);
  answer.units_spent = budget.units_spent() - units_before;
  return answer;
}

}  // namespace septule::optimize
