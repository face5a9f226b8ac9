#include "optimize/moldable_far.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "optimize/moldable_tree.hpp"

namespace septule::optimize {

namespace {

constexpr int kRoundsMax = 100;

/// The size from `first` on of least area; nothing where the task fits none of them.
std::optional<std::size_t> least_area(const MoldableGpu& gpu,
                                      const MoldableTimes& times,
                                      std::size_t task,
                                      std::size_t first) {
  std::optional<std::size_t> best;
  const auto area = [&](std::size_t size) {
    return gpu.sizes()[size].slices.value() * times.at(task, size);
  };
  for (std::size_t size = first; size < gpu.sizes().size(); ++size) {
    if (times.fits(task, size) && (!best.has_value() || area(size) < area(*best))) {
      best = size;
    }
  }
  return best;
}

/// The tasks of each size, longest first (then by number), as the family walks on.
class SizeQueues {
 public:
  SizeQueues(const MoldableGpu& gpu, const MoldableTimes& times) : gpu_(gpu), times_(times) {
    for (std::size_t task = 0; task < times.task_count(); ++task) {
      const std::size_t size =
          checked_value(least_area(gpu, times, task, 0), "a checked task fits some size");
      queues_[size].push_back(task);
    }
    for (std::size_t size = 0; size < gpu.sizes().size(); ++size) {
      std::sort(queues_[size].begin(), queues_[size].end(), [&](std::size_t a, std::size_t b) {
        return comes_before(a, b, size);
      });
    }
  }

  std::span<const std::size_t> of(std::size_t size) const { return queues_[size]; }

  /// To the next allotment; false where there is none.
  bool advance() {
    std::optional<std::size_t> from;
    for (std::size_t size = 0; size < gpu_.sizes().size(); ++size) {
      if (!queues_[size].empty() && (!from.has_value() || is_longer(size, *from))) {
        from = size;
      }
    }
    if (!from.has_value()) {
      return false;
    }
    const std::size_t task = queues_[*from].front();
    const std::optional<std::size_t> to = least_area(gpu_, times_, task, *from + 1);
    if (!to.has_value()) {
      return false;
    }
    queues_[*from].erase(queues_[*from].begin());
    std::vector<std::size_t>& queue = queues_[*to];
    const auto at = std::lower_bound(
        queue.begin(), queue.end(), task, [&](auto a, auto b) { return comes_before(a, b, *to); });
    queue.insert(at, task);
    return true;
  }

 private:
  bool comes_before(std::size_t a, std::size_t b, std::size_t size) const {
    const std::int64_t time_a = times_.at(a, size);
    const std::int64_t time_b = times_.at(b, size);
    return time_a != time_b ? time_a > time_b : a < b;
  }
  /// Whether the longest task of size `a` is longer than that of `b`, or as long and before it.
  bool is_longer(std::size_t a, std::size_t b) const {
    const std::size_t task_a = queues_[a].front();
    const std::size_t task_b = queues_[b].front();
    const std::int64_t time_a = times_.at(task_a, a);
    const std::int64_t time_b = times_.at(task_b, b);
    return time_a != time_b ? time_a > time_b : task_a < task_b;
  }

