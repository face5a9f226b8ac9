#include "learn/window_agent.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "learn/slice_models.hpp"
#include "learn/window_features.hpp"
#include "optimize/group_time.hpp"
#include "optimize/window_dp.hpp"
#include "optimize/window_pieces.hpp"

namespace septule::learn {
namespace {

using optimize::SeatedGroup;

/// A part of a closed group: its domain, and who sits in which seat of it.
struct SeatedPart {
  std::size_t domain = 0;
  InlineVector<std::size_t, kFormSeats> jobs;  ///< by seat of the domain
};

/// Rows of some parts next to one another, each part's ascending, as SeatingTimes has them.
SeatedPart seated_part(SeatingTimes& times, std::size_t shape, const PartSets& sets) {
  const SeatedTime best = times.best(shape, sets);
  SeatedPart out{.domain = best.domain, .jobs = {}};
  InlineVector<std::size_t, kFormSeats> sitting;
  for (const RowSet set : sets) {
    for (unsigned left = set; left != 0; left &= left - 1) {
      sitting.push_back(times.rows()[static_cast<std::size_t>(std::countr_zero(left))].job);
    }
  }
  const DomainSeats& seats = times.space().seats_of(best.domain);
  for (std::size_t seat = 0; seat < sitting.size(); ++seat) {
    out.jobs.push_back(sitting[seats.orders[best.order][seat]]);
  }
  return out;
}

/// The template of a form that has these domains; nothing = the catalogue lacks the combination.
std::optional<SeatedGroup> with_domains(const PartitionSpace& space,
                                        std::size_t form,
                                        std::span<const SeatedPart> parts) {
  for (const std::size_t index : space.templates(form)) {
    const gpu::SharingTemplate& one = space.catalogue().templates[index];
    SeatedGroup group{.sharing = index, .jobs = {}};
    unsigned taken = 0;
    bool matches = one.domains.size() == parts.size();
    for (std::size_t i = 0; i < one.domains.size() && matches; ++i) {
      std::size_t at = 0;
      while (at < parts.size() && ((taken >> at & 1U) != 0 || parts[at].domain != one.domains[i])) {
        ++at;
      }
      matches = at < parts.size();
      if (matches) {
        taken |= 1U << at;
        for (const std::size_t job : parts[at].jobs) {
          group.jobs.push_back(job);
        }
      }
    }
    if (matches) {
      return group;
    }
  }
  return std::nullopt;
}

/// Each job of a group alone, on the whole GPU.
std::vector<SeatedGroup> one_by_one(const SeatingTimes& times, const ClosedGroup& group) {
  std::vector<SeatedGroup> out;
  const std::span<const std::size_t> whole = times.space().templates(0);
  for (const std::int8_t row : group.rows) {
    if (row != kEmptySeat) {
      SeatedGroup alone{.sharing = whole.empty() ? 0 : whole.front(), .jobs = {}};
      alone.jobs.push_back(times.rows()[static_cast<std::size_t>(row)].job);
      out.push_back(alone);
    }
  }
  return out;
}

/// A group as it can run: if the rules or the model refuse it, its jobs alone, each in the first
/// template of one seat that takes it (there is one: check_each_fits()).
void add_possible(const optimize::GroupTimer& timer,
                  const SeatedGroup& group,
                  std::vector<SeatedGroup>& out) {
  if (optimize::group_time(timer, group)) {
    out.push_back(group);
    return;
  }
  const gpu::SharingCatalogue& catalogue = *timer.problem().catalogue;
  for (const std::size_t job : group.jobs) {
    for (std::size_t i = 0; i < catalogue.templates.size(); ++i) {
      SeatedGroup alone{.sharing = i, .jobs = {}};
      alone.jobs.push_back(job);
      if (catalogue.templates[i].concurrency == 1 && optimize::group_time(timer, alone)) {
        out.push_back(alone);
        break;
      }
    }
  }
}

std::size_t best_action(const Observation& seen, const std::array<float, kActions>& values) {
  std::size_t best = kActions;
  const auto look_at = [&](std::size_t action) {
    if (best == kActions || values[action] > values[best]) {
      best = action;
    }
  };
  for (unsigned left = seen.may_take; left != 0; left &= left - 1) {
    look_at(static_cast<std::size_t>(std::countr_zero(left)));
  }
  for (std::size_t i = 0; i < seen.choices.size(); ++i) {
    look_at(kWindowRows + i);
  }
  return best;
}

Status check_traits(const optimize::WindowProblem& problem) {
  if (problem.traits.size() == problem.jobs.size()) {
    return {};
  }
  return Error{ErrorCode::kInvalidInput,
               fmt::format("the method rl needs the traits of each job: {} of {} are there",
                           problem.traits.size(),
                           problem.jobs.size())};
}

}  // namespace

std::vector<SeatedGroup> seated_groups(SeatingTimes& times, const ClosedGroup& group) {
  const Form& form = partition_forms()[group.form];
  if (form.seats == 1) {
    return one_by_one(times, group);
  }
  const PartitionSpace& space = times.space();
  PartSets sets{};
  std::array<int, kFormSeats> counts{};
  const std::span<const FormSeat> seats = PartitionEnv::seats(group.form);
  for (std::size_t seat = 0; seat < seats.size(); ++seat) {
    RowSet& set = sets[seats[seat].part];
    set = static_cast<RowSet>(set | 1U << static_cast<unsigned>(group.rows[seat]));
    ++counts[seats[seat].part];
  }
  InlineVector<SeatedPart, kFormSeats> parts;
  if (form.is_shared) {
    parts.push_back(seated_part(
        times, space.shared_shape(group.form, std::span(counts).first(form.parts.size())), sets));
  } else {
    for (std::size_t part = 0; part < form.parts.size(); ++part) {
      parts.push_back(seated_part(
          times, space.private_shape(form.parts[part].place, counts[part]), {sets[part]}));
    }
  }
  const auto found = with_domains(space, group.form, {parts.begin(), parts.size()});
  return found ? std::vector<SeatedGroup>{*found} : one_by_one(times, group);
}

Result<std::unique_ptr<WindowAgent>> WindowAgent::make(const NetworkWeights& weights) {
  SEPTULE_TRY(QNetwork network, QNetwork::make(weights));
  return std::unique_ptr<WindowAgent>(new WindowAgent(std::move(network)));
}

Result<std::unique_ptr<WindowAgent>> WindowAgent::builtin() {
  SEPTULE_TRY(const NetworkWeights weights, builtin_weights(kWindowNetName));
  return make(weights);
}

std::vector<ClosedGroup> WindowAgent::roll_out(SeatingTimes& times, WorkBudget& budget) const {
  std::vector<ClosedGroup> groups;
  PartitionEnv env(times);
  QNetwork::Scratch scratch;
  network_.begin(times.rows(), scratch);
  Observation seen;
  std::array<float, kActions> values{};
  RowSet done = 0;
  std::int64_t spent = 0;
  while (!env.is_over()) {
    observe(env, seen);
    const bool may_go_on = budget.spend(times.worked_out() - spent);
    spent = times.worked_out();
    network_.values(seen, scratch, values);
    const std::size_t action = best_action(seen, values);
    if (action == kActions || !may_go_on) {
      break;
    }
    const PartitionEnv::Step step =
        action < kWindowRows ? env.take(action) : env.choose(seen.choices[action - kWindowRows]);
    if (step.closed) {
      groups.push_back(*step.closed);
      for (const std::int8_t row : step.closed->rows) {
        done =
            row == kEmptySeat ? done : static_cast<RowSet>(done | 1U << static_cast<unsigned>(row));
      }
    }
  }
  for (unsigned left = times.rows().all() & ~static_cast<unsigned>(done); left != 0;
       left &= left - 1) {
    const int row = std::countr_zero(left);
    ClosedGroup alone;
    alone.rows[0] = static_cast<std::int8_t>(row);
    alone.time = times.rows()[static_cast<std::size_t>(row)].solo;
    groups.push_back(alone);
  }
  return groups;
}

Result<optimize::WindowAnswer> WindowAgent::optimize(const optimize::WindowProblem& problem,
                                                     WorkBudget& budget) const {
  SEPTULE_TRY_STATUS(optimize::check_window_problem(problem));
  SEPTULE_TRY_STATUS(check_traits(problem));
  SEPTULE_TRY(const PartitionSpace space, PartitionSpace::make(*problem.catalogue));
  const optimize::GroupTimer timer(problem);
  SEPTULE_TRY_STATUS(optimize::check_each_fits(timer));
  std::vector<std::size_t> order(problem.jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return problem.jobs[a].solo > problem.jobs[b].solo;
  });
  const std::int64_t spent_before = budget.units_spent();
  std::vector<SeatedGroup> groups;
  for (std::size_t from = 0; from < order.size(); from += kWindowRows) {
    const std::size_t count = std::min(kWindowRows, order.size() - from);
    const WindowRows rows(space, problem, std::span(order).subspan(from, count));
    SeatingTimes times(space, rows);
    for (const ClosedGroup& closed : roll_out(times, budget)) {
      for (const SeatedGroup& group : seated_groups(times, closed)) {
        add_possible(timer, group, groups);
      }
    }
  }
  optimize::order_by_cut(problem, groups);
  optimize::WindowAnswer answer = optimize::answer_from_groups(timer, groups, name());
  answer.units_spent = budget.units_spent() - spent_before;
  return answer;
}

}  // namespace septule::learn
