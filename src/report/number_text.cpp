#include "report/number_text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::report {

namespace {

/// What nothing is known of.
constexpr const char* kUnknown = "N/A";

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

}  // namespace

std::string fixed_text(double value, int decimals) {
  SEPTULE_CHECK(decimals >= 0, "a number has no negative count of decimals");
  if (!std::isfinite(value)) {
    return kUnknown;
  }
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find_first_not_of("-0.") == std::string::npos && text.front() == '-') {
    text.erase(0, 1);
  }
  return text;
}

std::string grouped_text(double value, int decimals) {
  std::string text = fixed_text(value, decimals);
  if (text == kUnknown) {
    return text;
  }
  const std::size_t first = text.front() == '-' ? 1 : 0;
  const std::size_t point = std::min(text.find('.'), text.size());
  for (std::size_t at = point; at > first + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string exact_seconds_text(Duration duration) {
  constexpr std::uint64_t kPerSecond = 1000000000;
  const std::int64_t count = duration.to_nanoseconds();
  // The magnitude of the smallest integer fits the unsigned type only.
  const std::uint64_t size =
      count < 0 ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  std::string text = fmt::format("{}{}", count < 0 ? "-" : "", size / kPerSecond);
  if (size % kPerSecond != 0) {
    text += fmt::format(".{:09}", size % kPerSecond);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

std::string change_text(double share) {
  std::string text = fixed_text(100 * share, 1);
  if (text == kUnknown) {
    return text;
  }
  const bool is_signed = text.front() == '-' || text == "0.0";
  return (is_signed ? "" : "+") + text + " %";
}

std::string part_text(double part, double whole) {
  return whole > 0 ? fixed_text(100 * part / whole, 2) + " %" : std::string(kUnknown);
}

std::string known_text(const std::optional<double>& value, int decimals) {
  return value ? fixed_text(*value, decimals) : std::string(kUnknown);
}

std::string bounds_text(const job::Interval& interval, int decimals) {
  if (!interval.low.has_value() || !interval.high.has_value()) {
    return kUnknown;
  }
  return fmt::format(
      "[{}, {}]", fixed_text(*interval.low, decimals), fixed_text(*interval.high, decimals));
}

std::string change_bounds_text(const job::Interval& interval) {
  if (!interval.low.has_value() || !interval.high.has_value()) {
    return kUnknown;
  }
  const auto bound = [](double share) {
    std::string text = change_text(share);
    text.resize(std::min(text.find(' '), text.size()));
    return text;
  };
  return fmt::format("[{}, {}] %", bound(*interval.low), bound(*interval.high));
}

std::string shortened_text(std::string_view text, std::size_t width_max) {
  SEPTULE_CHECK(width_max > 0, "a shortened text has room for its ellipsis");
  const auto width = static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return !is_continuation(c); }));
  if (width <= width_max) {
    return std::string(text);
  }
  std::size_t end = 0;
  std::size_t points = 0;
  for (; end < text.size(); ++end) {
    if (!is_continuation(text[end]) && ++points == width_max) {
      break;
    }
  }
  return std::string(text.substr(0, end)) + "\xe2\x80\xa6";
}

}  // namespace septule::report
