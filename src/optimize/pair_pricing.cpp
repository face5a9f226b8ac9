#include "optimize/pair_pricing.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace septule::optimize {
namespace {

constexpr std::int64_t kPricedPerUnit = 64;

bool is_same_seat(const gpu::MemoryDomain& a,
                  std::size_t s,
                  const gpu::MemoryDomain& b,
                  std::size_t t) {
  const auto size = [](const gpu::MemoryDomain& domain, std::size_t seat) {
    return domain.compute.empty()
               ? 0
               : domain.compute[static_cast<std::size_t>(domain.seats[seat].compute)].size.value();
  };
  return a.seats[s].atp == b.seats[t].atp && size(a, s) == size(b, t);
}

}  // namespace

PairPricer::PairPricer(const GroupTimer& timer, WorkBudget& budget)
    : timer_(&timer),
      budget_(&budget),
      kinds_(company_kinds(*timer.problem().catalogue)),
      rate_max_(timer.problem().jobs.size(), 0) {
  for (const CompanyKind& kind : kinds_.kinds) {
    parts_.push_back(make_kind(kind));
  }
}

PairPricer::Kind PairPricer::make_kind(const CompanyKind& kind) {
  const gpu::MemoryDomain& domain = timer_->problem().catalogue->domains[kind.domain];
  Kind parts;
  if (kind.seats.size() == 2) {
    parts.push_back({table_of({kind.domain, kind.seats[0], kind.seats[1], 1, {}, {}}), 1});
    return parts;
  }
  std::map<int, std::vector<std::size_t>> by_compute;
  for (const std::size_t seat : kind.seats) {
    by_compute[domain.seats[seat].compute].push_back(seat);
  }
  for (const auto& [compute, seats] : by_compute) {
    const auto others = static_cast<double>(seats.size() - 1);
    if (seats.size() == 1) {
      parts.push_back({table_of({kind.domain, seats[0], seats[0], 1, {}, {}}), 1});
      continue;
    }
    for (std::size_t a = 0; a < seats.size(); ++a) {
      for (std::size_t b = a + 1; b < seats.size(); ++b) {
        parts.push_back({table_of({kind.domain, seats[a], seats[b], others, {}, {}}), 1 / others});
      }
    }
  }
  return parts;
}

std::size_t PairPricer::table_of(const Table& wanted) {
  const std::vector<gpu::MemoryDomain>& domains = timer_->problem().catalogue->domains;
  const gpu::MemoryDomain& own = domains[wanted.domain];
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const Table& table = tables_[t];
    const gpu::MemoryDomain& other = domains[table.domain];
    const bool is_alone = wanted.first == wanted.second;
    const bool is_together = own.seats[wanted.first].compute == own.seats[wanted.second].compute;
    if (own.profile == other.profile && own.compute == other.compute &&
        is_alone == (table.first == table.second) && !(table.others < wanted.others) &&
        !(table.others > wanted.others) &&
        is_together == (other.seats[table.first].compute == other.seats[table.second].compute) &&
        is_same_seat(own, wanted.first, other, table.first) &&
        is_same_seat(own, wanted.second, other, table.second)) {
      return t;
    }
  }
  tables_.push_back(wanted);
  fill(tables_.back());
  return tables_.size() - 1;
}

double PairPricer::rate_alone(std::size_t domain, std::size_t seat, std::size_t job) {
  const gpu::MemoryDomain& place = timer_->problem().catalogue->domains[domain];
  std::array<std::size_t, gpu::kSeatsMax> seated{};
  seated.fill(kNoJob);
  seated[seat] = job;
  if (!timer_->may_sit(domain, std::span(seated).first(place.seats.size()))) {
    return 0;
  }
  double rate = 0;
  const predict::CoRunClient client{job, place.seats[seat].compute, place.seats[seat].atp};
  timer_->problem().model->rates(
      {place.profile, {place.compute.begin(), place.compute.size()}}, {&client, 1}, {&rate, 1});
  return rate;
}

