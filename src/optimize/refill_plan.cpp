#include "optimize/refill_plan.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "optimize/switch_costs.hpp"

namespace septule::optimize {
namespace {

/// How much the mean end of the seats counts beside the last end.
constexpr double kMeanEndWeight = 0.15;

}  // namespace

std::int64_t RefillPhase::length_ns() const {
  std::int64_t length = 0;
  for (const DomainEnd& end : ends) {
    length = std::max(length, end.end_ns);
  }
  return length;
}

std::size_t RefillPhase::job_count() const {
  std::size_t count = 0;
  for (const DomainQueues& queues : domains) {
    for (const std::vector<SeatedJob>& seat : queues.seats) {
      count += seat.size();
    }
  }
  return count;
}

RefillPlanner::RefillPlanner(SeatRates& rates, WorkBudget& budget)
    : rates_(&rates), budget_(&budget) {
  const WindowProblem& problem = rates.problem();
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
      switches_[from].push_back(
          switch_time(problem.costs, cuts[from], cuts[to]).to_nanoseconds());
    }
  }
}

RefillPhase RefillPlanner::empty_phase(std::size_t shape) const {
  RefillPhase phase;
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

bool RefillPlanner::time_domain(RefillPhase& phase, std::size_t domain) {
  const std::optional<DomainEnd> end = run_queues(*rates_, phase.domains[domain], *budget_);
  if (end.has_value()) {
    phase.ends[domain] = *end;
  }
  return end.has_value();
}

bool RefillPlanner::insert(RefillPhase& phase, SeatedJob job) {
  double best = std::numeric_limits<double>::infinity();
  std::size_t best_domain = 0;
  std::size_t best_seat = 0;
  DomainEnd best_end;
  for (std::size_t d = 0; d < phase.domains.size(); ++d) {
    const gpu::MemoryDomain& domain = catalogue().domains[phase.domains[d].domain];
    const DomainEnd before = phase.ends[d];
    for (std::size_t s = 0; s < phase.domains[d].seats.size(); ++s) {
      std::vector<SeatedJob>& seat = phase.domains[d].seats[s];
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

RefillPlanner::BestAlone RefillPlanner::best_alone(SeatedJob job) {
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

std::optional<RefillPlan> RefillPlanner::build(std::size_t shape,
                                               std::span<const SeatedJob> jobs) {
  RefillPlan plan;
  plan.phases.push_back(empty_phase(shape));
  std::map<std::size_t, RefillPhase> behind;
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
    RefillPhase own = empty_phase(alone.shape);
    if (!insert(own, job)) {
      return std::nullopt;
    }
    plan.phases.push_back(std::move(own));
  }
  for (auto& [template_behind, phase] : behind) {
    plan.phases.push_back(std::move(phase));
  }
  std::erase_if(plan.phases, [](const RefillPhase& phase) { return phase.job_count() == 0; });
  return plan;
}

double RefillPlanner::score(const RefillPhase& phase) const {
  std::int64_t sum = 0;
  std::size_t seats = 0;
  for (std::size_t d = 0; d < phase.domains.size(); ++d) {
    sum += phase.ends[d].seat_ends_ns;
    seats += phase.domains[d].seats.size();
  }
  return static_cast<double>(phase.length_ns()) +
         kMeanEndWeight * static_cast<double>(sum) / static_cast<double>(seats);
}

std::int64_t RefillPlanner::switch_ns(std::optional<std::size_t> from, std::size_t to) const {
  return is_free_ ? 0 : switches_[from.has_value() ? *from + 1 : 0][to];
}

RefillCost RefillPlanner::cost(const RefillPlan& plan) const {
  RefillCost cost;
  std::optional<std::size_t> before;
  for (const RefillPhase& phase : plan.phases) {
    const std::int64_t change = switch_ns(before, phase.shape);
    cost.total_ns += change + phase.length_ns();
    cost.score += static_cast<double>(change) + score(phase);
    before = phase.shape;
  }
  return cost;
}

std::vector<SeatedJob> RefillPlanner::jobs_by_length() const {
  const std::span<const plan::WindowJob> jobs = rates_->problem().jobs;
  std::vector<SeatedJob> order(jobs.size());
  std::iota(order.begin(), order.end(), SeatedJob{0});
  std::stable_sort(order.begin(), order.end(), [&](SeatedJob a, SeatedJob b) {
    return jobs[a].solo > jobs[b].solo;
  });
  return order;
}

}  // namespace septule::optimize
