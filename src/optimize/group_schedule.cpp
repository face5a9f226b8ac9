#include "optimize/group_schedule.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
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

/// Lays groups out. One use.
class ScheduleMaker {
 public:
  explicit ScheduleMaker(const GroupTimer& timer)
      : timer_(timer), problem_(timer.problem()), catalogue_(*problem_.catalogue) {
    schedule_.geometry = catalogue_.geometry;
    schedule_.runs.resize(problem_.jobs.size());
    const GpuCut& initial = problem_.initial;
    is_mig_on_ = initial.has_value();
    if (initial.has_value()) {
      for (const gpu::GpuInstance& instance : initial->instances) {
        open(instance, Duration());
      }
    }
  }

  plan::Schedule make(std::span<const SeatedGroup> groups) {
    for (const SeatedGroup& group : groups) {
      switch_to(cut_of(catalogue_, group.sharing));
      run(group);
    }
    finish();
    return std::move(schedule_);
  }

 private:
  struct Open {
    std::optional<gpu::GpuInstance> instance;  ///< nothing = the whole GPU
    std::size_t index = 0;                     ///< into the schedule's instances
  };

  void open(const gpu::GpuInstance& instance, Duration create) {
    open_.push_back({.instance = instance, .index = schedule_.instances.size()});
    schedule_.instances.push_back({.placed = instance.placed,
                                   .compute = instance.compute_instances,
                                   .create_begin = now_,
                                   .usable_from = now_ + create,
                                   .usable_until = {},
                                   .gone_at = {}});
    now_ = now_ + create;
  }

  void open_whole(Duration toggle) {
    open_.push_back({.instance = std::nullopt, .index = schedule_.instances.size()});
    schedule_.instances.push_back({.placed = std::nullopt,
                                   .compute = {},
                                   .create_begin = now_,
                                   .usable_from = now_ + toggle,
                                   .usable_until = {},
                                   .gone_at = {}});
    now_ = now_ + toggle;
  }

  void close(const Open& open, Duration destroy) {
    plan::ScheduledInstance& instance = schedule_.instances[open.index];
    instance.usable_until = now_;
    now_ = now_ + destroy;
    instance.gone_at = now_;
  }

  void switch_to(const GpuCut& cut) {
    const SimTime begin = now_;
    const auto is_kept = [&](const Open& open) {
      return open.instance.has_value()
                 ? cut.has_value() &&
                       std::ranges::find(cut->instances, *open.instance) != cut->instances.end()
                 : !cut.has_value();
    };
    std::vector<Open> kept;
    for (const Open& open : open_) {
      if (is_kept(open)) {
        kept.push_back(open);
      } else {
        close(
            open,
            open.instance.has_value() ? destroy_time(problem_.costs, *open.instance) : Duration());
      }
    }
    open_ = std::move(kept);
    // A change of MIG mode belongs to the making of what comes first after it.
    const bool toggles = is_mig_on_ != cut.has_value();
    Duration toggle =
        toggles && problem_.costs != nullptr ? problem_.costs->mig_toggle : Duration();
    is_mig_on_ = cut.has_value();
    if (!cut.has_value()) {
      if (open_.empty()) {
        open_whole(toggle);
      }
    } else {
      for (const gpu::GpuInstance& instance : cut->instances) {
        if (std::ranges::none_of(open_,
                                 [&](const Open& open) { return open.instance == instance; })) {
          open(instance, toggle + create_time(problem_.costs, instance));
          toggle = Duration();
        }
      }
    }
    schedule_.recutting += now_ - begin;
  }

  std::size_t index_of(const gpu::GpuInstance& instance) const {
    const auto found = std::ranges::find(open_, std::optional(instance), &Open::instance);
    SEPTULE_CHECK(found != open_.end(), "the GPU is cut for the group");
    return found->index;
  }

