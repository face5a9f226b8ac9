#include "optimize/seat_rates.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"

namespace septule::optimize {
namespace {

constexpr std::size_t kEntriesFirst = 1024;
constexpr std::size_t kSeatsPerWord = 4;
constexpr unsigned kBitsPerSeat = 16;

std::uint64_t packed(const Seating& seated, std::size_t first) {
  std::uint64_t word = 0;
  for (std::size_t s = first; s < std::min(first + kSeatsPerWord, seated.size()); ++s) {
    word |= std::uint64_t{seated[s]} << (kBitsPerSeat * (s - first));
  }
  return word;
}

std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 31U;
  value *= 0x9e3779b97f4a7c15U;
  return value ^ (value >> 29U);
}

}  // namespace

SeatRates::SeatRates(const WindowProblem& problem)
    : problem_(&problem), timer_(problem), entries_(kEntriesFirst) {
  SEPTULE_CHECK(problem.jobs.size() <= kSeatedJobsMax, "the window is within the limit");
}

std::size_t SeatRates::slot_of(const Entry& key) const {
  const std::size_t mask = entries_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(mixed(key.low + mixed(key.high + key.domain))) & mask;
  while (entries_[slot].rates != kFree &&
         (entries_[slot].low != key.low || entries_[slot].high != key.high ||
          entries_[slot].domain != key.domain)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void SeatRates::grow() {
  if (entries_.size() == 2 * kEntriesMax) {
    // Full: forget everything. What is asked again is worked out again, with the same answer.
    std::fill(entries_.begin(), entries_.end(), Entry{});
    rates_.clear();
    used_ = 0;
    return;
  }
  std::vector<Entry> before(entries_.size() * 2);
  std::swap(before, entries_);
  for (const Entry& entry : before) {
    if (entry.rates != kFree) {
      entries_[slot_of(entry)] = entry;
    }
  }
}

bool SeatRates::is_allowed(std::size_t domain, const Seating& seated) const {
  std::array<std::size_t, gpu::kSeatsMax> jobs{};
  for (std::size_t s = 0; s < seated.size(); ++s) {
    jobs[s] = seated[s] == kEmptySeat ? kNoJob : seated[s];
  }
  return timer_.may_sit(domain, std::span(jobs).first(seated.size()));
}

bool SeatRates::ask(std::size_t domain, const Seating& seated, std::span<double> out) {
  const gpu::MemoryDomain& place = problem_->catalogue->domains[domain];
  std::array<predict::CoRunClient, gpu::kSeatsMax> clients;
  std::array<double, gpu::kSeatsMax> rates{};
  std::size_t count = 0;
  for (std::size_t s = 0; s < seated.size(); ++s) {
    if (seated[s] != kEmptySeat) {
      clients[count++] = {seated[s], place.seats[s].compute, place.seats[s].atp};
    }
  }
  const std::span<const gpu::ComputePlacement> compute(place.compute.begin(), place.compute.size());
  ++models_asked_;
  problem_->model->rates(
      {place.profile, compute}, std::span(clients).first(count), std::span(rates).first(count));
  std::size_t next = 0;
  for (std::size_t s = 0; s < seated.size(); ++s) {
    out[s] = seated[s] == kEmptySeat ? 0 : rates[next++];
    if (seated[s] != kEmptySeat && !(out[s] > 0)) {
      return false;
    }
  }
  return true;
}

std::span<const double> SeatRates::find(std::size_t domain, const Seating& seated) {
  Entry key{packed(seated, 0), packed(seated, kSeatsPerWord), static_cast<std::uint32_t>(domain)};
  std::size_t slot = slot_of(key);
  if (entries_[slot].rates == kFree) {
    std::array<double, gpu::kSeatsMax> found{};
    const bool is_possible = is_allowed(domain, seated) && ask(domain, seated, found);
    if (used_ * 2 >= entries_.size()) {
      grow();
      slot = slot_of(key);
    }
    ++used_;
    key.rates = is_possible ? static_cast<std::uint32_t>(rates_.size()) : kImpossible;
    entries_[slot] = key;
    if (is_possible) {
      const auto seats = static_cast<std::ptrdiff_t>(seated.size());
      rates_.insert(rates_.end(), found.begin(), found.begin() + seats);
    }
  }
  if (entries_[slot].rates == kImpossible) {
    return {};
  }
  return std::span(rates_).subspan(entries_[slot].rates, seated.size());
}

bool SeatRates::runs_alone(std::size_t domain, std::size_t seat, SeatedJob job) {
  Seating seated;
  for (std::size_t s = 0; s < problem_->catalogue->domains[domain].seats.size(); ++s) {
    seated.push_back(s == seat ? job : kEmptySeat);
  }
  return !find(domain, seated).empty();
}

Status check_jobs_run_alone(SeatRates& rates) {
  const WindowProblem& problem = rates.problem();
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    bool is_running = false;
    for (std::size_t d = 0; d < problem.catalogue->domains.size() && !is_running; ++d) {
      const std::size_t seats = problem.catalogue->domains[d].seats.size();
      for (std::size_t s = 0; s < seats && !is_running; ++s) {
        is_running = rates.runs_alone(d, s, static_cast<SeatedJob>(j));
      }
    }
    if (!is_running) {
      return Error{ErrorCode::kBlocked,
                   fmt::format("job {} runs nowhere on {} even alone: its memory fits no instance "
                               "of the templates, or its speed is known on none",
                               quoted_for_message(problem.jobs[j].name),
                               problem.catalogue->geometry->key())};
    }
  }
  return {};
}

}  // namespace septule::optimize