  const MoldableGpu& gpu_;
  const MoldableTimes& times_;
  std::array<std::vector<std::size_t>, kMoldableSizesMax> queues_;
};

/// Phase 2: each free node takes the longest task left of its size, else it is cut.
MoldableAssignment list_schedule(const MoldableGpu& gpu,
                                 const MoldableTimes& times,
                                 const SizeQueues& queues) {
  struct Open {
    std::int64_t free_at = 0;
    std::size_t node = 0;
    bool has_run = false;
  };
  std::array<std::size_t, kMoldableSizesMax> taken{};
  MoldableAssignment assignment(times.task_count(), 0);
  std::size_t left = times.task_count();
  std::int64_t driver_free = 0;
  InlineVector<Open, kMoldableNodesMax> open;
  open.push_back({});
  while (left > 0) {
    std::size_t at = 0;
    for (std::size_t other = 1; other < open.size(); ++other) {
      if (std::pair(open[other].free_at, open[other].node) <
          std::pair(open[at].free_at, open[at].node)) {
        at = other;
      }
    }
    Open& next = open[at];
    const std::size_t size = gpu.node(next.node).size;
    const std::span<const std::size_t> queue = queues.of(size);
    if (taken[size] < queue.size()) {
      if (!next.has_run) {
        next.free_at =
            std::max(driver_free, next.free_at) + gpu.sizes()[size].create.to_nanoseconds();
        driver_free = next.free_at;
        next.has_run = true;
      }
      const std::size_t task = queue[taken[size]++];
      next.free_at += times.at(task, size);
      assignment[task] = next.node;
      --left;
      continue;
    }
    if (next.has_run) {
      driver_free =
          std::max(driver_free, next.free_at) + gpu.sizes()[size].destroy.to_nanoseconds();
    }
    const Open cut = next;
    open[at] = open.back();
    open.pop_back();
    for (const std::size_t child : gpu.node(cut.node).children) {
      open.push_back({cut.free_at, child, false});
    }
  }
  return assignment;
}

/// Phase 3 on one assignment.
class Refiner {
 public:
  Refiner(const MoldableGpu& gpu, const MoldableTimes& times, MoldableAssignment& assignment)
      : gpu_(gpu), times_(times), assignment_(assignment), pass_(pass_of()) {}

  std::int64_t makespan() const { return pass_.makespan; }

  /// One round; false where nothing could be changed.
  bool change() {
    const std::optional<std::size_t> critical = critical_leaf();
    for (std::optional<std::size_t> node = critical; node.has_value();
         node = gpu_.node(*node).parent) {
      const std::optional<std::size_t> other = earliest_like(*node);
      if (!other.has_value()) {
        continue;
      }
      const std::int64_t gap = pass_.makespan - latest_[*other];
      if (gap > 0 && (move(*node, *other, gap) || swap(*node, *other, gap))) {
        pass_ = pass_of();
        return true;
      }
    }
    return false;
  }

 private:
  TreePass pass_of() {
    TreePass pass = tree_pass(gpu_, loads_of(gpu_, times_, assignment_), TreeTies::kNodeOrder);
    latest_ = pass.end;
    for (std::size_t node = gpu_.nodes().size(); node-- > 1;) {
      std::int64_t& above =
          latest_[checked_value(gpu_.node(node).parent, "only the root has no parent")];
      above = std::max(above, latest_[node]);
    }
    return pass;
  }

  std::optional<std::size_t> critical_leaf() const {
    for (const std::size_t leaf : gpu_.leaves()) {
      if (pass_.end[leaf] == pass_.makespan) {
        return leaf;
      }
    }
    return std::nullopt;
  }

  /// The place of the same size whose latest slice ends first.
  std::optional<std::size_t> earliest_like(std::size_t node) const {
    std::optional<std::size_t> best;
    for (std::size_t other = 0; other < gpu_.nodes().size(); ++other) {
      if (other != node && gpu_.node(other).size == gpu_.node(node).size &&
          (!best.has_value() || latest_[other] < latest_[*best])) {
        best = other;
      }
    }
    return best;
  }

  /// Tasks of a node by (time, number).
  std::vector<std::pair<std::int64_t, std::size_t>> tasks_of(std::size_t node) const {
    std::vector<std::pair<std::int64_t, std::size_t>> tasks;
    for (std::size_t task = 0; task < assignment_.size(); ++task) {
      if (assignment_[task] == node) {
        tasks.emplace_back(times_.at(task, gpu_.node(node).size), task);
      }
    }
    std::sort(tasks.begin(), tasks.end());
    return tasks;
  }

  /// Distance of 2 * `time` from `gap`, so that half a nanosecond need not be rounded.
  static std::int64_t distance(std::int64_t time, std::int64_t gap) {
    return std::abs(2 * time - gap);
  }

