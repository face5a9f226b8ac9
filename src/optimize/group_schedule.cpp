#include "optimize/group_schedule.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "optimize/phase_layout.hpp"
#include "optimize/switch_costs.hpp"

namespace septule::optimize {

namespace {

using DomainTimes = InlineVector<DomainTime, gpu::kSeatsMax>;

/// The seats of each domain of the group's template, in order.
template <class Visit>
void for_each_domain(const GroupTimer& timer, const SeatedGroup& group, const Visit& visit) {
  const gpu::SharingCatalogue& catalogue = *timer.problem().catalogue;
  SEPTULE_CHECK(group.sharing < catalogue.templates.size(), "a group has a template");
  std::size_t at = 0;
  for (const std::size_t domain : catalogue.templates[group.sharing].domains) {
    const std::size_t seats = catalogue.domains[domain].seats.size();
    SEPTULE_CHECK(at + seats <= group.jobs.size(), "a group has a job for each seat");
    visit(domain, std::span(group.jobs.begin() + at, seats));
    at += seats;
  }
  SEPTULE_CHECK(at == group.jobs.size(), "a group has a seat for each job");
}

std::optional<DomainTimes> domain_times(const GroupTimer& timer, const SeatedGroup& group) {
  DomainTimes times;
  bool is_possible = true;
  for_each_domain(timer, group, [&](std::size_t domain, std::span<const std::size_t> jobs) {
    const std::optional<DomainTime> time = timer.time(domain, jobs);
    is_possible = is_possible && time.has_value();
    times.push_back(time.value_or(DomainTime{}));
  });
  return is_possible ? std::optional(times) : std::nullopt;
}

/// What went at the very begin without taking time was never part of the timeline.
void drop_what_never_was(plan::Schedule& schedule) {
  std::vector<std::size_t> new_index;
  std::vector<plan::ScheduledInstance> left;
  for (plan::ScheduledInstance& instance : schedule.instances) {
    new_index.push_back(left.size());
    if (instance.gone_at > instance.create_begin) {
      left.push_back(std::move(instance));
    }
  }
  schedule.instances = std::move(left);
  for (plan::ScheduledRun& run : schedule.runs) {
    run.instance = new_index[run.instance];
  }
}

}  // namespace

GpuCut cut_of(const gpu::SharingCatalogue& catalogue, std::size_t sharing) {
  SEPTULE_CHECK(sharing < catalogue.templates.size(), "a cut is that of a template");
  return gpu::partition_of(catalogue, catalogue.templates[sharing]);
}

namespace {

/// Why a job finds no room on a GPU of its own.
std::string no_room_text(const plan::WindowJob& job, const gpu::Geometry& geometry) {
  const std::string need =
      job.memory.has_value() ? fmt::format("{:.1f} GiB", job.memory->to_gibibytes()) : "";
  return gpu::domain_memory(geometry, std::nullopt).has_value()
             ? fmt::format("job {} needs {} of memory, more than {} has for one job",
                           quoted_for_message(job.name),
                           need,
                           geometry.key())
             : fmt::format(
                   "job {} needs {} of memory, and how much {} has for one job has not "
                   "been published; jobs that state no memory are planned all the same",
                   quoted_for_message(job.name),
                   need,
                   geometry.key());
}

}  // namespace

Status check_each_fits(const GroupTimer& timer) {
  const WindowProblem& problem = timer.problem();
  const gpu::SharingCatalogue& catalogue = *problem.catalogue;
  for (std::size_t job = 0; job < problem.jobs.size(); ++job) {
    bool has_room = false;
    bool fits = false;
    for (const gpu::SharingTemplate& sharing : catalogue.templates) {
      if (sharing.concurrency == 1) {
        const std::array alone{job};
        has_room = has_room || timer.may_sit(sharing.domains[0], alone);
        fits = fits || timer.time(sharing.domains[0], alone).has_value();
      }
    }
    if (fits) {
      continue;
    }
    const plan::WindowJob& of = problem.jobs[job];
    return Error{
        ErrorCode::kBlocked,
        has_room ? fmt::format("job {} can run nowhere on {}: its speed alone is not known there, "
                               "or below the fairness floor of {}",
                               quoted_for_message(of.name),
                               catalogue.geometry->key(),
                               problem.rules.fairness)
                 : no_room_text(of, *catalogue.geometry)};
  }
  return {};
}

std::optional<Duration> group_time(const GroupTimer& timer, const SeatedGroup& group) {
  const std::optional<DomainTimes> times = domain_times(timer, group);
  if (!times.has_value()) {
    return std::nullopt;
  }
  return group_time(timer.problem().clock, std::span(times->begin(), times->size()));
}

std::optional<Duration> groups_time(const GroupTimer& timer, std::span<const SeatedGroup> groups) {
  Duration sum;
  GpuCut at = timer.problem().initial;
  for (const SeatedGroup& group : groups) {
    const std::optional<Duration> time = group_time(timer, group);
    if (!time.has_value()) {
      return std::nullopt;
    }
    GpuCut next = cut_of(*timer.problem().catalogue, group.sharing);
    sum += switch_time(timer.problem().costs, at, next) + *time;
    at = std::move(next);
  }
  return sum;
}

plan::Schedule make_group_schedule(const GroupTimer& timer, std::span<const SeatedGroup> groups) {
  const WindowProblem& problem = timer.problem();
  std::vector<LaidPhase> phases;
  for (const SeatedGroup& group : groups) {
    const std::optional<Duration> time = group_time(timer, group);
    SEPTULE_CHECK(time.has_value(), "a group that is laid out is possible");
    phases.push_back({.shape = group.sharing, .length = *time});
  }
  PhaseLayout layout = lay_out_phases(problem, phases);
  plan::Schedule& schedule = layout.schedule;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    plan::ScheduledGroup scheduled{
        .template_name = problem.catalogue->templates[groups[g].sharing].name,
        .begin = layout.begins[g],
        .end = layout.begins[g] + phases[g].length,
        .jobs = {groups[g].jobs.begin(), groups[g].jobs.end()}};
    std::size_t place = 0;
    for_each_domain(timer, groups[g], [&](std::size_t domain, std::span<const std::size_t> jobs) {
      lay_out_together(timer, domain, jobs, scheduled, layout.instances[g][place], schedule.runs);
      ++place;
    });
    std::ranges::sort(scheduled.jobs);
    schedule.groups.push_back(std::move(scheduled));
  }
  std::ranges::sort(schedule.runs, {}, &plan::ScheduledRun::job);
  SEPTULE_CHECK(schedule.runs.size() == problem.jobs.size() &&
                    std::ranges::adjacent_find(schedule.runs, {}, &plan::ScheduledRun::job) ==
                        schedule.runs.end(),
                "every job is in one group");
  drop_what_never_was(schedule);
  return std::move(layout.schedule);
}

}  // namespace septule::optimize
