#include "optimize/group_table.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "optimize/switch_costs.hpp"

namespace septule::optimize {

namespace {

using Jobs = InlineVector<std::size_t, kTableJobsMax>;

Jobs jobs_of(JobSet set) {
  Jobs jobs;
  for (; set != 0; set &= set - 1) {
    jobs.push_back(static_cast<std::size_t>(std::countr_zero(set)));
  }
  return jobs;
}

std::span<const std::size_t> as_span(const Jobs& jobs) {
  return {jobs.begin(), jobs.size()};
}

/// Where a template's domain is: templates whose places agree differ in seats only.
using PlaceKey = std::vector<int>;

PlaceKey place_key(const gpu::MemoryDomain& domain) {
  PlaceKey key{domain.profile.has_value() ? domain.profile->value() : -1};
  for (const gpu::ComputePlacement& compute : domain.compute) {
    key.push_back(compute.start.value());
    key.push_back(compute.size.value());
  }
  return key;
}

/// Times below which a domain is of interest.
Duration limit_of(double value) {
  constexpr double kMost = 4e18;
  return Duration::nanoseconds(value < kMost ? static_cast<std::int64_t>(value)
                                             : std::numeric_limits<std::int64_t>::max());
}

Error too_many_jobs(std::size_t count) {
  return {ErrorCode::kInvalidInput,
          fmt::format("the window has {} jobs; the exact method takes up to {} (method local takes "
                      "more)",
                      count,
                      kTableJobsMax)};
}

}  // namespace

/// Builds one table. One use.
class GroupTable::Maker {
 public:
  /// Cuts by the fewest jobs that they take.
  static std::vector<GpuCut> cuts_of(const gpu::SharingCatalogue& catalogue) {
    std::vector<GpuCut> found;
    std::vector<std::pair<int, std::size_t>> order;  // fewest jobs, where it is first
    for (std::size_t i = 0; i < catalogue.templates.size(); ++i) {
      GpuCut cut = cut_of(catalogue, i);
      const int seats = catalogue.templates[i].concurrency;
      const auto at = static_cast<std::size_t>(std::ranges::find(found, cut) - found.begin());
      if (at == found.size()) {
        found.push_back(std::move(cut));
        order.emplace_back(seats, at);
      } else {
        order[at].first = std::min(order[at].first, seats);
      }
    }
    std::ranges::sort(order);
    std::vector<GpuCut> cuts;
    for (const auto& [seats, at] : order) {
      cuts.push_back(found[at]);
    }
    return cuts;
  }

  Maker(GroupTable& table, WorkBudget& budget)
      : table_(table), budget_(budget), catalogue_(*table.problem().catalogue) {}

  /// False when the budget ends.
  bool fill() {
    find_bundles();
    set_switch_times();
    const std::size_t largest = table_.costs_.group_max();
    for (std::size_t size = 1; size <= largest; ++size) {
      if (!fill_choices(size) || !fill_groups(size)) {
        return false;
      }
      size_done_ = size;
    }
    return true;
  }
  std::size_t size_done() const { return size_done_; }

 private:
  void find_bundles() {
    // Places and seats of templates that belong together: those of equal places in any order.
    std::map<std::pair<std::size_t, std::vector<std::pair<PlaceKey, std::size_t>>>,
             std::vector<std::size_t>>
        together;
    std::vector<std::size_t> cut_by_template;
    for (std::size_t i = 0; i < catalogue_.templates.size(); ++i) {
      if (static_cast<std::size_t>(catalogue_.templates[i].concurrency) >
          table_.costs_.group_max()) {
        continue;  // more seats than jobs
      }
      const auto cut = std::ranges::find(table_.cuts_, cut_of(catalogue_, i));
      std::vector<std::pair<PlaceKey, std::size_t>> places;
      for (const std::size_t domain : catalogue_.templates[i].domains) {
        places.emplace_back(place_key(catalogue_.domains[domain]),
                            catalogue_.domains[domain].seats.size());
      }
      std::ranges::sort(places);
      together[{static_cast<std::size_t>(cut - table_.cuts_.begin()), places}].push_back(i);
    }
    for (const auto& [key, templates] : together) {
      add_bundle(key.first, templates);
    }
    std::ranges::sort(
        table_.bundles_, {}, [](const Bundle& bundle) { return bundle.templates.front(); });
  }

  /// One bundle if every combination of choices is there, else one for each template.
  void add_bundle(std::size_t cut, const std::vector<std::size_t>& templates) {
    std::map<std::pair<PlaceKey, std::size_t>, std::vector<std::size_t>> domains;
    for (const std::size_t index : templates) {
      for (const std::size_t domain : catalogue_.templates[index].domains) {
        auto& same = domains[class_of(domain)];
        if (std::ranges::find(same, domain) == same.end()) {
          same.push_back(domain);
        }
      }
    }
    for (auto& [key, same] : domains) {
      std::ranges::sort(same);
    }
    if (combinations(templates.front(), domains) != templates.size()) {
      for (const std::size_t index : templates) {
        Bundle bundle = new_bundle(cut, {index});
        for (const std::size_t domain : catalogue_.templates[index].domains) {
          bundle.choices.push_back(choice_index({domain}));
        }
        table_.bundles_.push_back(std::move(bundle));
      }
      return;
    }
    Bundle bundle = new_bundle(cut, templates);
    for (const std::size_t domain : catalogue_.templates[templates.front()].domains) {
      bundle.choices.push_back(choice_index(domains[class_of(domain)]));
    }
    table_.bundles_.push_back(std::move(bundle));
  }

