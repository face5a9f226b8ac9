#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "gpu/sharing_template.hpp"
#include "plan/schedule.hpp"
#include "plan/schedule_checker.hpp"
#include "plan/window.hpp"

namespace septule::test {

/// A window, a schedule of it and what it is checked against.
struct CheckedSchedule {
  std::vector<plan::WindowJob> jobs;
  plan::Schedule schedule;
  plan::ScheduleCheck check;

  std::vector<plan::ScheduleViolation> violations() const {
    return plan::check_schedule(schedule, jobs, check);
  }
};

/// Rates that can be worked out by hand, equal for all jobs: the part of the GPU's compute slices
/// times the part of the compute instance (its percentage, or even), and 10 % less of it for each
/// other job of the memory domain.
inline plan::ScheduleRates even_rates(const gpu::Geometry& geometry) {
  return [&geometry](const plan::ScheduledInstance& instance,
                     std::span<const plan::ScheduleClient> clients,
                     std::span<double> out) {
    const double others = static_cast<double>(clients.size() - 1);
    for (std::size_t k = 0; k < clients.size(); ++k) {
      const auto seats =
          std::ranges::count(clients, clients[k].compute, &plan::ScheduleClient::compute);
      const auto compute = static_cast<std::size_t>(clients[k].compute);
      const double slices =
          instance.placed.has_value()
              ? static_cast<double>(instance.compute[compute].placement.size.value()) /
                    geometry.compute_slices().value()
              : 1.0;
      const double part = clients[k].atp.has_value() ? clients[k].atp->value() / 100.0
                                                     : 1.0 / static_cast<double>(seats);
      out[k] = slices * part * (1 - 0.1 * others);
    }
  };
}

/// Makes legal schedules of groups with barriers, step by step: survivors speed up, switching is
/// serial, an instance that the next group has too (same place, same compute instances) stays.
/// Simple on purpose, shares nothing with optimize/.
class ScheduleMaker {
 public:
  static constexpr Duration kCreate = Duration::milliseconds(200);
  static constexpr Duration kDestroy = Duration::milliseconds(100);

  ScheduleMaker(const gpu::SharingCatalogue& catalogue,
                std::span<const plan::WindowJob> jobs,
                plan::ScheduleRates rates)
      : catalogue_(catalogue), jobs_(jobs), rates_(std::move(rates)) {
    schedule_.geometry = catalogue.geometry;
  }

  /// A group: `jobs[k]` takes the k-th seat, domain by domain.
  void add_group(const gpu::SharingTemplate& one, std::span<const std::size_t> jobs) {
    SEPTULE_CHECK(std::cmp_equal(jobs.size(), one.concurrency), "a job for each seat");
    const std::vector<std::size_t> instances = switch_to(one);
    plan::ScheduledGroup group{.template_name = one.name, .begin = now_, .end = {}, .jobs = {}};
    group.jobs.assign(jobs.begin(), jobs.end());
    std::ranges::sort(group.jobs);
    const SimTime begin = now_;
    std::size_t taken = 0;
    for (std::size_t d = 0; d < one.domains.size(); ++d) {
      const gpu::MemoryDomain& domain = catalogue_.domains[one.domains[d]];
      run_domain(instances[d], domain, jobs.subspan(taken, domain.seats.size()), begin);
      taken += domain.seats.size();
    }
    group.end = now_;
    schedule_.groups.push_back(std::move(group));
  }

  plan::Schedule finish() {
    plan::finish_schedule(schedule_);
    return schedule_;
  }

 private:
  /// Instances for the domains of a template, made where they are not there; the others unmade.
  std::vector<std::size_t> switch_to(const gpu::SharingTemplate& one) {
    std::vector<plan::ScheduledInstance> wanted;
    const auto partition = gpu::partition_of(catalogue_, one);
    if (partition.has_value()) {
      for (const gpu::GpuInstance& instance : partition->instances) {
        wanted.push_back({.placed = instance.placed, .compute = instance.compute_instances});
      }
    } else {
      wanted.push_back({});
    }
    const auto is_same = [](const auto& a, const auto& b) {
      return a.placed == b.placed && a.compute == b.compute;
    };
    std::vector<std::size_t> kept;
    for (const std::size_t i : there_) {
      plan::ScheduledInstance& instance = schedule_.instances[i];
      if (std::ranges::any_of(wanted, [&](const auto& w) { return is_same(w, instance); })) {
        kept.push_back(i);
        continue;
      }
      instance.usable_until = now_;
      now_ = now_ + kDestroy;
      instance.gone_at = now_;
    }
    there_.clear();
    for (plan::ScheduledInstance& instance : wanted) {
      const auto at = std::ranges::find_if(
          kept, [&](std::size_t i) { return is_same(schedule_.instances[i], instance); });
      if (at != kept.end()) {
        there_.push_back(*at);
        continue;
      }
      instance.create_begin = now_;
      now_ = now_ + kCreate;
      instance.usable_from = now_;
      instance.usable_until = SimTime::never();
      instance.gone_at = SimTime::never();
      there_.push_back(schedule_.instances.size());
      schedule_.instances.push_back(instance);
    }
    return there_;
  }

