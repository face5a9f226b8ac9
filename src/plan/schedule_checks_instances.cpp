// Instances of a schedule: what exists together, and how it changes.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/partition_checker.hpp"
#include "plan/schedule_checks.hpp"

namespace septule::plan::schedule_checks {
namespace {

/// `said` keeps what was reported before, so that a fault that lasts is reported once.
void check_together(Case& one,
                    const std::vector<std::size_t>& there,
                    SimTime time,
                    std::set<std::string>& said) {
  gpu::Partition partition;
  for (const std::size_t i : there) {
    const ScheduledInstance& instance = one.schedule().instances[i];
    if (instance.placed.has_value()) {
      partition.instances.push_back(
          {.placed = *instance.placed, .compute_instances = instance.compute});
    } else if (there.size() > 1) {
      one.report(Kind::kPartition,
                 fmt::format("at {} s {} exists beside another instance",
                             time.to_seconds(),
                             one.instance_text(i)));
    }
  }
  for (gpu::Violation& violation : gpu::check_partition(*one.schedule().geometry, partition)) {
    if (said.insert(violation.message).second) {
      one.report(Kind::kPartition,
                 fmt::format("at {} s: {}", time.to_seconds(), violation.message));
    }
  }
}

/// Which instances exist together changes for the worse only where one begins.
void check_partitions(Case& one) {
  std::set<std::string> said;
  std::set<SimTime> begins;
  for (std::size_t i = 0; i < one.schedule().instances.size(); ++i) {
    begins.insert(one.schedule().instances[i].create_begin);
    check_together(one, {i}, one.schedule().instances[i].create_begin, said);
  }
  for (const SimTime time : begins) {
    std::vector<std::size_t> there;
    for (std::size_t i = 0; i < one.schedule().instances.size(); ++i) {
      const ScheduledInstance& instance = one.schedule().instances[i];
      if (instance.create_begin <= time && time < instance.gone_at) {
        there.push_back(i);
      }
    }
    if (there.size() > 1) {
      check_together(one, there, time, said);
    }
  }
}

struct Change {
  SimTime from;
  SimTime until;
  std::size_t instance = 0;
  std::string_view what;

  Duration length() const { return until - from; }
};

/// All intervals in which an instance is made or unmade, in the order of time.
std::vector<Change> changes_of(const Schedule& schedule) {
  std::vector<Change> all;
  for (std::size_t i = 0; i < schedule.instances.size(); ++i) {
    const ScheduledInstance& instance = schedule.instances[i];
    if (instance.create_begin < instance.usable_from) {
      all.push_back({instance.create_begin, instance.usable_from, i, "making"});
    }
    if (instance.usable_until < instance.gone_at) {
      all.push_back({instance.usable_until, instance.gone_at, i, "unmaking"});
    }
  }
  std::ranges::sort(all, [](const Change& a, const Change& b) {
    return std::tie(a.from, a.until, a.instance) < std::tie(b.from, b.until, b.instance);
  });
  return all;
}

void check_changes_are_apart(Case& one) {
  const std::vector<Change> all = changes_of(one.schedule());
  std::size_t last = 0;  // of those before, the one that ends last
  for (std::size_t c = 1; c < all.size(); ++c) {
    if (all[c].from < all[last].until) {
      one.report(Kind::kRecut,
                 fmt::format("{} {} begins at {} s, while {} {} lasts until {} s",
                             all[c].what,
                             one.instance_text(all[c].instance),
                             all[c].from.to_seconds(),
                             all[last].what,
                             one.instance_text(all[last].instance),
                             all[last].until.to_seconds()));
    }
    last = all[c].until > all[last].until ? c : last;
  }
}

/// Whether one instance takes over the place of the other at once: its compute instances are
/// changed, and the GPU instance stays. Both exist for some time: one that does not could vouch for
/// whatever is claimed.
bool is_followed(const ScheduledInstance& before, const ScheduledInstance& after) {
  return before.placed == after.placed && before.gone_at == after.create_begin &&
         before.create_begin < before.gone_at && after.create_begin < after.gone_at;
}

void require(Case& one, std::size_t i, std::string_view what, Duration given, Duration needed) {
  if (given < needed) {
    one.report(Kind::kRecut,
               fmt::format("{} {} takes {} s, but {} s are given to it",
                           what,
                           one.instance_text(i),
                           needed.to_seconds(),
                           given.to_seconds()));
  }
}

}  // namespace

SimTime last_end(const Schedule& schedule) {
  SimTime last;
  for (const ScheduledRun& run : schedule.runs) {
    last = std::max(last, run.end());
  }
  return last;
}

void check_instances(Case& one) {
  check_partitions(one);
  check_changes_are_apart(one);
}

void check_change_lengths(Case& one) {
  const SimTime end = last_end(one.schedule());
  const auto& all = one.schedule().instances;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ScheduledInstance& instance = all[i];
    const bool was_there = instance.usable_from == SimTime();
    const bool stays = instance.usable_until == instance.gone_at && instance.gone_at >= end;
    if (one.check().create_time && !was_there &&
        std::ranges::none_of(all, [&](const auto& a) { return is_followed(a, instance); })) {
      require(one,
              i,
              "making",
              instance.usable_from - instance.create_begin,
              one.check().create_time(instance));
    }
    if (one.check().destroy_time && !stays &&
        std::ranges::none_of(all, [&](const auto& a) { return is_followed(instance, a); })) {
      require(one,
              i,
              "unmaking",
              instance.gone_at - instance.usable_until,
              one.check().destroy_time(instance));
    }
  }
}

Duration time_of_changes(const Schedule& schedule) {
  Duration sum;
  const Duration most = Duration::nanoseconds(INT64_MAX);
  for (const Change& change : changes_of(schedule)) {
    if (change.length() > most - sum) {
      return most;
    }
    sum += change.length();
  }
  return sum;
}

}  // namespace septule::plan::schedule_checks
