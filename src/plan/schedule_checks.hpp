#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gpu/profile.hpp"
#include "plan/schedule_checker.hpp"

// Parts of check_schedule, for its own sources only.
namespace septule::plan::schedule_checks {

using Kind = ScheduleViolationKind;
using Runs = std::vector<const ScheduledRun*>;

/// A schedule under judgement and what was found. Lives for one call of check_schedule; one thread.
class Case {
 public:
  Case(const Schedule& schedule, std::span<const WindowJob> jobs, const ScheduleCheck& check)
      : schedule_(schedule), jobs_(jobs), check_(check) {}

  const Schedule& schedule() const { return schedule_; }
  std::span<const WindowJob> jobs() const { return jobs_; }
  const ScheduleCheck& check() const { return check_; }

  /// Keeps it, by kind and in the order of discovery within one; drops what is beyond
  /// kScheduleViolationsMax.
  void report(Kind kind, std::string message);
  std::size_t count_of(Kind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  std::vector<ScheduleViolation> take() { return std::move(found_); }

  // The rest only where check_form has found nothing.

  /// Runs of an instance by job.
  Runs runs_of(std::size_t instance) const;
  /// Null for the whole GPU, and where the geometry has none of that index.
  const gpu::GpuInstanceProfile* profile_of(const ScheduledInstance& instance) const;
  /// "job 3 ("name")"
  std::string job_text(std::size_t job) const;
  /// "instance 2 (4g.20gb@0)"
  std::string instance_text(std::size_t instance) const;

 private:
  static constexpr std::size_t kKindCount = static_cast<std::size_t>(Kind::kTotals) + 1;

  const Schedule& schedule_;
  std::span<const WindowJob> jobs_;
  const ScheduleCheck& check_;
  std::array<std::size_t, kKindCount> counts_{};
  std::vector<ScheduleViolation> found_;
};

/// Indices, orders, ranges: whether the rest can be looked at.
void check_form(Case& one);
/// kPartition and kRecut, but for the lengths of changes.
void check_instances(Case& one);
/// kRecut: the lengths of changes.
void check_change_lengths(Case& one);
/// kSeat, kMemory, kSharing.
void check_domains(Case& one);
/// kRate.
void check_rates(Case& one);
/// When the last run ends; the begin of time where there is none.
SimTime last_end(const Schedule& schedule);
/// Sum of all intervals of change; the greatest number of nanoseconds where it is beyond.
Duration time_of_changes(const Schedule& schedule);

}  // namespace septule::plan::schedule_checks
