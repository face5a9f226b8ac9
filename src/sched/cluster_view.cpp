#include "sched/cluster_view.hpp"

#include <algorithm>

#include <climits>

#include "base/check.hpp"

namespace septule::sched {

namespace {

using State = JobView::State;

ClusterView::QueueKey key_of(const job::JobSpec& spec) {
  // Negated so that the most urgent comes first; the smallest integer has no opposite.
  return {.negative_priority = -std::max(spec.priority, -INT_MAX), .job = spec.id};
}

void enter(JobView& job, State state, SimTime now) {
  if (job.state != state) {
    job.state = state;
    job.since = now;
  }
}

}  // namespace

ClusterView::ClusterView(const gpu::Geometry& geometry, int gpu_count, int jobs_max)
    : geometry_(&geometry),
      gpus_(static_cast<std::size_t>(std::max(gpu_count, 0))),
      jobs_(static_cast<std::size_t>(std::max(jobs_max, 0))) {}

void ClusterView::submit(const job::JobSpec& spec, SimTime now) {
  JobView& job = mutable_job(spec.id);
  SEPTULE_CHECK(job.state == State::kUnsubmitted, "a job is submitted once");
  job.spec = &spec;
  enter(job, State::kWaiting, now);
  queue_.insert(key_of(spec));
}

void ClusterView::reject(job::JobId id, SimTime now) {
  JobView& job = mutable_job(id);
  SEPTULE_CHECK(job.state == State::kWaiting, "only a waiting job is rejected");
  queue_.erase(key_of(*job.spec));
  enter(job, State::kRejected, now);
}

void ClusterView::apply(const Event& event, SimTime now) {
  if (const auto* ended = std::get_if<JobEnded>(&event); ended != nullptr) {
    end(ended->job, now);
  } else if (const auto* ready = std::get_if<GpuReady>(&event); ready != nullptr) {
    // The jobs of a characterisation run start too, but it lasts until it is reported over.
    if (gpu(ready->gpu).phase != GpuPhase::kCharacterising) {
      set_phase(ready->gpu, GpuPhase::kStarting, now);
    }
  } else if (const auto* settled = std::get_if<GpuSettled>(&event); settled != nullptr) {
    set_phase(settled->gpu, GpuPhase::kSettled, now);
  } else if (const auto* seen = std::get_if<GpuCharacterised>(&event); seen != nullptr) {
    set_phase(seen->gpu, GpuPhase::kSettled, now);
  }
  // The others change nothing that a policy may see here: the job was entered by submit(), its
  // speed is the predictor's, trouble leaves the GPU as it is.
}

void ClusterView::end(job::JobId id, SimTime now) {
  JobView& job = mutable_job(id);
  SEPTULE_CHECK(job.state == State::kPlaced || job.state == State::kWaiting,
                "a job that ends was submitted and has not ended");
  if (job.state == State::kWaiting) {
    // Preempted, but it finished before it could be saved.
    queue_.erase(key_of(*job.spec));
  } else if (job.spec->gpus > 1) {
    for (auto place = gang_places_.lower_bound({.job = id, .gpu = GpuId()});
         place != gang_places_.end() && place->job == id;
         place = gang_places_.erase(place)) {
      mutable_gpu(place->gpu).goal.remove(id);
    }
  } else {
    mutable_gpu(job.gpu).goal.remove(id);
  }
  enter(job, State::kEnded, now);
}

void ClusterView::set_goal(GpuId gpu, const GpuGoal& goal, SimTime now) {
  GpuView& view = mutable_gpu(gpu);
  for (const Slot& slot : view.goal.slots) {
    const JobView& job = mutable_job(slot.job);
    if (job.spec->gpus > 1 && goal.find(slot.job) == nullptr) {
      gang_places_.erase({.job = slot.job, .gpu = gpu});
      refresh_gang(slot.job);
    }
  }
  view.goal = goal;
  for (const Slot& slot : goal.slots) {
    JobView& job = mutable_job(slot.job);
    SEPTULE_CHECK(job.state == State::kWaiting || job.state == State::kPlaced,
                  "a goal names jobs that wait or are placed");
    if (job.state == State::kWaiting) {
      queue_.erase(key_of(*job.spec));
    }
    if (!job.was_placed) {
      job.was_placed = true;
      job.placed_first = now;
    }
    enter(job, State::kPlaced, now);
    if (job.spec->gpus > 1) {
      gang_places_.insert({.job = slot.job, .gpu = gpu});
      refresh_gang(slot.job);
    } else {
      job.gpu = gpu;
    }
  }
}

void ClusterView::refresh_gang(job::JobId id) {
  const auto first = gang_places_.lower_bound({.job = id, .gpu = GpuId()});
  if (first != gang_places_.end() && first->job == id) {
    mutable_job(id).gpu = first->gpu;
  }
}

void ClusterView::set_phase(GpuId gpu, GpuPhase phase, SimTime now) {
  GpuView& view = mutable_gpu(gpu);
  if (view.phase != phase) {
    view.phase = phase;
    view.phase_since = now;
  }
}

bool ClusterView::is_placed(job::JobId id) const {
  const JobView& view = job(id);
  return view.state == State::kPlaced && gpu(view.gpu).goal.find(id) != nullptr;
}

std::vector<GpuId> ClusterView::gpus_of(job::JobId id) const {
  std::vector<GpuId> gpus;
  const JobView& view = job(id);
  if (view.spec != nullptr && view.spec->gpus > 1) {
    for (auto place = gang_places_.lower_bound({.job = id, .gpu = GpuId()});
         place != gang_places_.end() && place->job == id;
         ++place) {
      gpus.push_back(place->gpu);
    }
  } else if (is_placed(id)) {
    gpus.push_back(view.gpu);
  }
  return gpus;
}

void ClusterView::requeue(job::JobId id, SimTime now) {
  JobView& job = mutable_job(id);
  SEPTULE_CHECK(job.state == State::kPlaced && !is_placed(id),
                "only a job that every goal leaves out goes back to the queue");
  queue_.insert(key_of(*job.spec));
  enter(job, State::kWaiting, now);
}

}  // namespace septule::sched
