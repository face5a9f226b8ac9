#pragma once

#include <map>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "job/job.hpp"
#include "sched/events.hpp"

namespace septule::sched {

/// Which GPUs a policy gave to each gang: JobEnded names only the first of them. One owner. Cost:
/// O(log gangs) per call; jobs with one GPU are not kept.
class GangBook {
 public:
  /// A gang begins (anew) on no GPU.
  void start(job::JobId job) { gpus_[job].clear(); }
  void add(job::JobId job, GpuId gpu) { gpus_[job].push_back(gpu); }
  /// Calls `visit(GpuId)` for every GPU that the ended job held, and forgets the job.
  template <class Visit>
  void release(const JobEnded& ended, const Visit& visit) {
    const auto gang = gpus_.find(ended.job);
    if (gang == gpus_.end()) {
      visit(ended.gpu);
      return;
    }
    const std::vector<GpuId> gpus = std::move(gang->second);
    gpus_.erase(gang);
    for (const GpuId gpu : gpus) {
      visit(gpu);
    }
  }

 private:
  std::map<job::JobId, std::vector<GpuId>> gpus_;
};

}  // namespace septule::sched
