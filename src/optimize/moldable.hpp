#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "optimize/moldable_gpu.hpp"

namespace septule::optimize {

/// A task that runs once, without a break, on an instance of any size it fits: with one time for
/// each of MoldableGpu::sizes(), nothing where it does not fit. Nothing is assumed of how times
/// fall from size to size.
struct MoldableTask {
  std::vector<std::optional<Duration>> times;
};

/// Tasks that are all there at the begin, for one GPU on which no instance exists at the begin.
/// Instances are made and unmade one at a time, and unmaking is needed only to make room. The goal
/// is the least makespan: the end of the last task. A value; the GPU outlives it.
struct MoldableProblem {
  const MoldableGpu* gpu = nullptr;
  std::vector<MoldableTask> tasks;
};

/// Tasks and time that a problem may hold at most.
inline constexpr std::size_t kMoldableTasksMax = 10000;
inline constexpr Duration kMoldableTimeMax = Duration::nanoseconds(INT64_C(1000000000000000000));

/// kInvalidInput: a task with times for another number of sizes, times that are not positive, more
/// than kMoldableTasksMax tasks, or whose longest times add up to more than kMoldableTimeMax.
/// kBlocked: a task that fits no size. Names the task by its number, from 0.
Status check_moldable_problem(const MoldableProblem& problem);

/// An instance of the answer, from the begin of its creation on. Times count from the schedule's
/// begin and mean what those of plan::ScheduledInstance mean.
struct MoldableInstance {
  std::size_t node = 0;
  SimTime create_begin;
  SimTime usable_from;
  SimTime usable_until;  ///< == gone_at where it is not destroyed
  SimTime gone_at;       ///< the makespan where it is not destroyed
};

struct MoldableRun {
  std::size_t instance = 0;  ///< index into MoldableSchedule::instances
  SimTime begin;
  SimTime end;
};

/// The answer: instances by begin of creation, and the run of each task. A value.
struct MoldableSchedule {
  std::vector<MoldableInstance> instances;
  std::vector<MoldableRun> runs;  ///< by task
  Duration makespan;
  Duration recutting;  ///< all making and unmaking together
};

/// Where each task runs: a node of the tree. All tasks of a node share one instance, one after
/// another; larger places come before the smaller ones made of them.
using MoldableAssignment = std::vector<std::size_t>;

/// Tasks one after another on one place, in the order given. Not empty.
struct MoldableBlock {
  std::size_t node = 0;
  std::vector<std::size_t> tasks;
};

/// A GPU that is not empty at the begin.
struct MoldableStart {
  Duration driver_busy;                ///< what has to be unmade before anything is made
  Duration before_first;               ///< belongs to the first creation: switching MIG on
  std::vector<std::size_t> instances;  ///< nodes, apart, whose instances stand and are idle
};

/// The timeline of blocks whose instances are made in this order, everything as early as can be:
/// a block on a place whose instance stands continues it; otherwise what is in the way is
/// destroyed first (the first to end first), then it is created. Instances may split and merge.
/// Each task of the problem is in exactly one block and fits there. Those that stood at the begin
/// come first among the instances, also if nothing runs in them. Cost: blocks * nodes + tasks.
MoldableSchedule lay_out(const MoldableProblem& problem,
                         std::span<const MoldableBlock> blocks,
                         const MoldableStart& start = {});

/// Times as a table for inner loops: nanoseconds, kNever where a task does not fit. Built from a
/// checked problem. A value.
class MoldableTimes {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;

  explicit MoldableTimes(const MoldableProblem& problem);

  std::size_t task_count() const { return task_count_; }
  std::size_t size_count() const { return size_count_; }
  std::int64_t at(std::size_t task, std::size_t size) const {
    return times_[task * size_count_ + size];
  }
  bool fits(std::size_t task, std::size_t size) const { return at(task, size) != kNever; }

 private:
  std::size_t task_count_ = 0;
  std::size_t size_count_ = 0;
  std::vector<std::int64_t> times_;
};

}  // namespace septule::optimize
