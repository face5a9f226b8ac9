#include "learn/partition_env.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace septule::learn {
namespace {

constexpr float kForEver = std::numeric_limits<float>::infinity();

std::vector<InlineVector<FormSeat, kFormSeats>> make_seats() {
  std::vector<InlineVector<FormSeat, kFormSeats>> all;
  for (const Form& form : partition_forms()) {
    auto& seats = all.emplace_back();
    for (std::size_t part = 0; part < form.parts.size(); ++part) {
      for (int seat = 0; seat < form.parts[part].seats; ++seat) {
        seats.push_back({.part = static_cast<std::uint8_t>(part),
                         .place = form.parts[part].place,
                         .is_mps = form.parts[part].seats > 1});
      }
    }
  }
  return all;
}

RowSet bit(std::size_t row) {
  return static_cast<RowSet>(1U << row);
}

/// Forms with so many seats, those first that are mostly the best: then the others can often be
/// passed over. The order decides between equal times, too.
std::span<const std::uint8_t> forms_by_promise(int seats) {
  static const std::vector<std::vector<std::uint8_t>> ordered = [] {
    constexpr std::array<std::string_view, 9> kFirst = {"full{4}",
                                                        "full{3}",
                                                        "full{2}",
                                                        "4g{2}+3g{2}",
                                                        "7g[4c{2}+3c{2}]",
                                                        "7g[4c+2c+1c{2}]",
                                                        "7g[4c+2c{2}+1c]",
                                                        "4g+3g{3}",
                                                        "4g{3}+3g"};
    std::vector<std::vector<std::uint8_t>> by_seats(kFormSeats + 1);
    const auto add = [&](std::size_t form) {
      by_seats[static_cast<std::size_t>(partition_forms()[form].seats)].push_back(
          static_cast<std::uint8_t>(form));
    };
    for (const std::string_view name : kFirst) {
      add(static_cast<std::size_t>(std::ranges::find(partition_forms(), name, &Form::name) -
                                   partition_forms().begin()));
    }
    for (std::size_t form = 0; form < partition_forms().size(); ++form) {
      if (std::ranges::find(kFirst, partition_forms()[form].name) == kFirst.end()) {
        add(form);
      }
    }
    return by_seats;
  }();
  return ordered[static_cast<std::size_t>(seats)];
}

/// Rows in the parts of a form.
PartSets sets_of(std::size_t form, const SeatRows& rows) {
  PartSets sets{};
  const std::span<const FormSeat> seats = PartitionEnv::seats(form);
  for (std::size_t seat = 0; seat < seats.size(); ++seat) {
    if (rows[seat] != kEmptySeat) {
      sets[seats[seat].part] =
          static_cast<RowSet>(sets[seats[seat].part] | bit(static_cast<std::size_t>(rows[seat])));
    }
  }
  return sets;
}

}  // namespace

PartitionEnv::PartitionEnv(SeatingTimes& times) : times_(&times) {
  state_.left = rows().all();
  begin_group();
}

std::span<const FormSeat> PartitionEnv::seats(std::size_t form) {
  static const std::vector<InlineVector<FormSeat, kFormSeats>> all = make_seats();
  return {all[form].begin(), all[form].size()};
}

std::size_t PartitionEnv::lead_seat(std::size_t choice) {
  const LeadChoice& of = lead_choices()[choice];
  const std::span<const FormSeat> all = seats(of.form);
  std::size_t seat = 0;
  while (all[seat].part != of.part) {
    ++seat;
  }
  return seat;
}

void PartitionEnv::begin_group() {
  state_.choice = EnvState::kNoChoice;
  state_.rows.fill(kEmptySeat);
  state_.seat = 0;
  lead_ = state_.left == 0 ? 0 : static_cast<std::size_t>(std::countr_zero(state_.left));
  open_time_ = 0;
  open_solo_ = 0;
}

