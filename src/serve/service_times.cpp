#include "serve/service_times.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/clock.hpp"

namespace septule::serve {

ServiceTimes::ServiceTimes(std::span<const std::pair<int, Duration>> measured) {
  SEPTULE_CHECK(!measured.empty(), "a service time is known for one batch at least");
  SEPTULE_CHECK(measured.front().first >= 1, "a batch holds at least one request");
  SEPTULE_CHECK(measured.back().first <= kBatchMax, "batches are bounded");
  for (const auto& [batch, time] : measured) {
    SEPTULE_CHECK(time > Duration(), "a batch takes time");
    const auto from = static_cast<int>(times_.size());
    SEPTULE_CHECK(batch > from, "batches ascend");
    const Duration low = from == 0 ? time : times_.back();
    for (int b = from + 1; b <= batch; ++b) {
      const double part = static_cast<double>(b - from) / static_cast<double>(batch - from);
      times_.push_back(b == batch ? time : low + scaled(time - low, part));
    }
  }
}

std::optional<ServiceTimes> ServiceTimes::of_profile(const ModelProfile& profile,
                                                     const MpsUse& use,
                                                     const MpsShareModel& shares) {
  std::vector<int> batches;
  for (const ProfileRow& row : profile.rows) {
    if (row.slices == use.slices && row.processes == use.processes && row.batch <= use.batch &&
        row.batch <= kBatchMax) {
      batches.push_back(row.batch);
    }
  }
  std::sort(batches.begin(), batches.end());
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  std::vector<std::pair<int, Duration>> measured;
  for (const int batch : batches) {
    MpsUse at = use;
    at.batch = batch;
    const std::optional<MpsYield> yield = shares.yield(profile, at);
    if (!yield) {
      continue;
    }
    const double seconds = static_cast<double>(use.processes) * batch / yield->throughput_rps;
    measured.emplace_back(batch, std::max(seconds_to_duration(seconds), Duration::nanoseconds(1)));
  }
  if (measured.empty() || measured.back().first != use.batch) {
    return std::nullopt;
  }
  return ServiceTimes(measured);
}

}  // namespace septule::serve