  Bundle new_bundle(std::size_t cut, const std::vector<std::size_t>& templates) const {
    const int seats = catalogue_.templates[templates.front()].concurrency;
    return {.cut = cut,
            .seats = static_cast<std::size_t>(seats),
            .choices = {},
            .templates = templates};
  }

  std::pair<PlaceKey, std::size_t> class_of(std::size_t domain) const {
    return {place_key(catalogue_.domains[domain]), catalogue_.domains[domain].seats.size()};
  }

  /// How many templates there are if every place may have every domain of its class: multisets
  /// where several places are of one class.
  std::size_t combinations(
      std::size_t index,
      const std::map<std::pair<PlaceKey, std::size_t>, std::vector<std::size_t>>& domains) const {
    std::size_t product = 1;
    for (const auto& [key, same] : domains) {
      const auto places = static_cast<std::size_t>(
          std::ranges::count_if(catalogue_.templates[index].domains,
                                [&](std::size_t domain) { return class_of(domain) == key; }));
      std::size_t multisets = 1;
      for (std::size_t i = 1; i <= places; ++i) {
        multisets = multisets * (same.size() + i - 1) / i;
      }
      product *= multisets;
    }
    return product;
  }

  std::size_t choice_index(const std::vector<std::size_t>& domains) {
    const auto known = std::ranges::find(table_.choices_, domains, &Choice::domains);
    if (known != table_.choices_.end()) {
      return static_cast<std::size_t>(known - table_.choices_.begin());
    }
    table_.choices_.push_back(
        {.domains = domains,
         .seats = catalogue_.domains[domains.front()].seats.size(),
         .value = std::vector<double>(table_.costs_.groups().size(), kNever)});
    return table_.choices_.size() - 1;
  }

  void set_switch_times() {
    const SwitchCosts* costs = table_.problem().costs;
    for (std::size_t to = 0; to < table_.cuts_.size(); ++to) {
      for (std::size_t from = 0; from <= table_.cuts_.size(); ++from) {
        const GpuCut& before =
            from == table_.cuts_.size() ? table_.problem().initial : table_.cuts_[from];
        table_.costs_.set_switch_time(
            from, to, switch_time(costs, before, table_.cuts_[to]).to_nanoseconds());
      }
    }
  }

  bool fill_choices(std::size_t size) {
    for (Choice& choice : table_.choices_) {
      if (choice.seats != size) {
        continue;
      }
      for (const std::size_t domain : choice.domains) {
        const auto units = static_cast<std::int64_t>(table_.timer_.orders(domain).size());
        for (const JobSet group : table_.costs_.groups()) {
          if (size_of(group) != size) {
            continue;
          }
          if (!budget_.spend(units)) {
            return false;
          }
          double& value = choice.value[table_.costs_.index_of(group)];
          value = std::min(value, table_.value_in(domain, group, value));
        }
      }
    }
    return true;
  }

  bool fill_groups(std::size_t size) {
    for (const Bundle& bundle : table_.bundles_) {
      for (const JobSet group : table_.costs_.groups()) {
        if (bundle.seats != size || size_of(group) != size) {
          continue;
        }
        if (!budget_.spend(1)) {
          return false;
        }
        const Deal best = table_.best_deal(bundle, group);
        if (best.value < kNever) {
          std::int64_t& known = table_.costs_.row(group)[bundle.cut];
          known = std::min(known, table_.time_of(group, best.value));
        }
      }
    }
    return true;
  }

  GroupTable& table_;
  WorkBudget& budget_;
  const gpu::SharingCatalogue& catalogue_;
  std::size_t size_done_ = 0;
};

GroupTable::GroupTable(const WindowProblem& problem,
                       std::vector<GpuCut> cuts,
                       std::size_t group_max)
    : timer_(problem),
      cuts_(std::move(cuts)),
      costs_(problem.jobs.size(), group_max, cuts_.size()) {}

Result<GroupTable> GroupTable::make(const WindowProblem& problem, WorkBudget& budget) {
  SEPTULE_TRY_STATUS(check_window_problem(problem));
  if (problem.jobs.size() > kTableJobsMax) {
    return too_many_jobs(problem.jobs.size());
  }
  int seats_max = 1;
  for (const gpu::SharingTemplate& sharing : problem.catalogue->templates) {
    seats_max = std::max(seats_max, sharing.concurrency);
  }
  if (static_cast<std::size_t>(seats_max) > kTableGroupMax) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("the catalogue has templates for {} jobs; the exact method takes up to "
                    "{}",
                    seats_max,
                    kTableGroupMax)};
  }
  GroupTable table(
      problem, Maker::cuts_of(*problem.catalogue), static_cast<std::size_t>(seats_max));
  Maker maker(table, budget);
  table.is_complete_ = maker.fill();
  if (maker.size_done() == 0 && !problem.jobs.empty()) {
    return Error{ErrorCode::kTimedOut, "the work budget ends before the jobs alone are worked out"};
  }
  SEPTULE_TRY_STATUS(check_each_fits(table.timer_));
  return table;
}