void PartitionEnv::restore(const EnvState& state) {
  state_ = state;
  if (state_.is_choosing()) {
    begin_group();
    return;
  }
  sum_up();
  lead_ = row_in(state_.rows[lead_seat(state_.choice)]);
}

void PartitionEnv::sum_up() {
  // By seat, so that a state gives the same to the last bit however it was reached.
  open_solo_ = 0;
  for (const std::int8_t row : state_.rows) {
    open_solo_ += row == kEmptySeat ? 0 : rows()[static_cast<std::size_t>(row)].solo;
  }
  open_time_ = group_time(form(), state_.rows);
}

std::size_t PartitionEnv::seats_left() const {
  const std::size_t own = lead_seat(state_.choice);
  const std::size_t count = seats(form()).size();
  return count - state_.seat - (own >= state_.seat ? 1 : 0);
}

float PartitionEnv::domain_time(std::size_t form,
                                const SeatRows& rows,
                                std::size_t part,
                                float bound) const {
  const PartitionSpace& space = times_->space();
  const PartSets sets = sets_of(form, rows);
  const Form& of = partition_forms()[form];
  if (of.is_shared) {
    std::array<int, kFormSeats> counts{};
    for (std::size_t i = 0; i < of.parts.size(); ++i) {
      counts[i] = std::popcount(sets[i]);
    }
    const std::size_t shape = space.shared_shape(form, std::span(counts).first(of.parts.size()));
    return shape == PartitionSpace::kNoShape ? kForEver : times_->best(shape, sets, bound).time;
  }
  const std::size_t shape = space.private_shape(of.parts[part].place, std::popcount(sets[part]));
  return shape == PartitionSpace::kNoShape ? kForEver
                                           : times_->best(shape, {sets[part]}, bound).time;
}

float PartitionEnv::group_time(std::size_t form, const SeatRows& rows, float bound) const {
  const Form& of = partition_forms()[form];
  const PartSets sets = sets_of(form, rows);
  float time = 0;
  for (std::size_t part = 0; part < of.parts.size(); ++part) {
    if (!of.is_shared && sets[part] == 0) {
      continue;
    }
    time = std::max(time, domain_time(form, rows, part, bound));
    if (of.is_shared || time >= bound) {
      break;
    }
  }
  return time;
}

bool PartitionEnv::may_choose(std::size_t choice) const {
  const LeadChoice& of = lead_choices()[choice];
  const Form& form = partition_forms()[of.form];
  if (times_->space().templates(of.form).empty() || form.seats > std::popcount(state_.left)) {
    return false;
  }
  SeatRows alone{kEmptySeat, kEmptySeat, kEmptySeat, kEmptySeat};
  alone[lead_seat(choice)] = static_cast<std::int8_t>(lead_);
  return group_time(of.form, alone) < kForEver;
}

std::optional<PartitionEnv::Trial> PartitionEnv::try_row(std::size_t row) const {
  const std::size_t of = form();
  SeatRows trial = state_.rows;
  trial[state_.seat] = static_cast<std::int8_t>(row);
  const float time = domain_time(of, trial, seats(of)[state_.seat].part, kForEver);
  if (!(time < kForEver)) {
    return std::nullopt;
  }
  return Trial{.domain_time = time,
               .group_time = partition_forms()[of].is_shared ? time : std::max(open_time_, time)};
}

bool PartitionEnv::may_take(std::size_t row, const Trial& trial) const {
  return seats_left() > 1 || trial.group_time < open_solo_ + rows()[row].solo;
}

bool PartitionEnv::can_anybody_sit() const {
  for (unsigned left = state_.left; left != 0; left &= left - 1) {
    const auto row = static_cast<std::size_t>(std::countr_zero(left));
    const std::optional<Trial> trial = try_row(row);
    if (trial && may_take(row, *trial)) {
      return true;
    }
  }
  return false;
}

