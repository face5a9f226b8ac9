#include "optimize/phase_search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.hpp"
#include "base/portable_math.hpp"

namespace septule::optimize {
namespace {

/// Temperatures as parts of the plan's length, at the begin and at the end.
constexpr double kHot = 0.02;
constexpr double kCold = 0.0002;
/// Chances below this are none.
constexpr double kExponentMin = -50;
/// One in so many moves changes phases, not places.
constexpr std::uint64_t kPhaseMoveEvery = 40;
/// Jobs of about the same length: so many places up and down.
constexpr std::size_t kNeighbours = 6;
/// A plan is kept once it is better than the kept one by this part; the last one always.
constexpr double kKeptPart = 0.0005;
/// Phases of more jobs are not built anew: that costs their square.
constexpr std::size_t kRebuiltJobsMax = 32;

}  // namespace

PhaseSearch::PhaseSearch(PhasePlanner& planner, std::vector<std::size_t> shapes, Rng rng)
    : planner_(&planner), shapes_(std::move(shapes)), rng_(rng) {
  SEPTULE_CHECK(!shapes_.empty(), "there are templates to draw from");
}

void PhaseSearch::restart(const PhasePlan& plan) {
  plan_ = plan;
  cost_ = planner_->cost(plan_);
  find_spots();
}

void PhaseSearch::find_spots() {
  spots_.resize(planner_->rates().problem().jobs.size());
  for (std::size_t p = 0; p < plan_.phases.size(); ++p) {
    for (std::size_t d = 0; d < plan_.phases[p].domains.size(); ++d) {
      const DomainQueues& queues = plan_.phases[p].domains[d];
      for (std::size_t s = 0; s < queues.seats.size(); ++s) {
        for (const SeatedJob job : queues.seats[s]) {
          spots_[job] = {p, d, s, 0};
        }
      }
    }
  }
}

SeatedJob PhaseSearch::neighbour_of(std::size_t rank) {
  const std::size_t first = rank < kNeighbours ? 0 : rank - kNeighbours;
  const std::size_t end = std::min(spots_.size(), rank + kNeighbours + 1);
  return planner_->jobs_by_length()[first + random_below(end - first)];
}

std::vector<SeatedJob>& PhaseSearch::list_at(const Spot& spot) {
  return plan_.phases[spot.phase].domains[spot.domain].seats[spot.seat];
}

PhaseSearch::Spot PhaseSearch::spot_of(SeatedJob job) const {
  Spot spot = spots_[job];
  const std::vector<SeatedJob>& list =
      plan_.phases[spot.phase].domains[spot.domain].seats[spot.seat];
  spot.index = static_cast<std::size_t>(std::find(list.begin(), list.end(), job) - list.begin());
  return spot;
}

PhaseSearch::Spot PhaseSearch::random_spot(std::size_t phase) {
  Spot spot;
  spot.phase = phase;
  const SeatPhase& of = plan_.phases[phase];
  // Every seat is equally likely.
  std::size_t seats = 0;
  for (const DomainQueues& queues : of.domains) {
    seats += queues.seats.size();
  }
  std::size_t pick = random_below(seats);
  while (pick >= of.domains[spot.domain].seats.size()) {
    pick -= of.domains[spot.domain].seats.size();
    ++spot.domain;
  }
  spot.seat = pick;
  return spot;
}

bool PhaseSearch::is_accepted(double before, double after) {
  if (after <= before) {
    return true;
  }
  return rng_.uniform() < portable_exp(std::max(kExponentMin, (before - after) / temperature_));
}

bool PhaseSearch::retime(const Spot& a, const Spot& b, double& change) {
  touched_.clear();
  touched_.push_back({a.phase, a.domain, plan_.phases[a.phase].ends[a.domain]});
  if (a.phase != b.phase || a.domain != b.domain) {
    touched_.push_back({b.phase, b.domain, plan_.phases[b.phase].ends[b.domain]});
  }
  double before = planner_->score(plan_.phases[a.phase]);
  if (a.phase != b.phase) {
    before += planner_->score(plan_.phases[b.phase]);
  }
  for (const Touched& touched : touched_) {
    if (!planner_->time_domain(plan_.phases[touched.phase], touched.domain)) {
      return false;
    }
  }
  double after = planner_->score(plan_.phases[a.phase]);
  if (a.phase != b.phase) {
    after += planner_->score(plan_.phases[b.phase]);
  }
  change = after - before;
  return true;
}

void PhaseSearch::undo_times() {
  for (const Touched& touched : touched_) {
    plan_.phases[touched.phase].ends[touched.domain] = touched.before;
  }
}

void PhaseSearch::accept_change(double change) {
  cost_.score += change;
  if (cost_.score < best_cost_.score * (1 - kKeptPart)) {
    keep_if_best();
  }
}

void PhaseSearch::keep_if_best() {
  cost_ = planner_->cost(plan_);
  if (cost_.total_ns < best_cost_.total_ns ||
      (cost_.total_ns == best_cost_.total_ns && cost_.score < best_cost_.score)) {
    best_ = plan_;
    best_cost_ = cost_;
  }
}

void PhaseSearch::relocate() {
  const auto job = random_job();
  const Spot from = spot_of(job);
  Spot to = random_spot(rng_.chance(3, 4) ? from.phase : random_below(plan_.phases.size()));
  std::vector<SeatedJob>& source = list_at(from);
  std::vector<SeatedJob>& target = list_at(to);
  if (planner_->rule() == SeatRule::kOneJob && !target.empty()) {
    exchange(job, target.front());
    return;
  }
  source.erase(source.begin() + static_cast<std::ptrdiff_t>(from.index));
  to.index = random_below(target.size() + 1);
  target.insert(target.begin() + static_cast<std::ptrdiff_t>(to.index), job);
  double change = 0;
  if (retime(from, to, change) && is_accepted(cost_.score, cost_.score + change)) {
    spots_[job] = to;
    const bool is_emptied = plan_.phases[from.phase].job_count() == 0;
    if (is_emptied) {
      plan_.phases.erase(plan_.phases.begin() + static_cast<std::ptrdiff_t>(from.phase));
      find_spots();
      change = planner_->cost(plan_).score - cost_.score;
    }
    accept_change(change);
    return;
  }
  undo_times();
  target.erase(target.begin() + static_cast<std::ptrdiff_t>(to.index));
  source.insert(source.begin() + static_cast<std::ptrdiff_t>(from.index), job);
}

void PhaseSearch::exchange(SeatedJob a, SeatedJob b) {
  if (a == b) {
    return;
  }
  const Spot at_a = spot_of(a);
  const Spot at_b = spot_of(b);
  SeatedJob& place_a = list_at(at_a)[at_a.index];
  SeatedJob& place_b = list_at(at_b)[at_b.index];
  std::swap(place_a, place_b);
  double change = 0;
  if (retime(at_a, at_b, change) && is_accepted(cost_.score, cost_.score + change)) {
    std::swap(spots_[a], spots_[b]);
    accept_change(change);
    return;
  }
  undo_times();
  std::swap(place_a, place_b);
}

bool PhaseSearch::split(PhasePlan& plan) {
  const auto job = random_job();
  const Spot from = spot_of(job);
  SeatPhase& phase = plan.phases[from.phase];
  std::vector<SeatedJob>& source = phase.domains[from.domain].seats[from.seat];
  // The job, and whatever its seat would have done after it.
  const std::vector<SeatedJob> moved(source.begin() + static_cast<std::ptrdiff_t>(from.index),
                                     source.end());
  source.erase(source.begin() + static_cast<std::ptrdiff_t>(from.index), source.end());
  if (!planner_->time_domain(phase, from.domain)) {
    return false;
  }
  SeatPhase own = planner_->empty_phase(shapes_[random_below(shapes_.size())]);
  for (const SeatedJob each : moved) {
    if (!planner_->insert(own, each)) {
      return false;
    }
  }
  const std::size_t place = random_below(plan.phases.size() + 1);
  plan.phases.insert(plan.phases.begin() + static_cast<std::ptrdiff_t>(place), std::move(own));
  return true;
}

bool PhaseSearch::reshape(PhasePlan& plan) {
  const std::size_t which = random_below(plan.phases.size());
  SeatPhase& phase = plan.phases[which];
  if (phase.job_count() > kRebuiltJobsMax) {
    return false;
  }
  std::vector<SeatedJob> jobs;
  for (const SeatedJob job : planner_->jobs_by_length()) {
    if (spots_[job].phase == which) {
      jobs.push_back(job);
    }
  }
  if (rng_.chance(1, 2)) {
    rng_.shuffle(std::span(jobs));
  }
  phase = planner_->empty_phase(shapes_[random_below(shapes_.size())]);
  return std::all_of(
      jobs.begin(), jobs.end(), [&](SeatedJob job) { return planner_->insert(phase, job); });
}

bool PhaseSearch::merge(PhasePlan& plan) {
  if (plan.phases.size() < 2) {
    return false;
  }
  const std::size_t into = random_below(plan.phases.size());
  const std::size_t from = random_below(plan.phases.size());
  if (into == from) {
    return false;
  }
  if (rng_.chance(1, 3)) {
    std::swap(plan.phases[into], plan.phases[from]);
    return true;
  }
  if (plan.phases[from].job_count() > kRebuiltJobsMax) {
    return false;
  }
  for (const SeatedJob job : planner_->jobs_by_length()) {
    if (spots_[job].phase == from && !planner_->insert(plan.phases[into], job)) {
      return false;
    }
  }
  plan.phases.erase(plan.phases.begin() + static_cast<std::ptrdiff_t>(from));
  return true;
}

void PhaseSearch::rebuild() {
  PhasePlan plan = plan_;
  const std::size_t kind = random_below(3);
  const bool is_built = kind == 0 ? split(plan) : kind == 1 ? reshape(plan) : merge(plan);
  planner_->budget().spend(static_cast<std::int64_t>(plan.phases.size()));
  if (!is_built) {
    return;
  }
  std::erase_if(plan.phases, [](const SeatPhase& phase) { return phase.job_count() == 0; });
  const double after = planner_->cost(plan).score;
  if (is_accepted(cost_.score, after)) {
    const double change = after - cost_.score;
    plan_ = std::move(plan);
    find_spots();
    accept_change(change);
  }
}

void PhaseSearch::step() {
  if (rng_.chance(1, kPhaseMoveEvery)) {
    rebuild();
  } else if (rng_.chance(1, 2)) {
    relocate();
  } else {
    const std::size_t rank = random_below(spots_.size());
    const SeatedJob a = planner_->jobs_by_length()[rank];
    exchange(a, rng_.chance(1, 2) ? random_job() : neighbour_of(rank));
  }
}

PhasePlan PhaseSearch::improve(const PhasePlan& start, std::int64_t units_end) {
  best_ = start;
  best_cost_ = planner_->cost(start);
  restart(start);
  WorkBudget& budget = planner_->budget();
  const std::int64_t units_begin = budget.units_spent();
  const auto units = static_cast<double>(std::max<std::int64_t>(1, units_end - units_begin));
  const auto length = static_cast<double>(best_cost_.total_ns);
  while (budget.units_spent() < units_end) {
    const double passed = static_cast<double>(budget.units_spent() - units_begin) / units;
    temperature_ = length * kHot * portable_exp(passed * portable_log(kCold / kHot));
    step();
    budget.spend(1);
  }
  keep_if_best();
  return best_;
}

}  // namespace septule::optimize
