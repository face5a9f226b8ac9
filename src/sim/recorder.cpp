#include "sim/recorder.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "sim/recorder_sweep.hpp"

namespace septule::sim {

namespace {

constexpr double kRateUnits = 1e9;

template <class T>
bool holds(const T& list, const gpu::PlacedProfile& placed) {
  return std::ranges::find(list, placed) != list.end();
}

/// Means over `parts` equal parts of [0, end) of a series of steps.
std::vector<job::SeriesPoint> part_means(const std::vector<job::SeriesPoint>& points,
                                         SimTime end,
                                         std::size_t parts) {
  std::vector<job::SeriesPoint> means(parts);
  const double width = static_cast<double>(end.to_nanoseconds()) / static_cast<double>(parts);
  for (std::size_t part = 0; part < parts; ++part) {
    means[part].time =
        SimTime::nanoseconds(static_cast<std::int64_t>(width * static_cast<double>(part)));
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const SimTime until = i + 1 < points.size() ? points[i + 1].time : end;
    auto from = static_cast<double>(points[i].time.to_nanoseconds());
    const auto to = static_cast<double>(std::min(until, end).to_nanoseconds());
    for (auto part = static_cast<std::size_t>(from / width); part < parts && from < to; ++part) {
      const double stop = std::min(to, width * static_cast<double>(part + 1));
      const double share = std::max(stop - from, 0.0) / width;
      means[part].queue += share * points[i].queue;
      means[part].stp += share * points[i].stp;
      means[part].busy_slices += share * points[i].busy_slices;
      from = std::max(from, stop);
    }
  }
  return means;
}

}  // namespace

RunRecorder::RunRecorder(const gpu::Geometry& geometry,
                         const job::Workload& workload,
                         const Options& options)
    : geometry_(&geometry), workload_(&workload), options_(options) {}

void RunRecorder::on_segment(const JobSegment& segment) {
  const std::size_t index = segments_.size();
  segments_.push_back(segment);
  if (segment.place) {
    const auto gang = gang_gpus_.find(segment.job);
    if (gang == gang_gpus_.end()) {
      gpus_[segment.place->gpu].stays.push_back(index);
    } else {
      for (const GpuId gpu : gang->second) {
        gpus_[gpu].stays.push_back(index);
      }
    }
  }
  if (is_told(segment.job) && segment.begin < segment.end) {
    story_.push_back({segment.begin, segment_text(segment)});
  }
  if (options_.next.jobs != nullptr) {
    options_.next.jobs->on_segment(segment);
  }
}

void RunRecorder::on_end(job::JobId job, SimTime time) {
  if (is_told(job)) {
    story_.push_back({time, "done"});
  }
  if (options_.next.jobs != nullptr) {
    options_.next.jobs->on_end(job, time);
  }
}

void RunRecorder::settle(GpuId id, SimTime time) {
  Gpu& gpu = gpus_[id];
  gpu.cuts.push_back({time, gpu.wanted, false});
}

void RunRecorder::on_event(SimTime time, const sched::Event& event) {
  if (const auto* ready = std::get_if<sched::GpuReady>(&event)) {
    settle(ready->gpu, time);
  } else if (const auto* submitted = std::get_if<sched::JobSubmitted>(&event);
             submitted != nullptr && is_told(submitted->job)) {
    story_.push_back({time, "submission noticed"});
  } else if (const auto* changed = std::get_if<sched::JobSpeedChanged>(&event);
             changed != nullptr && is_told(changed->job)) {
    story_.push_back({time, fmt::format("speed changes by a factor of {:.3f}", changed->factor)});
  }
  if (options_.next.control != nullptr) {
    options_.next.control->on_event(time, event);
  }
}

void RunRecorder::on_goal(SimTime time, const sched::SetGoal& decision) {
  if (options_.story_of && decision.goal.find(*options_.story_of) != nullptr) {
    story_.push_back({time,
                      fmt::format("decision ({}): GPU {} becomes {}",
                                  decision.reason,
                                  decision.gpu.value(),
                                  sched::goal_text(*geometry_, decision.goal))});
  }
  for (const sched::Slot& slot : decision.goal.slots) {
    if (workload_->jobs[static_cast<std::size_t>(slot.job.value())].gpus > 1) {
      std::vector<GpuId>& gpus = gang_gpus_[slot.job];
      if (std::ranges::find(gpus, decision.gpu) == gpus.end()) {
        gpus.push_back(decision.gpu);
      }
    }
  }
  if (options_.next.control != nullptr) {
    options_.next.control->on_goal(time, decision);
  }
}

void RunRecorder::on_order(SimTime time, const control::GpuOrder& order) {
  Gpu& gpu = gpus_[order.gpu];
  if (gpu.wanted != order.goal.instances) {
    Cut cut{time, {}, true};
    for (const gpu::PlacedProfile& placed : gpu.wanted) {
      if (holds(order.goal.instances, placed)) {
        cut.instances.push_back(placed);
      }
    }
    gpu.cuts.push_back(cut);
    gpu.wanted = order.goal.instances;
  }
  if (options_.next.control != nullptr) {
    options_.next.control->on_order(time, order);
  }
}

void RunRecorder::on_refusal(SimTime time, const std::string& why) {
  if (options_.next.control != nullptr) {
    options_.next.control->on_refusal(time, why);
  }
}

void RunRecorder::on_requeue(SimTime time, job::JobId job) {
  gang_gpus_.erase(job);
  if (is_told(job)) {
    story_.push_back({time, "goes back to the queue"});
  }
  if (options_.next.control != nullptr) {
    options_.next.control->on_requeue(time, job);
  }
}

void RunRecorder::on_reject(SimTime time, job::JobId job) {
  if (is_told(job)) {
    story_.push_back({time, "rejected: it fits no GPU of the cluster"});
  }
  if (options_.next.control != nullptr) {
    options_.next.control->on_reject(time, job);
  }
}

void RunRecorder::sweep_gpus(job::RunRecord& run, std::vector<Change>& changes) const {
  for (const auto& [id, gpu] : gpus_) {
    GpuSweep sweep(*geometry_, id);
    for (const std::size_t stay : gpu.stays) {
      sweep.add(segments_[stay]);
    }
    for (const Cut& cut : gpu.cuts) {
      sweep.add({cut.time, {cut.instances.begin(), cut.instances.end()}, cut.is_reconfiguring});
    }
    const GpuHistory history = sweep.run(run.makespan);
    int busy = 0;
    for (const BusySlices& at : history.busy) {
      changes.push_back({at.time, 0, 0, at.slices - busy});
      busy = at.slices;
    }
    if (id.value() < options_.timeline_gpus_max) {
      run.timeline.insert(run.timeline.end(), history.spans.begin(), history.spans.end());
    }
  }
}

void RunRecorder::add_job_changes(std::vector<Change>& changes) const {
  for (const JobSegment& segment : segments_) {
    const int queue = segment.state == job::JobState::kWaiting ? 1 : 0;
    const int gpus = workload_->jobs[static_cast<std::size_t>(segment.job.value())].gpus;
    const std::int64_t rate = std::llround(segment.rate * kRateUnits) * gpus;
    if (queue != 0 || rate != 0) {
      changes.push_back({segment.begin, queue, rate, 0});
      changes.push_back({segment.end, -queue, -rate, 0});
    }
  }
}

std::vector<job::SeriesPoint> RunRecorder::series(std::vector<Change> changes, SimTime end) const {
  std::ranges::stable_sort(changes, {}, &Change::time);
  std::vector<job::SeriesPoint> points;
  std::int64_t queue = 0;
  std::int64_t rate = 0;
  std::int64_t busy = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    queue += changes[i].queue;
    rate += changes[i].rate;
    busy += changes[i].busy_slices;
    if (i + 1 < changes.size() && changes[i + 1].time == changes[i].time) {
      continue;
    }
    points.push_back({changes[i].time,
                      static_cast<double>(queue),
                      static_cast<double>(rate) / kRateUnits,
                      static_cast<double>(busy)});
  }
  const bool is_long = points.size() > options_.series_points_max && end > SimTime();
  return is_long ? part_means(points, end, options_.series_points_max) : points;
}

