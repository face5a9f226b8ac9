#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/schedule.hpp"
#include "plan/window.hpp"

namespace septule::plan {

enum class ScheduleViolationKind {
  kMalformed,  ///< indices, order of times, pieces with gaps, missing geometry
  kJobs,       ///< a job runs never or twice
  kPartition,  ///< instances that exist at one time are not legal together
  kRecut,      ///< two changes of instances at one time, or one without time to do it
  kLifetime,   ///< a run outside its instance's usable time
  kSeat,       ///< two jobs in one compute instance that may not share, or percentages above 100,
               ///< or some with a percentage and some without
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
  /// overlap).
  std::function<Duration(const ScheduledInstance& instance)> create_time;
  std::function<Duration(const ScheduledInstance& instance)> destroy_time;
  ScheduleRates rates;  ///< empty = rates are believed
};

/// Everything that is wrong with a schedule for these jobs, by kind. Empty = it holds. Works from
/// the window, the geometry and the rates alone and knows no optimizer; that it is the *best*
/// schedule is not judged. Work may differ by 1e-6 of it and 10 ns for each piece, rates by 1e-9
/// relative.
std::vector<ScheduleViolation> check_schedule(const Schedule& schedule,
                                              std::span<const WindowJob> jobs,
                                              const ScheduleCheck& check);

}  // namespace septule::plan
