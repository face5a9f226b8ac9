#include "plan/schedule_checker.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "plan/schedule_checks.hpp"

namespace septule::plan {
namespace schedule_checks {

void Case::report(Kind kind, std::string message) {
  if (count_of(kind) == kScheduleViolationsMax) {
    return;
  }
  ++counts_[static_cast<std::size_t>(kind)];
  const auto at = std::ranges::upper_bound(found_, kind, {}, &ScheduleViolation::kind);
  found_.insert(at, {.kind = kind, .message = std::move(message)});
}

Runs Case::runs_of(std::size_t instance) const {
  Runs runs;
  for (const ScheduledRun& run : schedule_.runs) {
    if (run.instance == instance) {
      runs.push_back(&run);
    }
  }
  return runs;
}

const gpu::GpuInstanceProfile* Case::profile_of(const ScheduledInstance& instance) const {
  if (!instance.placed.has_value()) {
    return nullptr;
  }
  const int index = instance.placed->profile.value();
  const auto profiles = schedule_.geometry->profiles();
  return index >= 0 && std::cmp_less(index, profiles.size())
             ? &profiles[static_cast<std::size_t>(index)]
             : nullptr;
}

std::string Case::job_text(std::size_t job) const {
  return fmt::format("job {} ({})", job, quoted_for_message(jobs_[job].name));
}

std::string Case::instance_text(std::size_t instance) const {
  const auto& placed = schedule_.instances[instance].placed;
  if (!placed.has_value()) {
    return fmt::format("instance {} (whole GPU)", instance);
  }
  const gpu::GpuInstanceProfile* profile = profile_of(schedule_.instances[instance]);
  return fmt::format(
      "instance {} ({}@{})",
      instance,
      profile == nullptr ? fmt::format("profile #{}", placed->profile.value()) : profile->name,
      placed->start.value());
}

namespace {

constexpr double kWorkTolerance = 1e-6;
constexpr double kWorkToleranceNs = 10;
constexpr double kFairnessTolerance = 1e-9;

void check_jobs(Case& one) {
  std::vector<std::size_t> counts(one.jobs().size());
  for (const ScheduledRun& run : one.schedule().runs) {
    ++counts[run.job];
  }
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (counts[j] != 1) {
      one.report(Kind::kJobs,
                 fmt::format("{} runs {} times; valid is once", one.job_text(j), counts[j]));
    }
  }
}

/// kLifetime, kWork and kFairness of one run.
void check_run(Case& one, const ScheduledRun& run) {
  const ScheduledInstance& instance = one.schedule().instances[run.instance];
  if (run.begin() < instance.usable_from || run.end() > instance.usable_until) {
    one.report(Kind::kLifetime,
               fmt::format("{} runs from {} s to {} s in {}, which is usable from {} s to {} s",
                           one.job_text(run.job),
                           run.begin().to_seconds(),
                           run.end().to_seconds(),
                           one.instance_text(run.instance),
                           instance.usable_from.to_seconds(),
                           instance.usable_until.to_seconds()));
  }
  const Duration solo = one.jobs()[run.job].solo;
  const auto needed = static_cast<double>(solo.to_nanoseconds());
  double done = 0;
  for (const RatePiece& piece : run.pieces) {
    done += piece.rate * static_cast<double>((piece.until - piece.from).to_nanoseconds());
  }
  const double tolerance =
      kWorkTolerance * needed + kWorkToleranceNs * static_cast<double>(run.pieces.size());
  if (!(std::abs(done - needed) <= tolerance)) {
    one.report(Kind::kWork,
               fmt::format("{} does {} s of work, it has {} s",
                           one.job_text(run.job),
                           done / 1e9,
                           solo.to_seconds()));
  }
  const double speed = needed / static_cast<double>((run.end() - run.begin()).to_nanoseconds());
  const double floor = one.check().rules.fairness;
  if (speed < floor * (1 - kFairnessTolerance)) {
    one.report(Kind::kFairness,
               fmt::format("{} has {} of its speed alone on the whole GPU; the floor is {}",
                           one.job_text(run.job),
                           speed,
                           floor));
  }
}

void check_group(Case& one, std::size_t g) {
  const ScheduledGroup& group = one.schedule().groups[g];
  const auto wrong = [&](std::string_view what) {
    one.report(Kind::kGroup,
               fmt::format("group {} ({}): {}", g, quoted_for_message(group.template_name), what));
  };
  if (g > 0 && group.begin < one.schedule().groups[g - 1].end) {
    wrong(fmt::format("it begins at {} s, before the end of the one before at {} s",
                      group.begin.to_seconds(),
                      one.schedule().groups[g - 1].end.to_seconds()));
  }
  SimTime last = group.begin;
  for (const ScheduledRun& run : one.schedule().runs) {
    if (!std::ranges::binary_search(group.jobs, run.job)) {
      continue;
    }
    last = std::max(last, run.end());
    if (run.begin() != group.begin) {
      wrong(fmt::format("{} begins at {} s instead of {} s",
                        one.job_text(run.job),
                        run.begin().to_seconds(),
                        group.begin.to_seconds()));
    }
  }
  if (group.jobs.empty()) {
    wrong("it has no jobs");
  } else if (last != group.end) {
    wrong(fmt::format("it ends at {} s, the last of its jobs at {} s",
                      group.end.to_seconds(),
                      last.to_seconds()));
  }
}

void check_groups(Case& one) {
  const auto& groups = one.schedule().groups;
  if (groups.empty()) {
    return;
  }
  std::vector<std::size_t> counts(one.jobs().size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    check_group(one, g);
    for (const std::size_t job : groups[g].jobs) {
      ++counts[job];
    }
  }
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (counts[j] != 1) {
      one.report(Kind::kGroup,
                 fmt::format("{} is in {} groups; valid is one", one.job_text(j), counts[j]));
    }
  }
}

void check_totals(Case& one) {
  const SimTime last = last_end(one.schedule());
  if (one.schedule().makespan != last - SimTime()) {
    one.report(Kind::kTotals,
               fmt::format("the makespan is stated as {} s, but the last run ends at {} s",
                           one.schedule().makespan.to_seconds(),
                           last.to_seconds()));
  }
  const Duration changing = time_of_changes(one.schedule());
  if (one.schedule().recutting != changing) {
    one.report(Kind::kTotals,
               fmt::format("re-cutting is stated as {} s, but the instances give {} s",
                           one.schedule().recutting.to_seconds(),
                           changing.to_seconds()));
  }
}

}  // namespace
}  // namespace schedule_checks

