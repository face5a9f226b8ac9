#include "report/svg_plot_axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/portable_math.hpp"
#include "report/number_text.hpp"

namespace septule::report {

namespace {

constexpr double kMinute = 60;
constexpr double kHour = 3600;
constexpr double kDay = 86400;

/// Steps of a linear axis of times, seconds.
constexpr std::array kTimeSteps = std::to_array<double>(
    {1,        2,        5,         10,        15,        30,         kMinute,   2 * kMinute, 300,
     600,      900,      1800,      kHour,     2 * kHour, 3 * kHour,  6 * kHour, 43200,       kDay,
     2 * kDay, 7 * kDay, 14 * kDay, 30 * kDay, 90 * kDay, 180 * kDay, 365 * kDay});
/// Ticks of a logarithmic axis of times, seconds: about two in each decade.
constexpr std::array kLogTimes = std::to_array<double>(
    {0.001,      0.003, 0.01,     0.03,      0.1,       0.3,        1,          3,
     10,         30,    kMinute,  180,       600,       1800,       kHour,      3 * kHour,
     10 * kHour, kDay,  3 * kDay, 10 * kDay, 30 * kDay, 100 * kDay, 365 * kDay, 1000 * kDay});

/// The largest power of ten that is at most `value` (within 1e-100..1e100). By comparing, since the
/// logarithms of the C library differ in the last bit between machines.
double decade_below(double value) {
  double power = 1;  // exact up to 1e22; and 1 / power is the double nearest to the decade
  if (value >= 1) {
    while (power * 10 <= value * (1 + 1e-12)) {
      power *= 10;
    }
    return power;
  }
  while (1 / power > value * (1 + 1e-12)) {
    power *= 10;
  }
  return 1 / power;
}

/// The smallest of 1, 2, 5 x 10^k that is at least `value` (> 0).
double nice_step(double value) {
  const double decade = decade_below(value);
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (factor * decade >= value * (1 - 1e-9)) {
      return factor * decade;
    }
  }
  return 10 * decade;
}

double time_step(double value) {
  const auto* const found = std::ranges::lower_bound(kTimeSteps, value * (1 - 1e-9));
  const bool is_listed = found != kTimeSteps.end() && value >= 0.5;
  return is_listed ? *found : nice_step(value);
}

std::string number_label(double value, double step) {
  if (std::abs(value) >= 1e7 || (value != 0 && step < 1e-4)) {
    return fmt::format("{:.4g}", value);
  }
  int decimals = 0;
  double unit = 1;
  while (unit > step * (1 + 1e-9) && decimals < 5) {
    unit /= 10;
    ++decimals;
  }
  return grouped_text(value, decimals);
}

std::string tick_label(double value, double step, AxisKind kind) {
  if (kind == AxisKind::kTime || kind == AxisKind::kLogTime) {
    return value == 0 ? "0" : time_text(value);
  }
  if (kind == AxisKind::kPercent) {
    return number_label(100 * value, 100 * step) + " %";
  }
  return number_label(value, step);
}

/// Every n-th of the ticks, so that at most `count_max` are left.
std::vector<Tick> thinned(const std::vector<Tick>& ticks, int count_max) {
  const std::size_t stride = (ticks.size() + static_cast<std::size_t>(count_max) - 1) /
                             static_cast<std::size_t>(count_max);
  std::vector<Tick> kept;
  for (std::size_t i = 0; i < ticks.size(); i += std::max<std::size_t>(stride, 1)) {
    kept.push_back(ticks[i]);
  }
  return kept;
}

std::vector<Tick> log_ticks(double min, double max, AxisKind kind, int count_max) {
  std::vector<Tick> ticks;
  if (kind == AxisKind::kLogTime) {
    for (const double value : kLogTimes) {
      if (value >= min && value <= max) {
        ticks.push_back({value, tick_label(value, value, kind)});
      }
    }
    return thinned(ticks, count_max);
  }
  const bool is_narrow = max / min <= 1000;
  double decade = decade_below(min);
  while (decade <= max) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * decade;
      const bool is_wanted = is_narrow || factor == 1;
      if (is_wanted && value >= min * (1 - 1e-9) && value <= max * (1 + 1e-9)) {
        ticks.push_back({value, tick_label(value, decade, kind)});
      }
    }
    decade *= 10;
  }
  return thinned(ticks, count_max);
}

