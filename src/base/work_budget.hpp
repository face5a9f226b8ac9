#pragma once

#include <cstdint>

namespace septule {

/// A limit on solver work, counted in deterministic units (one unit = one search node or an equal
/// amount of work), never in seconds, so that a run gives the same answer on every machine.
/// One owner; not for sharing between threads.
class WorkBudget {
 public:
  constexpr explicit WorkBudget(std::int64_t units_max) : units_max_(units_max) {}

  /// Takes `units`; false once more than the limit was asked for (the work is still counted).
  constexpr bool spend(std::int64_t units) {
    units_spent_ += units;
    return units_spent_ <= units_max_;
  }
  constexpr bool is_exhausted() const { return units_spent_ > units_max_; }
  constexpr std::int64_t units_spent() const { return units_spent_; }
  /// Never negative.
  constexpr std::int64_t units_left() const {
    return is_exhausted() ? 0 : units_max_ - units_spent_;
  }

 private:
  std::int64_t units_max_;
  std::int64_t units_spent_ = 0;
};

}  // namespace septule
