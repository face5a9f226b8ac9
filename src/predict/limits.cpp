#include "predict/limits.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace septule::predict {
namespace {

std::string_view advice(Limit limit) {
  switch (limit) {
    case Limit::kSerial:
      return "no instance makes that shorter, so a small one loses least";
    case Limit::kCompute:
      return "more compute slices help most";
    case Limit::kUnusableSms:
      return "more compute slices do not help, its kernels cannot fill those it has";
    case Limit::kMemory:
      return "an instance with more memory slices helps most";
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

std::string explain_limits(const LimitShares& shares) {
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
                     advice(main));
}

}  // namespace septule::predict
