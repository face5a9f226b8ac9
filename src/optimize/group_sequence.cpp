#include "optimize/group_sequence.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.hpp"

namespace septule::optimize {

namespace {

constexpr std::int64_t kImpossible = GroupCosts::kImpossible;
/// The threshold's part of the way from the bound to the first sequence, in sixteenths.
constexpr std::array kThresholds{1, 3, 8, 16};

JobSet all_jobs(std::size_t job_count) {
  return static_cast<JobSet>((std::uint64_t{1} << job_count) - 1);
}

JobSet lowest_of(JobSet set) {
  return set & (~set + 1);
}

/// Calls visit(subset) for each subset of `jobs` of 1 to `size_max` jobs, `fixed` added to each.
template <class Visit>
void for_each_group(JobSet jobs, std::size_t size_max, JobSet fixed, const Visit& visit) {
  for (JobSet left = jobs; left != 0;) {
    const JobSet lowest = lowest_of(left);
    left ^= lowest;
    visit(fixed | lowest);
    if (size_max > 1) {
      for_each_group(left, size_max - 1, fixed | lowest, visit);
    }
  }
}

/// One search. One use.
class SequenceSearch {
 public:
  SequenceSearch(const GroupCosts& costs, WorkBudget& budget)
      : costs_(costs),
        budget_(budget),
        cuts_(costs.cut_count()),
        everything_(all_jobs(costs.job_count())) {}

  std::optional<GroupSequence> run() {
    if (everything_ == 0) {
      return GroupSequence{.steps = {}, .time = 0, .is_proven = true};
    }
    find_ranges();
    find_bounds();
    if (bounds_[everything_] >= kImpossible) {
      return std::nullopt;
    }
    GroupSequence first = first_sequence();
    const std::int64_t bound = bounds_[everything_];
    if (costs_.is_switching_free() || first.time == bound) {
      first.is_proven = true;
      return first;
    }
    find_entries();
    to_go_.assign((std::size_t{everything_} + 1) * cuts_, kImpossible);
    for (const int part : kThresholds) {
      threshold_ = bound + (first.time - bound) / 16 * part;
      threshold_ = part == 16 ? first.time : threshold_;
      if (!fill_states()) {
        return first;
      }
      const std::int64_t best = best_from(everything_, cuts_);
      if (best <= threshold_) {
        GroupSequence answer{.steps = trace(), .time = best, .is_proven = true};
        return answer;
      }
    }
    SEPTULE_CHECK(false, "the first sequence lies within the last threshold");
  }

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  std::span<std::int64_t> states(JobSet left) {
    return std::span(to_go_).subspan(std::size_t{left} * cuts_, cuts_);
  }

  /// The cuts on which groups of a size can run at all.
  void find_ranges() {
    std::array<std::vector<bool>, kTableGroupMax + 1> used;
    used.fill(std::vector<bool>(cuts_, false));
    best_of_group_.assign(costs_.groups().size(), kImpossible);
    for (const JobSet group : costs_.groups()) {
      const std::span<const std::int64_t> row = costs_.row(group);
      std::vector<bool>& seen = used[size_of(group)];
      std::int64_t best = kImpossible;
      for (std::size_t cut = 0; cut < cuts_; ++cut) {
        if (row[cut] < kImpossible) {
          seen[cut] = true;
          best = std::min(best, row[cut]);
        }
      }
      best_of_group_[costs_.index_of(group)] = best;
    }
    for (std::size_t size = 1; size <= costs_.group_max(); ++size) {
      Range& range = ranges_[size];
      range = {.begin = cuts_, .end = 0};
      for (std::size_t cut = 0; cut < cuts_; ++cut) {
        if (used[size][cut]) {
          range.begin = std::min(range.begin, cut);
          range.end = cut + 1;
        }
      }
      range.begin = std::min(range.begin, range.end);
    }
  }

  /// What each set of jobs takes at least: the best partition into groups, switching free.
  void find_bounds() {
    bounds_.assign(std::size_t{everything_} + 1, kImpossible);
    bounds_[0] = 0;
    for (JobSet left = 1; left <= everything_; ++left) {
      std::int64_t best = kImpossible;
      const JobSet first = lowest_of(left);
      const auto take = [&](JobSet group) {
        best = std::min(best, best_of_group_[costs_.index_of(group)] + bounds_[left & ~group]);
      };
      take(first);
      if (costs_.group_max() > 1) {
        for_each_group(left & ~first, costs_.group_max() - 1, first, take);
      }
      bounds_[left] = std::min(best, kImpossible);
    }
    budget_.spend(std::int64_t{everything_} + 1);
  }

