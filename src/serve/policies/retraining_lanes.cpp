#include "serve/policies/retraining_lanes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>

#include <climits>

#include "base/check.hpp"

namespace septule::serve {

namespace {

constexpr double kDriverS = 0.25;

int seconds_up(Duration length) {
  return static_cast<int>(std::ceil(length.to_seconds() - 1e-9));
}

/// When the job would answer if started on this size; nothing = not by its deadline.
std::optional<int> finish(const LaneJob& job, int size, int start_s) {
  const double speed = job.speed[static_cast<std::size_t>(size)];
  if (speed <= 0) {
    return std::nullopt;
  }
  const double end_s = start_s + job.warm_up_s + job.work_s / speed;
  if (end_s > job.deadline_s) {
    return std::nullopt;
  }
  return static_cast<int>(std::ceil(end_s - 1e-9));
}

/// State of run_lanes().
struct Lanes {
  std::span<const LaneJob> jobs;
  std::span<const int> sizes;
  std::span<const int> order;
  std::vector<bool> is_gone;  // by job
  std::vector<int> free_s;    // by lane
  std::vector<LaneRun> runs;

  /// The job to start on this lane now; nothing = none of those released.
  std::optional<std::size_t> choose(std::size_t lane) {
    for (const int tenant : order) {
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (!is_gone[i] && jobs[i].tenant == tenant && jobs[i].release_s <= free_s[lane] &&
            finish(jobs[i], sizes[lane], free_s[lane]).has_value()) {
          return i;
        }
      }
    }
    return std::nullopt;
  }
  /// The first release after now of a job that is left; INT_MAX = none.
  int next_release(int now_s) const {
    int next = INT_MAX;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (!is_gone[i] && jobs[i].release_s > now_s &&
          std::ranges::count(order, jobs[i].tenant) > 0) {
        next = std::min(next, jobs[i].release_s);
      }
    }
    return next;
  }
};

void extend_choices(std::span<const int> tenants,
                    std::vector<int>& prefix,
                    std::vector<std::vector<int>>& choices) {
  choices.push_back(prefix);
  for (const int tenant : tenants) {
    if (std::ranges::count(prefix, tenant) == 0) {
      prefix.push_back(tenant);
      extend_choices(tenants, prefix, choices);
      prefix.pop_back();
    }
  }
}

}  // namespace

int whole_warm_up_s(const Tenant& tenant) {
  const double warm_up_s = tenant.warm_up.p90.to_seconds();
  return warm_up_s > 0 ? static_cast<int>(std::ceil(warm_up_s + kDriverS - 1e-9)) : 0;
}

std::vector<LaneJob> lane_jobs(const Tenant& tenant, int index, int begin_s, int end_s) {
  std::vector<LaneJob> jobs;
  if (!tenant.retraining.has_value()) {
    return jobs;
  }
  const RetrainingJob& job = *tenant.retraining;
  const int period_s = job.period.has_value() ? std::max(1, seconds_up(*job.period)) : 0;
  for (int k = 0; k == 0 || (period_s > 0 && k * period_s < end_s); ++k) {
    const int period_begin_s = k * period_s;
    const int period_end_s = period_s > 0 ? period_begin_s + period_s : end_s;
    const int release_s = period_begin_s + seconds_up(job.release);
    if (release_s < begin_s || release_s >= end_s) {
      continue;
    }
    const int deadline_s = job.deadline.has_value()
                               ? period_begin_s + static_cast<int>(job.deadline->to_seconds())
                               : period_end_s;
    jobs.push_back({.tenant = index,
                    .release_s = release_s,
                    .deadline_s = std::min({deadline_s, period_end_s, end_s}),
                    .until_s = std::min(period_end_s, end_s),
                    .warm_up_s = whole_warm_up_s(tenant),
                    .work_s = job.work_s});
  }
  return jobs;
}

std::vector<LaneRun> run_lanes(std::span<const LaneJob> jobs,
                               std::span<const int> lane_sizes,
                               std::span<const int> order) {
  Lanes lanes{.jobs = jobs,
              .sizes = lane_sizes,
              .order = order,
              .is_gone = std::vector<bool>(jobs.size(), false),
              .free_s = std::vector<int>(lane_sizes.size(), 0),
              .runs = {}};
  while (!lane_sizes.empty()) {
    const auto lane =
        static_cast<std::size_t>(std::ranges::min_element(lanes.free_s) - lanes.free_s.begin());
    if (lanes.free_s[lane] == INT_MAX) {
      break;
    }
    const std::optional<std::size_t> job = lanes.choose(lane);
    if (!job.has_value()) {
      lanes.free_s[lane] = lanes.next_release(lanes.free_s[lane]);
      continue;
    }
    const LaneJob& started = jobs[*job];
    const int start_s = lanes.free_s[lane];
    const int from_s = checked_value(finish(started, lane_sizes[lane], start_s),
                                     "a job that was chosen is complete in time");
    lanes.is_gone[*job] = true;
    lanes.free_s[lane] = from_s;
    lanes.runs.push_back(
        {static_cast<int>(lane), started.tenant, start_s, from_s, started.until_s});
  }
  std::ranges::sort(
      lanes.runs, {}, [](const LaneRun& run) { return std::tuple(run.start_s, run.lane); });
  return lanes.runs;
}

std::vector<std::vector<int>> ordered_choices(std::span<const int> tenants) {
  SEPTULE_CHECK(tenants.size() <= kOrderedMax, "few enough tenants to try every order");
  std::vector<std::vector<int>> choices;
  std::vector<int> prefix;
  extend_choices(tenants, prefix, choices);
  return choices;
}

}  // namespace septule::serve
