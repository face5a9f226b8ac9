#include "predict/limits.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace septule::predict {
namespace {

/// A job that keeps so much of its speed on the smallest slice loses little there.
constexpr double kLittleLost = 0.9;

/// A serial part that is the largest on one slice need not be so on a smaller one: the speed there
/// tells.
std::string serial_advice(const std::optional<double>& speed_least) {
  std::string text = "no instance makes that shorter";
  if (speed_least.has_value()) {
    text += *speed_least >= kLittleLost
                ? ", so a small one loses little"
                : fmt::format(", but on its smallest slice other parts grow: speed {:.2f}",
                              *speed_least);
  }
  return text;
}

std::string advice(Limit limit, const LimitPlace& place) {
  const bool is_whole = place.size == LimitPlace::Size::kWholeGpu;
  switch (limit) {
    case Limit::kSerial:
      return serial_advice(place.speed_least);
    case Limit::kCompute:
      return is_whole ? "fewer compute slices cost most" : "more compute slices help most";
    case Limit::kUnusableSms:
      return is_whole ? "its kernels cannot fill the whole GPU, so the first SMs less cost little"
                      : "more compute slices do not help, its kernels cannot fill those it has";
    case Limit::kMemory:
      return is_whole ? "fewer memory slices cost most"
                      : "an instance with more memory slices helps most";
    case Limit::kPercentage:
      return "a higher active thread percentage helps most";
    case Limit::kCoRunners:
      return "fewer co-runners or an instance of its own help most";
    case Limit::kKernelLength:
      break;
  }
  return "its kernels are shorter than its co-runners', so active thread percentages or an "
         "instance of its own help most";
}

}  // namespace

std::string_view limit_name(Limit limit) {
  constexpr std::array<std::string_view, kLimits> kNames = {"serial part",
                                                            "compute",
                                                            "unusable SMs",
                                                            "memory bandwidth",
                                                            "active thread percentage",
                                                            "co-runners",
                                                            "kernel length"};
  return kNames[static_cast<std::size_t>(limit)];
}

Limit LimitShares::main() const {
  return static_cast<Limit>(std::ranges::max_element(share) - share.begin());
}

std::string explain_limits(const LimitShares& shares, const LimitPlace& place) {
  const Limit main = shares.main();
  std::vector<Limit> others;
  for (std::size_t i = 0; i < kLimits; ++i) {
    const auto limit = static_cast<Limit>(i);
    if (limit != main && shares.of(limit) >= 0.01) {
      others.push_back(limit);
    }
  }
  std::ranges::stable_sort(others,
                           [&shares](Limit a, Limit b) { return shares.of(a) > shares.of(b); });
  std::string rest;
  for (const Limit limit : others) {
    rest += fmt::format(
        "{}{} {:.0f} %", rest.empty() ? " (" : ", ", limit_name(limit), 100 * shares.of(limit));
  }
  return fmt::format("{} takes {:.0f} % of its step{}{}: {}",
                     limit_name(main),
                     100 * shares.of(main),
                     rest,
                     rest.empty() ? "" : ")",
                     advice(main, place));
}

}  // namespace septule::predict