  /// The partition behind the bound of all jobs, in an order with few switches.
  GroupSequence first_sequence() const {
    std::vector<GroupSequence::Step> open;
    for (JobSet left = everything_; left != 0;) {
      for (const JobSet group : costs_.groups()) {
        const std::int64_t own = best_of_group_[costs_.index_of(group)];
        if ((group & ~left) == 0 && (group & lowest_of(left)) != 0 && own < kImpossible &&
            own + bounds_[left & ~group] == bounds_[left]) {
          open.push_back({.group = group, .cut = cheapest_cut(group, own)});
          left &= ~group;
          break;
        }
      }
    }
    GroupSequence sequence;
    for (std::size_t at = cuts_; !open.empty();) {
      const auto nearest = std::ranges::min_element(open, {}, [&](const auto& step) {
        return std::pair(at == step.cut ? std::int64_t{-1} : costs_.switch_time(at, step.cut),
                         step.cut);
      });
      at = nearest->cut;
      sequence.steps.push_back(*nearest);
      open.erase(nearest);
    }
    sequence.time = sequence_time(costs_, sequence.steps);
    return sequence;
  }

  std::size_t cheapest_cut(JobSet group, std::int64_t time) const {
    const std::span<const std::int64_t> row = costs_.row(group);
    return static_cast<std::size_t>(std::ranges::find(row, time) - row.begin());
  }

  /// The least switching between the begin and a cut, detours allowed.
  void find_entries() {
    entries_.assign(cuts_, kImpossible);
    std::vector<bool> is_done(cuts_, false);
    for (std::size_t cut = 0; cut < cuts_; ++cut) {
      entries_[cut] = costs_.switch_time(cuts_, cut);
    }
    for (std::size_t round = 0; round < cuts_; ++round) {
      std::size_t nearest = cuts_;
      for (std::size_t cut = 0; cut < cuts_; ++cut) {
        if (!is_done[cut] && (nearest == cuts_ || entries_[cut] < entries_[nearest])) {
          nearest = cut;
        }
      }
      is_done[nearest] = true;
      for (std::size_t cut = 0; cut < cuts_; ++cut) {
        entries_[cut] =
            std::min(entries_[cut], entries_[nearest] + costs_.switch_time(nearest, cut));
      }
    }
  }

  /// Fills to_go_ from no job left upwards. False when the budget is used up.
  bool fill_states() {
    is_reached_.assign(std::size_t{everything_} + 1, false);
    std::ranges::fill(states(0), 0);
    is_reached_[0] = true;
    for (JobSet left = 0; left < everything_; ++left) {
      if (!is_reached_[left] || (left != 0 && !close(left))) {
        continue;
      }
      std::int64_t units = 0;
      for_each_group(everything_ & ~left, costs_.group_max(), 0, [&](JobSet group) {
        extend(left, group);
        ++units;
      });
      if (!budget_.spend(units)) {
        return false;
      }
    }
    return true;
  }

  /// From "the next group is on this cut" to "the GPU is on this cut": a switch in front. Drops
  /// what lies beyond the threshold. False if nothing is left.
  bool close(JobSet left) {
    const std::span<std::int64_t> row = states(left);
    const std::int64_t room = threshold_ - bounds_[everything_ & ~left];
    open_.clear();
    for (std::size_t cut = 0; cut < cuts_; ++cut) {
      if (row[cut] + entries_[cut] <= room) {
        open_.emplace_back(cut, row[cut]);
      } else {
        row[cut] = kImpossible;
      }
    }
    bool is_open = false;
    for (std::size_t cut = 0; cut < cuts_; ++cut) {
      std::int64_t best = row[cut];
      for (const auto& [next, time] : open_) {
        best = std::min(best, time + costs_.switch_time(cut, next));
      }
      row[cut] = best + entries_[cut] <= room ? best : kImpossible;
      is_open = is_open || row[cut] < kImpossible;
    }
    return is_open;
  }

  /// Puts a group in front of the jobs left.
  void extend(JobSet left, JobSet group) {
    const JobSet more = left | group;
    const std::span<std::int64_t> to = states(more);
    if (!is_reached_[more]) {
      is_reached_[more] = true;
      std::ranges::fill(to, kImpossible);
    }
    const Range range = ranges_[size_of(group)];
    const std::int64_t* own = costs_.row(group).data();
    const std::int64_t* from = states(left).data();
    std::int64_t* out = to.data();
    for (std::size_t cut = range.begin; cut < range.end; ++cut) {
      out[cut] = std::min(out[cut], own[cut] + from[cut]);
    }
  }