  bool move(std::size_t from, std::size_t to, std::int64_t gap) {
    std::optional<std::pair<std::int64_t, std::size_t>> best;
    for (const auto& candidate : tasks_of(from)) {
      if (candidate.first < gap &&
          (!best.has_value() || distance(candidate.first, gap) < distance(best->first, gap))) {
        best = candidate;
      }
    }
    if (!best.has_value()) {
      return false;
    }
    assignment_[best->second] = to;
    return true;
  }

  bool swap(std::size_t from, std::size_t to, std::int64_t gap) {
    const std::vector<std::pair<std::int64_t, std::size_t>> there = tasks_of(to);
    std::optional<std::int64_t> best;
    std::pair<std::size_t, std::size_t> best_pair;
    const auto offer = [&](const auto& mine, const auto& theirs) {
      const std::int64_t difference = mine.first - theirs.first;
      if (difference > 0 && difference < gap &&
          (!best.has_value() || distance(difference, gap) < *best)) {
        best = distance(difference, gap);
        best_pair = {mine.second, theirs.second};
      }
    };
    for (const auto& mine : tasks_of(from)) {
      // The two neighbours of mine - gap / 2.
      const auto at = std::lower_bound(
          there.begin(), there.end(), std::pair(mine.first - gap / 2, std::size_t{0}));
      if (at != there.end()) {
        offer(mine, *at);
      }
      if (at != there.begin()) {
        offer(mine, *std::prev(at));
      }
    }
    if (!best.has_value()) {
      return false;
    }
    assignment_[best_pair.first] = to;
    assignment_[best_pair.second] = from;
    return true;
  }

  const MoldableGpu& gpu_;
  const MoldableTimes& times_;
  MoldableAssignment& assignment_;
  std::array<std::int64_t, kMoldableNodesMax> latest_{};  // of the node or anything below it
  TreePass pass_;
};

MoldableAllotment allotment_of(const SizeQueues& queues, const MoldableGpu& gpu, std::size_t n) {
  MoldableAllotment allotment(n, 0);
  for (std::size_t size = 0; size < gpu.sizes().size(); ++size) {
    for (const std::size_t task : queues.of(size)) {
      allotment[task] = size;
    }
  }
  return allotment;
}

}  // namespace

std::vector<MoldableAllotment> far_family(const MoldableProblem& problem) {
  const MoldableTimes times(problem);
  SizeQueues queues(*problem.gpu, times);
  std::vector<MoldableAllotment> family;
  do {
    family.push_back(allotment_of(queues, *problem.gpu, problem.tasks.size()));
  } while (queues.advance());
  return family;
}

Result<FarAnswer> far_schedule(const MoldableProblem& problem, WorkBudget& budget) {
  SEPTULE_TRY_STATUS(check_moldable_problem(problem));
  FarAnswer answer;
  if (problem.tasks.empty()) {
    return answer;
  }
  const MoldableGpu& gpu = *problem.gpu;
  const MoldableTimes times(problem);
  const auto units = static_cast<std::int64_t>(problem.tasks.size());
  std::int64_t best = MoldableTimes::kNever;
  SizeQueues queues(gpu, times);
  do {
    if (!budget.spend(units)) {
      break;
    }
    MoldableAssignment assignment = list_schedule(gpu, times, queues);
    const TreePass pass = tree_pass(gpu, loads_of(gpu, times, assignment), TreeTies::kNodeOrder);
    if (pass.makespan < best) {
      best = pass.makespan;
      answer.assignment = std::move(assignment);
    }
    ++answer.family_size;
  } while (queues.advance());
  if (answer.family_size == 0) {
    return Error{ErrorCode::kTimedOut,
                 fmt::format("the work limit ended before FAR had scheduled {} tasks once", units)};
  }
  answer.before_refinement = Duration::nanoseconds(best);
  MoldableAssignment refined = answer.assignment;
  Refiner refiner(gpu, times, refined);
  for (int round = 0; round < kRoundsMax && budget.spend(units) && refiner.change(); ++round) {
    if (refiner.makespan() < best) {
      best = refiner.makespan();
      answer.assignment = refined;
    }
  }
  answer.makespan = Duration::nanoseconds(best);
  return answer;
}

}  // namespace septule::optimize
