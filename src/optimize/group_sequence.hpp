#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/work_budget.hpp"

namespace septule::optimize {

/// Jobs of a small window: bit j = job j.
using JobSet = std::uint32_t;
/// Jobs in a window that tables over all its subsets are made for.
inline constexpr std::size_t kTableJobsMax = 16;
/// Jobs in a group of such a table.
inline constexpr std::size_t kTableGroupMax = 7;

inline std::size_t size_of(JobSet set) {
  return static_cast<std::size_t>(std::popcount(set));
}

/// What every group of a window takes on every cut of the GPU, and switching between cuts: the
/// input of the exact search, in nanoseconds. Groups are the subsets of 1 to `group_max` jobs. A
/// value; one writer. 8 bytes for each group and cut (2,516 groups for 16 jobs by 4).
class GroupCosts {
 public:
  /// A group that cannot run on a cut. Sums of a few of them do not overflow.
  static constexpr std::int64_t kImpossible = std::numeric_limits<std::int64_t>::max() / 8;

  /// At most kTableJobsMax jobs and kTableGroupMax in a group. Nothing is possible yet, and
  /// switching costs nothing.
  GroupCosts(std::size_t job_count, std::size_t group_max, std::size_t cut_count);

  std::size_t job_count() const { return job_count_; }
  std::size_t group_max() const { return group_max_; }
  std::size_t cut_count() const { return cut_count_; }
  /// All groups, by size, then ascending.
  std::span<const JobSet> groups() const { return groups_; }
  std::size_t index_of(JobSet group) const { return index_of_[group]; }

  std::int64_t time(JobSet group, std::size_t cut) const {
    return times_[index_of_[group] * cut_count_ + cut];
  }
  void set_time(JobSet group, std::size_t cut, std::int64_t time) {
    times_[index_of_[group] * cut_count_ + cut] = time;
  }
  /// Times of a group by cut.
  std::span<const std::int64_t> row(JobSet group) const {
    return std::span(times_).subspan(index_of_[group] * cut_count_, cut_count_);
  }
  std::span<std::int64_t> row(JobSet group) {
    return std::span(times_).subspan(index_of_[group] * cut_count_, cut_count_);
  }

  /// `from` == cut_count(): how the GPU is cut at the begin.
  std::int64_t switch_time(std::size_t from, std::size_t to) const {
    return switches_[from * cut_count_ + to];
  }
  void set_switch_time(std::size_t from, std::size_t to, std::int64_t time) {
    switches_[from * cut_count_ + to] = time;
  }
  bool is_switching_free() const;

 private:
  std::size_t job_count_;
  std::size_t group_max_;
  std::size_t cut_count_;
  std::vector<JobSet> groups_;
  std::vector<std::uint32_t> index_of_;  // by JobSet
  std::vector<std::int64_t> times_;
  std::vector<std::int64_t> switches_;
};

/// Groups one after another.
struct GroupSequence {
  struct Step {
    JobSet group = 0;
    std::size_t cut = 0;
    friend bool operator==(const Step&, const Step&) = default;
  };
  std::vector<Step> steps;
  std::int64_t time = 0;   ///< groups and switches, the one before the first group included
  bool is_proven = false;  ///< no sequence takes less
};

/// What all steps of a sequence take.
std::int64_t sequence_time(const GroupCosts& costs, std::span<const GroupSequence::Step> steps);

/// The fastest sequence of groups that runs every job once, with switches between cuts.
///
/// Assumes: groups are separated by barriers; a switch takes place between groups; what a group
/// takes does not depend on its neighbours.
/// Steps: (1) the best partition of every set of jobs into groups where switching is free: a lower
/// bound for what any state still needs, and the answer if it is. (2) A first sequence: that
/// partition, its groups sorted by cut. (3) Dynamic program over states (jobs left, cut), built up
/// from the end; states whose time and bound together exceed a threshold are dropped. The threshold
/// rises from the bound towards the first sequence until an answer lies within it, which is then
/// optimal.
/// Ties: stay on the cut; lowest cut; smallest group, then the one of the lowest jobs.
/// Cost: a unit for each group added to a set of jobs left (15 million for 16 jobs by 4 if nothing
/// is dropped). When the budget ends, the first sequence is returned, not proven.
/// Nothing = no sequence exists.
std::optional<GroupSequence> find_best_sequence(const GroupCosts& costs, WorkBudget& budget);

}  // namespace septule::optimize
