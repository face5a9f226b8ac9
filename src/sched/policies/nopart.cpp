#include "sched/policies/nopart.hpp"

#include "base/check.hpp"

namespace septule::sched {

NopartPolicy::NopartPolicy(const PolicySetup& setup)
    : free_(static_cast<std::size_t>(setup.gpu_count)) {
  for (int gpu = 0; gpu < setup.gpu_count; ++gpu) {
    free_.insert(static_cast<std::size_t>(gpu));
  }
}

void NopartPolicy::decide(const ClusterView& view,
                          std::span<const Event> events,
                          const PolicyContext& /*context*/,
                          Decisions& out) {
  for (const Event& event : events) {
    if (const auto* ended = std::get_if<JobEnded>(&event); ended != nullptr) {
      gangs_.release(*ended, [&](GpuId gpu) { refresh(view, gpu); });
    } else if (const auto* troubled = std::get_if<GpuTroubled>(&event); troubled != nullptr) {
      refresh(view, troubled->gpu);
    }
  }
  for (const ClusterView::QueueKey& key : view.queue()) {
    const job::JobSpec& spec = *view.job(key.job).spec;
    if (free_.size() < static_cast<std::size_t>(spec.gpus)) {
      return;
    }
    place(spec, out);
  }
}

void NopartPolicy::refresh(const ClusterView& view, GpuId gpu) {
  const auto index = static_cast<std::size_t>(gpu.value());
  if (view.gpu(gpu).goal.slots.empty()) {
    free_.insert(index);
  } else {
    free_.erase(index);
  }
}

void NopartPolicy::place(const job::JobSpec& spec, Decisions& out) {
  GpuGoal goal;
  goal.mode = GpuGoal::Mode::kWholeGpu;
  goal.slots.push_back({.job = spec.id});
  if (spec.gpus > 1) {
    gangs_.start(spec.id);
  }
  for (int i = 0; i < spec.gpus; ++i) {
    const std::size_t index = checked_value(free_.first(), "free GPUs were counted before");
    const GpuId gpu(static_cast<int>(index));
    free_.erase(index);
    out.goals.push_back({.gpu = gpu, .goal = goal, .reason = "arrival"});
    if (spec.gpus > 1) {
      gangs_.add(spec.id, gpu);
    }
  }
}

std::unique_ptr<Policy> make_nopart(const PolicySetup& setup) {
  return std::make_unique<NopartPolicy>(setup);
}

}  // namespace septule::sched