  void run(const SeatedGroup& group) {
    const gpu::SharingTemplate& sharing = catalogue_.templates[group.sharing];
    const GpuCut cut = cut_of(catalogue_, group.sharing);
    const std::optional<Duration> time = group_time(timer_, group);
    SEPTULE_CHECK(time.has_value(), "a group that is laid out is possible");
    plan::ScheduledGroup scheduled{
        .template_name = sharing.name, .begin = now_, .end = now_ + *time, .jobs = {}};
    std::size_t place = 0;
    for_each_domain(timer_, group, [&](std::size_t domain, std::span<const std::size_t> jobs) {
      const std::size_t instance =
          cut.has_value() ? index_of(cut->instances[place]) : open_.front().index;
      run_in(domain, jobs, instance, *time);
      scheduled.jobs.insert(scheduled.jobs.end(), jobs.begin(), jobs.end());
      ++place;
    });
    std::ranges::sort(scheduled.jobs);
    schedule_.groups.push_back(std::move(scheduled));
    now_ = now_ + *time;
  }

  void run_in(std::size_t domain,
              std::span<const std::size_t> jobs,
              std::size_t instance,
              Duration group_time) {
    std::array<RunPieces, gpu::kSeatsMax> pieces;
    const std::span<RunPieces> runs = std::span(pieces).first(jobs.size());
    const auto time = timer_.runs(domain, jobs, now_, runs);
    SEPTULE_CHECK(time.has_value(), "a group that is laid out is possible");
    for (std::size_t seat = 0; seat < jobs.size(); ++seat) {
      const gpu::Seat& at = catalogue_.domains[domain].seats[seat];
      plan::ScheduledRun& run = schedule_.runs[jobs[seat]];
      SEPTULE_CHECK(run.pieces.empty(), "a job is in one group");
      run = {.job = jobs[seat],
             .instance = instance,
             .compute = at.compute,
             .atp = at.atp,
             .pieces = {runs[seat].begin(), runs[seat].end()}};
      if (problem_.clock == GroupClock::kSteadyState) {
        const double rate = problem_.jobs[jobs[seat]].solo.to_seconds() / group_time.to_seconds();
        run.pieces = {{.from = now_, .until = now_ + group_time, .rate = rate}};
      }
    }
  }

  void finish() {
    schedule_.makespan = now_ - SimTime();
    for (const Open& open : open_) {
      schedule_.instances[open.index].usable_until = now_;
      schedule_.instances[open.index].gone_at = now_;
    }
    // What went at the very begin without taking time was never part of the timeline.
    std::vector<std::size_t> new_index;
    std::vector<plan::ScheduledInstance> left;
    for (plan::ScheduledInstance& instance : schedule_.instances) {
      new_index.push_back(left.size());
      if (instance.gone_at > instance.create_begin) {
        left.push_back(std::move(instance));
      }
    }
    schedule_.instances = std::move(left);
    for (plan::ScheduledRun& run : schedule_.runs) {
      SEPTULE_CHECK(!run.pieces.empty(), "every job is in a group");
      run.instance = new_index[run.instance];
    }
  }

  const GroupTimer& timer_;
  const WindowProblem& problem_;
  const gpu::SharingCatalogue& catalogue_;
  plan::Schedule schedule_;
  std::vector<Open> open_;
  bool is_mig_on_ = false;
  SimTime now_;
};

}  // namespace

GpuCut cut_of(const gpu::SharingCatalogue& catalogue, std::size_t sharing) {
  SEPTULE_CHECK(sharing < catalogue.templates.size(), "a cut is that of a template");
  const gpu::SharingTemplate& of = catalogue.templates[sharing];
  if (of.layout.empty()) {
    return std::nullopt;
  }
  SEPTULE_CHECK(of.layout.size() == of.domains.size(), "every instance has a domain");
  gpu::Partition cut;
  for (std::size_t place = 0; place < of.layout.size(); ++place) {
    gpu::GpuInstance instance{.placed = of.layout[place], .compute_instances = {}};
    for (const gpu::ComputePlacement& compute : catalogue.domains[of.domains[place]].compute) {
      instance.compute_instances.push_back({.placement = compute});
    }
    cut.instances.push_back(std::move(instance));
  }
  return cut;
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
  return ScheduleMaker(timer).make(groups);
}

}  // namespace septule::optimize
