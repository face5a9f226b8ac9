#include "sched/policies/company.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.hpp"

namespace septule::sched {

namespace {

constexpr double kTie = 1e-9;
constexpr int kSwapRounds = 20;
using Seats = InlineVector<CompanySeat, kClientsMax>;

double share_of(const gpu::Geometry& geometry, ProfileIndex profile) {
  return static_cast<double>(geometry.profile(profile).slices.value()) /
         static_cast<double>(geometry.compute_slices().value());
}

/// The profiles of a layout, ascending: equal for mirrored twins.
std::vector<ProfileIndex> kind_of(const gpu::Layout& layout) {
  std::vector<ProfileIndex> kind;
  for (const gpu::PlacedProfile& placed : layout) {
    kind.push_back(placed.profile);
  }
  std::ranges::sort(kind);
  return kind;
}

}  // namespace

// ---- values

bool CompanyValue::may_be_together(std::span<const CompanyJob> pool,
                                   ProfileIndex profile,
                                   std::span<const CompanySeat> seats) const {
  const std::optional<Bytes> room = geometry_->profile(profile).memory;
  std::uint64_t needed = 0;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    const CompanyJob& job = pool[seats[i].job];
    needed += job.need.value();
    if (seats.size() > 1 &&
        (!job.curve.has_value() || (!seats[i].atp.has_value() && !job.kernels.has_value()))) {
      return false;
    }
    for (std::size_t k = i + 1; k < seats.size(); ++k) {
      if (!plan::may_share_mps(job.window, pool[seats[k].job].window, rules_)) {
        return false;
      }
    }
  }
  return seats.size() == 1 || !room.has_value() || needed <= room->value();
}

void CompanyValue::rates(std::span<const CompanyJob> pool,
                         ProfileIndex profile,
                         std::span<const CompanySeat> seats,
                         std::span<double> out) const {
  std::ranges::fill(out, 0.0);
  if (seats.empty() || !may_be_together(pool, profile, seats)) {
    return;
  }
  for (const CompanySeat& seat : seats) {
    if (!(pool[seat.job].row.on(profile) > 0)) {
      return;
    }
  }
  if (seats.size() == 1 && !seats[0].atp.has_value()) {
    out[0] = pool[seats[0].job].row.on(profile);
    return;
  }
  std::array<predict::SharingJob, kClientsMax> sharing{};
  for (std::size_t i = 0; i < seats.size(); ++i) {
    const CompanyJob& job = pool[seats[i].job];
    if (!job.curve.has_value()) {
      return;
    }
    sharing[i] = {.curve = &*job.curve,
                  .kernels = job.kernels.has_value() ? job.kernels->count : 0,
                  .step_s = job.kernels.has_value() ? job.kernels->step.to_seconds() : 1,
                  .atp = seats[i].atp.value_or(ActiveThreadPercentage(100))};
  }
  mps_.speeds(share_of(*geometry_, profile), std::span(sharing).first(seats.size()), out);
}

std::optional<double> CompanyValue::of(std::span<const CompanyJob> pool,
                                       ProfileIndex profile,
                                       std::span<const CompanySeat> seats) const {
  std::array<double, kClientsMax> speeds{};
  rates(pool, profile, seats, std::span(speeds).first(seats.size()));
  double value = 0;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    if (!(speeds[i] > 0) || speeds[i] < rules_.fairness) {
      return std::nullopt;
    }
    value += pool[seats[i].job].weight * speeds[i];
  }
  return value;
}

// ---- filling

CompanyFiller::CompanyFiller(const CompanyValue& value)
    : value_(&value),
      layouts_(gpu::maximal_layouts(value.geometry(), gpu::ProfileSet::kPlain)),
      cells_(kInstancesMax * (kCandidatesMax + kSlotsMax)) {
  std::vector<std::vector<ProfileIndex>> kinds;
  for (const gpu::Layout& layout : layouts_) {
    std::vector<ProfileIndex> kind = kind_of(layout);
    is_first_of_kind_.push_back(std::ranges::find(kinds, kind) == kinds.end());
    kinds.push_back(std::move(kind));
  }
}

bool CompanyFiller::has_running(const gpu::Layout& layout, const Question& question) const {
  return std::ranges::all_of(question.running, [&](const CompanyInstance& instance) {
    return std::ranges::find(layout, instance.placed) != layout.end();
  });
}

std::optional<Company> CompanyFiller::fill(const Question& question) {
  SEPTULE_CHECK(question.pool.size() <= kCandidatesMax + kSlotsMax, "a pool has room for all");
  if (question.only.has_value()) {
    return fill_layout(question, *question.only);
  }
  std::optional<Company> best;
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    if ((question.running.empty() && !is_first_of_kind_[i]) ||
        !has_running(layouts_[i], question)) {
      continue;
    }
    std::optional<Company> filled = fill_layout(question, layouts_[i]);
    if (filled.has_value() && (!best.has_value() || filled->value > best->value + kTie)) {
      best = filled;
    }
  }
  return best;
}

