// Jobs that share a memory domain.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "gpu/sharing_template.hpp"
#include "plan/schedule_checks.hpp"

namespace septule::plan::schedule_checks {
namespace {

constexpr double kRateTolerance = 1e-9;

bool is_alive(const ScheduledRun& run, SimTime time) {
  return run.begin() <= time && time < run.end();
}

Runs alive_at(const Runs& runs, SimTime time) {
  Runs alive;
  std::ranges::copy_if(runs, std::back_inserter(alive), [&](const ScheduledRun* run) {
    return is_alive(*run, time);
  });
  return alive;
}

/// Of the whole GPU, what its largest profile has.
std::optional<Bytes> memory_of(const Case& one, const ScheduledInstance& instance) {
  if (instance.placed.has_value()) {
    return one.profile_of(instance)->memory;
  }
  std::optional<Bytes> most;
  ComputeSlices slices_most;
  for (const gpu::GpuInstanceProfile& profile : one.schedule().geometry->profiles()) {
    if (profile.slices > slices_most) {
      slices_most = profile.slices;
      most = profile.memory;
    } else if (profile.slices == slices_most) {
      most = std::max(most, profile.memory);
    }
  }
  return most;
}

void check_memory(Case& one, std::size_t i, SimTime time, const Runs& alive) {
  const ScheduledInstance& instance = one.schedule().instances[i];
  if (instance.placed.has_value() && one.profile_of(instance) == nullptr) {
    return;  // check_partitions has said so
  }
  const auto memory = [&](std::string_view what) {
    one.report(Kind::kMemory,
               fmt::format("at {} s in {}: {}", time.to_seconds(), one.instance_text(i), what));
  };
  std::uint64_t needed = 0;
  for (const ScheduledRun* run : alive) {
    const auto& of_job = one.jobs()[run->job].memory;
    if (!of_job.has_value()) {
      if (alive.size() > 1) {
        memory(fmt::format("{} shares the memory, and how much it needs is not known",
                           one.job_text(run->job)));
      } else {
        return;
      }
    }
    const std::uint64_t more = of_job.value_or(Bytes()).value();
    needed = more > UINT64_MAX - needed ? UINT64_MAX : needed + more;
  }
  const std::optional<Bytes> there = memory_of(one, instance);
  if (!there.has_value() && !instance.placed.has_value() && alive.size() == 1) {
    return;  // its solo time says that it ran there
  }
  if (!there.has_value()) {
    memory("how much memory it has is not published, so no job can be shown to fit");
  } else if (Bytes(needed) > *there) {
    memory(fmt::format("{} MiB are needed by {} jobs, it has {} MiB",
                       Bytes(needed).whole_mebibytes(),
                       alive.size(),
                       there->whole_mebibytes()));
  }
}

void check_seats(Case& one, std::size_t i, SimTime time, int compute, const Runs& alive) {
  std::int64_t sum = 0;
  int count = 0;
  int limited = 0;
  for (const ScheduledRun* run : alive) {
    if (run->compute == compute) {
      ++count;
      limited += run->atp.has_value() ? 1 : 0;
      sum += run->atp.value_or(ActiveThreadPercentage(0)).value();
    }
  }
  const auto seat = [&](std::string_view what) {
    one.report(Kind::kSeat,
               fmt::format("at {} s in compute instance {} of {}: {}",
                           time.to_seconds(),
                           compute,
                           one.instance_text(i),
                           what));
  };
  if (sum > 100) {
    seat(fmt::format("the percentages of {} jobs add up to {}", limited, sum));
  }
  if (limited != 0 && limited != count) {
    seat(fmt::format("{} of {} jobs have a percentage; valid are all or none", limited, count));
  }
}

void check_sharing(Case& one, std::size_t i, const Runs& runs) {
  for (std::size_t a = 0; a < runs.size(); ++a) {
    for (std::size_t b = a + 1; b < runs.size(); ++b) {
      if (runs[a]->compute == runs[b]->compute && runs[a]->begin() < runs[b]->end() &&
          runs[b]->begin() < runs[a]->end() &&
          !may_share_mps(one.jobs()[runs[a]->job], one.jobs()[runs[b]->job], one.check().rules)) {
        one.report(Kind::kSharing,
                   fmt::format("{} and {} share an MPS server in {}; their users ({}, {}) or fault "
                               "domains ({}, {}) forbid it",
                               one.job_text(runs[a]->job),
                               one.job_text(runs[b]->job),
                               one.instance_text(i),
                               quoted_for_message(one.jobs()[runs[a]->job].user),
                               quoted_for_message(one.jobs()[runs[b]->job].user),
                               quoted_for_message(one.jobs()[runs[a]->job].trust),
                               quoted_for_message(one.jobs()[runs[b]->job].trust)));
      }
    }
  }
}

/// What jobs of one memory domain may not do together. Who runs there together changes for the
/// worse only where a run begins.
void check_domain(Case& one, std::size_t i) {
  const Runs runs = one.runs_of(i);
  std::set<SimTime> begins;
  for (const ScheduledRun* run : runs) {
    begins.insert(run->begin());
    if (run->atp.has_value() && (run->atp->value() < 1 || run->atp->value() > 100)) {
      one.report(Kind::kSeat,
                 fmt::format("{} has a percentage of {}; valid are 1 to 100",
                             one.job_text(run->job),
                             run->atp->value()));
    }
  }
  for (const SimTime time : begins) {
    const Runs alive = alive_at(runs, time);
    check_memory(one, i, time, alive);
    if (alive.size() > gpu::kSeatsMax) {
      one.report(Kind::kSeat,
                 fmt::format("at {} s {} jobs run in {}; valid are {}",
                             time.to_seconds(),
                             alive.size(),
                             one.instance_text(i),
                             gpu::kSeatsMax));
    }
    std::set<int> compute;
    for (const ScheduledRun* run : alive) {
      if (compute.insert(run->compute).second) {
        check_seats(one, i, time, run->compute, alive);
      }
    }
  }
  check_sharing(one, i, runs);
}

/// Where, within a piece, the company of a run may change: ascending, both ends of the piece among
/// them.
std::vector<SimTime> times_within(const RatePiece& piece, const Runs& runs) {
  std::set<SimTime> times = {piece.from, piece.until};
  for (const ScheduledRun* run : runs) {
    for (const SimTime time : {run->begin(), run->end()}) {
      if (piece.from < time && time < piece.until) {
        times.insert(time);
      }
    }
  }
  return {times.begin(), times.end()};
}

/// The rate of `run` among `company`, itself included (1 to gpu::kSeatsMax).
double rate_among(const Case& one, const ScheduledRun& run, const Runs& company) {
  std::vector<ScheduleClient> clients;
  std::size_t self = 0;
  for (const ScheduledRun* other : company) {
    self = other == &run ? clients.size() : self;
    clients.push_back({.job = other->job, .compute = other->compute, .atp = other->atp});
  }
  std::vector<double> rates(clients.size());
  one.check().rates(one.schedule().instances[run.instance], clients, rates);
  return rates[self];
}

void check_rates_of(Case& one, const ScheduledRun& run, const Runs& runs) {
  for (const RatePiece& piece : run.pieces) {
    const std::vector<SimTime> times = times_within(piece, runs);
    for (std::size_t t = 0; t + 1 < times.size(); ++t) {
      const bool is_at_begin = one.check().company == ScheduleCheck::Company::kAtBegin;
      const Runs company = alive_at(runs, is_at_begin ? run.begin() : times[t]);
      const double rate = rate_among(one, run, company);
      // Not-within rather than beyond: also catches NaN.
      if (!(std::abs(piece.rate - rate) <= kRateTolerance * std::abs(rate))) {
        one.report(Kind::kRate,
                   fmt::format("{} has the rate {} from {} s on in {}, where the model says {}",
                               one.job_text(run.job),
                               piece.rate,
                               times[t].to_seconds(),
                               one.instance_text(run.instance),
                               rate));
        break;
      }
    }
  }
}

}  // namespace

void check_domains(Case& one) {
  for (std::size_t i = 0; i < one.schedule().instances.size(); ++i) {
    check_domain(one, i);
  }
}

void check_rates(Case& one) {
  if (!one.check().rates) {
    return;
  }
  for (std::size_t i = 0; i < one.schedule().instances.size(); ++i) {
    const Runs runs = one.runs_of(i);
    for (const ScheduledRun* run : runs) {
      check_rates_of(one, *run, runs);
    }
  }
}

}  // namespace septule::plan::schedule_checks
