#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/inline_vector.hpp"
#include "learn/partition_space.hpp"
#include "learn/seating_times.hpp"
#include "learn/window_rows.hpp"

namespace septule::learn {

/// A seat of a form, in the order of its parts.
struct FormSeat {
  std::uint8_t part = 0;
  Place place = Place::kWhole;
  bool is_mps = false;  ///< its part has several seats
};

/// No row in a seat.
inline constexpr std::int8_t kEmptySeat = -1;
/// The row in a seat that is not empty.
inline std::size_t row_in(std::int8_t seat) {
  return static_cast<std::uint8_t>(seat);
}
/// Rows by seat of a form.
using SeatRows = std::array<std::int8_t, kFormSeats>;

/// Where an episode stands, in a few bytes: what a replay memory keeps of it.
struct EnvState {
  RowSet left = 0;  ///< rows that no group has, those of the open group not among them
  /// Index into lead_choices() of the open group; nothing chosen yet = kNoChoice.
  std::uint8_t choice = 0xFF;
  SeatRows rows{kEmptySeat, kEmptySeat, kEmptySeat, kEmptySeat};
  std::uint8_t seat = 0;  ///< that is to be filled next

  static constexpr std::uint8_t kNoChoice = 0xFF;
  bool is_choosing() const { return choice == kNoChoice; }
  bool is_over() const { return left == 0 && is_choosing(); }
  friend bool operator==(const EnvState&, const EnvState&) = default;
};

/// A group as it was closed: rows that run together.
struct ClosedGroup {
  std::uint8_t form = 0;
  SeatRows rows{kEmptySeat, kEmptySeat, kEmptySeat, kEmptySeat};
  float time = 0;  ///< seconds
};

/// A window of jobs as an episode (hierarchical.md 2.3): groups are made one after another, each by
/// a choice (form, and in which part of it the longest row left sits: the lead), then by a row for
/// each other seat. Groups run one after another, so their order does not matter, and one of them
/// has the lead: nothing is lost by beginning with it.
/// - A form can be chosen if it has no more seats than rows are left, its lead can be there alone.
/// - A row may take a seat if the group so far is possible (memory, rules, known rates), and the
///   last seat only if the group then takes less than its jobs one after another.
/// - A seat that nobody may take stays empty.
/// - A closed group runs in the best of all forms for just its rows (the form chosen says how many
///   and which rows are looked for; what is left does not depend on it), or one after another if
///   that is no slower.
/// - Reward of an action: 0, and (sum of solo times - time of the group) / (sum of all solo times)
///   for the one that closes a group. The rewards of an episode add up to 1 - T / T_ts.
/// Steps take no heap memory once SeatingTimes has seen enough. One thread; `times` outlives it.
class PartitionEnv {
 public:
  explicit PartitionEnv(SeatingTimes& times);

  SeatingTimes& times() const { return *times_; }
  const WindowRows& rows() const { return times_->rows(); }
  const EnvState& state() const { return state_; }
  /// Goes on from there. Costs the questions of the open group again.
  void restore(const EnvState& state);
  bool is_over() const { return state_.is_over(); }

  std::size_t lead() const { return lead_; }
  /// Form of the open group. Only if one is chosen.
  std::size_t form() const { return lead_choices()[state_.choice].form; }
  /// Seats of a form by index.
  static std::span<const FormSeat> seats(std::size_t form);
  /// The lead's seat of a choice: the first of its part.
  static std::size_t lead_seat(std::size_t choice);
  float open_time() const { return open_time_; }  ///< of the open group as far as it is filled
  float open_solo() const { return open_solo_; }  ///< sum of its solo times
  /// Seats of the open group that are still to be filled, the one at state().seat included.
  std::size_t seats_left() const;

  bool may_choose(std::size_t choice) const;
  /// What a row in the seat at hand makes of the open group; nothing = impossible.
  struct Trial {
    float domain_time = 0;  ///< of the memory domain that it would be in
    float group_time = 0;
  };
  std::optional<Trial> try_row(std::size_t row) const;
  bool may_take(std::size_t row, const Trial& trial) const;
  /// Time of rows in a form; infinite = impossible.
  float group_time(std::size_t form, const SeatRows& rows) const {
    return group_time(form, rows, std::numeric_limits<float>::infinity());
  }
  /// The same, or anything from `bound` on if it is no less.
  float group_time(std::size_t form, const SeatRows& rows, float bound) const;
  /// The best form for just these rows (1 to kFormSeats) and its time, kept like the others. A row
  /// alone, and rows that gain nothing together, have form 0 and the sum of their solo times.
  ClosedGroup settled(RowSet rows) const;

  /// Both: the action must be allowed. The reward, and the group if it closes one.
  struct Step {
    float reward = 0;
    std::optional<ClosedGroup> closed;
  };
  Step choose(std::size_t choice);
  Step take(std::size_t row);

 private:
  void begin_group();
  void sum_up();
  void settle_in(std::size_t form, SeatRows order, ClosedGroup& best) const;
  Step after_seat();
  bool can_anybody_sit() const;
  /// Infinite = impossible; anything from `bound` on if it is no less.
  float domain_time(std::size_t form, const SeatRows& rows, std::size_t part, float bound) const;

  SeatingTimes* times_;
  EnvState state_;
  std::size_t lead_ = 0;
  float open_time_ = 0;
  float open_solo_ = 0;
};

}  // namespace septule::learn