void PairPricer::fill(Table& table) {
  const WindowProblem& problem = timer_->problem();
  const gpu::MemoryDomain& place = problem.catalogue->domains[table.domain];
  const std::size_t count = problem.jobs.size();
  std::vector<double> alone_first(count);
  std::vector<double> alone_second(count);
  for (std::size_t j = 0; j < count; ++j) {
    alone_first[j] = rate_alone(table.domain, table.first, j);
    alone_second[j] = rate_alone(table.domain, table.second, j);
    rate_max_[j] = std::max({rate_max_[j], alone_first[j], alone_second[j]});
  }
  budget_->spend(static_cast<std::int64_t>(2 * count));
  if (table.first == table.second) {
    table.first_rates = std::move(alone_first);
    return;
  }
  table.first_rates.assign(count * count, 0);
  table.second_rates.assign(count * count, 0);
  budget_->spend(static_cast<std::int64_t>(count * count));
  const predict::CoRunPlace where{place.profile, {place.compute.begin(), place.compute.size()}};
  std::array<std::size_t, gpu::kSeatsMax> seated{};
  seated.fill(kNoJob);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      seated[table.first] = i;
      seated[table.second] = j;
      if (i == j || !(alone_first[i] > 0) || !(alone_second[j] > 0) ||
          !timer_->may_sit(table.domain, std::span(seated).first(place.seats.size()))) {
        continue;
      }
      const std::array clients{
          predict::CoRunClient{i, place.seats[table.first].compute, place.seats[table.first].atp},
          predict::CoRunClient{
              j, place.seats[table.second].compute, place.seats[table.second].atp}};
      std::array<double, 2> rates{};
      problem.model->rates(where, clients, rates);
      if (rates[0] > 0 && rates[1] > 0) {
        const auto capped = [&](double alone, double together) {
          return 1 / (1 / alone + table.others * std::max(0.0, 1 / together - 1 / alone));
        };
        // A pair is as fast as it is; more are as slow as the law says.
        const bool is_pair = !(table.others > 1);
        table.first_rates[i * count + j] = is_pair ? rates[0] : capped(alone_first[i], rates[0]);
        table.second_rates[i * count + j] = is_pair ? rates[1] : capped(alone_second[j], rates[1]);
      }
    }
  }
}

void PairPricer::price_table(Table& table, std::span<const double> prices) const {
  const std::size_t count = prices.size();
  table.value = 0;
  if (table.first == table.second) {
    for (std::size_t j = 0; j < count; ++j) {
      const double value = prices[j] * table.first_rates[j];
      if (value > table.value) {
        table.value = value;
        table.first_job = j;
      }
    }
    return;
  }
  const double* first = table.first_rates.data();
  const double* second = table.second_rates.data();
  for (std::size_t i = 0; i < count; ++i) {
    const double price = prices[i];
    for (std::size_t j = 0; j < count; ++j) {
      const double value = price * *first++ + prices[j] * *second++;
      if (value > table.value) {
        table.value = value;
        table.first_job = i;
        table.second_job = j;
      }
    }
  }
}

double PairPricer::value_of(const Kind& kind) const {
  double value = 0;
  for (const Part& part : kind) {
    value += part.weight * tables_[part.table].value;
  }
  return value;
}

PricedColumns PairPricer::price(std::span<const double> prices,
                                double threshold,
                                WorkBudget& budget) {
  const std::size_t count = prices.size();
  budget.spend(1 + static_cast<std::int64_t>(tables_.size() * count * count) / kPricedPerUnit);
  for (Table& table : tables_) {
    price_table(table, prices);
  }
  const gpu::SharingCatalogue& catalogue = *timer_->problem().catalogue;
  std::vector<std::size_t> best_kind;
  std::vector<double> best_value;
  for (const std::vector<std::size_t>& of_domain : kinds_.of_domain) {
    std::size_t best = of_domain.front();
    for (const std::size_t kind : of_domain) {
      best = value_of(parts_[kind]) > value_of(parts_[best]) ? kind : best;
    }
    best_kind.push_back(best);
    best_value.push_back(value_of(parts_[best]));
  }
  PricedColumns found;
  found.value_max = threshold;
  for (const gpu::SharingTemplate& shape : catalogue.templates) {
    RateColumn column;
    std::map<std::size_t, double> rates;
    for (const std::size_t domain : shape.domains) {
      column.value += best_value[domain];
    }
    found.value_max = std::max(found.value_max, column.value);
    if (column.value <= threshold) {
      continue;
    }
    for (const std::size_t domain : shape.domains) {
      for (const Part& part : parts_[best_kind[domain]]) {
        const Table& table = tables_[part.table];
        if (!(table.value > 0)) {
          continue;
        }
        const bool is_alone = table.first == table.second;
        const std::size_t at =
            is_alone ? table.first_job : table.first_job * count + table.second_job;
        rates[table.first_job] += part.weight * table.first_rates[at];
        if (!is_alone) {
          rates[table.second_job] += part.weight * table.second_rates[at];
        }
      }
    }
    for (const auto& [job, rate] : rates) {
      column.entries.push_back({job, rate});
    }
    found.columns.push_back(std::move(column));
  }
  return found;
}

}  // namespace septule::optimize
