#pragma once

#include <span>
#include <vector>

#include "base/clock.hpp"
#include "serve/admission.hpp"

namespace septule::serve {

/// One retraining of one tenant, in whole seconds since the begin.
struct LaneJob {
  int tenant = 0;
  int release_s = 0;
  int deadline_s = 0;  ///< complete by then or not at all
  int until_s = 0;     ///< accuracy falls back then (the period ends)
  int warm_up_s = 0;
  double work_s = 0;
  SizeTable<double> speed{};  ///< 0 = does not fit
};

/// The jobs of a tenant that are released in [begin_s, end_s), by release. `tenant` is the index
/// written into them. Warm-up: the tenant's p90 and the driver's 0.25 s (serving.md 4.2), rounded
/// up; deadlines and ends are cut at `end_s`.
std::vector<LaneJob> lane_jobs(const Tenant& tenant, int index, int begin_s, int end_s);
/// The warm-up in whole seconds as above.
int whole_warm_up_s(const Tenant& tenant);

/// A job on a lane: starts, and is complete before `from_s`, when the new model begins to answer.
struct LaneRun {
  int lane = 0;
  int tenant = 0;
  int start_s = 0;
  int from_s = 0;
  int until_s = 0;  ///< as LaneJob::until_s
};

/// Runs jobs on lanes: instances (of the given sizes) that are there for retraining only. Whenever
/// a lane is free, the released job whose tenant comes first in `order` and that is complete by its
/// deadline there starts on it; the earliest free lane chooses first, ties by number. Tenants that
/// `order` does not name do not retrain. By start, then lane. Cost: O(jobs^2 x lanes).
std::vector<LaneRun> run_lanes(std::span<const LaneJob> jobs,
                               std::span<const int> lane_sizes,
                               std::span<const int> order);

/// All ordered choices among these tenants (of none, of one, ...), the empty one first: 65 for four
/// of them. At most kOrderedMax tenants.
std::vector<std::vector<int>> ordered_choices(std::span<const int> tenants);
inline constexpr std::size_t kOrderedMax = 6;

}  // namespace septule::serve
