#include "learn/seating_times.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "plan/window.hpp"
#include "predict/co_run_model.hpp"

namespace septule::learn {
namespace {

constexpr float kForEver = std::numeric_limits<float>::infinity();
constexpr std::uint8_t kNobody = 0xFF;
/// Sets of 2 to 4 of 12 rows are 781.
constexpr std::size_t kFormsMax = 1024;

std::uint64_t key_of(std::size_t shape, const PartSets& sets) {
  std::uint64_t key = shape + 1;
  for (const RowSet set : sets) {
    key = key << kWindowRows | set;
  }
  return key;
}

std::size_t place_in_table(std::uint64_t key, std::size_t size) {
  const std::uint64_t mixed = (key ^ (key >> 29U)) * 0x9E3779B97F4A7C15ULL;
  return static_cast<std::size_t>(mixed >> 32U) & (size - 1);
}

/// Rows that run together in a domain.
struct Running {
  std::array<predict::CoRunClient, kFormSeats> clients;
  std::array<std::size_t, kFormSeats> row{};
  std::array<double, kFormSeats> left{};
  std::array<double, kFormSeats> rate{};
  std::array<double, kFormSeats> least{};
  std::size_t count = 0;

  bool ask(const predict::CoRunModel& model, const predict::CoRunPlace& place) {
    model.rates(place, std::span(clients).first(count), std::span(rate).first(count));
    return std::ranges::all_of(std::span(rate).first(count), [](double one) { return one > 0; });
  }
};

}  // namespace

SeatingTimes::SeatingTimes(const PartitionSpace& space,
                           const WindowRows& rows,
                           std::size_t kept_max)
    : space_(&space),
      rows_(&rows),
      only_slows_(rows.problem().model->only_slows()),
      kept_(kept_max),
      forms_(kFormsMax) {
  SEPTULE_CHECK(std::has_single_bit(kept_max), "a table has a power of two places");
}

const SeatedTime& SeatingTimes::best(std::size_t shape, const PartSets& sets, float bound) {
  const std::uint64_t key = key_of(shape, sets);
  std::size_t at = place_in_table(key, kept_.size());
  while (kept_[at].key != 0) {
    Kept& kept = kept_[at];
    if (kept.key == key) {
      if (!kept.is_exact && kept.time.time < bound) {
        kept.time = work_out(shape, sets, bound);
        kept.is_exact = kept.time.time < bound || bound == kForEver;
        ++worked_out_;
      }
      return kept.time;
    }
    at = (at + 1) & (kept_.size() - 1);
  }
  if (4 * (kept_count_ + 1) > 3 * kept_.size()) {
    grow();
    at = place_in_table(key, kept_.size());
    while (kept_[at].key != 0) {
      at = (at + 1) & (kept_.size() - 1);
    }
  }
  kept_[at] = {.key = key, .time = work_out(shape, sets, bound)};
  kept_[at].is_exact = kept_[at].time.time < bound || bound == kForEver;
  ++kept_count_;
  ++worked_out_;
  return kept_[at].time;
}

std::optional<SettledForm> SeatingTimes::settled(RowSet rows) const {
  for (std::size_t at = place_in_table(rows, forms_.size()); forms_[at].rows != 0;
       at = (at + 1) & (forms_.size() - 1)) {
    if (forms_[at].rows == rows) {
      return forms_[at].form;
    }
  }
  return std::nullopt;
}

void SeatingTimes::keep_settled(RowSet rows, const SettledForm& form) {
  SEPTULE_CHECK(form_count_ + 1 < forms_.size(), "only sets of 2 to 4 rows are settled");
  std::size_t at = place_in_table(rows, forms_.size());
  while (forms_[at].rows != 0 && forms_[at].rows != rows) {
    at = (at + 1) & (forms_.size() - 1);
  }
  form_count_ += forms_[at].rows == 0 ? 1 : 0;
  forms_[at] = {.rows = rows, .form = form};
}

void SeatingTimes::grow() {
  std::vector<Kept> larger(2 * kept_.size());
  for (const Kept& one : kept_) {
    if (one.key != 0) {
      std::size_t at = place_in_table(one.key, larger.size());
      while (larger[at].key != 0) {
        at = (at + 1) & (larger.size() - 1);
      }
      larger[at] = one;
    }
  }
  kept_ = std::move(larger);
}

bool SeatingTimes::may_sit(const DomainShape& shape, const PartSets& sets) const {
  const std::optional<Bytes>& memory = rows_->memory(shape.parts[0].place);
  std::uint64_t needed = 0;
  int count = 0;
  bool is_known = true;
  const optimize::WindowProblem& problem = rows_->problem();
  for (std::size_t part = 0; part < shape.parts.size(); ++part) {
    for (unsigned left = sets[part]; left != 0; left &= left - 1) {
      const auto row = static_cast<std::size_t>(std::countr_zero(left));
      ++count;
      const std::optional<Bytes>& needs = problem.jobs[(*rows_)[row].job].memory;
      is_known = is_known && needs.has_value();
      if (needs.has_value() && (!memory.has_value() || needs->value() > memory->value() - needed)) {
        return false;
      }
      needed += needs.value_or(Bytes()).value();
      for (unsigned others = left & (left - 1); others != 0; others &= others - 1) {
        const auto other = static_cast<std::size_t>(std::countr_zero(others));
        if (!plan::may_share_mps(problem.jobs[(*rows_)[row].job],
                                 problem.jobs[(*rows_)[other].job],
                                 problem.rules)) {
          return false;
        }
      }
    }
  }
  return is_known || count == 1;
}

SeatedTime SeatingTimes::work_out(std::size_t index, const PartSets& sets, float bound) const {
  const DomainShape& shape = space_->shapes()[index];
  if (!may_sit(shape, sets)) {
    return {.time = kForEver};
  }
  SeatedTime out{.time = bound};
  // Positions: the seats of the first part, then of the next; empty ones have nobody.
  std::array<std::uint8_t, kFormSeats> sitting{};
  std::size_t position = 0;
  for (std::size_t part = 0; part < shape.parts.size(); ++part) {
    unsigned left = sets[part];
    for (int seat = 0; seat < shape.parts[part].seats; ++seat) {
      sitting[position++] = left == 0 ? kNobody : static_cast<std::uint8_t>(std::countr_zero(left));
      left &= left - 1;
    }
    SEPTULE_CHECK(left == 0, "no part has more rows than seats");
  }
  for (const std::size_t domain : shape.domains) {
    const DomainSeats& seats = space_->seats_of(domain);
    for (std::size_t i = 0; i < seats.orders.size(); ++i) {
      const std::span<const std::uint8_t> order(seats.orders[i].data(), seats.kinds.size());
      // Where company only slows, nobody is faster than alone in the same seat.
      bool is_hopeless = false;
      for (std::size_t seat = 0; only_slows_ && seat < order.size() && !is_hopeless; ++seat) {
        const std::uint8_t row = sitting[order[seat]];
        const std::size_t kind = seats.kinds[seat];
        is_hopeless = row != kNobody && kind < kPlaces * kKindsOfPlace &&
                      (*rows_)[row].alone[kind] >= out.time;
      }
      if (is_hopeless) {
        continue;
      }
      const float time = time_in({.domain = domain, .order = order, .rows = sitting}, out.time);
      if (time < out.time) {
        out = {.time = time,
               .domain = static_cast<std::uint16_t>(domain),
               .order = static_cast<std::uint16_t>(i)};
      }
    }
  }
  return out;
}

float SeatingTimes::time_in(const Seating& seating, float bound) const {
  const optimize::WindowProblem& problem = rows_->problem();
  const gpu::MemoryDomain& of = space_->catalogue().domains[seating.domain];
  const DomainSeats& seats = space_->seats_of(seating.domain);
  const predict::CoRunPlace place{.profile = of.profile,
                                  .compute = {of.compute.begin(), of.compute.end()}};
  Running running;
  for (std::size_t seat = 0; seat < seating.order.size(); ++seat) {
    if (seating.rows[seating.order[seat]] == kNobody) {
      continue;
    }
    const std::size_t at = running.count++;
    running.row[at] = seating.rows[seating.order[seat]];
    const Row& row = (*rows_)[running.row[at]];
    const std::size_t kind = seats.kinds[seat];
    // Time that a second of its solo time takes at least.
    running.least[at] = only_slows_ && kind < row.alone.size()
                            ? static_cast<double>(row.alone[kind]) / static_cast<double>(row.solo)
                            : 0.0;
    running.clients[at] = {
        .job = row.job, .compute = of.seats[seat].compute, .atp = of.seats[seat].atp};
    running.left[at] = static_cast<double>(row.solo);
  }
  double now = 0;
  const bool is_idle = problem.clock == optimize::GroupClock::kIdle;
  const double fairness = problem.rules.fairness;
  while (running.count > 0) {
    if (!running.ask(*problem.model, place)) {
      return kForEver;
    }
    double next = running.left[0] / running.rate[0];
    double last = next;
    for (std::size_t i = 1; i < running.count; ++i) {
      next = std::min(next, running.left[i] / running.rate[i]);
      last = std::max(last, running.left[i] / running.rate[i]);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < running.count; ++i) {
      const double end = running.left[i] / running.rate[i];
      if (is_idle || end <= next * (1 + 1e-12)) {
        if (static_cast<double>((*rows_)[running.row[i]].solo) < fairness * (now + end)) {
          return kForEver;
        }
        continue;
      }
      running.left[kept] = running.left[i] - running.rate[i] * next;
      running.clients[kept] = running.clients[i];
      running.least[kept] = running.least[i];
      running.row[kept++] = running.row[i];
    }
    running.count = kept;
    now += is_idle ? last : next;
    for (std::size_t i = 0; i < kept; ++i) {
      if (now + running.left[i] * running.least[i] >= static_cast<double>(bound) * (1 + 1e-6)) {
        return kForEver;
      }
    }
  }
  return static_cast<float>(now);
}

}  // namespace septule::learn