void RunRecorder::finish(job::RunRecord& run) const {
  std::vector<Change> changes;
  run.timeline.clear();
  sweep_gpus(run, changes);
  add_job_changes(changes);
  run.series = series(std::move(changes), run.makespan);
}

std::vector<StoryEvent> RunRecorder::story() const {
  std::vector<StoryEvent> sorted = story_;
  std::ranges::stable_sort(sorted, {}, &StoryEvent::time);
  return sorted;
}

std::string RunRecorder::place_text(const JobSegment& segment) const {
  if (!segment.place) {
    return "no GPU";
  }
  std::string text = fmt::format("GPU {}", segment.place->gpu.value());
  const auto gang = gang_gpus_.find(segment.job);
  if (gang != gang_gpus_.end()) {
    text = "GPUs";
    for (const GpuId gpu : gang->second) {
      text += fmt::format(" {}", gpu.value());
    }
  }
  if (segment.place->instance) {
    text += fmt::format(", {}@{}",
                        geometry_->profile(segment.place->instance->profile).name,
                        segment.place->instance->start.value());
  }
  // The percentages of a characterisation run change under way: its decision tells them.
  if (segment.state == job::JobState::kRunning && segment.place->atp.value() < 100) {
    text += fmt::format(", {} % of the threads", segment.place->atp.value());
  }
  return text;
}

std::string RunRecorder::segment_text(const JobSegment& segment) const {
  const std::string where = place_text(segment);
  const std::string length = fmt::format("{:.3f} s", (segment.end - segment.begin).to_seconds());
  switch (segment.state) {
    case job::JobState::kWaiting:
      return fmt::format("waits for {}", length);
    case job::JobState::kStarting:
      return fmt::format("starts on {}: {} to the first step", where, length);
    case job::JobState::kCharacterising:
      return fmt::format(
          "is measured on {} for {}, at {:.3f} of its speed alone", where, length, segment.rate);
    case job::JobState::kRunning:
      return fmt::format(
          "runs on {} for {}, at {:.3f} of its speed alone", where, length, segment.rate);
    case job::JobState::kStopping:
      return fmt::format("saves a checkpoint on {}: {}", where, length);
    case job::JobState::kStopped:
      return fmt::format("stands still for {} while GPUs are re-cut", length);
    case job::JobState::kUnsubmitted:
    case job::JobState::kDone:
    case job::JobState::kRejected:
      break;
  }
  return fmt::format("{} for {}", job::job_state_name(segment.state), length);
}

}  // namespace septule::sim
