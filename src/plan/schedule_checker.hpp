#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "plan/schedule.hpp"
#include "plan/window.hpp"

namespace septule::plan {

enum class ScheduleViolationKind {
  kMalformed,  ///< indices, order of times, pieces with gaps, missing geometry
  kJobs,       ///< a job runs never or twice
  kPartition,  ///< instances that exist at one time are not legal together
  kRecut,      ///< two changes of instances at one time, or one with too little time to do it
  kLifetime,   ///< a run outside its instance's usable time
  kSeat,       ///< in one compute instance percentages above 100 or below 1, or some jobs with a
               ///< percentage and some without; more than gpu::kSeatsMax jobs in one domain
  kMemory,     ///< the jobs of an instance need more memory than it has, or it cannot be shown
  kSharing,    ///< SharingRules: users, fault domains
  kFairness,   ///< a job is slower than the floor
  kWork,       ///< rates times lengths are not the job's work
  kRate,       ///< a rate is not what the model says
  kGroup,      ///< groups overlap, leave a job out, or begin before the one before has ended
  kTotals,     ///< makespan or re-cut time is not what the timeline gives
};
std::string_view schedule_violation_name(ScheduleViolationKind kind);

struct ScheduleViolation {
  ScheduleViolationKind kind = ScheduleViolationKind::kMalformed;
  std::string message;  ///< one sentence with names, places, times and figures
};

/// The clients of one memory domain at one time and the rate of each, as a co-run model has it
/// (predict::CoRunModel without this layer knowing it).
struct ScheduleClient {
  std::size_t job = 0;
  int compute = 0;
  std::optional<ActiveThreadPercentage> atp;
};
using ScheduleRates = std::function<void(const ScheduledInstance& instance,
                                         std::span<const ScheduleClient> clients,
                                         std::span<double> out)>;

struct ScheduleCheck {
  SharingRules rules;
  /// How long making and unmaking take at least; empty = not checked (only that they do not
  /// overlap). Nothing is asked of an instance that is there from the begin on (create_begin ==
  /// usable_from == 0), of one that stays to the end, and of the change between two of equal place
  /// of which one follows the other at once: there only compute instances are changed (lengths of
  /// which are not judged).
  std::function<Duration(const ScheduledInstance& instance)> create_time;
  std::function<Duration(const ScheduledInstance& instance)> destroy_time;
  ScheduleRates rates;  ///< empty = rates are believed
  /// In whose company a job's rate is judged: of those that run in its domain at the time, or of
  /// those that ran there when it began (what ended jobs had lies idle).
  enum class Company { kPresent, kAtBegin };
  Company company = Company::kPresent;
};

/// Violations of one kind that are reported at most.
inline constexpr std::size_t kScheduleViolationsMax = 50;
/// No time of a schedule and no solo time is longer (36 years): sums of two cannot overflow.
inline constexpr Duration kScheduleTimeMax = Duration::nanoseconds(std::int64_t{1} << 60U);

/// Everything that is wrong with a schedule for these jobs, by kind, up to kScheduleViolationsMax
/// of each. Empty = it holds. Works from the window, the geometry and the rates alone and knows no
/// optimizer; that it is the *best* schedule is not judged. Any input is allowed: a malformed
/// schedule gets kMalformed only, because nothing else can be said of it; rates and lengths of
/// changes are asked for only where jobs, partitions and seats are in order. Work may differ by
/// 1e-6 of it and 10 ns for each piece, rates and the floor of fairness by 1e-9 relative. A GPU
/// instance exists from create_begin to gone_at. Jobs whose memory is not known fit alone
/// everywhere; where the memory of an instance is not published no others fit, but a job alone on
/// the whole GPU, which its solo time was measured on.
std::vector<ScheduleViolation> check_schedule(const Schedule& schedule,
                                              std::span<const WindowJob> jobs,
                                              const ScheduleCheck& check);

}  // namespace septule::plan