  void run_domain(std::size_t instance,
                  const gpu::MemoryDomain& domain,
                  std::span<const std::size_t> jobs,
                  SimTime begin) {
    struct Active {
      plan::ScheduledRun run;
      double left_ns = 0;
    };
    std::vector<Active> active;
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      active.push_back({.run = {.job = jobs[k],
                                .instance = instance,
                                .compute = domain.seats[k].compute,
                                .atp = domain.seats[k].atp,
                                .pieces = {}},
                        .left_ns = static_cast<double>(jobs_[jobs[k]].solo.to_nanoseconds())});
    }
    SimTime time = begin;
    while (!active.empty()) {
      std::vector<plan::ScheduleClient> clients;
      for (const Active& one : active) {
        clients.push_back({.job = one.run.job, .compute = one.run.compute, .atp = one.run.atp});
      }
      std::vector<double> rates(clients.size());
      rates_(schedule_.instances[instance], clients, rates);
      double step_ns = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < active.size(); ++k) {
        step_ns = std::min(step_ns, std::ceil(active[k].left_ns / rates[k]));
      }
      const SimTime until = time + Duration::nanoseconds(static_cast<std::int64_t>(step_ns));
      for (std::size_t k = 0; k < active.size(); ++k) {
        active[k].run.pieces.push_back({.from = time, .until = until, .rate = rates[k]});
        active[k].left_ns -= rates[k] * step_ns;
        if (active[k].left_ns < 1) {
          schedule_.runs.push_back(active[k].run);
        }
      }
      std::erase_if(active, [](const Active& one) { return one.left_ns < 1; });
      time = until;
    }
    now_ = std::max(now_, time);
  }

  const gpu::SharingCatalogue& catalogue_;
  std::span<const plan::WindowJob> jobs_;
  plan::ScheduleRates rates_;
  plan::Schedule schedule_;
  std::vector<std::size_t> there_;  ///< instances that exist now
  SimTime now_;
};

/// Jobs "job0", "job1" ... of one user, 1 GiB each, 7 to 25 s alone.
inline std::vector<plan::WindowJob> plain_jobs(std::size_t count) {
  std::vector<plan::WindowJob> jobs;
  for (std::size_t j = 0; j < count; ++j) {
    jobs.push_back({.name = "job" + std::to_string(j),
                    .user = "ann",
                    .trust = "",
                    .memory = Bytes::mebibytes(1024),
                    .solo = Duration::milliseconds(7000 + 3000 * static_cast<int>(j * 5 % 7))});
  }
  return jobs;
}

/// A legal schedule of these groups, jobs seated in order. Held against even_rates, the durations
/// of ScheduleMaker and a low floor of fairness. `catalogue` and its geometry outlive it.
inline CheckedSchedule legal_schedule(const gpu::SharingCatalogue& catalogue,
                                      std::span<const gpu::SharingTemplate* const> templates) {
  std::size_t seats = 0;
  for (const gpu::SharingTemplate* one : templates) {
    seats += static_cast<std::size_t>(one->concurrency);
  }
  CheckedSchedule made{.jobs = plain_jobs(seats), .schedule = {}, .check = {}};
  made.check.rules.fairness = 0.001;
  made.check.create_time = [](const auto&) { return ScheduleMaker::kCreate; };
  made.check.destroy_time = [](const auto&) { return ScheduleMaker::kDestroy; };
  made.check.rates = even_rates(*catalogue.geometry);
  ScheduleMaker maker(catalogue, made.jobs, made.check.rates);
  std::size_t next = 0;
  for (const gpu::SharingTemplate* one : templates) {
    std::vector<std::size_t> jobs(static_cast<std::size_t>(one->concurrency));
    for (std::size_t& job : jobs) {
      job = next++;
    }
    maker.add_group(*one, jobs);
  }
  made.schedule = maker.finish();
  return made;
}

/// The same by the names of the templates.
inline CheckedSchedule legal_schedule(const gpu::SharingCatalogue& catalogue,
                                      std::span<const std::string_view> names) {
  std::vector<const gpu::SharingTemplate*> templates;
  for (const std::string_view name : names) {
    const auto at = std::ranges::find(catalogue.templates, name, &gpu::SharingTemplate::name);
    SEPTULE_CHECK(at != catalogue.templates.end(), "tests name templates of the catalogue");
    templates.push_back(&*at);
  }
  return legal_schedule(catalogue, templates);
}

}  // namespace septule::test
