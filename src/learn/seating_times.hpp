#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "learn/partition_space.hpp"
#include "learn/window_rows.hpp"

namespace septule::learn {

/// Rows in each part of a shape.
using PartSets = std::array<RowSet, kFormSeats>;

/// The least time that some rows take in a shape, over its domains (percentages) and the orders of
/// seats within each part, and what gives it.
struct SeatedTime {
  float time = 0;  ///< seconds; infinite = impossible
  std::uint16_t domain = 0;
  std::uint16_t order = 0;  ///< index into DomainSeats::orders
};

/// The best form for some rows. A plain value.
struct SettledForm {
  std::uint8_t form = 0;
  std::array<std::int8_t, kFormSeats> rows{};  ///< by seat; below 0 = nobody
  float time = 0;
};

/// How long rows of one window take together: each question is worked out once and kept. Rules as
/// optimize::GroupTimer has them (memory, fault domains and users, fairness), times too, but not
/// rounded to nanoseconds. The problem's clock kIdle is followed; with every other one survivors
/// speed up. One thread; what it was made of outlives it. Heap memory only where more questions
/// come than ever before.
class SeatingTimes {
 public:
  /// `kept_max`: questions it has room for at first; a power of two.
  SeatingTimes(const PartitionSpace& space, const WindowRows& rows, std::size_t kept_max = 2048);

  const WindowRows& rows() const { return *rows_; }
  const PartitionSpace& space() const { return *space_; }
  /// Rows in the parts of a shape: no more than seats in each part, at least one in all.
  const SeatedTime& best(std::size_t shape, const PartSets& sets) {
    return best(shape, sets, std::numeric_limits<float>::infinity());
  }
  /// The same; or, for less work, anything from `bound` on if it is no less.
  const SeatedTime& best(std::size_t shape, const PartSets& sets, float bound);
  /// What was kept of some rows by keep_settled(), for whoever works it out.
  std::optional<SettledForm> settled(RowSet rows) const;
  void keep_settled(RowSet rows, const SettledForm& form);
  /// Whether company makes nobody faster, by the model.
  bool only_slows() const { return only_slows_; }
  /// Questions that were worked out.
  std::int64_t worked_out() const { return worked_out_; }

 private:
  struct Kept {
    std::uint64_t key = 0;  ///< 0 = free
    SeatedTime time;
    bool is_exact = true;  ///< false: at least `time`
  };
  SeatedTime work_out(std::size_t shape, const PartSets& sets, float bound) const;
  bool may_sit(const DomainShape& shape, const PartSets& sets) const;
  struct Seating {
    std::size_t domain = 0;
    std::span<const std::uint8_t> order;
    std::span<const std::uint8_t> rows;  ///< by position
  };
  /// Infinite where it is impossible, or no less than `bound`.
  float time_in(const Seating& seating, float bound) const;
  void grow();

  const PartitionSpace* space_;
  const WindowRows* rows_;
  bool only_slows_;
  struct KeptForm {
    RowSet rows = 0;  ///< 0 = free
    SettledForm form;
  };
  std::vector<Kept> kept_;
  std::vector<KeptForm> forms_;
  std::size_t form_count_ = 0;
  std::size_t kept_count_ = 0;
  std::int64_t worked_out_ = 0;
};

}  // namespace septule::learn
