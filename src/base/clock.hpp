#pragma once

#include <compare>
#include <cstdint>

#include "base/units.hpp"

namespace septule {

/// A point in time: nanoseconds since the start of the run (t = 0, the origin of the trace).
/// Virtual in simulation, steady in the live system; never the time of day. A plain value; any
/// thread.
class SimTime {
 public:
  constexpr SimTime() = default;
  static constexpr SimTime nanoseconds(std::int64_t since_start) { return SimTime(since_start); }
  /// The end of time: later than anything that happens.
  static constexpr SimTime never() { return SimTime(INT64_MAX); }

  constexpr std::int64_t to_nanoseconds() const { return value_; }
  /// For text and files only.
  constexpr double to_seconds() const { return static_cast<double>(value_) / 1e9; }
  constexpr bool is_never() const { return value_ == INT64_MAX; }
  friend constexpr auto operator<=>(SimTime, SimTime) = default;
  friend constexpr SimTime operator+(SimTime time, Duration length) {
    return SimTime(time.value_ + length.to_nanoseconds());
  }
  friend constexpr Duration operator-(SimTime later, SimTime earlier) {
    return Duration::nanoseconds(later.value_ - earlier.value_);
  }

 private:
  constexpr explicit SimTime(std::int64_t value) : value_(value) {}
  std::int64_t value_ = 0;
};

/// Seconds of a file or option as a Duration, rounded to the nearest nanosecond (halves away from
/// zero). `seconds` must be finite and within +-9e9 (the caller has checked its input).
Duration seconds_to_duration(double seconds);

/// `length` times `factor`, rounded to the nearest nanosecond (halves away from zero). The product
/// must be finite and within +-9e18 ns.
Duration scaled(Duration length, double factor);

}  // namespace septule
