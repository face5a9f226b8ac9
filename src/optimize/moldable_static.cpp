#include "optimize/moldable_static.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "optimize/moldable_tree.hpp"

namespace septule::optimize {

namespace {

std::int64_t shortest_in(const MoldableGpu& gpu,
                         const MoldableTimes& times,
                         std::size_t task,
                         std::span<const std::size_t> layout) {
  std::int64_t shortest = MoldableTimes::kNever;
  for (const std::size_t node : layout) {
    shortest = std::min(shortest, times.at(task, gpu.node(node).size));
  }
  return shortest;
}

/// When each instance of a layout has been created and is free.
using FreeAt = std::vector<std::int64_t>;

/// The instance for the next task by `order`; nothing where it fits none.
std::optional<std::size_t> choose(const MoldableProblem& problem,
                                  const MoldableTimes& times,
                                  std::size_t task,
                                  std::span<const std::size_t> layout,
                                  const FreeAt& free_at,
                                  StaticOrder order) {
  std::optional<std::size_t> best;
  std::int64_t best_key = 0;
  for (std::size_t at = 0; at < layout.size(); ++at) {
    const std::size_t size = problem.gpu->node(layout[at]).size;
    if (!times.fits(task, size)) {
      continue;
    }
    const std::int64_t key =
        free_at[at] + (order == StaticOrder::kLongestFirst ? times.at(task, size) : 0);
    if (!best.has_value() || key < best_key) {
      best = at;
      best_key = key;
    }
  }
  return best;
}

std::optional<StaticAnswer> schedule_on(const MoldableProblem& problem,
                                        const MoldableTimes& times,
                                        std::span<const std::size_t> layout,
                                        StaticOrder order) {
  const MoldableGpu& gpu = *problem.gpu;
  FreeAt free_at;
  std::int64_t driver_free = 0;
  for (const std::size_t node : layout) {
    driver_free += gpu.size_of(node).create.to_nanoseconds();
    free_at.push_back(driver_free);
  }
  std::vector<std::size_t> tasks(times.task_count());
  std::iota(tasks.begin(), tasks.end(), std::size_t{0});
  if (order == StaticOrder::kLongestFirst) {
    std::vector<std::int64_t> length;
    for (const std::size_t task : tasks) {
      length.push_back(shortest_in(gpu, times, task, layout));
    }
    std::stable_sort(tasks.begin(), tasks.end(), [&](std::size_t a, std::size_t b) {
      return length[a] > length[b];
    });
  }
  StaticAnswer answer;
  answer.layout.assign(layout.begin(), layout.end());
  answer.assignment.resize(tasks.size());
  for (const std::size_t task : tasks) {
    const std::optional<std::size_t> at = choose(problem, times, task, layout, free_at, order);
    if (!at.has_value()) {
      return std::nullopt;
    }
    answer.assignment[task] = layout[*at];
    free_at[*at] += times.at(task, gpu.node(layout[*at]).size);
  }
  // Instances without tasks are not created, so that the makespan may be less than planned.
  const TreePass pass =
      tree_pass(gpu, loads_of(gpu, times, answer.assignment), TreeTies::kNodeOrder);
  answer.makespan = Duration::nanoseconds(pass.makespan);
  return answer;
}

}  // namespace

std::optional<StaticAnswer> static_schedule(const MoldableProblem& problem,
                                            std::span<const std::size_t> layout,
                                            StaticOrder order) {
  return schedule_on(problem, MoldableTimes(problem), layout, order);
}

Result<StaticAnswer> best_static_schedule(const MoldableProblem& problem, StaticOrder order) {
  SEPTULE_TRY_STATUS(check_moldable_problem(problem));
  const MoldableTimes times(problem);
  std::optional<StaticAnswer> best;
  for (const std::vector<std::size_t>& layout : problem.gpu->layouts()) {
    std::optional<StaticAnswer> answer = schedule_on(problem, times, layout, order);
    if (answer.has_value() && (!best.has_value() || answer->makespan < best->makespan)) {
      best = std::move(answer);
    }
  }
  if (!best.has_value()) {
    return Error{ErrorCode::kBlocked,
                 fmt::format("no single layout of {} has an instance that fits for each of the {} "
                             "tasks",
                             problem.gpu->geometry().key(),
                             problem.tasks.size())};
  }
  return *std::move(best);
}

}  // namespace septule::optimize
