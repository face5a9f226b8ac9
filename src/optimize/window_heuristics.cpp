#include "optimize/window_heuristics.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "optimize/group_sequence.hpp"

namespace septule::optimize {

namespace {

JobSet all_jobs(const GroupTable& table) {
  return static_cast<JobSet>((std::uint64_t{1} << table.costs().job_count()) - 1);
}

std::int64_t solo_of(const GroupTable& table, JobSet group) {
  std::int64_t sum = 0;
  for (; group != 0; group &= group - 1) {
    sum += table.problem()
               .jobs[static_cast<std::size_t>(std::countr_zero(group))]
               .solo.to_nanoseconds();
  }
  return sum;
}

SeatedSequence seat_all(const GroupTable& table, const std::vector<GroupSequence::Step>& steps) {
  SeatedSequence made;
  for (const GroupSequence::Step& step : steps) {
    made.groups.push_back(table.seated(step.group, step.cut));
  }
  return made;
}

SeatedSequence make_greedily(const GroupTable& table, WorkBudget& budget) {
  const GroupCosts& costs = table.costs();
  std::vector<GroupSequence::Step> steps;
  std::size_t at = costs.cut_count();
  for (JobSet left = all_jobs(table); left != 0;) {
    GroupSequence::Step best;
    double best_gain = 0;
    for (const JobSet group : costs.groups()) {
      if ((group & ~left) != 0) {
        continue;
      }
      budget.spend(1);
      const auto solo = static_cast<double>(solo_of(table, group));
      for (std::size_t cut = 0; cut < costs.cut_count(); ++cut) {
        const std::int64_t own = costs.time(group, cut);
        if (own >= GroupCosts::kImpossible) {
          continue;
        }
        const std::int64_t turn = at == cut ? 0 : costs.switch_time(at, cut);
        const double gain = solo / static_cast<double>(own + turn);
        // Groups come by size and then by lowest jobs: of equal gains the larger group wins.
        const bool is_larger = size_of(group) > size_of(best.group);
        if (gain > best_gain || (gain == best_gain && is_larger)) {
          best = {.group = group, .cut = cut};
          best_gain = gain;
        }
      }
    }
    SEPTULE_CHECK(best.group != 0, "every job of a table can run alone");
    steps.push_back(best);
    left &= ~best.group;
    at = best.cut;
  }
  return seat_all(table, steps);
}

/// One search with a beam. One use.
class BeamSearch {
 public:
  BeamSearch(const GroupTable& table, WorkBudget& budget, std::size_t width)
      : table_(table), costs_(table.costs()), budget_(budget), width_(width) {}

  std::vector<GroupSequence::Step> run() {
    find_shares();
    const JobSet everything = all_jobs(table_);
    levels_.resize(costs_.job_count() + 1);
    nodes_.push_back({.left = everything, .cut = costs_.cut_count()});
    levels_[0].push_back(0);
    for (std::size_t done = 0; done < costs_.job_count(); ++done) {
      for (const std::size_t node : kept(levels_[done])) {
        grow(node);
      }
    }
    if (everything == 0) {
      return {};
    }
    return trace(kept(levels_.back()).front());
  }

 private:
  struct Node {
    JobSet left = 0;
    std::size_t cut = 0;
    std::int64_t time = 0;
    std::int64_t promise = 0;  ///< time, and shares of the jobs left
    std::size_t parent = 0;
    JobSet group = 0;
    std::size_t depth = 0;
  };

  void find_shares() {
    shares_.assign(costs_.job_count(), std::numeric_limits<double>::max());
    for (const JobSet group : costs_.groups()) {
      const std::int64_t best = std::ranges::min(costs_.row(group));
      if (best >= GroupCosts::kImpossible) {
        continue;
      }
      const double part = static_cast<double>(best) / static_cast<double>(solo_of(table_, group));
      for (std::size_t job = 0; job < costs_.job_count(); ++job) {
        const JobSet one = JobSet{1} << job;
        if ((group & one) != 0) {
          shares_[job] = std::min(shares_[job], part * static_cast<double>(solo_of(table_, one)));
        }
      }
    }
  }

