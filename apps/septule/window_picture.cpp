#include "septule/window_picture.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/layout.hpp"
#include "report/svg_plot_timeline.hpp"

namespace septule::app {

namespace {

using plan::ScheduledInstance;
using plan::ScheduledRun;
using Use = job::TimelineSpan::Use;

/// Every time at which something begins or ends, ascending, each once.
std::vector<SimTime> moments(const plan::Schedule& schedule) {
  std::vector<SimTime> out;
  for (const ScheduledInstance& instance : schedule.instances) {
    for (const SimTime at :
         {instance.create_begin, instance.usable_from, instance.usable_until, instance.gone_at}) {
      out.push_back(at);
    }
  }
  for (const ScheduledRun& run : schedule.runs) {
    out.push_back(run.begin());
    out.push_back(run.end());
  }
  std::ranges::sort(out);
  const auto twice = std::ranges::unique(out);
  out.erase(twice.begin(), twice.end());
  return out;
}

Use place_of(const gpu::Geometry& geometry, const ScheduledInstance& instance) {
  if (!instance.placed.has_value()) {
    return {.start = 0, .size = geometry.memory_slices().value()};
  }
  const gpu::Placement place = gpu::placement_of(geometry, *instance.placed);
  return {.start = place.start.value(), .size = place.size.value()};
}

job::TimelineSpan span_of(const plan::Schedule& schedule, SimTime begin, SimTime end) {
  job::TimelineSpan span{.begin = begin, .end = end};
  for (std::size_t i = 0; i < schedule.instances.size(); ++i) {
    const ScheduledInstance& instance = schedule.instances[i];
    const bool is_changing = (instance.create_begin <= begin && end <= instance.usable_from) ||
                             (instance.usable_until <= begin && end <= instance.gone_at);
    span.is_reconfiguring = span.is_reconfiguring || is_changing;
    if (begin < instance.usable_from || end > instance.usable_until) {
      continue;
    }
    const std::size_t before = span.uses.size();
    for (const ScheduledRun& run : schedule.runs) {
      if (run.instance == i && run.begin() <= begin && end <= run.end()) {
        span.uses.push_back(place_of(*schedule.geometry, instance));
        span.uses.back().job = job::JobId(static_cast<int>(run.job));
      }
    }
    if (span.uses.size() == before) {
      span.uses.push_back(place_of(*schedule.geometry, instance));
    }
  }
  std::ranges::sort(span.uses, [](const Use& a, const Use& b) {
    return std::tuple(a.start, a.job) < std::tuple(b.start, b.job);
  });
  return span;
}

}  // namespace

std::string window_picture(const WindowQuestion& question, const WindowFinding& finding) {
  const plan::Schedule& schedule = finding.answer.schedule;
  report::RepresentativeRun run;
  const std::vector<SimTime> times = moments(schedule);
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    run.run.timeline.push_back(span_of(schedule, times[i], times[i + 1]));
  }
  run.run.gpu_count = 1;
  for (const plan::WindowJob& job : question.problem.jobs) {
    run.job_names.push_back(job.name);
  }
  for (const ScheduledRun& of : schedule.runs) {
    if (of.atp.has_value()) {
      run.job_names[of.job] += fmt::format(" ({} %)", of.atp->value());
    }
  }
  report::TimelineDrawing drawing = report::svg_timeline(
      run,
      {{.label = fmt::format("GPU {}", question.gpu.index.value()),
        .memory_slices = question.geometry->memory_slices()}},
      {.title = fmt::format(
           "A window of {} jobs by {}", question.problem.jobs.size(), finding.answer.method),
       .id = "window",
       .end = SimTime() + schedule.makespan,
       .tags = report::TimelineTags::kNames},
      report::Embedding::kStandalone);
  if (!drawing.left_out.empty()) {
    say_note(fmt::format("the drawing leaves out {}", drawing.left_out));
  }
  return std::move(drawing.svg);
}

}  // namespace septule::app
