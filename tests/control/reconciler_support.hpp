#pragma once

#include <algorithm>
#include <vector>

#include "sched/goal.hpp"

namespace septule::control::test {

/// These jobs, each in an instance of its own (which one does not matter here).
inline sched::GpuGoal goal(std::vector<int> jobs,
                           sched::GoalPurpose purpose = sched::GoalPurpose::kRun) {
  sched::GpuGoal made;
  made.purpose = purpose;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    made.instances.push_back({ProfileIndex(0), MemorySlices(static_cast<int>(i))});
  }
  std::ranges::sort(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    made.add({.job = job::JobId(jobs[i]), .instance = static_cast<int>(i)});
  }
  return made;
}

inline sched::GpuGoal gang_goal(int job) {
  sched::GpuGoal made;
  made.mode = sched::GpuGoal::Mode::kWholeGpu;
  made.add({.job = job::JobId(job)});
  return made;
}

}  // namespace septule::control::test
