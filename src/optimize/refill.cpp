#include "optimize/refill.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "optimize/local_search.hpp"
#include "optimize/phase_plan.hpp"
#include "optimize/phase_schedule.hpp"
#include "optimize/phase_search.hpp"
#include "optimize/seat_rates.hpp"

namespace septule::optimize {
namespace {

constexpr std::uint64_t kSeed = 20230;
/// Templates that the search draws from, and first plans that it starts from.
constexpr std::size_t kShapesMax = 16;
constexpr std::size_t kStartsMax = 5;
/// One in so many units goes into groups to start from.
constexpr std::int64_t kGroupsPart = 8;

struct Candidate {
  PhasePlan plan;
  PhaseCost cost;
};

bool is_better(const Candidate& a, const Candidate& b) {
  return a.cost.total_ns < b.cost.total_ns;
}

/// Step (1), best first.
std::vector<Candidate> first_plans(PhasePlanner& planner) {
  const std::vector<SeatedJob> jobs = planner.jobs_by_length();
  std::vector<Candidate> found;
  for (std::size_t t = 0; t < planner.catalogue().templates.size(); ++t) {
    if (planner.budget().is_exhausted() && !found.empty()) {
      break;
    }
    if (std::optional<PhasePlan> plan = planner.build(t, jobs); plan.has_value()) {
      const PhaseCost cost = planner.cost(*plan);
      found.push_back({*std::move(plan), cost});
    }
  }
  std::stable_sort(found.begin(), found.end(), is_better);
  return found;
}

/// Templates of the best plans, each once, in that order.
std::vector<std::size_t> shapes_of(const std::vector<Candidate>& candidates) {
  std::vector<std::size_t> shapes;
  for (const Candidate& candidate : candidates) {
    for (const SeatPhase& phase : candidate.plan.phases) {
      if (shapes.size() < kShapesMax &&
          std::find(shapes.begin(), shapes.end(), phase.shape) == shapes.end()) {
        shapes.push_back(phase.shape);
      }
    }
  }
  return shapes;
}

/// Step (3).
PhasePlan improved(PhasePlanner& planner, std::vector<Candidate> candidates) {
  const std::vector<std::size_t> shapes = shapes_of(candidates);
  WorkBudget& budget = planner.budget();
  const Rng rng(kSeed);
  // Half of the budget for all starts, half for the best of them.
  const std::int64_t share =
      budget.units_left() / (2 * static_cast<std::int64_t>(candidates.size()));
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    PhaseSearch search(planner, shapes, rng.stream("refill", c));
    candidates[c].plan = search.improve(candidates[c].plan, budget.units_spent() + share);
    candidates[c].cost = planner.cost(candidates[c].plan);
  }
  Candidate best = *std::min_element(candidates.begin(), candidates.end(), is_better);
  PhaseSearch search(planner, shapes, rng.stream("refill", candidates.size()));
  return search.improve(best.plan, budget.units_spent() + budget.units_left());
}

/// The best of step (1) and the groups of step (2).
void add_groups(PhasePlanner& planner, std::vector<Candidate>& candidates) {
  candidates.resize(std::min(candidates.size(), kStartsMax));
  WorkBudget& budget = planner.budget();
  PhasePlanner groups_planner(planner.rates(), SeatRule::kOneJob, budget);
  std::optional<PhasePlan> groups =
      find_groups(groups_planner, budget.units_spent() + budget.units_left() / kGroupsPart);
  if (groups.has_value()) {
    const PhaseCost cost = planner.cost(*groups);
    candidates.push_back({*std::move(groups), cost});
  }
}

}  // namespace

Result<WindowAnswer> RefillOptimizer::optimize(const WindowProblem& problem,
                                               WorkBudget& budget) const {
  // Whatever the clock, company changes rates here, for the groups to start from too.
  WindowProblem refilled = problem;
  refilled.clock = GroupClock::kRefill;
  return optimize_phases(refilled,
                         budget,
                         SeatRule::kQueue,
                         name(),
                         [](PhasePlanner& planner) -> std::optional<PhasePlan> {
                           std::vector<Candidate> candidates = first_plans(planner);
                           add_groups(planner, candidates);
                           if (candidates.empty()) {
                             return std::nullopt;
                           }
                           return improved(planner, std::move(candidates));
                         });
}

}  // namespace septule::optimize