std::string_view schedule_violation_name(ScheduleViolationKind kind) {
  switch (kind) {
    case ScheduleViolationKind::kMalformed:
      return "malformed schedule";
    case ScheduleViolationKind::kJobs:
      return "jobs";
    case ScheduleViolationKind::kPartition:
      return "illegal partition";
    case ScheduleViolationKind::kRecut:
      return "re-cut";
    case ScheduleViolationKind::kLifetime:
      return "lifetime";
    case ScheduleViolationKind::kSeat:
      return "seat";
    case ScheduleViolationKind::kMemory:
      return "memory";
    case ScheduleViolationKind::kSharing:
      return "sharing";
    case ScheduleViolationKind::kFairness:
      return "fairness";
    case ScheduleViolationKind::kWork:
      return "work";
    case ScheduleViolationKind::kRate:
      return "rate";
    case ScheduleViolationKind::kGroup:
      return "group";
    case ScheduleViolationKind::kTotals:
      return "totals";
  }
  return "";
}

std::vector<ScheduleViolation> check_schedule(const Schedule& schedule,
                                              std::span<const WindowJob> jobs,
                                              const ScheduleCheck& check) {
  namespace checks = schedule_checks;
  checks::Case one(schedule, jobs, check);
  checks::check_form(one);
  if (one.count_of(checks::Kind::kMalformed) > 0) {
    return one.take();
  }
  checks::check_jobs(one);
  checks::check_instances(one);
  checks::check_domains(one);
  for (const ScheduledRun& run : schedule.runs) {
    checks::check_run(one, run);
  }
  checks::check_groups(one);
  checks::check_totals(one);
  if (one.count_of(checks::Kind::kJobs) + one.count_of(checks::Kind::kPartition) +
          one.count_of(checks::Kind::kSeat) ==
      0) {
    checks::check_change_lengths(one);
    checks::check_rates(one);
  }
  return one.take();
}

}  // namespace septule::plan
