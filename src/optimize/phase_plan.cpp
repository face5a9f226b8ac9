#include "optimize/phase_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "optimize/switch_costs.hpp"

namespace septule::optimize {
namespace {

/// How much the mean end of the seats counts beside the last end.
constexpr double kMeanEndWeight = 0.15;

}  // namespace

std::size_t SeatPhase::job_count() const {
  std::size_t count = 0;
  for (const DomainQueues& queues : domains) {
    for (const std::vector<SeatedJob>& seat : queues.seats) {
      count += seat.size();
    }
  }
  return count;
}

PhasePlanner::PhasePlanner(SeatRates& rates, SeatRule rule, WorkBudget& budget)
    : rates_(&rates), rule_(rule), budget_(&budget), by_length_(rates.problem().jobs.size()) {
  const WindowProblem& problem = rates.problem();
  std::iota(by_length_.begin(), by_length_.end(), SeatedJob{0});
  std::stable_sort(by_length_.begin(), by_length_.end(), [&](SeatedJob a, SeatedJob b) {
    return problem.jobs[a].solo > problem.jobs[b].solo;
  });
  is_free_ = is_free(problem.costs);
  if (is_free_) {
    return;
  }
  const std::vector<gpu::SharingTemplate>& templates = catalogue().templates;
  std::vector<GpuCut> cuts = {problem.initial};
  for (const gpu::SharingTemplate& shape : templates) {
    cuts.push_back(gpu::partition_of(catalogue(), shape));
  }
  switches_.resize(cuts.size());
  for (std::size_t from = 0; from < cuts.size(); ++from) {
    for (std::size_t to = 1; to < cuts.size(); ++to) {
      switches_[from].push_back(switch_time(problem.costs, cuts[from], cuts[to]).to_nanoseconds());
    }
  }
}

SeatPhase PhasePlanner::empty_phase(std::size_t shape) const {
  SeatPhase phase;
  phase.shape = shape;
  for (const std::size_t domain : catalogue().templates[shape].domains) {
    DomainQueues queues;
    queues.domain = domain;
    for (std::size_t s = 0; s < catalogue().domains[domain].seats.size(); ++s) {
      queues.seats.push_back({});
    }
    phase.domains.push_back(std::move(queues));
  }
  phase.ends.resize(phase.domains.size());
  return phase;
}

std::optional<DomainEnd> PhasePlanner::time_of_one_each(const DomainQueues& queues) const {
  InlineVector<std::size_t, gpu::kSeatsMax> jobs;
  bool is_taken = false;
  for (const std::vector<SeatedJob>& seat : queues.seats) {
    jobs.push_back(seat.empty() ? kNoJob : std::size_t{seat.front()});
    is_taken = is_taken || !seat.empty();
  }
  budget_->spend(1);
  if (!is_taken) {
    return DomainEnd{};
  }
  const std::optional<DomainTime> time =
      rates_->timer().time(queues.domain, std::span(jobs.begin(), jobs.size()));
  if (!time.has_value()) {
    return std::nullopt;
  }
  DomainEnd end{time->time.to_nanoseconds(), 0, time->rate_sum, time->solo_sum.to_nanoseconds()};
  // By the clock kSteadyState nobody has an end.
  if (rates_->problem().clock != GroupClock::kSteadyState) {
    for (const Duration& each : time->ends) {
      end.seat_ends_ns += each.to_nanoseconds();
    }
  }
  return end;
}

bool PhasePlanner::is_refilling() const {
  const GroupClock clock = rates_->problem().clock;
  return rule_ == SeatRule::kQueue || clock == GroupClock::kSpeedUp || clock == GroupClock::kRefill;
}

bool PhasePlanner::time_domain(SeatPhase& phase, std::size_t domain) {
  const Waiting waiting = rule_ == SeatRule::kQueue ? Waiting::kAllowed : Waiting::kRefused;
  const std::optional<DomainEnd> end =
      is_refilling() ? run_queues(*rates_, phase.domains[domain], waiting, *budget_)
                     : time_of_one_each(phase.domains[domain]);
  if (end.has_value()) {
    phase.ends[domain] = *end;
  }
  return end.has_value();
}

bool PhasePlanner::insert(SeatPhase& phase, SeatedJob job) {
  double best = std::numeric_limits<double>::infinity();
  std::size_t best_domain = 0;
  std::size_t best_seat = 0;
  DomainEnd best_end;
  for (std::size_t d = 0; d < phase.domains.size(); ++d) {
    const gpu::MemoryDomain& domain = catalogue().domains[phase.domains[d].domain];
    const DomainEnd before = phase.ends[d];
    for (std::size_t s = 0; s < phase.domains[d].seats.size(); ++s) {
      std::vector<SeatedJob>& seat = phase.domains[d].seats[s];
      if (rule_ == SeatRule::kOneJob && !seat.empty()) {
        continue;
      }
      // Seats that are alike and empty need one try.
      if (s > 0 && seat.empty() && phase.domains[d].seats[s - 1].empty() &&
          domain.seats[s] == domain.seats[s - 1]) {
        continue;
      }
      seat.push_back(job);
      if (time_domain(phase, d)) {
        const double now = score(phase);
        if (now < best) {
          best = now;
          best_domain = d;
          best_seat = s;
          best_end = phase.ends[d];
        }
      }
      seat.pop_back();
      phase.ends[d] = before;
    }
  }
  if (!(best < std::numeric_limits<double>::infinity())) {
    return false;
  }
  phase.domains[best_domain].seats[best_seat].push_back(job);
  phase.ends[best_domain] = best_end;
  return true;
}

PhasePlanner::BestAlone PhasePlanner::best_alone(SeatedJob job) {
  BestAlone best;
  for (std::size_t t = 0; t < catalogue().templates.size(); ++t) {
    for (const std::size_t domain : catalogue().templates[t].domains) {
      Seating seated;
      const std::size_t seats = catalogue().domains[domain].seats.size();
      for (std::size_t s = 0; s < seats; ++s) {
        seated.push_back(kEmptySeat);
      }
      for (std::size_t s = 0; s < seats; ++s) {
        seated[s] = job;
        const std::span<const double> found = rates_->find(domain, seated);
        if (!found.empty() && found[s] > best.rate) {
          best = {t, found[s]};
        }
        seated[s] = kEmptySeat;
      }
    }
  }
  return best;
}

std::optional<PhasePlan> PhasePlanner::build(std::size_t shape, std::span<const SeatedJob> jobs) {
  PhasePlan plan;
  plan.phases.push_back(empty_phase(shape));
  std::map<std::size_t, SeatPhase> behind;
  for (const SeatedJob job : jobs) {
    if (insert(plan.phases.front(), job)) {
      continue;
    }
    const BestAlone alone = best_alone(job);
    if (!(alone.rate > 0)) {
      return std::nullopt;
    }
    const auto [place, is_new] = behind.try_emplace(alone.shape, empty_phase(alone.shape));
    if (insert(place->second, job)) {
      continue;
    }
    SeatPhase own = empty_phase(alone.shape);
    if (!insert(own, job)) {
      return std::nullopt;
    }
    plan.phases.push_back(std::move(own));
  }
  for (auto& [template_behind, phase] : behind) {
    plan.phases.push_back(std::move(phase));
  }
  std::erase_if(plan.phases, [](const SeatPhase& phase) { return phase.job_count() == 0; });
  return plan;
}

std::int64_t PhasePlanner::length_ns(const SeatPhase& phase) const {
  std::int64_t last = 0;
  std::int64_t solo = 0;
  double rate = 0;
  for (const DomainEnd& end : phase.ends) {
    last = std::max(last, end.end_ns);
    solo += end.solo_sum_ns;
    rate += end.rate_sum;
  }
  if (rule_ == SeatRule::kOneJob && rates_->problem().clock == GroupClock::kSteadyState) {
    return rate > 0 ? static_cast<std::int64_t>(std::llround(static_cast<double>(solo) / rate)) : 0;
  }
  return last;
}

double PhasePlanner::score(const SeatPhase& phase) const {
  std::int64_t sum = 0;
  std::size_t seats = 0;
  for (std::size_t d = 0; d < phase.domains.size(); ++d) {
    sum += phase.ends[d].seat_ends_ns;
    seats += phase.domains[d].seats.size();
  }
  return static_cast<double>(length_ns(phase)) +
         kMeanEndWeight * static_cast<double>(sum) / static_cast<double>(seats);
}

std::int64_t PhasePlanner::switch_ns(std::optional<std::size_t> from, std::size_t to) const {
  return is_free_ ? 0 : switches_[from.has_value() ? *from + 1 : 0][to];
}

PhaseCost PhasePlanner::cost(const PhasePlan& plan) const {
  PhaseCost cost;
  std::optional<std::size_t> before;
  for (const SeatPhase& phase : plan.phases) {
    const std::int64_t change = switch_ns(before, phase.shape);
    cost.total_ns += change + length_ns(phase);
    cost.score += static_cast<double>(change) + score(phase);
    before = phase.shape;
  }
  return cost;
}

}  // namespace septule::optimize
