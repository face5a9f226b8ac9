#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "interop/trace.hpp"

namespace septule::interop {

/// The quantiles that are given of everything, in percent.
inline constexpr std::array<int, 7> kTraceQuantilePercents = {5, 25, 50, 75, 95, 99, 100};

/// A distribution over those jobs of which the value is known (`known` of them).
struct TraceDistribution {
  std::int64_t known = 0;
  double mean = 0;
  std::array<double, kTraceQuantilePercents.size()>
      quantiles{};  ///< linear between order statistics
};

/// One bar of a histogram: values from `low` (inclusive) to `high`; the last bar is open.
struct TraceBar {
  std::string label;
  std::int64_t count = 0;
};

/// What a trace looks like. Nothing = not known of any job. A plain value.
struct TraceStatistics {
  std::int64_t jobs = 0;
  std::optional<double> span_s;  ///< from the first to the last submission
  std::optional<TraceDistribution> duration_s;
  std::optional<TraceDistribution> gap_s;  ///< between successive submissions
  std::optional<TraceDistribution> gpus;   ///< asked for, shares and 0 included
  std::optional<TraceDistribution> gpu_memory_gib;
  /// Squared coefficient of variation of the gaps: variance / mean^2; 1 = Poisson.
  std::optional<double> gap_variation;
  std::optional<double> share_one_gpu;   ///< of the jobs whose GPUs are known
  std::optional<double> share_part_gpu;  ///< above 0 and below 1
  std::optional<double> share_several_gpus;
  std::optional<double> share_cpu_only;
  std::optional<double> share_within_2h;  ///< of the jobs whose duration is known
  std::optional<double> gpu_hours;        ///< of the jobs whose duration and GPUs are known
  std::optional<std::int64_t> users;
  std::vector<TraceBar> duration_bars;  ///< 1, 10, 60 s, 10 min, 1, 2, 8 h, 1, 7 days
  std::vector<TraceBar> gpu_bars;       ///< 0, share, 1, 2, 3-4, 5-8, 9-16, more
  std::vector<TraceBar> arrival_bars;   ///< submissions in each 24th part of the span
};

TraceStatistics trace_statistics(const Trace& trace);

}  // namespace septule::interop
