#include "optimize/moldable.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::optimize {

namespace {

/// One task by itself; adds its longest time to `longest_sum`, which never overflows.
Status check_task(const MoldableProblem& problem, std::size_t index, std::int64_t& longest_sum) {
  const MoldableTask& task = problem.tasks[index];
  if (task.times.size() != problem.gpu->sizes().size()) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("task {} has times for {} sizes, and {} has {}",
                             index,
                             task.times.size(),
                             problem.gpu->geometry().key(),
                             problem.gpu->sizes().size())};
  }
  Duration longest;
  for (const std::optional<Duration>& time : task.times) {
    if (!time.has_value()) {
      continue;
    }
    if (*time <= Duration()) {
      return Error{
          ErrorCode::kInvalidInput,
          fmt::format(
              "task {} has a time of {} ns; times are above 0", index, time->to_nanoseconds())};
    }
    longest = std::max(longest, *time);
  }
  if (longest == Duration()) {
    return Error{
        ErrorCode::kBlocked,
        fmt::format("task {} fits no instance of {}", index, problem.gpu->geometry().key())};
  }
  if (longest.to_nanoseconds() > kMoldableTimeMax.to_nanoseconds() - longest_sum) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("the longest times of the tasks up to task {} add up to more than {} s",
                    index,
                    kMoldableTimeMax.to_seconds())};
  }
  longest_sum += longest.to_nanoseconds();
  return {};
}

/// What stands while a timeline is laid out, and the clock of making and unmaking.
class Layouter {
 public:
  Layouter(const MoldableProblem& problem, const MoldableStart& start)
      : problem_(problem),
        gpu_(*problem.gpu),
        driver_free_(SimTime() + start.driver_busy),
        before_first_(start.before_first) {
    standing_.fill(kNone);
    made_.runs.resize(problem.tasks.size());
    made_.recutting = start.driver_busy;
    for (const std::size_t node : start.instances) {
      standing_[node] = made_.instances.size();
      made_.instances.push_back({.node = node});
    }
  }

  void add(const MoldableBlock& block) {
    SEPTULE_CHECK(!block.tasks.empty(), "a block has tasks");
    if (standing_[block.node] == kNone) {
      clear_way(block.node);
      create(block.node);
    }
    const std::size_t instance = standing_[block.node];
    SimTime& end = made_.instances[instance].usable_until;
    for (const std::size_t task : block.tasks) {
      const Duration time = checked_value(problem_.tasks[task].times[gpu_.node(block.node).size],
                                          "a task is put where it fits");
      made_.runs[task] = {instance, end, end + time};
      end = end + time;
    }
    last_end_ = std::max(last_end_, end);
  }

  MoldableSchedule finish() {
    for (const std::size_t instance : standing_) {
      if (instance != kNone) {
        made_.instances[instance].usable_until = last_end_;
        made_.instances[instance].gone_at = last_end_;
      }
    }
    made_.makespan = last_end_ - SimTime();
    return std::move(made_);
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  /// Until now `usable_until` of a standing instance is the end of its last run.
  void clear_way(std::size_t node) {
    std::vector<std::pair<SimTime, std::size_t>> in_the_way;
    for (std::size_t other = 0; other < gpu_.nodes().size(); ++other) {
      if (standing_[other] != kNone &&
          (gpu_.node(other).memory_mask & gpu_.node(node).memory_mask) != 0) {
        in_the_way.emplace_back(made_.instances[standing_[other]].usable_until, other);
      }
    }
    std::sort(in_the_way.begin(), in_the_way.end());
    for (const auto& [end, other] : in_the_way) {
      MoldableInstance& instance = made_.instances[standing_[other]];
      const Duration length = gpu_.size_of(other).destroy;
      driver_free_ = std::max(driver_free_, end) + length;
      // Idle until the driver gets to it.
      instance.usable_until =
          SimTime::nanoseconds(driver_free_.to_nanoseconds() - length.to_nanoseconds());
      instance.gone_at = driver_free_;
      made_.recutting += length;
      standing_[other] = kNone;
    }
  }

  void create(std::size_t node) {
    const Duration length = gpu_.size_of(node).create + before_first_;
    before_first_ = Duration();
    const SimTime begin = driver_free_;
    driver_free_ = begin + length;
    made_.recutting += length;
    standing_[node] = made_.instances.size();
    made_.instances.push_back({node, begin, driver_free_, driver_free_, driver_free_});
    last_end_ = std::max(last_end_, driver_free_);
  }

  const MoldableProblem& problem_;
  const MoldableGpu& gpu_;
  std::array<std::size_t, kMoldableNodesMax> standing_{};
  SimTime driver_free_;
  Duration before_first_;
  SimTime last_end_;
  MoldableSchedule made_;
};

}  // namespace

Status check_moldable_problem(const MoldableProblem& problem) {
  if (problem.gpu == nullptr) {
    return Error{ErrorCode::kInvalidInput, "a problem of moldable tasks names its GPU"};
  }
  if (problem.tasks.size() > kMoldableTasksMax) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{} moldable tasks are too many; at most {} are taken",
                             problem.tasks.size(),
                             kMoldableTasksMax)};
  }
  std::int64_t longest_sum = 0;
  for (std::size_t task = 0; task < problem.tasks.size(); ++task) {
    SEPTULE_TRY_STATUS(check_task(problem, task, longest_sum));
  }
  return {};
}

MoldableSchedule lay_out(const MoldableProblem& problem,
                         std::span<const MoldableBlock> blocks,
                         const MoldableStart& start) {
  Layouter layouter(problem, start);
  for (const MoldableBlock& block : blocks) {
    layouter.add(block);
  }
  return layouter.finish();
}

MoldableTimes::MoldableTimes(const MoldableProblem& problem)
    : task_count_(problem.tasks.size()), size_count_(problem.gpu->sizes().size()) {
  times_.reserve(task_count_ * size_count_);
  for (const MoldableTask& task : problem.tasks) {
    for (const std::optional<Duration>& time : task.times) {
      times_.push_back(time.has_value() ? time->to_nanoseconds() : kNever);
    }
  }
}

}  // namespace septule::optimize
