#include "learn/window_features.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

namespace septule::learn {
namespace {

constexpr float kForEver = std::numeric_limits<float>::infinity();
constexpr float kLogMost = 3;
/// Plans whose rows are exchanged for better ones, and whose small rests are timed exactly.
constexpr std::size_t kImprovedPlans = 4;
constexpr float kGainScale = 4;  ///< of parts of the window's time that are gained
constexpr float kLeftScale = 2;  ///< of parts that are left
constexpr std::size_t kFormsAt = 1;
constexpr std::size_t kSeatKindsAt = kFormsAt + kChosenForms;
constexpr std::size_t kMpsKindsAt = kSeatKindsAt + 8;
constexpr std::size_t kShareAt = kMpsKindsAt + 4;
constexpr std::size_t kStandAt = kShareAt + 1;
constexpr std::size_t kLeadAt = kStandAt + 5;
static_assert(kLeadAt + kRowFeatures == kContextFeatures);

float log_ratio(float value, float to) {
  return value < kForEver ? std::clamp(std::log(value / to), -kLogMost, kLogMost) : kLogMost;
}

template <class Visit>
void for_each_row(unsigned set, Visit visit) {
  for (; set != 0; set &= set - 1) {
    visit(static_cast<std::size_t>(std::countr_zero(set)));
  }
}

/// Guesses of a group's time while seats are being filled: by memory domain for memory, by part for
/// time. Cheap, where SeatingTimes is exact.
class Guess {
 public:
  Guess(const WindowRows& rows, std::size_t form)
      : rows_(&rows),
        is_shared_(partition_forms()[form].is_shared),
        seats_(PartitionEnv::seats(form)),
        parts_(&partition_forms()[form].parts) {}

  bool has_memory_for(std::size_t seat, std::size_t row) const {
    const std::optional<float>& memory = (*rows_)[row].memory_gib;
    const float used = used_[domain(seat)];
    return memory ? used + *memory <= rows_->memory_gib(seats_[seat].place) : used == 0;
  }
  /// Time of the seat's part with the row in it.
  float with(std::size_t seat, std::size_t row) const { return part_with(seat, row).time; }
  float add(std::size_t seat, std::size_t row) {
    const PartGuess after = part_with(seat, row);
    guesses_[seats_[seat].part] = after;
    used_[domain(seat)] += (*rows_)[row].memory_gib.value_or(kForEver);
    return after.time;
  }

 private:
  struct PartGuess {
    float alone_most = 0;
    float busy = 0;
    float part_most = 0;
    bool is_kernel_unknown = false;
    float time = 0;
  };
  std::size_t domain(std::size_t seat) const { return is_shared_ ? 0 : seats_[seat].part; }
  PartGuess part_with(std::size_t seat, std::size_t row) const {
    const FormSeat& at = seats_[seat];
    const Row& of = (*rows_)[row];
    const float alone = of.alone[kind_of(at.place, 0)];
    PartGuess after = guesses_[at.part];
    if (!at.is_mps) {
      after.time = alone * (is_shared_ ? 1.2F : 1.0F);
      return after;
    }
    const std::size_t quarters = (*parts_)[at.part].seats == 2 ? 2 : 1;
    after.alone_most = std::max(after.alone_most, alone);
    after.busy += of.busy[static_cast<std::size_t>(at.place)];
    after.part_most = std::max(after.part_most, of.alone[kind_of(at.place, quarters)]);
    after.is_kernel_unknown = after.is_kernel_unknown || !of.knows_kernel;
    const float by_parts = 1.15F * after.part_most;
    const float by_turns = 1.05F * std::max(after.alone_most, after.busy);
    after.time = (after.is_kernel_unknown ? by_parts : std::min(by_parts, by_turns)) *
                 (is_shared_ ? 1.15F : 1.0F);
    return after;
  }

