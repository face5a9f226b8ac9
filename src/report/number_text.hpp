#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "job/metrics.hpp"

namespace septule::report {

/// Numbers as text for people and files: always with a decimal point, without a locale, the same
/// everywhere. Pure functions; any thread. A number that is not finite is "N/A".

/// 3 decimals: "1234.500"; never "-0.000".
std::string fixed_text(double value, int decimals);
/// With a comma between thousands: "12,345.6".
std::string grouped_text(double value, int decimals);
/// Seconds of a duration without any rounding: "12", "0.5", "3.000000001".
std::string exact_seconds_text(Duration duration);
/// A share of change in per cent with its sign: 0.125 is "+12.5 %".
std::string change_text(double share);
/// A part of a whole in per cent: "97.21 %"; "N/A" where the whole is nothing.
std::string part_text(double part, double whole);
/// fixed_text of what is known; "N/A" of nothing.
std::string known_text(const std::optional<double>& value, int decimals);
/// "[low, high]" of the interval; "N/A" where it has no bounds (one value only).
std::string bounds_text(const job::Interval& interval, int decimals);
/// Like bounds_text for a share of change: "[-49.0, -45.8] %".
std::string change_bounds_text(const job::Interval& interval);
/// At most `width_max` code points; a longer text ends in an ellipsis. `text` may be any bytes.
std::string shortened_text(std::string_view text, std::size_t width_max);

}  // namespace septule::report
