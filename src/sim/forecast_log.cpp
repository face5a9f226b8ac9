#include "sim/forecast_log.hpp"

#include <algorithm>

namespace septule::sim {

namespace {

/// Whether the slot's job has an instance to itself, with all threads.
bool is_alone(const sched::GpuGoal& goal, const sched::Slot& slot) {
  return goal.purpose == sched::GoalPurpose::kRun && slot.instance != sched::Slot::kWholeGpu &&
         slot.atp.value() == 100 &&
         std::ranges::count(goal.slots, slot.instance, &sched::Slot::instance) == 1;
}

}  // namespace

void ForecastLog::decided(SimTime time,
                          const sched::SetGoal& decision,
                          const predict::Predictor& predictor) {
  for (const sched::Slot& slot : decision.goal.slots) {
    if (!is_alone(decision.goal, slot)) {
      stays_.erase(slot.job);
      continue;
    }
    const gpu::PlacedProfile& placed =
        decision.goal.instances[static_cast<std::size_t>(slot.instance)];
    const auto known = stays_.find(slot.job);
    // Segments are told when they end: whether it runs there already is not known here.
    if (known != stays_.end() && known->second.gpu == decision.gpu &&
        known->second.placed == placed) {
      continue;
    }
    const predict::SpeedRow* speeds = predictor.speeds(slot.job);
    const double believed = speeds == nullptr ? 0 : speeds->on(placed.profile);
    stays_[slot.job] = {
        decision.gpu, placed, time, believed > 0 ? std::optional(believed) : std::nullopt, false};
  }
}

void ForecastLog::on_segment(const JobSegment& segment) {
  const auto found = stays_.find(segment.job);
  if (found != stays_.end() && segment.state == job::JobState::kRunning && segment.rate > 0 &&
      segment.place.has_value() && segment.place->gpu == found->second.gpu &&
      segment.place->instance == found->second.placed && !found->second.has_run) {
    Stay& stay = found->second;
    stay.has_run = true;
    if (stay.believed.has_value()) {
      forecasts_.push_back({segment.job,
                            geometry_->profile(stay.placed.profile).slices,
                            stay.decided,
                            segment.begin,
                            *stay.believed,
                            segment.rate});
    }
  }
  if (next_ != nullptr) {
    next_->on_segment(segment);
  }
}

void ForecastLog::on_end(job::JobId job, SimTime time) {
  stays_.erase(job);
  if (next_ != nullptr) {
    next_->on_end(job, time);
  }
}

}  // namespace septule::sim
