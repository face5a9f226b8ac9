#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "job/job.hpp"
#include "sched/cluster_view.hpp"

namespace septule::sched {

/// The waiting jobs that one decision looks at, and the bound on overtaking among them.
///
/// A job that waits is *overtaken* each time a job that stands behind it in the queue is placed
/// while it goes on waiting. No job is overtaken more than kOvertakesMax times: when an earlier job
/// has used that up, nobody behind it is placed until it is. What a job has suffered is remembered
/// until it is placed. (Jobs of a higher priority stand before it, and so do not overtake.)
/// Cost: O(kLength) per placement. One owner.
class DueWindow {
 public:
  static constexpr std::size_t kLength = 64;  ///< jobs looked at per decision
  static constexpr std::uint8_t kOvertakesMax = 32;

  explicit DueWindow(int jobs_max) : overtaken_(static_cast<std::size_t>(jobs_max), 0) {}

  /// A new decision: the first kLength jobs of the queue.
  void fill(const ClusterView& view);
  std::size_t size() const { return due_.size(); }
  job::JobId job(std::size_t index) const { return due_[index].job; }
  /// Whether the job at `index` may be placed before those that wait in front of it.
  bool may_place(std::size_t index) const;
  void placed(std::size_t index);
  bool is_placed(std::size_t index) const { return due_[index].is_placed; }
  /// The decision is made: those that still wait remember by how many they were overtaken. Returns
  /// whether nobody waits any more, whoever is behind the window included.
  bool finish(const ClusterView& view);

  int overtaken(job::JobId job) const { return overtaken_[static_cast<std::size_t>(job.value())]; }

 private:
  struct Due {
    job::JobId job;
    int overtakes = 0;  // in this decision, so far
    bool is_placed = false;
  };
  std::vector<Due> due_;
  std::vector<std::uint8_t> overtaken_;  // by job
};

}  // namespace septule::sched