double GroupTable::joined(double a, double b) const {
  return problem().clock == GroupClock::kSteadyState ? a + b : std::max(a, b);
}

double GroupTable::value_in(std::size_t domain, JobSet group, double limit) const {
  const Jobs jobs = jobs_of(group);
  const std::optional<BestSeating> best = timer_.best(domain, as_span(jobs), limit_of(limit));
  if (!best.has_value()) {
    return kNever;
  }
  return problem().clock == GroupClock::kSteadyState
             ? -best->time.rate_sum
             : static_cast<double>(best->time.time.to_nanoseconds());
}

std::int64_t GroupTable::time_of(JobSet group, double value) const {
  if (problem().clock != GroupClock::kSteadyState) {
    return static_cast<std::int64_t>(value);
  }
  DomainTime all;
  all.rate_sum = -value;
  for (const std::size_t job : jobs_of(group)) {
    all.solo_sum += problem().jobs[job].solo;
  }
  return group_time(problem().clock, {&all, 1}).to_nanoseconds();
}

/// Deals what is left to the places that have nothing yet.
void GroupTable::deal(const Bundle& bundle, JobSet left, const Deal& open, Deal& best) const {
  const std::size_t place = open.sets.size();
  if (place == bundle.choices.size()) {
    best = open.value < best.value ? open : best;
    return;
  }
  const Choice& choice = choices_[bundle.choices[place]];
  const bool has_twin = place > 0 && bundle.choices[place - 1] == bundle.choices[place];
  for (JobSet set = left; set != 0; set = (set - 1) & left) {
    if (size_of(set) != choice.seats || (has_twin && set < open.sets.back())) {
      continue;  // of equal places, the first has the lower set
    }
    const double value = joined(open.value, choice.value[costs_.index_of(set)]);
    if (value >= best.value && problem().clock != GroupClock::kSteadyState) {
      continue;
    }
    Deal next{.value = value, .sets = open.sets};
    next.sets.push_back(set);
    deal(bundle, left & ~set, next, best);
  }
}

GroupTable::Deal GroupTable::best_deal(const Bundle& bundle, JobSet group) const {
  Deal best{.value = kNever, .sets = {}};
  if (bundle.choices.size() == 1) {
    best.value = choices_[bundle.choices[0]].value[costs_.index_of(group)];
    best.sets.push_back(group);
    return best;
  }
  deal(bundle, group, Deal{}, best);
  return best;
}

SeatedGroup GroupTable::seated(JobSet group, std::size_t cut) const {
  const std::int64_t time = costs_.time(group, cut);
  for (const Bundle& bundle : bundles_) {
    if (bundle.cut == cut && bundle.seats == size_of(group)) {
      const Deal best = best_deal(bundle, group);
      if (best.value < kNever && time_of(group, best.value) == time) {
        return seated_in(bundle, best);
      }
    }
  }
  SEPTULE_CHECK(false, "a group is seated on a cut where it is possible");
}

/// Every place with the first of its domains that gives its set the best value.
SeatedGroup GroupTable::seated_in(const Bundle& bundle, const Deal& deal) const {
  InlineVector<std::size_t, gpu::kSeatsMax> chosen;
  for (std::size_t place = 0; place < deal.sets.size(); ++place) {
    const Choice& choice = choices_[bundle.choices[place]];
    const JobSet set = deal.sets[place];
    const auto best = std::ranges::find_if(choice.domains, [&](std::size_t domain) {
      return value_in(domain, set, kNever) == choice.value[costs_.index_of(set)];
    });
    SEPTULE_CHECK(best != choice.domains.end(), "a value is that of some domain");
    chosen.push_back(*best);
  }
  for (const std::size_t index : bundle.templates) {
    const auto& domains = problem().catalogue->templates[index].domains;
    if (!std::ranges::is_permutation(chosen, domains)) {
      continue;
    }
    SeatedGroup seated{.sharing = index, .jobs = {}};
    for (const std::size_t domain : domains) {
      const auto place =
          static_cast<std::size_t>(std::ranges::find(chosen, domain) - chosen.begin());
      chosen[place] = kNoJob;  // taken
      const Jobs jobs = jobs_of(deal.sets[place]);
      const std::optional<BestSeating> best = timer_.best(domain, as_span(jobs));
      SEPTULE_CHECK(best.has_value(), "a dealt set can run in its domain");
      for (const std::uint8_t at : best->order) {
        seated.jobs.push_back(jobs[at]);
      }
    }
    return seated;
  }
  SEPTULE_CHECK(false, "every combination of choices is a template of its bundle");
}

}  // namespace septule::optimize
