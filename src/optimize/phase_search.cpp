#include "optimize/phase_search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.hpp"
#include "base/portable_math.hpp"

namespace septule::optimize {
namespace {

/// Temperatures as parts of the plan's length for each job, at the begin and at the end.
constexpr double kHot = 0.25;
constexpr double kCold = 0.003;
/// Chances below this are none.
constexpr double kExponentMin = -50;
/// One in so many moves changes phases, not places.
constexpr std::uint64_t kPhaseMoveEvery = 40;
constexpr std::uint64_t kGroupMoveEvery = 8;
/// Phases that dealing anew makes at most.
constexpr std::size_t kPhasesDealt = 3;
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

std::vector<SeatedJob> PhaseSearch::jobs_of(std::size_t phase) const {
  std::vector<SeatedJob> jobs;
  for (const DomainQueues& queues : plan_.phases[phase].domains) {
    for (const std::vector<SeatedJob>& seat : queues.seats) {
      jobs.insert(jobs.end(), seat.begin(), seat.end());
    }
  }
  return jobs;
}

bool PhaseSearch::seat_all(std::vector<SeatedJob> jobs, Change& change) {
  for (std::size_t phases = 0; phases < kPhasesDealt && !jobs.empty(); ++phases) {
    SeatPhase phase = planner_->empty_phase(shapes_[random_below(shapes_.size())]);
    std::erase_if(jobs, [&](SeatedJob job) { return planner_->insert(phase, job); });
    if (phase.job_count() > 0) {
      change.in.push_back(std::move(phase));
    }
  }
  return jobs.empty();
}

bool PhaseSearch::split(Change& change) {
  const SeatedJob job = random_job();
  const Spot from = spot_of(job);
  SeatPhase rest = plan_.phases[from.phase];
  std::vector<SeatedJob>& source = rest.domains[from.domain].seats[from.seat];
  // The job, and whatever its seat would have done after it.
  const auto first = source.begin() + static_cast<std::ptrdiff_t>(from.index);
  std::vector<SeatedJob> moved(first, source.end());
  source.erase(first, source.end());
  change.out = {from.phase};
  if (rest.job_count() == 0 || !planner_->time_domain(rest, from.domain)) {
    return false;
  }
  change.in.push_back(std::move(rest));
  return seat_all(std::move(moved), change);
}

bool PhaseSearch::remix(Change& change) {
  change.out = {random_below(plan_.phases.size())};
  if (rng_.chance(2, 3)) {
    change.out.push_back(random_below(plan_.phases.size()));
  }
  std::sort(change.out.begin(), change.out.end());
  change.out.erase(std::unique(change.out.begin(), change.out.end()), change.out.end());
  std::vector<SeatedJob> jobs;
  for (const std::size_t phase : change.out) {
    const std::vector<SeatedJob> own = jobs_of(phase);
    jobs.insert(jobs.end(), own.begin(), own.end());
  }
  if (jobs.size() > kRebuiltJobsMax) {
    return false;
  }
  std::sort(jobs.begin(), jobs.end());
  if (rng_.chance(1, 2)) {
    rng_.shuffle(std::span(jobs));
  } else {
    const std::span<const plan::WindowJob> all = planner_->rates().problem().jobs;
    std::sort(jobs.begin(), jobs.end(), [&](SeatedJob a, SeatedJob b) {
      return all[a].solo != all[b].solo ? all[a].solo > all[b].solo : a < b;
    });
  }
  return seat_all(std::move(jobs), change);
}

void PhaseSearch::apply(const Change& change, PhasePlan& plan) {
  for (std::size_t i = change.out.size(); i-- > 0;) {
    plan.phases.erase(plan.phases.begin() + static_cast<std::ptrdiff_t>(change.out[i]));
  }
  plan.phases.insert(plan.phases.begin() + static_cast<std::ptrdiff_t>(change.out.front()),
                     change.in.begin(),
                     change.in.end());
}

void PhaseSearch::rebuild() {
  Change change;
  if (!(rng_.chance(1, 4) ? split(change) : remix(change))) {
    return;
  }
  double difference = 0;
  if (planner_->is_switching_free()) {
    for (const SeatPhase& phase : change.in) {
      difference += planner_->score(phase);
    }
    for (const std::size_t phase : change.out) {
      difference -= planner_->score(plan_.phases[phase]);
    }
  } else {
    PhasePlan plan = plan_;
    apply(change, plan);
    difference = planner_->cost(plan).score - cost_.score;
  }
  if (is_accepted(cost_.score, cost_.score + difference)) {
    apply(change, plan_);
    find_spots();
    accept_change(difference);
  }
}

void PhaseSearch::reorder() {
  const std::size_t a = random_below(plan_.phases.size());
  const std::size_t b = random_below(plan_.phases.size());
  std::swap(plan_.phases[a], plan_.phases[b]);
  const double after = planner_->cost(plan_).score;
  if (is_accepted(cost_.score, after)) {
    find_spots();
    accept_change(after - cost_.score);
    return;
  }
  std::swap(plan_.phases[a], plan_.phases[b]);
}

void PhaseSearch::step() {
  const bool is_grouped = planner_->rule() == SeatRule::kOneJob;
  if (rng_.chance(1, is_grouped ? kGroupMoveEvery : kPhaseMoveEvery)) {
    if (!planner_->is_switching_free() && rng_.chance(1, 2)) {
      reorder();
    } else {
      rebuild();
    }
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
  const double length =
      static_cast<double>(best_cost_.total_ns) / static_cast<double>(spots_.size());
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