  std::int64_t shares_of(JobSet left) const {
    double sum = 0;
    for (; left != 0; left &= left - 1) {
      sum += shares_[static_cast<std::size_t>(std::countr_zero(left))];
    }
    return static_cast<std::int64_t>(sum);
  }

  /// The best of a level, one for each set of jobs and cut.
  std::vector<std::size_t> kept(std::vector<std::size_t>& level) const {
    std::ranges::sort(level, {}, [&](std::size_t node) {
      return std::tuple(nodes_[node].promise, nodes_[node].depth, node);
    });
    std::vector<std::size_t> best;
    std::map<std::pair<JobSet, std::size_t>, bool> seen;
    for (const std::size_t node : level) {
      if (best.size() == width_) {
        break;
      }
      if (seen.try_emplace({nodes_[node].left, nodes_[node].cut}, true).second) {
        best.push_back(node);
      }
    }
    return best;
  }

  void grow(std::size_t index) {
    const Node from = nodes_[index];
    const JobSet first = from.left & (~from.left + 1);
    for (const JobSet group : costs_.groups()) {
      // Jobs alone are always tried, so that the budget never leaves a job out.
      if ((group & ~from.left) != 0 || (group & first) == 0 ||
          (size_of(group) > 1 && budget_.is_exhausted())) {
        continue;
      }
      budget_.spend(1);
      const std::size_t done = costs_.job_count() - size_of(from.left & ~group);
      const std::int64_t rest = shares_of(from.left & ~group);
      for (std::size_t cut = 0; cut < costs_.cut_count(); ++cut) {
        const std::int64_t own = costs_.time(group, cut);
        if (own >= GroupCosts::kImpossible) {
          continue;
        }
        const std::int64_t turn = from.cut == cut ? 0 : costs_.switch_time(from.cut, cut);
        const std::int64_t time = from.time + own + turn;
        levels_[done].push_back(nodes_.size());
        nodes_.push_back({.left = from.left & ~group,
                          .cut = cut,
                          .time = time,
                          .promise = time + rest,
                          .parent = index,
                          .group = group,
                          .depth = from.depth + 1});
      }
    }
  }

  std::vector<GroupSequence::Step> trace(std::size_t node) const {
    std::vector<GroupSequence::Step> steps;
    for (; nodes_[node].group != 0; node = nodes_[node].parent) {
      steps.push_back({.group = nodes_[node].group, .cut = nodes_[node].cut});
    }
    std::ranges::reverse(steps);
    return steps;
  }

  const GroupTable& table_;
  const GroupCosts& costs_;
  WorkBudget& budget_;
  std::size_t width_;
  std::vector<double> shares_;  // by job, nanoseconds
  std::vector<Node> nodes_;
  std::vector<std::vector<std::size_t>> levels_;  // by jobs done: into nodes_
};

}  // namespace

Result<WindowAnswer> GreedyOptimizer::optimize(const WindowProblem& problem,
                                               WorkBudget& budget) const {
  return optimize_in_pieces(problem, budget, name(), make_greedily);
}

BeamOptimizer::BeamOptimizer(std::size_t width) : width_(width) {
  SEPTULE_CHECK(width >= 1 && width <= kWidthMax, "a beam's width is within its limits");
}

Result<WindowAnswer> BeamOptimizer::optimize(const WindowProblem& problem,
                                             WorkBudget& budget) const {
  const GroupMaker make = [this](const GroupTable& table, WorkBudget& left) {
    SeatedSequence found = seat_all(table, BeamSearch(table, left, width_).run());
    SeatedSequence together = found;
    order_by_cut(table.problem(), together.groups);
    return groups_time(table.timer(), together.groups) < groups_time(table.timer(), found.groups)
               ? together
               : found;
  };
  return optimize_in_pieces(problem, budget, name(), make);
}

}  // namespace septule::optimize