PartitionEnv::Step PartitionEnv::choose(std::size_t choice) {
  SEPTULE_CHECK(state_.is_choosing(), "a form is chosen where none is open");
  state_.choice = static_cast<std::uint8_t>(choice);
  state_.rows[lead_seat(choice)] = static_cast<std::int8_t>(lead_);
  state_.left = static_cast<RowSet>(state_.left & ~bit(lead_));
  sum_up();
  return after_seat();
}

PartitionEnv::Step PartitionEnv::take(std::size_t row) {
  SEPTULE_CHECK(!state_.is_choosing(), "a seat is taken of an open group");
  SEPTULE_CHECK((state_.left & bit(row)) != 0, "a row is taken once");
  state_.rows[state_.seat] = static_cast<std::int8_t>(row);
  state_.left = static_cast<RowSet>(state_.left & ~bit(row));
  sum_up();
  ++state_.seat;
  return after_seat();
}

PartitionEnv::Step PartitionEnv::after_seat() {
  const std::size_t of = form();
  const std::size_t own = lead_seat(state_.choice);
  while (state_.seat < seats(of).size() && (state_.seat == own || !can_anybody_sit())) {
    ++state_.seat;
  }
  if (state_.seat < seats(of).size()) {
    return {};
  }
  RowSet together = 0;
  for (const std::int8_t row : state_.rows) {
    together = row == kEmptySeat ? together : static_cast<RowSet>(together | bit(row_in(row)));
  }
  Step step;
  step.closed = settled(together);
  step.reward = (open_solo_ - step.closed->time) / rows().solo_sum();
  begin_group();
  return step;
}

ClosedGroup PartitionEnv::settled(RowSet together) const {
  SeatRows sitting{kEmptySeat, kEmptySeat, kEmptySeat, kEmptySeat};
  std::ptrdiff_t count = 0;
  float solo = 0;
  for (unsigned left = together; left != 0; left &= left - 1) {
    const int row = std::countr_zero(left);
    sitting[static_cast<std::size_t>(count++)] = static_cast<std::int8_t>(row);
    solo += rows()[static_cast<std::size_t>(row)].solo;
  }
  ClosedGroup best{.form = 0, .rows = sitting, .time = solo};
  if (count < 2) {
    return best;
  }
  if (const std::optional<SettledForm> kept = times_->settled(together)) {
    best.form = kept->form;
    best.time = kept->time;
    for (std::size_t seat = 0; seat < best.rows.size(); ++seat) {
      best.rows[seat] = kept->rows[seat];
    }
    return best;
  }
  for (const std::uint8_t form : forms_by_promise(static_cast<int>(count))) {
    if (!times_->space().templates(form).empty()) {
      settle_in(form, sitting, best);
    }
  }
  times_->keep_settled(together, {.form = best.form, .rows = best.rows, .time = best.time});
  return best;
}

void PartitionEnv::settle_in(std::size_t form, SeatRows order, ClosedGroup& best) const {
  const std::span<const FormSeat> all = seats(form);
  const FormParts& parts = partition_forms()[form].parts;
  const auto count = static_cast<std::ptrdiff_t>(all.size());
  do {
    bool is_worth_it = true;
    for (std::size_t seat = 0; seat < all.size() && is_worth_it; ++seat) {
      // Nobody is faster in company; rows of a part in one order; equal parts in one order.
      const Row& row = rows()[row_in(order[seat])];
      is_worth_it = !times_->only_slows() || row.alone[kind_of(all[seat].place, 0)] < best.time;
      if (seat > 0) {
        const bool is_alike = all[seat].part == all[seat - 1].part ||
                              (parts[all[seat].part] == parts[all[seat - 1].part] &&
                               parts[all[seat].part].seats == 1);
        is_worth_it = is_worth_it && (!is_alike || order[seat - 1] < order[seat]);
      }
    }
    if (!is_worth_it) {
      continue;
    }
    const float time = group_time(form, order, best.time);
    if (time < best.time) {
      best = {.form = static_cast<std::uint8_t>(form), .rows = order, .time = time};
    }
  } while (std::next_permutation(order.begin(), order.begin() + count));
}

}  // namespace septule::learn
