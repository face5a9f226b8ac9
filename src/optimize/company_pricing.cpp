#include "optimize/company_pricing.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/check.hpp"

namespace septule::optimize {
namespace {

/// Companies priced for one unit of work.
constexpr std::int64_t kPricedPerUnit = 64;
/// A seat without a percentage, as a number.
constexpr int kNoPercentage = 0;

int percentage_of(const gpu::Seat& seat) {
  return seat.atp.has_value() ? seat.atp->value() : kNoPercentage;
}

int size_of_compute(const gpu::MemoryDomain& domain, int compute) {
  return domain.compute.empty() ? 0
                                : domain.compute[static_cast<std::size_t>(compute)].size.value();
}

/// What makes kinds equal: the place, its compute instances, and of each that is taken its size and
/// the percentages in it.
using TakenCompute = std::pair<int, std::vector<int>>;
using KindKey = std::tuple<int, std::vector<int>, std::vector<TakenCompute>>;

/// A compute instance with its taken seats.
struct Taken {
  TakenCompute key;
  std::vector<std::size_t> seats;
};

std::vector<Taken> taken_of(const gpu::MemoryDomain& domain, unsigned subset) {
  std::map<int, Taken> by_compute;
  for (std::size_t s = 0; s < domain.seats.size(); ++s) {
    if ((subset >> s & 1U) != 0) {
      Taken& taken = by_compute[domain.seats[s].compute];
      taken.key.first = size_of_compute(domain, domain.seats[s].compute);
      taken.key.second.push_back(percentage_of(domain.seats[s]));
      taken.seats.push_back(s);
    }
  }
  std::vector<Taken> all;
  for (auto& [compute, taken] : by_compute) {
    all.push_back(std::move(taken));
  }
  std::stable_sort(
      all.begin(), all.end(), [](const Taken& a, const Taken& b) { return b.key < a.key; });
  return all;
}

KindKey key_of(const gpu::MemoryDomain& domain, const std::vector<Taken>& all) {
  std::vector<int> sizes;
  for (const gpu::ComputePlacement& compute : domain.compute) {
    sizes.push_back(compute.size.value());
  }
  std::sort(sizes.begin(), sizes.end());
  std::vector<TakenCompute> keys;
  for (const Taken& taken : all) {
    keys.push_back(taken.key);
  }
  return {domain.profile.has_value() ? domain.profile->value() : -1, sizes, keys};
}

CompanyKind kind_of(std::size_t domain, const std::vector<Taken>& all) {
  CompanyKind kind;
  kind.domain = domain;
  for (std::size_t c = 0; c < all.size(); ++c) {
    const Taken& taken = all[c];
    for (std::size_t s = 0; s < taken.seats.size(); ++s) {
      // Within a compute instance, seats of equal percentage are alike. Of compute instances that
      // are alike, the first seats are put in order (which leaves some equal companies twice).
      const bool is_like_in = s > 0 && taken.key.second[s] == taken.key.second[s - 1];
      const bool is_like_alone =
          s == 0 && c > 0 && taken.seats.size() == 1 && taken.key == all[c - 1].key;
      kind.seats.push_back(taken.seats[s]);
      kind.is_like_before.push_back(is_like_in || is_like_alone);
    }
  }
  return kind;
}

}  // namespace

CompanyKinds company_kinds(const gpu::SharingCatalogue& catalogue) {
  CompanyKinds found;
  std::map<KindKey, std::size_t> known;
  for (std::size_t d = 0; d < catalogue.domains.size(); ++d) {
    const gpu::MemoryDomain& domain = catalogue.domains[d];
    std::vector<std::size_t>& own = found.of_domain.emplace_back();
    for (unsigned subset = 1; subset < 1U << domain.seats.size(); ++subset) {
      const std::vector<Taken> all = taken_of(domain, subset);
      const auto [place, is_new] = known.try_emplace(key_of(domain, all), found.kinds.size());
      if (is_new) {
        found.kinds.push_back(kind_of(d, all));
      }
      own.push_back(place->second);
    }
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  return found;
}

std::int64_t company_count(const CompanyKinds& kinds, std::size_t job_count) {
  constexpr double kCountMax = 1e15;
  double sum = 0;
  for (const CompanyKind& kind : kinds.kinds) {
    const std::size_t size = kind.seats.size();
    double sets = 1;
    for (std::size_t i = 0; i < size; ++i) {
      sets *= job_count < i ? 0 : static_cast<double>(job_count - i) / static_cast<double>(i + 1);
    }
    std::array<std::size_t, gpu::kSeatsMax> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(size);
    double orders = 0;
    do {
      bool is_canonical = true;
      for (std::size_t i = 1; i < size; ++i) {
        is_canonical = is_canonical && (!kind.is_like_before[i] || order[i - 1] < order[i]);
      }
      orders += is_canonical ? 1 : 0;
    } while (std::next_permutation(order.begin(), end));
    sum += sets * orders;
  }
  return static_cast<std::int64_t>(std::min(sum, kCountMax));
}

/// Asks for the companies of one kind after another.
class CompanyPricer::Maker {
 public:
  Maker(const GroupTimer& timer, CompanyPricer& pricer)
      : timer_(timer), problem_(timer.problem()), pricer_(pricer) {}

  void make(std::size_t kind) {
    kind_ = &pricer_.kinds_.kinds[kind];
    domain_ = &problem_.catalogue->domains[kind_->domain];
    out_ = &pricer_.companies_[kind];
    out_->size = kind_->seats.size();
    place_ = {domain_->profile, {domain_->compute.begin(), domain_->compute.size()}};
    choose(0, 0);
    out_->set_begin.push_back(static_cast<std::uint32_t>(out_->rates.size() / out_->size));
  }

 private:
  /// Sets of jobs in ascending order of their members, then every order in the seats.
  void choose(std::size_t first, std::size_t count) {
    if (count == out_->size) {
      seat_all();
      return;
    }
    for (std::size_t job = first; job < problem_.jobs.size(); ++job) {
      chosen_[count] = job;
      choose(job + 1, count + 1);
    }
  }

  void seat_all() {
    std::uint64_t set = 0;
    for (std::size_t i = 0; i < out_->size; ++i) {
      set |= std::uint64_t{1} << chosen_[i];
    }
    const std::size_t before = out_->rates.size();
    std::array<std::size_t, gpu::kSeatsMax> order = chosen_;
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(out_->size);
    do {
      if (is_canonical(order)) {
        ++pricer_.company_count_;
        ask(order);
      }
    } while (std::next_permutation(order.begin(), end));
    if (out_->rates.size() > before) {
      out_->sets.push_back(set);
      out_->set_begin.push_back(static_cast<std::uint32_t>(before / out_->size));
    }
  }

  bool is_canonical(const std::array<std::size_t, gpu::kSeatsMax>& order) const {
    for (std::size_t i = 1; i < out_->size; ++i) {
      if (kind_->is_like_before[i] && order[i] < order[i - 1]) {
        return false;
      }
    }
    return true;
  }

  void ask(const std::array<std::size_t, gpu::kSeatsMax>& order) {
    std::array<std::size_t, gpu::kSeatsMax> seated{};
    seated.fill(kNoJob);
    std::array<predict::CoRunClient, gpu::kSeatsMax> clients{};
    for (std::size_t i = 0; i < out_->size; ++i) {
      const gpu::Seat& seat = domain_->seats[kind_->seats[i]];
      seated[kind_->seats[i]] = order[i];
      clients[i] = {order[i], seat.compute, seat.atp};
    }
    if (!timer_.may_sit(kind_->domain, std::span(seated).first(domain_->seats.size()))) {
      return;
    }
    std::array<double, gpu::kSeatsMax> rates{};
    problem_.model->rates(
        place_, std::span(clients).first(out_->size), std::span(rates).first(out_->size));
    for (std::size_t i = 0; i < out_->size; ++i) {
      if (!(rates[i] > 0)) {
        return;
      }
    }
    for (std::size_t i = 0; i < out_->size; ++i) {
      out_->jobs.push_back(static_cast<std::uint8_t>(order[i]));
      out_->rates.push_back(rates[i]);
      double& most = pricer_.rate_max_[order[i]];
      most = std::max(most, rates[i]);
    }
  }

  const GroupTimer& timer_;
  const WindowProblem& problem_;
  CompanyPricer& pricer_;
  const CompanyKind* kind_ = nullptr;
  const gpu::MemoryDomain* domain_ = nullptr;
  Companies* out_ = nullptr;
  predict::CoRunPlace place_;
  std::array<std::size_t, gpu::kSeatsMax> chosen_{};
};

std::unique_ptr<CompanyPricer> CompanyPricer::make(const GroupTimer& timer,
                                                   std::int64_t companies_max,
                                                   WorkBudget& budget) {
  const WindowProblem& problem = timer.problem();
  if (problem.jobs.size() > kJobsMax) {
    return nullptr;
  }
  std::unique_ptr<CompanyPricer> pricer(new CompanyPricer);
  pricer->catalogue_ = problem.catalogue;
  pricer->kinds_ = company_kinds(*problem.catalogue);
  if (septule::optimize::company_count(pricer->kinds_, problem.jobs.size()) > companies_max) {
    return nullptr;
  }
  pricer->companies_.resize(pricer->kinds_.kinds.size());
  pricer->choices_.resize(pricer->kinds_.kinds.size());
  pricer->rate_max_.assign(problem.jobs.size(), 0);
  pricer->is_combined_.assign(problem.catalogue->domains.size(), false);
  for (const gpu::SharingTemplate& shape : problem.catalogue->templates) {
    for (const std::size_t domain : shape.domains) {
      pricer->is_combined_[domain] = pricer->is_combined_[domain] || shape.domains.size() > 1;
    }
  }
  Maker maker(timer, *pricer);
  for (std::size_t kind = 0; kind < pricer->kinds_.kinds.size(); ++kind) {
    maker.make(kind);
  }
  budget.spend(pricer->company_count_);
  return pricer;
}

void CompanyPricer::price_kind(std::size_t kind, std::span<const double> prices) {
  const Companies& all = companies_[kind];
  std::vector<Choice>& choices = choices_[kind];
  choices.clear();
  const std::uint8_t* jobs = all.jobs.data();
  const double* rates = all.rates.data();
  for (std::size_t i = 0; i < all.sets.size(); ++i) {
    Choice best{-1, all.sets[i], static_cast<std::uint32_t>(kind), 0};
    for (std::uint32_t company = all.set_begin[i]; company < all.set_begin[i + 1]; ++company) {
      double value = 0;
      for (std::size_t k = 0; k < all.size; ++k) {
        value += prices[*jobs++] * *rates++;
      }
      if (value > best.value) {
        best.value = value;
        best.company = company;
      }
    }
    choices.push_back(best);
  }
}

void CompanyPricer::add_to(const Choice& choice, RateColumn& column) const {
  const Companies& all = companies_[choice.kind];
  column.value += choice.value;
  for (std::size_t k = choice.company * all.size; k < (choice.company + 1) * all.size; ++k) {
    column.entries.push_back({all.jobs[k], all.rates[k]});
  }
}

/// The best sets of jobs without a common one for the domains of a template.
class CompanyPricer::Search {
 public:
  /// `sorted`: choices of each domain, best first.
  Search(std::span<const std::vector<Choice>* const> sorted, double threshold)
      : sorted_(sorted), best_value_(threshold) {
    rest_.assign(sorted.size() + 1, 0);
    for (std::size_t d = sorted.size(); d-- > 0;) {
      rest_[d] = rest_[d + 1] + (sorted[d]->empty() ? 0 : sorted[d]->front().value);
    }
    extend(0, 0, 0);
  }

  double value() const { return best_value_; }
  /// Empty where nothing is above the threshold.
  const InlineVector<Choice, gpu::kSeatsMax>& choices() const { return best_; }

 private:
  void extend(std::size_t domain, double value, std::uint64_t taken) {
    if (value > best_value_) {
      best_value_ = value;
      best_ = open_;
    }
    if (domain == sorted_.size()) {
      return;
    }
    for (const Choice& choice : *sorted_[domain]) {
      if (value + choice.value + rest_[domain + 1] <= best_value_) {
        break;
      }
      if ((choice.set & taken) != 0) {
        continue;
      }
      open_.push_back(choice);
      extend(domain + 1, value + choice.value, taken | choice.set);
      open_.pop_back();
    }
    // Nobody in this domain.
    if (value + rest_[domain + 1] > best_value_) {
      extend(domain + 1, value, taken);
    }
  }

  std::span<const std::vector<Choice>* const> sorted_;
  std::vector<double> rest_;
  InlineVector<Choice, gpu::kSeatsMax> open_;
  InlineVector<Choice, gpu::kSeatsMax> best_;
  double best_value_;
};

PricedColumns CompanyPricer::price(std::span<const double> prices,
                                   double threshold,
                                   WorkBudget& budget) {
  budget.spend(1 + company_count_ / kPricedPerUnit);
  for (std::size_t kind = 0; kind < companies_.size(); ++kind) {
    price_kind(kind, prices);
  }
  std::vector<std::vector<Choice>> sorted(kinds_.of_domain.size());
  for (std::size_t d = 0; d < sorted.size(); ++d) {
    for (const std::size_t kind : kinds_.of_domain[d]) {
      if (is_combined_[d]) {
        sorted[d].insert(sorted[d].end(), choices_[kind].begin(), choices_[kind].end());
      } else if (!choices_[kind].empty()) {
        sorted[d].push_back(*std::max_element(
            choices_[kind].begin(), choices_[kind].end(), [](const Choice& a, const Choice& b) {
              return a.value < b.value;
            }));
      }
    }
    std::stable_sort(sorted[d].begin(), sorted[d].end(), [](const Choice& a, const Choice& b) {
      return a.value > b.value;
    });
  }
  PricedColumns found;
  found.value_max = threshold;
  for (const gpu::SharingTemplate& shape : catalogue_->templates) {
    InlineVector<const std::vector<Choice>*, gpu::kSeatsMax> lists;
    for (const std::size_t domain : shape.domains) {
      lists.push_back(&sorted[domain]);
    }
    const Search search(std::span(lists.begin(), lists.size()), threshold);
    if (search.choices().empty()) {
      continue;
    }
    RateColumn column;
    for (const Choice& choice : search.choices()) {
      add_to(choice, column);
    }
    std::sort(column.entries.begin(), column.entries.end(), [](const auto& a, const auto& b) {
      return a.job < b.job;
    });
    found.value_max = std::max(found.value_max, column.value);
    found.columns.push_back(std::move(column));
  }
  return found;
}

}  // namespace septule::optimize
