#include "serve/retraining_runs.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "base/check.hpp"
#include "serve/indices.hpp"
#include "serve/retraining_facts.hpp"

namespace septule::serve {

namespace {

// Ways to place runs looked at before they are compared.
constexpr std::size_t kWaysTriedMax = 4096;

/// The label and size that retrain the tenant in a step; label -1 = none.
std::pair<int, int> trainer_in(const GoodputProblem& problem,
                               const LayoutGraph& graph,
                               const LayoutGraph::Counts& counts,
                               int tenant) {
  for (std::size_t slot = 0; slot < counts.size(); ++slot) {
    const int label = graph.letter(slot).label;
    if (counts[slot] > 0 && problem.labels[at(label)].retrains == tenant) {
      return {label, graph.slots()[slot].size};
    }
  }
  return {-1, -1};
}

std::optional<int> continued(const GoodputProblem& problem, int label, int size) {
  for (const LabelledInstance& instance : problem.initial) {
    if (instance.label == label &&
        problem.lattice->placements()[at(instance.placement)].size == size) {
      return instance.placement;
    }
  }
  return std::nullopt;
}

/// Places runs one by one.
class Placer {
 public:
  Placer(const GoodputProblem& problem, const RetrainingRuns& runs)
      : problem_(problem), runs_(runs), reserved_(at(problem.step_count), problem.frozen) {
    for (const LayoutLattice::PlacedSet& set : problem.lattice->placed_sets()) {
      sets_.push_back(set.placements);
    }
  }

  std::vector<std::vector<Reservation>> ways(std::size_t ways_max) {
    place(0);
    std::ranges::stable_sort(found_,
                             [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::vector<Reservation>> best;
    for (std::size_t i = 0; i < std::min(ways_max, found_.size()); ++i) {
      best.push_back(std::move(found_[i].second));
    }
    return best;
  }

 private:
  void place(std::size_t index) {
    if (found_.size() >= kWaysTriedMax) {
      return;
    }
    if (index == runs_.size()) {
      found_.emplace_back(room(), placed_);
      return;
    }
    const RetrainingRun& run = runs_[index];
    for (int p = 0; p < static_cast<int>(problem_.lattice->placements().size()); ++p) {
      const bool is_right =
          problem_.lattice->placements()[at(p)].size == run.size && run.continues.value_or(p) == p;
      if (!is_right || !fits(run, p)) {
        continue;
      }
      const int warm_up = problem_.labels[at(run.label)].warm_up_steps;
      const bool is_created = !run.continues.has_value();
      placed_.push_back(
          {{p, run.label}, run.begin, run.end, run.begin + (is_created ? warm_up : 0), is_created});
      mark(run, p);
      place(index + 1);
      mark(run, p);
      placed_.pop_back();
    }
  }

  bool fits(const RetrainingRun& run, int placement) const {
    for (int t = run.begin; t < run.end; ++t) {
      if ((reserved_[at(t)] & bit(placement)) != 0 ||
          !problem_.lattice->is_legal(reserved_[at(t)] | bit(placement))) {
        return false;
      }
    }
    return true;
  }

  void mark(const RetrainingRun& run, int placement) {
    for (int t = run.begin; t < run.end; ++t) {
      reserved_[at(t)] ^= bit(placement);
    }
  }

  /// Placed layouts that go beside what is reserved, over all steps.
  std::int64_t room() {
    std::int64_t total = 0;
    for (const std::uint32_t reserved : reserved_) {
      const auto [known, is_new] = room_of_.try_emplace(reserved, 0);
      if (is_new) {
        known->second = std::ranges::count_if(sets_, [&](std::uint32_t set) {
          return (set & reserved) == 0 && problem_.lattice->is_legal(set | reserved);
        });
      }
      total += known->second;
    }
    return total;
  }

  const GoodputProblem& problem_;
  const RetrainingRuns& runs_;
  std::vector<std::uint32_t> reserved_;
  std::vector<std::uint32_t> sets_;
  std::map<std::uint32_t, std::int64_t> room_of_;
  std::vector<Reservation> placed_;
  std::vector<std::pair<std::int64_t, std::vector<Reservation>>> found_;
};

}  // namespace

RetrainingRuns runs_of(const GoodputProblem& problem,
                       const LayoutGraph& graph,
                       const std::vector<LayoutGraph::Counts>& path,
                       std::span<const int> tenants) {
  RetrainingRuns runs;
  for (const int tenant : tenants) {
    std::pair<int, int> before = {-1, -1};
    for (int t = 0; t < static_cast<int>(path.size()); ++t) {
      const std::pair<int, int> now = trainer_in(problem, graph, path[at(t)], tenant);
      if (now.first >= 0 && now == before) {
        runs.back().end = t + 1;
      } else if (now.first >= 0) {
        RetrainingRun run{tenant, now.first, now.second, t, t + 1, std::nullopt};
        if (t == 0) {
          run.continues = continued(problem, now.first, now.second);
        }
        runs.push_back(run);
      }
      before = now;
    }
  }
  return runs;
}

std::vector<std::optional<int>> complete_runs(const GoodputProblem& problem, RetrainingRuns& runs) {
  std::vector<std::optional<int>> from = frozen_retraining(problem);
  std::vector<double> done(problem.tenants.size(), 0.0);
  for (RetrainingRun& run : runs) {
    const std::size_t m = at(run.tenant);
    const RetrainingNeed need =
        checked_value(problem.tenants[m].retraining, "runs are of tenants that retrain");
    const Label& label = problem.labels[at(run.label)];
    const double gain = label.speed[at(run.size)] * problem.step.to_seconds();
    const int ready = run.begin + (run.continues.has_value() ? 0 : label.warm_up_steps);
    if (from[m].has_value()) {
      run.end = run.begin;  // complete before
    }
    const int first = std::max(ready, need.release_step);
    for (int t = first; t < std::min(run.end, need.deadline_step); ++t) {
      done[m] += gain;
      if (done[m] >= need.work_s * (1 - 1e-9)) {
        from[m] = t + 1;
        run.end = std::max(t + 1, std::min(run.end, run.begin + problem.dwell_steps));
        break;
      }
    }
  }
  std::erase_if(runs, [&](const RetrainingRun& run) {
    return run.end <= run.begin || !from[at(run.tenant)].has_value();
  });
  return from;
}

std::vector<SizeTable<int>> sizes_beside(const GoodputProblem& problem,
                                         const RetrainingRuns& runs) {
  std::vector<SizeTable<int>> beside(at(problem.step_count));
  for (const RetrainingRun& run : runs) {
    for (int t = run.begin; t < run.end; ++t) {
      ++beside[at(t)][at(run.size)];
    }
  }
  return beside;
}

std::vector<std::vector<Reservation>> place_runs(const GoodputProblem& problem,
                                                 const RetrainingRuns& runs,
                                                 std::size_t ways_max) {
  return Placer(problem, runs).ways(ways_max);
}

}  // namespace septule::serve