  /// The least time for `left` from `at` on (at == cuts_: the begin), groups and switches.
  std::int64_t best_from(JobSet left, std::size_t at) {
    std::int64_t best = kImpossible;
    for (const JobSet group : costs_.groups()) {
      if ((group & ~left) != 0 || !is_reached_[left & ~group]) {
        continue;
      }
      for (std::size_t cut = 0; cut < cuts_; ++cut) {
        best = std::min(best, time_with(left, at, {.group = group, .cut = cut}));
      }
    }
    return best;
  }

  std::int64_t time_with(JobSet left, std::size_t at, const GroupSequence::Step& step) {
    return (at == step.cut ? 0 : costs_.switch_time(at, step.cut)) +
           costs_.time(step.group, step.cut) + states(left & ~step.group)[step.cut];
  }

  std::vector<GroupSequence::Step> trace() {
    std::vector<GroupSequence::Step> steps;
    std::size_t at = cuts_;
    for (JobSet left = everything_; left != 0;) {
      const GroupSequence::Step step = next_step(left, at, best_from(left, at));
      steps.push_back(step);
      left &= ~step.group;
      at = step.cut;
    }
    return steps;
  }

  GroupSequence::Step next_step(JobSet left, std::size_t at, std::int64_t best) {
    for (std::size_t turn = 0; turn <= cuts_; ++turn) {
      // The cut that the GPU has comes first.
      const std::size_t cut = turn == 0 ? at : turn - 1;
      if (cut == cuts_) {
        continue;
      }
      for (const JobSet group : costs_.groups()) {
        const GroupSequence::Step step{.group = group, .cut = cut};
        if ((group & ~left) == 0 && is_reached_[left & ~group] &&
            time_with(left, at, step) == best) {
          return step;
        }
      }
    }
    SEPTULE_CHECK(false, "the best time belongs to a step");
  }

  const GroupCosts& costs_;
  WorkBudget& budget_;
  std::size_t cuts_;
  JobSet everything_;
  std::array<Range, kTableGroupMax + 1> ranges_{};
  std::vector<std::int64_t> best_of_group_;  // by group index, over cuts
  std::vector<std::int64_t> bounds_;         // by set of jobs
  std::vector<std::int64_t> entries_;        // by cut
  std::int64_t threshold_ = 0;
  std::vector<bool> is_reached_;     // by set of jobs left
  std::vector<std::int64_t> to_go_;  // by set of jobs left, cut
  std::vector<std::pair<std::size_t, std::int64_t>> open_;
};

}  // namespace

GroupCosts::GroupCosts(std::size_t job_count, std::size_t group_max, std::size_t cut_count)
    : job_count_(job_count), group_max_(std::min(group_max, job_count)), cut_count_(cut_count) {
  SEPTULE_CHECK(job_count <= kTableJobsMax, "a table is for windows up to its limit");
  SEPTULE_CHECK(group_max <= kTableGroupMax, "a table is for groups up to its limit");
  const JobSet everything = all_jobs(job_count);
  index_of_.assign(std::size_t{everything} + 1, 0);
  for (std::size_t size = 1; size <= group_max_; ++size) {
    for (JobSet set = 1; set <= everything; ++set) {
      if (size_of(set) == size) {
        index_of_[set] = static_cast<std::uint32_t>(groups_.size());
        groups_.push_back(set);
      }
    }
  }
  times_.assign(groups_.size() * cut_count_, kImpossible);
  switches_.assign((cut_count_ + 1) * cut_count_, 0);
}

bool GroupCosts::is_switching_free() const {
  return std::ranges::all_of(switches_, [](std::int64_t time) { return time == 0; });
}

std::int64_t sequence_time(const GroupCosts& costs, std::span<const GroupSequence::Step> steps) {
  std::int64_t sum = 0;
  std::size_t at = costs.cut_count();
  for (const GroupSequence::Step& step : steps) {
    sum += at == step.cut ? 0 : costs.switch_time(at, step.cut);
    sum += costs.time(step.group, step.cut);
    at = step.cut;
  }
  return sum;
}

std::optional<GroupSequence> find_best_sequence(const GroupCosts& costs, WorkBudget& budget) {
  return SequenceSearch(costs, budget).run();
}

}  // namespace septule::optimize
