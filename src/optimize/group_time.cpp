#include "optimize/group_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "optimize/window_limits.hpp"

namespace septule::optimize {
namespace {

/// Ends are before it: plan::kScheduleTimeMax.
constexpr double kEndMax = 1152921504606846976.0;

/// Ends so near to each other (in nanoseconds) are one.
constexpr double kRounding = 0.5;

double to_double(Duration length) {
  return static_cast<double>(length.to_nanoseconds());
}

/// A compute instance with who sits where, so that alike seatings are equal.
using SeatedCompute = std::tuple<int, std::vector<std::pair<int, std::uint8_t>>>;

std::vector<SeatedCompute> seating(const gpu::MemoryDomain& domain, const SeatOrder& order) {
  std::vector<SeatedCompute> out(std::max<std::size_t>(domain.compute.size(), 1));
  for (std::size_t i = 0; i < domain.compute.size(); ++i) {
    std::get<0>(out[i]) = domain.compute[i].size.value();
  }
  for (std::size_t seat = 0; seat < order.size(); ++seat) {
    const gpu::Seat& at = domain.seats[seat];
    const int atp = at.atp.has_value() ? at.atp->value() : 0;
    std::get<1>(out[static_cast<std::size_t>(at.compute)]).emplace_back(atp, order[seat]);
  }
  for (SeatedCompute& compute : out) {
    std::ranges::sort(std::get<1>(compute));
  }
  std::ranges::sort(out);
  return out;
}

std::vector<SeatOrder> orders_of(const gpu::MemoryDomain& domain) {
  SeatOrder order;
  for (std::size_t seat = 0; seat < domain.seats.size(); ++seat) {
    order.push_back(static_cast<std::uint8_t>(seat));
  }
  std::vector<SeatOrder> out;
  std::set<std::vector<SeatedCompute>> seen;
  do {
    if (seen.insert(seating(domain, order)).second) {
      out.push_back(order);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return out;
}

/// Jobs that run in a domain: those of their seats in the order of the seats.
struct Running {
  std::array<predict::CoRunClient, gpu::kSeatsMax> clients;
  std::array<std::uint8_t, gpu::kSeatsMax> seat{};
  std::array<double, gpu::kSeatsMax> left{};  ///< solo nanoseconds
  std::array<double, gpu::kSeatsMax> rate{};
  std::size_t count = 0;

  /// False where one cannot run.
  bool ask(const predict::CoRunModel& model, const predict::CoRunPlace& place) {
    model.rates(place, std::span(clients).first(count), std::span(rate).first(count));
    return std::ranges::all_of(std::span(rate).first(count), [](double of) { return of > 0; });
  }
  /// Smallest first, so that it does not depend on who sits where.
  double total() const {
    std::array<double, gpu::kSeatsMax> sorted{};
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t at = i;
      for (; at > 0 && rate[i] < sorted[at - 1]; --at) {
        sorted[at] = sorted[at - 1];
      }
      sorted[at] = rate[i];
    }
    return std::accumulate(sorted.begin(), sorted.end(), 0.0);  // the rest are 0
  }
  void keep(std::size_t from, std::size_t to) {
    clients[to] = clients[from];
    seat[to] = seat[from];
    left[to] = left[from];
  }
};

/// A length of more than 0 as whole nanoseconds, at least 1; nothing beyond the end of time.
std::optional<std::int64_t> rounded(double nanoseconds) {
  if (!(nanoseconds < kEndMax)) {
    return std::nullopt;
  }
  return std::max<std::int64_t>(std::llround(nanoseconds), 1);
}

/// Where and from when on jobs run, and what of it is wanted.
struct Stage {
  const predict::CoRunModel& model;
  predict::CoRunPlace place;
  SimTime begin;
  std::span<RunPieces> runs;  ///< empty = not wanted

  void note(std::size_t seat, Duration from, Duration until, double rate) const {
    if (!runs.empty()) {
      runs[seat].push_back({.from = begin + from, .until = begin + until, .rate = rate});
    }
  }
};

/// Each at its rate until its end. False where an end is too late.
bool run_evenly(const Stage& stage, const Running& running, DomainTime& out) {
  for (std::size_t i = 0; i < running.count; ++i) {
    const std::optional<std::int64_t> length = rounded(running.left[i] / running.rate[i]);
    if (!length.has_value()) {
      return false;
    }
    const Duration end = Duration::nanoseconds(*length);
    out.ends[running.seat[i]] = end;
    stage.note(running.seat[i], Duration(), end, running.rate[i]);
  }
  return true;
}

/// Whenever one ends, the others get the rates of the smaller company. `running` has its first
/// rates. False where somebody cannot run or an end is too late.
bool run_speeding_up(const Stage& stage, Running& running, DomainTime& out) {
  Duration now;
  while (running.count > 0) {
    double next = kEndMax;
    for (std::size_t i = 0; i < running.count; ++i) {
      next = std::min(next, running.left[i] / running.rate[i]);
    }
    const std::optional<std::int64_t> length = rounded(next);
    if (!length.has_value() || to_double(now) + next >= kEndMax) {
      return false;
    }
    const Duration from = now;
    now += Duration::nanoseconds(*length);
    const auto passed = static_cast<double>(*length);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < running.count; ++i) {
      stage.note(running.seat[i], from, now, running.rate[i]);
      if (running.left[i] / running.rate[i] <= passed + kRounding) {
        out.ends[running.seat[i]] = now;
        continue;
      }
      running.left[i] -= running.rate[i] * passed;
      running.keep(i, kept++);
    }
    running.count = kept;
    if (kept > 0 && !running.ask(stage.model, stage.place)) {
      return false;
    }
  }
  return true;
}

/// What seatings are compared by: more is better.
double worth_of(GroupClock clock, const DomainTime& time) {
  return clock == GroupClock::kSteadyState ? time.rate_sum : -to_double(time.time);
}

}  // namespace

GroupTimer::GroupTimer(const WindowProblem& problem) : problem_(problem) {
  problem_.rules.fairness = fairness_floor(problem);
  const gpu::SharingCatalogue& catalogue = *problem.catalogue;
  for (const gpu::MemoryDomain& domain : catalogue.domains) {
    memory_.push_back(gpu::domain_memory(*catalogue.geometry, domain.profile));
    orders_.push_back(orders_of(domain));
  }
  for (const plan::WindowJob& a : problem.jobs) {
    for (const plan::WindowJob& b : problem.jobs) {
      may_share_.push_back(plan::may_share_mps(a, b, problem.rules) ? 1 : 0);
    }
  }
  if (problem.model->only_slows()) {
    ask_alone();
  }
}

bool GroupTimer::may_sit(std::size_t domain, std::span<const std::size_t> jobs) const {
  const gpu::MemoryDomain& of = problem_.catalogue->domains[domain];
  const std::optional<Bytes>& memory = memory_[domain];
  std::uint64_t needed = 0;
  bool is_known = true;
  const auto count = static_cast<std::size_t>(
      std::ranges::count_if(jobs, [](std::size_t job) { return job != kNoJob; }));
  if (count == 1 && !of.profile.has_value() && !memory.has_value()) {
    return true;  // its solo time says that it ran there
  }
  for (std::size_t seat = 0; seat < jobs.size(); ++seat) {
    if (jobs[seat] == kNoJob) {
      continue;
    }
    const std::optional<Bytes>& needs = problem_.jobs[jobs[seat]].memory;
    is_known = is_known && needs.has_value();
    if (needs.has_value()) {
      if (!memory.has_value() || needs->value() > memory->value() - needed) {
        return false;
      }
      needed += needs->value();
    }
    for (std::size_t other = 0; other < seat; ++other) {
      if (jobs[other] != kNoJob && of.seats[other].compute == of.seats[seat].compute &&
          !may_share(jobs[other], jobs[seat])) {
        return false;
      }
    }
  }
  return is_known || count == 1;
}

bool GroupTimer::is_fair(Duration solo, Duration end) const {
  return to_double(solo) >= problem_.rules.fairness * to_double(end);
}

std::optional<DomainTime> GroupTimer::time(std::size_t domain,
                                           std::span<const std::size_t> jobs) const {
  return timed(domain, jobs, SimTime(), {});
}

std::optional<DomainTime> GroupTimer::runs(std::size_t domain,
                                           std::span<const std::size_t> jobs,
                                           SimTime begin,
                                           std::span<RunPieces> runs) const {
  SEPTULE_CHECK(runs.size() == jobs.size(), "one run for each seat");
  for (RunPieces& run : runs) {
    run.clear();
  }
  return timed(domain, jobs, begin, runs);
}

std::optional<DomainTime> GroupTimer::timed(std::size_t domain,
                                            std::span<const std::size_t> jobs,
                                            SimTime begin,
                                            std::span<RunPieces> runs) const {
  const gpu::MemoryDomain& of = problem_.catalogue->domains[domain];
  SEPTULE_CHECK(jobs.size() == of.seats.size(), "one job for each seat");
  if (!may_sit(domain, jobs)) {
    return std::nullopt;
  }
  const predict::CoRunPlace place{.profile = of.profile,
                                  .compute = {of.compute.begin(), of.compute.end()}};
  DomainTime out;
  Running running;
  for (std::size_t seat = 0; seat < jobs.size(); ++seat) {
    out.ends.push_back(Duration());
    if (jobs[seat] == kNoJob) {
      continue;
    }
    const std::size_t at = running.count++;
    running.clients[at] = {
        .job = jobs[seat], .compute = of.seats[seat].compute, .atp = of.seats[seat].atp};
    running.seat[at] = static_cast<std::uint8_t>(seat);
    running.left[at] = to_double(problem_.jobs[jobs[seat]].solo);
    out.solo_sum += problem_.jobs[jobs[seat]].solo;
  }
  SEPTULE_CHECK(running.count >= 1, "somebody sits in the domain");
  if (!running.ask(*problem_.model, place)) {
    return std::nullopt;
  }
  out.rate_sum = running.total();
  const bool speeds_up =
      problem_.clock == GroupClock::kSpeedUp || problem_.clock == GroupClock::kRefill;
  const Stage stage{.model = *problem_.model, .place = place, .begin = begin, .runs = runs};
  if (!(speeds_up ? run_speeding_up(stage, running, out) : run_evenly(stage, running, out))) {
    return std::nullopt;
  }
  for (std::size_t seat = 0; seat < jobs.size(); ++seat) {
    if (jobs[seat] != kNoJob && !is_fair(problem_.jobs[jobs[seat]].solo, out.ends[seat])) {
      return std::nullopt;
    }
    out.time = std::max(out.time, out.ends[seat]);
  }
  if (problem_.clock == GroupClock::kSteadyState) {
    out.time = group_time(problem_.clock, {&out, 1});
  }
  return out;
}

void GroupTimer::ask_alone() {
  const std::size_t count = problem_.jobs.size();
  for (const gpu::MemoryDomain& domain : problem_.catalogue->domains) {
    const predict::CoRunPlace place{.profile = domain.profile,
                                    .compute = {domain.compute.begin(), domain.compute.end()}};
    std::vector<double>& rates = alone_.emplace_back(domain.seats.size() * count);
    for (std::size_t seat = 0; seat < domain.seats.size(); ++seat) {
      for (std::size_t job = 0; job < count; ++job) {
        const gpu::Seat& at = domain.seats[seat];
        const predict::CoRunClient client{.job = job, .compute = at.compute, .atp = at.atp};
        problem_.model->rates(place, {&client, 1}, {&rates[seat * count + job], 1});
      }
    }
  }
}

/// No seating in this order has a greater worth(), where company only slows.
double GroupTimer::bound(std::size_t domain,
                         std::span<const std::size_t> jobs,
                         const SeatOrder& order) const {
  const std::vector<double>& alone = alone_[domain];
  double rates = 0;
  double longest = 0;
  for (std::size_t seat = 0; seat < order.size(); ++seat) {
    const std::size_t job = jobs[order[seat]];
    const double rate = alone[seat * problem_.jobs.size() + job];
    if (!(rate > 0)) {
      return -std::numeric_limits<double>::infinity();
    }
    rates += rate;
    longest = std::max(longest, to_double(problem_.jobs[job].solo) / rate);
  }
  constexpr double kSlack = 1e-8;        // of the model and of rounding
  constexpr double kSlackRounding = 16;  // nanoseconds
  return problem_.clock == GroupClock::kSteadyState ? rates * (1 + kSlack)
                                                    : kSlackRounding - longest * (1 - kSlack);
}

std::optional<BestSeating> GroupTimer::best(std::size_t domain,
                                            std::span<const std::size_t> jobs,
                                            Duration limit) const {
  SEPTULE_CHECK(jobs.size() <= gpu::kSeatsMax, "a domain has at most kSeatsMax seats");
  const std::vector<SeatOrder>& orders = orders_[domain];
  SEPTULE_CHECK(orders.front().size() == jobs.size(), "one job for each seat");
  const double infinity = std::numeric_limits<double>::infinity();
  // The most promising first: it rules out most of the others.
  std::size_t first = 0;
  if (!alone_.empty() && orders.size() > 1) {
    double most = -infinity;
    for (std::size_t i = 0; i < orders.size(); ++i) {
      const double promise = bound(domain, jobs, orders[i]);
      if (promise > most) {
        most = promise;
        first = i;
      }
    }
  }
  const bool has_limit = problem_.clock != GroupClock::kSteadyState;
  double least = has_limit ? -to_double(limit) : 0;  // worth more than this, or equal and earlier
  std::size_t best_index = 0;
  std::optional<BestSeating> out;
  std::array<std::size_t, gpu::kSeatsMax> seated{};
  for (std::size_t step = 0; step <= orders.size(); ++step) {
    const std::size_t index = step == 0 ? first : step - 1;
    const SeatOrder& order = orders[index];
    if ((step > 0 && index == first) || (!alone_.empty() && bound(domain, jobs, order) < least)) {
      continue;
    }
    for (std::size_t seat = 0; seat < order.size(); ++seat) {
      seated[seat] = jobs[order[seat]];
    }
    const std::optional<DomainTime> found = time(domain, std::span(seated).first(jobs.size()));
    if (!found.has_value()) {
      continue;
    }
    const double worth = worth_of(problem_.clock, *found);
    if (worth > least || (worth == least && out.has_value() && index < best_index)) {
      out = {.order = order, .time = *found};
      best_index = index;
      least = worth;
    }
  }
  return out;
}

Duration group_time(GroupClock clock, std::span<const DomainTime> domains) {
  SEPTULE_CHECK(!domains.empty(), "a group has domains");
  Duration longest;
  Duration solo;
  double rates = 0;
  for (const DomainTime& domain : domains) {
    longest = std::max(longest, domain.time);
    solo += domain.solo_sum;
    rates += domain.rate_sum;
  }
  return clock == GroupClock::kSteadyState ? scaled(solo, 1 / rates) : longest;
}

}  // namespace septule::optimize