/// Bounds of a logarithmic axis: the next of 1, 2, 5 x 10^k beyond the data.
double log_bound_below(double value) {
  const double decade = decade_below(value);
  double bound = decade;
  for (const double factor : {2.0, 5.0}) {
    bound = factor * decade <= value * (1 + 1e-9) ? factor * decade : bound;
  }
  return bound;
}

}  // namespace

Axis::Axis(const AxisSpec& spec, const AxisPlace& place, const std::vector<double>& values)
    : label_(spec.label), kind_(spec.kind), place_(place) {
  SEPTULE_CHECK(place.ticks_max >= 2, "an axis has at least two ticks");
  std::vector<double> shown;
  std::ranges::copy_if(
      values, std::back_inserter(shown), [&](double value) { return can_show(value); });
  double low = is_log() ? 1 : 0;
  double high = is_log() ? 10 : 1;
  if (!shown.empty()) {
    low = std::ranges::min(shown);
    high = std::ranges::max(shown);
  }
  min_ = spec.min.value_or(is_log() ? log_bound_below(low) : low);
  max_ = spec.max.value_or(is_log() ? nice_step(high) : high);
  if (is_log()) {
    min_ = std::max(min_, 1e-100);
    max_ = max_ > min_ * 1.5 ? max_ : min_ * 10;
    ticks_ = log_ticks(min_, max_, kind_, place.ticks_max);
    return;
  }
  // Equal bounds get room above them, in proportion: a bound of 1e18 does not change by adding 1.
  max_ = max_ > min_ ? max_ : min_ + (min_ == 0 ? 1 : std::abs(min_) * 0.1);
  const double least = (max_ - min_) / (place.ticks_max - 1);
  const bool is_time = kind_ == AxisKind::kTime;
  const double step = is_time ? time_step(least) : nice_step(least);
  min_ = spec.min.has_value() ? min_ : std::floor(min_ / step + 1e-9) * step;
  max_ = spec.max.has_value() ? max_ : std::ceil(max_ / step - 1e-9) * step;
  const double first = std::ceil(min_ / step - 1e-9);
  for (int i = 0; i < place.ticks_max + 2; ++i) {
    const double value = (first + i) * step;
    if (value <= max_ + step * 1e-9) {
      ticks_.push_back({value, tick_label(value, step, kind_)});
    }
  }
}

bool Axis::can_show(double value) const {
  // Nothing measured is larger; beyond it, differences could overflow.
  constexpr double kSizeMax = 1e100;
  return std::isfinite(value) && std::abs(value) < kSizeMax && (!is_log() || value > 1e-100);
}

double Axis::at(double value) const {
  SEPTULE_CHECK(can_show(value), "only values that the axis can show have a place");
  const double share = is_log() ? portable_log(value / min_) / portable_log(max_ / min_)
                                : (value - min_) / (max_ - min_);
  return place_.from + std::clamp(share, 0.0, 1.0) * (place_.to - place_.from);
}

std::string time_text(double seconds) {
  if (!std::isfinite(seconds)) {
    return "N/A";
  }
  if (seconds < 0) {
    return "-" + time_text(-seconds);
  }
  if (seconds < kMinute && std::round(seconds) < kMinute) {
    std::string text = fixed_text(seconds, seconds < 0.1 ? 3 : 1);
    text.erase(text.find_last_not_of('0') + 1);
    return (text.ends_with('.') ? text.substr(0, text.size() - 1) : text) + " s";
  }
  const auto pair = [](double whole, const char* large, double rest, const char* small) {
    return rest == 0 ? fmt::format("{:.0f} {}", whole, large)
                     : fmt::format("{:.0f} {} {:.0f} {}", whole, large, rest, small);
  };
  const double rounded = std::round(seconds);
  if (rounded < kHour) {
    return pair(std::floor(rounded / kMinute), "min", std::fmod(rounded, kMinute), "s");
  }
  const double minutes = std::round(seconds / kMinute);
  if (minutes * kMinute < kDay) {
    return pair(std::floor(minutes / 60), "h", std::fmod(minutes, 60), "min");
  }
  const double hours = std::round(seconds / kHour);
  return pair(std::floor(hours / 24), "d", std::fmod(hours, 24), "h");
}

}  // namespace septule::report