std::optional<Company> CompanyFiller::fill_layout(const Question& question,
                                                  const gpu::Layout& layout) {
  Company company;
  std::size_t seated = 0;
  for (const gpu::PlacedProfile& placed : layout) {
    const auto running = std::ranges::find(question.running, placed, &CompanyInstance::placed);
    company.instances.push_back(running != question.running.end()
                                    ? *running
                                    : CompanyInstance{.placed = placed, .seats = {}});
    seated += company.instances.back().seats.size();
  }
  std::ranges::fill(cells_, Cell{});
  std::array<bool, kCandidatesMax + kSlotsMax> is_seated{};
  const auto seat_best = [&](std::span<const std::size_t> jobs, double gain_min) {
    const Gain* best = nullptr;
    std::size_t best_at = 0;
    std::size_t best_job = 0;
    for (std::size_t at = 0; at < company.instances.size(); ++at) {
      for (const std::size_t job : jobs) {
        if (is_seated[job]) {
          continue;
        }
        const Gain& gain = gain_of(question, company.instances[at], at, job);
        if (gain.is_possible && gain.gain > gain_min &&
            (best == nullptr || gain.gain > best->gain + kTie)) {
          best = &gain;
          best_at = at;
          best_job = job;
        }
      }
    }
    if (best == nullptr) {
      return false;
    }
    company.instances[best_at].seats = best->seats;
    company.instances[best_at].value = best->value;
    is_seated[best_job] = true;
    ++seated;
    for (std::size_t i = 0; i < question.pool.size(); ++i) {
      cells_[best_at * (kCandidatesMax + kSlotsMax) + i].is_fresh = false;
    }
    return true;
  };
  for (std::size_t i = 0; i < question.must.size(); ++i) {
    if (!seat_best(question.must, -1e9)) {
      return std::nullopt;
    }
  }
  while (seated < kJobsMax && seat_best(question.may, kTie)) {
  }
  swap_seats(question, company);
  for (std::size_t at = company.instances.size(); at-- > 0;) {
    company.value += company.instances[at].value;
    if (company.instances[at].seats.empty()) {
      company.instances.erase_at(at);
    }
  }
  return company;
}

const CompanyFiller::Gain& CompanyFiller::gain_of(const Question& question,
                                                  const CompanyInstance& instance,
                                                  std::size_t at,
                                                  std::size_t job) {
  Cell& cell = cells_[at * (kCandidatesMax + kSlotsMax) + job];
  if (!cell.is_fresh) {
    cell.gain = best_seats(question, instance, job);
    cell.is_fresh = true;
  }
  return cell.gain;
}

void CompanyFiller::consider(const Question& question,
                             const CompanyInstance& instance,
                             const Seats& seats,
                             Gain& best) const {
  const std::optional<double> value =
      value_->of(question.pool, instance.placed.profile, {seats.begin(), seats.size()});
  if (value.has_value() && (!best.is_possible || *value > best.value + kTie)) {
    best = {.gain = *value - instance.value, .is_possible = true, .seats = seats, .value = *value};
  }
}

/// The best way to let the job into the instance.
CompanyFiller::Gain CompanyFiller::best_seats(const Question& question,
                                              const CompanyInstance& instance,
                                              std::size_t job) const {
  Gain best;
  if (instance.seats.is_full() || (instance.is_running && !instance.is_open)) {
    return best;
  }
  Seats seats = instance.seats;
  seats.push_back({.job = job, .atp = std::nullopt});
  if (seats.size() == 1) {
    consider(question, instance, seats, best);
    return best;
  }
  if (instance.is_running) {
    int used = 0;
    for (const CompanySeat& seat : instance.seats) {
      used += seat.atp.has_value() ? seat.atp->value() : 0;
    }
    if (used == 0) {
      consider(question, instance, seats, best);
    }
    for (const int part : {75, 50, 33, 25}) {
      if (used > 0 && used + part <= 100) {
        seats.back().atp = ActiveThreadPercentage(part);
        consider(question, instance, seats, best);
      }
    }
    return best;
  }
  for (CompanySeat& seat : seats) {
    seat.atp.reset();
  }
  consider(question, instance, seats, best);
  for (CompanySeat& seat : seats) {
    seat.atp = ActiveThreadPercentage(100 / static_cast<int>(seats.size()));
  }
  consider(question, instance, seats, best);
  if (seats.size() == 2) {
    for (const int part : {25, 75}) {
      seats[0].atp = ActiveThreadPercentage(part);
      seats[1].atp = ActiveThreadPercentage(100 - part);
      consider(question, instance, seats, best);
    }
  }
  return best;
}

void CompanyFiller::swap_seats(const Question& question, Company& company) const {
  for (int round = 0; round < kSwapRounds && swap_once(question, company); ++round) {
  }
}

/// The first exchange of two newcomers in different instances that gains something.
bool CompanyFiller::swap_once(const Question& question, Company& company) const {
  const auto is_newcomer = [&](std::size_t job) {
    return std::ranges::find(question.must, job) != question.must.end() ||
           std::ranges::find(question.may, job) != question.may.end();
  };
  const auto worth = [&](const CompanyInstance& instance) {
    return value_->of(
        question.pool, instance.placed.profile, {instance.seats.begin(), instance.seats.size()});
  };
  for (CompanyInstance* a = company.instances.begin(); a != company.instances.end(); ++a) {
    for (CompanyInstance* b = a + 1; b != company.instances.end(); ++b) {
      if (a->placed.profile == b->placed.profile && a->seats.size() == 1 && b->seats.size() == 1) {
        continue;
      }
      for (CompanySeat& one : a->seats) {
        for (CompanySeat& other : b->seats) {
          if (!is_newcomer(one.job) || !is_newcomer(other.job)) {
            continue;
          }
          std::swap(one.job, other.job);
          const std::optional<double> first = worth(*a);
          const std::optional<double> second = worth(*b);
          if (first.has_value() && second.has_value() &&
              *first + *second > a->value + b->value + kTie) {
            a->value = *first;
            b->value = *second;
            return true;
          }
          std::swap(one.job, other.job);
        }
      }
    }
  }
  return false;
}

}  // namespace septule::sched
