#include "plan/schedule.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace septule::plan {
namespace {

std::string instance_line(const Schedule& schedule, const ScheduledInstance& instance) {
  std::string name = "whole GPU";
  if (instance.placed.has_value()) {
    const int index = instance.placed->profile.value();
    const bool is_known = schedule.geometry != nullptr && index >= 0 &&
                          std::cmp_less(index, schedule.geometry->profiles().size());
    name = is_known ? gpu::instance_text(
                          *schedule.geometry,
                          {.placed = *instance.placed, .compute_instances = instance.compute})
                    : fmt::format("profile #{}@{}", index, instance.placed->start.value());
  }
  return fmt::format("{} {} s - {} s - {} s - {} s\n",
                     name,
                     instance.create_begin.to_seconds(),
                     instance.usable_from.to_seconds(),
                     instance.usable_until.to_seconds(),
                     instance.gone_at.to_seconds());
}

std::string run_line(const ScheduledRun& run, std::span<const WindowJob> jobs) {
  std::string text = "  ";
  text += run.job < jobs.size() ? quoted_for_message(jobs[run.job].name)
                                : fmt::format("job #{}", run.job);
  if (run.compute != 0) {
    text += fmt::format(" compute {}", run.compute);
  }
  for (const RatePiece& piece : run.pieces) {
    text += fmt::format(
        " {} s - {} s x {}", piece.from.to_seconds(), piece.until.to_seconds(), piece.rate);
  }
  if (run.atp.has_value()) {
    text += fmt::format(" ({} %)", run.atp->value());
  }
  return text + "\n";
}

}  // namespace

void finish_schedule(Schedule& schedule) {
  std::ranges::sort(schedule.runs, {}, &ScheduledRun::job);
  SimTime last;
  for (const ScheduledRun& run : schedule.runs) {
    last = std::max(last, run.end());
  }
  schedule.makespan = last - SimTime();
  schedule.recutting = Duration();
  for (ScheduledInstance& instance : schedule.instances) {
    if (instance.usable_until.is_never()) {
      instance.usable_until = std::max(last, instance.usable_from);
    }
    if (instance.gone_at.is_never()) {
      instance.gone_at = std::max(last, instance.usable_until);
    }
    schedule.recutting += instance.usable_from - instance.create_begin;
    schedule.recutting += instance.gone_at - instance.usable_until;
  }
}

std::string schedule_text(const Schedule& schedule, std::span<const WindowJob> jobs) {
  std::string text;
  for (std::size_t i = 0; i < schedule.instances.size(); ++i) {
    text += instance_line(schedule, schedule.instances[i]);
    for (const ScheduledRun& run : schedule.runs) {
      if (run.instance == i) {
        text += run_line(run, jobs);
      }
    }
  }
  for (const ScheduledRun& run : schedule.runs) {
    if (run.instance >= schedule.instances.size()) {
      text += fmt::format("instance #{}\n{}", run.instance, run_line(run, jobs));
    }
  }
  return text;
}

}  // namespace septule::plan