  const WindowRows* rows_;
  bool is_shared_;
  std::span<const FormSeat> seats_;
  const FormParts* parts_;
  std::array<PartGuess, kFormSeats> guesses_{};
  std::array<float, kFormSeats> used_{};
};

/// A group as it is planned.
struct Plan {
  float solo = 0;
  float price = 0;
  float time = 0;
  bool is_full = true;
  RowSet used = 0;
  SeatRows rows{kEmptySeat, kEmptySeat, kEmptySeat, kEmptySeat};

  float value() const { return price - time; }
};

/// Fills the seats from `first` on, the lead's left out, each with the row of the best value.
void fill(const PartitionEnv& env, std::size_t form, Guess& guess, std::size_t first, Plan& plan) {
  const WindowRows& rows = env.rows();
  for (std::size_t seat = first; seat < PartitionEnv::seats(form).size(); ++seat) {
    if (plan.rows[seat] != kEmptySeat) {
      continue;
    }
    std::size_t best = kWindowRows;
    float best_value = -kForEver;
    float best_time = 0;
    for_each_row(env.state().left & ~static_cast<unsigned>(plan.used), [&](std::size_t row) {
      if (!guess.has_memory_for(seat, row)) {
        return;
      }
      const float time = std::max(plan.time, guess.with(seat, row));
      if (rows[row].price - time > best_value) {
        best_value = rows[row].price - time;
        best = row;
        best_time = time;
      }
    });
    if (best == kWindowRows) {
      plan.is_full = false;
      continue;
    }
    guess.add(seat, best);
    plan.used = static_cast<RowSet>(plan.used | 1U << best);
    plan.solo += rows[best].solo;
    plan.price += rows[best].price;
    plan.time = best_time;
    plan.rows[seat] = static_cast<std::int8_t>(best);
  }
}

/// Exchanges each row but the lead's for the one that makes the plan worth most, by exact times.
void improve(const PartitionEnv& env, std::size_t choice, Plan& plan, float& exact) {
  const WindowRows& rows = env.rows();
  const std::size_t form = lead_choices()[choice].form;
  const std::size_t own = PartitionEnv::lead_seat(choice);
  for (std::size_t seat = 0; seat < PartitionEnv::seats(form).size(); ++seat) {
    if (seat == own || plan.rows[seat] == kEmptySeat) {
      continue;
    }
    const std::size_t old = row_in(plan.rows[seat]);
    std::size_t best = old;
    float best_value = exact < kForEver ? plan.price - exact : -kForEver;
    float best_time = exact;
    for_each_row(env.state().left & ~static_cast<unsigned>(plan.used), [&](std::size_t row) {
      const float price = plan.price - rows[old].price + rows[row].price;
      plan.rows[seat] = static_cast<std::int8_t>(row);
      const float bound = price - best_value;
      const float time = env.group_time(form, plan.rows, bound);
      if (time < bound && price - time > best_value) {
        best_value = price - time;
        best = row;
        best_time = time;
      }
    });
    plan.rows[seat] = static_cast<std::int8_t>(best);
    if (best != old) {
      plan.used = static_cast<RowSet>((plan.used & ~(1U << old)) | 1U << best);
      plan.price += rows[best].price - rows[old].price;
      plan.solo += rows[best].solo - rows[old].solo;
      exact = best_time;
    }
  }
}

/// Sums over the rows that are left.
struct Left {
  float solo = 0;
  int count = 0;
};

Left sum_left(const PartitionEnv& env) {
  Left left;
  for_each_row(env.state().left, [&](std::size_t row) {
    left.solo += env.rows()[row].solo;
    ++left.count;
  });
  return left;
}

/// What is left after a plan, and the time that it will take: by prices, or exactly where it can be
/// one group.
struct Rest {
  RowSet rows = 0;
  float solo = 0;
  float time = 0;
};

enum class SmallRests { kByPrice, kExactly };

Rest rest_of(const PartitionEnv& env, RowSet used, SmallRests small) {
  Rest rest;
  rest.rows = static_cast<RowSet>(env.state().left & ~static_cast<unsigned>(used));
  for_each_row(rest.rows, [&](std::size_t row) {
    rest.solo += env.rows()[row].solo;
    rest.time += env.rows()[row].price;
  });
  const int count = std::popcount(rest.rows);
  if (small == SmallRests::kExactly && count > 0 && count <= static_cast<int>(kFormSeats)) {
    rest.time = env.settled(rest.rows).time;
  }
  return rest;
}

/// The most promising choices with their plans.
void observe_choices(const PartitionEnv& env, Observation& out) {
  const WindowRows& rows = env.rows();
  const float whole = rows.solo_sum();
  const Row& lead = rows[env.lead()];
  struct Candidate {
    Plan plan;
    float key = 0;
    std::uint8_t choice = 0;
  };
  InlineVector<Candidate, 96> candidates;
  for (std::size_t choice = 0; choice < lead_choices().size(); ++choice) {
    if (!env.may_choose(choice)) {
      continue;
    }
    const std::size_t form = lead_choices()[choice].form;
    const std::size_t own = PartitionEnv::lead_seat(choice);
    Candidate one;
    one.choice = static_cast<std::uint8_t>(choice);
    one.plan.solo = lead.solo;
    one.plan.price = lead.price;
    one.plan.used = static_cast<RowSet>(1U << env.lead());
    one.plan.rows[own] = static_cast<std::int8_t>(env.lead());
    Guess guess(rows, form);
    const float guessed = guess.add(own, env.lead());
    const FormSeat& seat = PartitionEnv::seats(form)[own];
    one.plan.time = seat.is_mps ? lead.alone[kind_of(seat.place, 0)] : guessed;
    fill(env, form, guess, 0, one.plan);
    one.key = one.plan.price - std::min(one.plan.time, one.plan.solo);
    candidates.push_back(one);
  }
  const std::size_t shown = std::min(kPlans, candidates.size());
  std::partial_sort(candidates.begin(),
                    candidates.begin() + shown,
                    candidates.end(),
                    [](const Candidate& a, const Candidate& b) {
                      return a.key != b.key ? a.key > b.key : a.choice < b.choice;
                    });
  for (std::size_t i = 0; i < shown; ++i) {
    const std::uint8_t choice = candidates[i].choice;
    Plan& plan = candidates[i].plan;
    const std::size_t form = lead_choices()[choice].form;
    const FormSeat& seat = PartitionEnv::seats(form)[PartitionEnv::lead_seat(choice)];
    float exact = env.group_time(form, plan.rows);
    if (i < kImprovedPlans) {
      improve(env, choice, plan, exact);
    }
    plan.time = std::min(exact < kForEver ? exact : plan.time, plan.solo);
    const float alone = lead.alone[kind_of(seat.place, 0)];
    const bool is_improved = i < kImprovedPlans;
    const Rest rest =
        rest_of(env, plan.used, is_improved ? SmallRests::kExactly : SmallRests::kByPrice);
    const float gained = (plan.solo - plan.time) / whole * kGainScale;
    const float rest_gained = (rest.solo - rest.time) / whole * kLeftScale;
    out.choices.push_back(choice);
    out.plans[i] = {exact < kForEver ? 1.0F : -1.0F,
                    alone / rows.solo_mean(),
                    log_ratio(alone, lead.solo),
                    gained,
                    std::log(plan.solo / plan.time),
                    plan.time / rows.solo_mean(),
                    rest.time / whole * kLeftScale,
                    gained + 2 * rest_gained,
                    rest_gained,
                    is_improved ? 1.0F : 0.0F};
    out.left_after[kWindowRows + i] = rest.rows;
  }
}

RowSet rows_of(const SeatRows& seats) {
  unsigned rows = 0;
  for (const std::int8_t row : seats) {
    rows |= row == kEmptySeat ? 0U : 1U << static_cast<unsigned>(row);
  }
  return static_cast<RowSet>(rows);
}

/// Features of a row that could take the seat at hand.
void observe_seat(const PartitionEnv& env, std::size_t row, Observation& out) {
  const std::optional<PartitionEnv::Trial> trial = env.try_row(row);
  if (!trial) {
    return;
  }
  const WindowRows& rows = env.rows();
  const EnvState& state = env.state();
  const std::size_t form = env.form();
  const float whole = rows.solo_sum();
  std::array<float, kStepFeatures>& step = out.steps[row];
  Plan plan;
  Guess guess(rows, form);
  for (std::size_t seat = 0; seat < PartitionEnv::seats(form).size(); ++seat) {
    if (state.rows[seat] != kEmptySeat) {
      guess.add(seat, row_in(state.rows[seat]));
      plan.price += rows[row_in(state.rows[seat])].price;
    }
  }
  guess.add(state.seat, row);
  plan.rows = state.rows;
  plan.rows[state.seat] = static_cast<std::int8_t>(row);
  plan.solo = env.open_solo() + rows[row].solo;
  plan.price += rows[row].price;
  plan.time = trial->group_time;
  plan.used = static_cast<RowSet>(1U << row);
  step[16] = plan.value() / whole * kGainScale;
  fill(env, form, guess, std::size_t{state.seat} + 1, plan);
  const float exact =
      env.seats_left() > 1 ? env.group_time(form, plan.rows) : env.settled(rows_of(plan.rows)).time;
  plan.time = exact < kForEver ? std::min(exact, plan.solo) : plan.time;
  const Rest rest = rest_of(env, plan.used, SmallRests::kExactly);
  step[18] = plan.is_full ? 1.0F : -1.0F;
  step[19] = plan.time / rows.solo_mean();
  step[20] = (plan.solo - plan.time) / whole * kGainScale;
  step[21] = (rest.time + plan.time) / whole * kLeftScale;
  step[22] = -(rest.solo - rest.time) / whole * kLeftScale;
  step[17] = step[20] - 2 * step[22];
  out.left_after[row] = rest.rows;
  if (env.may_take(row, *trial)) {
    out.may_take = static_cast<RowSet>(out.may_take | 1U << row);
    step[1] = 1;
  }
  const float solo = env.open_solo() + rows[row].solo;
  step[10] = log_ratio(trial->domain_time, env.open_time());
  step[11] = (trial->group_time - env.open_time()) / rows.solo_mean();
  step[12] = (solo - trial->group_time) / whole * kGainScale;
  step[13] = rows[row].solo / trial->group_time;
  step[14] = std::min(trial->domain_time, env.open_time()) / env.open_time();
  step[15] = std::log(solo / trial->group_time);
}

std::size_t seat_kind(const FormSeat& seat) {
  if (is_compute_place(seat.place)) {
    return 7;
  }
  if (seat.place == Place::kWhole) {
    return 4;
  }
  if (seat.is_mps) {
    return seat.place == Place::k4g ? 5 : 6;
  }
  return static_cast<std::size_t>(seat.place) - 1;
}

std::size_t mps_kind(Place place) {
  switch (place) {
    case Place::kWhole:
      return 0;
    case Place::k4g:
      return 1;
    case Place::k3g:
      return 2;
    default:
      return 3;
  }
}

void observe_context(const PartitionEnv& env, const Left& left, Observation& out) {
  const WindowRows& rows = env.rows();
  std::array<float, kContextFeatures>& context = out.context;
  context[0] = out.is_choosing ? 1 : 0;
  float reference = rows[env.lead()].solo;
  if (!out.is_choosing) {
    const FormSeat& seat = PartitionEnv::seats(env.form())[env.state().seat];
    context[kFormsAt + env.form()] = 1;
    context[kSeatKindsAt + seat_kind(seat)] = 1;
    if (seat.is_mps) {
      context[kMpsKindsAt + mps_kind(seat.place)] = 1;
    }
    if (is_compute_place(seat.place)) {
      const int slices = 4 - (static_cast<int>(seat.place) - static_cast<int>(Place::k4c));
      context[kShareAt] = static_cast<float>(slices) / 7;
    }
    reference = env.open_time();
    context[kStandAt + 3] = (env.open_solo() - env.open_time()) / rows.solo_sum() * kGainScale;
    context[kStandAt + 4] = static_cast<float>(env.seats_left()) / static_cast<float>(kFormSeats);
  }
  context[kStandAt] = static_cast<float>(left.count) / static_cast<float>(kWindowRows);
  context[kStandAt + 1] = left.solo / rows.solo_sum();
  context[kStandAt + 2] = reference / rows.solo_mean();
  std::ranges::copy(row_features(rows, env.lead()), context.begin() + kLeadAt);
  constexpr std::array kReferences = {kind_of(Place::kWhole, 0),
                                      kind_of(Place::k4g, 0),
                                      kind_of(Place::k3g, 0),
                                      kind_of(Place::k2g, 0),
                                      kind_of(Place::k1g, 0),
                                      kind_of(Place::kWhole, 2),
                                      kind_of(Place::k4g, 2),
                                      kind_of(Place::k3g, 2)};
  for_each_row(out.left, [&](std::size_t row) {
    std::array<float, kStepFeatures>& step = out.steps[row];
    step[0] = 1;
    for (std::size_t i = 0; i < kReferences.size(); ++i) {
      step[2 + i] = log_ratio(rows[row].alone[kReferences[i]], reference);
    }
  });
}

}  // namespace

RowFeatures row_features(const WindowRows& rows, std::size_t index) {
  const Row& row = rows[index];
  const predict::JobTraits& traits = rows.traits(index);
  RowFeatures out{};
  std::size_t at = 0;
  const auto add = [&](float value) { out[at++] = value; };
  add(std::log(row.solo / rows.solo_mean()));
  add(row.solo / rows.solo_mean());
  add(row.memory_gib.value_or(0) / 40);
  for (const predict::JobClass one : {predict::JobClass::kUnscalable,
                                      predict::JobClass::kPartlyUnscalable,
                                      predict::JobClass::kComputeIntensive,
                                      predict::JobClass::kMemoryIntensive}) {
    add(traits.job_class == one ? 1 : 0);
  }
  add(row.usable);
  add(row.serial);
  add(row.memory_part);
  add(1 - row.serial - row.memory_part);
  add(traits.kernel ? std::log(static_cast<float>(traits.kernel->to_seconds()) / 80e-6F) / 2 : 0);
  add(traits.kernel ? 1 : 0);
  for (const std::size_t kind : {kind_of(Place::k4g, 0),
                                 kind_of(Place::k3g, 0),
                                 kind_of(Place::k2g, 0),
                                 kind_of(Place::k1g, 0),
                                 kind_of(Place::kWhole, 2),
                                 kind_of(Place::kWhole, 1)}) {
    add(log_ratio(row.alone[kind], row.solo));
  }
  for (const Place place : {Place::k2g, Place::k1g, Place::k4g}) {
    add(row.memory_gib.value_or(0) <= rows.memory_gib(place) ? 1 : 0);
  }
  add(row.area / row.solo);
  add(row.busy[0] / row.solo);
  add(std::min(row.busy[1] / row.solo, 10.0F));
  add(row.price / row.solo);
  add(row.price / rows.solo_mean());
  const bool has_counters = traits.sm_percent && traits.memory_percent;
  add(has_counters ? static_cast<float>(traits.sm_percent.value_or(0)) / 100 : 0);
  add(has_counters ? static_cast<float>(traits.memory_percent.value_or(0)) / 100 : 0);
  add(has_counters ? 1 : 0);
  return out;
}

void observe(const PartitionEnv& env, Observation& out) {
  out = Observation{};
  out.is_choosing = env.state().is_choosing();
  out.left = env.state().left;
  const Left left = sum_left(env);
  observe_context(env, left, out);
  if (out.is_choosing) {
    observe_choices(env, out);
    return;
  }
  for_each_row(out.left, [&](std::size_t row) { observe_seat(env, row, out); });
}

}  // namespace septule::learn
