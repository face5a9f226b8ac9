#include "interop/trace_statistics.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "job/metrics.hpp"

namespace septule::interop {

namespace {

std::optional<TraceDistribution> distribution_of(std::vector<double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(values);
  TraceDistribution result;
  result.known = static_cast<std::int64_t>(values.size());
  for (const double value : values) {
    result.mean += value;
  }
  result.mean /= static_cast<double>(values.size());
  for (std::size_t i = 0; i < kTraceQuantilePercents.size(); ++i) {
    result.quantiles.at(i) = job::quantile(values, kTraceQuantilePercents.at(i) / 100.0);
  }
  return result;
}

/// Variance (of the population) over the squared mean.
std::optional<double> variation_of(std::span<const double> values) {
  double mean = 0;
  for (const double value : values) {
    mean += value / static_cast<double>(values.size());
  }
  if (values.size() < 2 || mean <= 0) {
    return std::nullopt;
  }
  double variance = 0;
  for (const double value : values) {
    variance += (value - mean) * (value - mean) / static_cast<double>(values.size());
  }
  return variance / (mean * mean);
}

/// Counts values into bars that begin at `lows`; what lies below the first counts there.
std::vector<TraceBar> bars_of(std::span<const double> values,
                              std::span<const std::pair<double, const char*>> lows) {
  std::vector<TraceBar> bars;
  for (const auto& [low, label] : lows) {
    bars.push_back({label, 0});
  }
  for (const double value : values) {
    std::size_t at = 0;
    while (at + 1 < lows.size() && value >= lows[at + 1].first) {
      ++at;
    }
    ++bars[at].count;
  }
  return bars;
}

constexpr std::pair<double, const char*> kDurationLows[] = {{0, "below 1 s"},
                                                            {1, "1 to 10 s"},
                                                            {10, "10 s to 1 min"},
                                                            {60, "1 to 10 min"},
                                                            {600, "10 min to 1 h"},
                                                            {3600, "1 to 2 h"},
                                                            {7200, "2 to 8 h"},
                                                            {28800, "8 h to 1 day"},
                                                            {86400, "1 to 7 days"},
                                                            {604800, "7 days and more"}};
constexpr std::pair<double, const char*> kGpuLows[] = {{0, "none"},
                                                       {0.0005, "a share"},
                                                       {1, "1"},
                                                       {2, "2"},
                                                       {3, "3 to 4"},
                                                       {5, "5 to 8"},
                                                       {9, "9 to 16"},
                                                       {17, "more"}};

std::vector<TraceBar> arrival_bars_of(const Trace& trace) {
  constexpr std::int64_t kParts = 24;
  const Duration span = trace.jobs.back().submit - trace.jobs.front().submit;
  if (span <= Duration()) {
    return {};
  }
  std::vector<TraceBar> bars(kParts);
  const double part_s = span.to_seconds() / kParts;
  for (std::int64_t i = 0; i < kParts; ++i) {
    bars[static_cast<std::size_t>(i)].label =
        fmt::format("{:.4g} h", static_cast<double>(i) * part_s / 3600.0);
  }
  for (const TraceJob& job : trace.jobs) {
    const double since = (job.submit - trace.jobs.front().submit).to_seconds();
    const auto at = std::min(static_cast<std::int64_t>(since / part_s), kParts - 1);
    ++bars[static_cast<std::size_t>(at)].count;
  }
  return bars;
}

void count_gpus(const Trace& trace, std::span<const double> gpus, TraceStatistics& result) {
  if (gpus.empty()) {
    return;
  }
  const auto share = [&](auto is_counted) {
    return static_cast<double>(std::ranges::count_if(gpus, is_counted)) /
           static_cast<double>(gpus.size());
  };
  result.share_one_gpu = share([](double count) { return count == 1; });
  result.share_part_gpu = share([](double count) { return count > 0 && count < 1; });
  result.share_several_gpus = share([](double count) { return count > 1; });
  result.share_cpu_only = share([](double count) { return count == 0; });
  result.gpu_bars = bars_of(gpus, kGpuLows);
  double gpu_s = 0;
  bool has_both = false;
  for (const TraceJob& job : trace.jobs) {
    if (job.duration && job.gpus) {
      has_both = true;
      gpu_s += job.duration->to_seconds() * static_cast<double>(job.gpus->value()) /
               static_cast<double>(kGpuMilliWhole);
    }
  }
  if (has_both) {
    result.gpu_hours = gpu_s / 3600.0;
  }
}

}  // namespace

TraceStatistics trace_statistics(const Trace& trace) {
  TraceStatistics result;
  result.jobs = static_cast<std::int64_t>(trace.jobs.size());
  if (trace.jobs.empty()) {
    return result;
  }
  std::vector<double> durations;
  std::vector<double> gaps;
  std::vector<double> gpus;
  std::vector<double> memory;
  std::set<std::string_view> users;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const TraceJob& job = trace.jobs[i];
    if (job.duration) {
      durations.push_back(job.duration->to_seconds());
    }
    if (i > 0 && trace.has_submit_times) {
      gaps.push_back((job.submit - trace.jobs[i - 1].submit).to_seconds());
    }
    if (job.gpus) {
      gpus.push_back(static_cast<double>(job.gpus->value()) / static_cast<double>(kGpuMilliWhole));
    }
    if (job.gpu_memory) {
      memory.push_back(job.gpu_memory->to_gibibytes());
    }
    if (!job.user.empty()) {
      users.insert(job.user);
    }
  }
  count_gpus(trace, gpus, result);
  if (!durations.empty()) {
    result.share_within_2h =
        static_cast<double>(std::ranges::count_if(durations, [](double s) { return s <= 7200; })) /
        static_cast<double>(durations.size());
    result.duration_bars = bars_of(durations, kDurationLows);
  }
  if (trace.has_submit_times) {
    result.span_s = (trace.jobs.back().submit - trace.jobs.front().submit).to_seconds();
    result.arrival_bars = arrival_bars_of(trace);
  }
  if (!users.empty()) {
    result.users = static_cast<std::int64_t>(users.size());
  }
  result.gap_variation = variation_of(gaps);
  result.gap_s = distribution_of(std::move(gaps));
  result.duration_s = distribution_of(std::move(durations));
  result.gpus = distribution_of(std::move(gpus));
  result.gpu_memory_gib = distribution_of(std::move(memory));
  return result;
}

}  // namespace septule::interop
