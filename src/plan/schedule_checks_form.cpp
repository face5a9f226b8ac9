// Whether a schedule can be looked at at all.
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "plan/schedule_checks.hpp"

namespace septule::plan::schedule_checks {
namespace {

bool is_in_range(SimTime time) {
  return time >= SimTime() && time <= SimTime() + kScheduleTimeMax;
}

void check_instance_form(Case& one, std::size_t i) {
  const ScheduledInstance& instance = one.schedule().instances[i];
  if (!is_in_range(instance.create_begin) || instance.usable_from < instance.create_begin ||
      instance.usable_until < instance.usable_from || instance.gone_at < instance.usable_until ||
      !is_in_range(instance.gone_at)) {
    one.report(Kind::kMalformed,
               fmt::format("the times of instance {} ({}, {}, {} and {} s) do not ascend from 0",
                           i,
                           instance.create_begin.to_seconds(),
                           instance.usable_from.to_seconds(),
                           instance.usable_until.to_seconds(),
                           instance.gone_at.to_seconds()));
  }
  if (!instance.placed.has_value() && !instance.compute.empty()) {
    one.report(
        Kind::kMalformed,
        fmt::format("instance {} is the whole GPU with MIG off, but has compute instances", i));
  }
}

void check_run_form(Case& one, std::size_t r) {
  const ScheduledRun& run = one.schedule().runs[r];
  const auto malformed = [&](std::string_view what) {
    one.report(Kind::kMalformed, fmt::format("run {}: {}", r, what));
  };
  if (run.job >= one.jobs().size()) {
    malformed(fmt::format("names job {} of {}", run.job, one.jobs().size()));
  }
  if (r > 0 && run.job < one.schedule().runs[r - 1].job) {
    malformed("runs are not ordered by job");
  }
  if (run.instance >= one.schedule().instances.size()) {
    malformed(
        fmt::format("names instance {} of {}", run.instance, one.schedule().instances.size()));
  } else {
    const ScheduledInstance& instance = one.schedule().instances[run.instance];
    const std::size_t count = instance.placed.has_value() ? instance.compute.size() : 1;
    if (run.compute < 0 || std::cmp_greater_equal(run.compute, count)) {
      malformed(fmt::format("names compute instance {} of {}", run.compute, count));
    }
  }
  if (run.pieces.empty()) {
    malformed("it has no pieces");
  }
  for (std::size_t p = 0; p < run.pieces.size(); ++p) {
    const RatePiece& piece = run.pieces[p];
    if (!is_in_range(piece.from) || !is_in_range(piece.until) || piece.until <= piece.from) {
      malformed(fmt::format("piece {} lasts from {} s to {} s",
                            p,
                            piece.from.to_seconds(),
                            piece.until.to_seconds()));
    }
    if (p > 0 && piece.from != run.pieces[p - 1].until) {
      malformed(fmt::format("piece {} does not begin where the one before ends", p));
    }
    if (!(piece.rate > 0) || !std::isfinite(piece.rate)) {
      malformed(fmt::format("piece {} has the rate {}, which is not above 0", p, piece.rate));
    }
  }
}

void check_group_form(Case& one, std::size_t g) {
  const ScheduledGroup& group = one.schedule().groups[g];
  if (!is_in_range(group.begin) || !is_in_range(group.end) || group.end < group.begin) {
    one.report(Kind::kMalformed,
               fmt::format("group {} lasts from {} s to {} s",
                           g,
                           group.begin.to_seconds(),
                           group.end.to_seconds()));
  }
  for (std::size_t k = 0; k < group.jobs.size(); ++k) {
    if (group.jobs[k] >= one.jobs().size()) {
      one.report(Kind::kMalformed,
                 fmt::format("group {} names job {} of {}", g, group.jobs[k], one.jobs().size()));
    }
    if (k > 0 && group.jobs[k] <= group.jobs[k - 1]) {
      one.report(Kind::kMalformed, fmt::format("the jobs of group {} do not ascend", g));
    }
  }
}

}  // namespace

void check_form(Case& one) {
  if (one.schedule().geometry == nullptr) {
    one.report(Kind::kMalformed, "the schedule has no geometry");
  }
  if (!(one.check().rules.fairness >= 0 && one.check().rules.fairness <= 1)) {
    one.report(Kind::kMalformed,
               fmt::format("fairness is {}; valid are 0 to 1", one.check().rules.fairness));
  }
  for (std::size_t j = 0; j < one.jobs().size(); ++j) {
    if (one.jobs()[j].solo <= Duration() || one.jobs()[j].solo > kScheduleTimeMax) {
      one.report(Kind::kMalformed,
                 fmt::format("{} has a solo time of {} s, which is not above 0 or too long",
                             one.job_text(j),
                             one.jobs()[j].solo.to_seconds()));
    }
  }
  for (std::size_t i = 0; i < one.schedule().instances.size(); ++i) {
    check_instance_form(one, i);
  }
  for (std::size_t r = 0; r < one.schedule().runs.size(); ++r) {
    check_run_form(one, r);
  }
  for (std::size_t g = 0; g < one.schedule().groups.size(); ++g) {
    check_group_form(one, g);
  }
}

}  // namespace septule::plan::schedule_checks
