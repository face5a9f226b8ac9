// The loop of the public artifact's controller (Setting::kArtifact, Pass::kOneByOne).
#include <algorithm>
#include <variant>

#include "sched/policies/repartitioning.hpp"

namespace septule::sched {

namespace {
/// No job comes to a GPU within so long of its last checkpoint (whole seconds, more than 3).
constexpr Duration kGuard = Duration::milliseconds(4000);
}  // namespace

/// The next thing to do of the artifact's loop, which acts at once on each: who waited already;
/// departures, if nobody waits any more; those who came meanwhile; characterisation runs that are
/// over. Nothing decided = the pass is over, and the next call begins another.
void RepartitioningPolicy::take_next_step(Call& call, std::span<const Event> events) {
  for (const Event& event : events) {
    if (const auto* submitted = std::get_if<JobSubmitted>(&event); submitted != nullptr) {
      known_jobs_ = std::max(known_jobs_, submitted->job.value() + 1);
    }
  }
  for (const GpuId gpu : touched_) {
    GpuState& its = state(gpu);
    if (its.is_characterised) {
      its.is_characterised = false;
      finished_runs_.insert(static_cast<std::size_t>(gpu.value()));
    } else if (its.is_dirty) {
      postponed_.insert(static_cast<std::size_t>(gpu.value()));
    }
    refresh(call, gpu);
    if (finished_runs_.contains(static_cast<std::size_t>(gpu.value()))) {
      index_.erase(gpu);
    }
  }
  // What happens in the middle of a pass may concern a part of it that is over.
  has_news_ = stage_ != Stage::kDepartures && (has_news_ || !events.empty());
  if (stage_ == Stage::kDepartures) {
    if (place_next(call) || settle_next(call)) {
      return;
    }
    stage_ = Stage::kArrivals;
    seen_jobs_ = known_jobs_;
  }
  if (stage_ == Stage::kArrivals) {
    if (place_next(call)) {
      return;
    }
    stage_ = Stage::kCharacterised;
  }
  if (!cut_next(call)) {
    end_pass(call);
  }
}

/// The artifact's loop turns for ever; ours asks to be called when something is left for the next.
void RepartitioningPolicy::end_pass(Call& call) {
  stage_ = Stage::kDepartures;
  next_gpu_ = 0;
  const bool is_unseen = known_jobs_ > seen_jobs_;
  const bool is_waited_for = !call.view.queue().empty() && !is_unseen;
  bool is_left = is_unseen || has_news_;
  for (auto at = postponed_.first(); at.has_value() && !is_waited_for && !is_left;
       at = postponed_.first_from(*at + 1)) {
    is_left = can_change(call.view.gpu(GpuId(static_cast<int>(*at))));
  }
  if (is_left) {
    call.out.wakes.push_back({.time = call.context.now + Duration::nanoseconds(1)});
  } else if (is_waited_for && guarded_until_ > call.context.now) {
    call.out.wakes.push_back({.time = guarded_until_});
  }
}

/// Places the head of the queue, if the pass has seen it.
bool RepartitioningPolicy::place_next(Call& call) {
  if (call.view.queue().empty()) {
    return false;
  }
  const job::JobId head = call.view.queue().begin()->job;
  if (head.value() >= seen_jobs_) {
    return false;
  }
  const job::JobSpec& spec = *call.view.job(head).spec;
  if (spec.gpus > 1) {
    return place_gang(call, spec);
  }
  const std::optional<GpuId> gpu = find_gpu_as_artifact(call, smallest_rank(call, head));
  return gpu.has_value() && place(call, *gpu, head);
}

/// find_gpu(), but for GPUs whose jobs have just been saved.
std::optional<GpuId> RepartitioningPolicy::find_gpu_as_artifact(const Call& call, int rank) {
  std::vector<GpuId> guarded;
  std::optional<GpuId> found = find_gpu(call, rank);
  while (found.has_value() && !call.view.gpu(*found).goal.slots.empty() &&
         call.context.now < state(*found).changed_at + kGuard) {
    guarded.push_back(*found);
    guarded_until_ = std::max(guarded_until_, state(*found).changed_at + kGuard);
    index_.erase(*found);
    found = find_gpu(call, rank);
  }
  for (const GpuId gpu : guarded) {
    refresh(call, gpu);
  }
  return found;
}

/// The next GPU, in order, on which a job has ended; none while a job waits that the pass has seen.
bool RepartitioningPolicy::settle_next(Call& call) {
  const auto& queue = call.view.queue();
  if (!queue.empty() && queue.begin()->job.value() < seen_jobs_) {
    return false;
  }
  for (auto at = postponed_.first_from(static_cast<std::size_t>(next_gpu_)); at.has_value();
       at = postponed_.first_from(*at + 1)) {
    const GpuId gpu(static_cast<int>(*at));
    if (!can_change(call.view.gpu(gpu)) || finished_runs_.contains(*at)) {
      continue;
    }
    next_gpu_ = gpu.value() + 1;
    postponed_.erase(*at);
    if (state(gpu).is_dirty) {
      optimise_again(call, gpu);
      if (!call.out.goals.empty()) {
        return true;
      }
    }
  }
  return false;
}

/// The next characterisation run that is over.
bool RepartitioningPolicy::cut_next(Call& call) {
  const auto at = finished_runs_.first();
  if (!at.has_value()) {
    return false;
  }
  finished_runs_.erase(*at);
  end_characterisation(call, GpuId(static_cast<int>(*at)));
  return true;
}

/// For the jobs of a characterisation run the partition is decided when it begins. A job that comes
/// to an empty GPU finds the whole profile there: nothing is reset.
void RepartitioningPolicy::note_change(const Call& call, GpuId gpu) {
  GpuState& its = state(gpu);
  its.changed_at = call.context.now;
  its.pending.clear();
  if (goal_.purpose == GoalPurpose::kCharacterise) {
    for (const Slot& slot : goal_.slots) {
      its.pending.push_back(slot.job);
    }
  }
  const GpuGoal& now = call.view.gpu(gpu).goal;
  if (now.slots.empty() && now.mode == goal_.mode && now.instances == goal_.instances) {
    goal_.restart = RestartRule::kMovedOnly;
  }
}

/// Cuts the GPU as was decided when the run began: the instance of a job that has ended since stays
/// empty until the next pass, which cuts anew.
void RepartitioningPolicy::end_characterisation(Call& call, GpuId gpu) {
  GpuState& its = state(gpu);
  const GpuGoal& now = call.view.gpu(gpu).goal;
  if (its.pending.empty()) {
    refresh(call, gpu);  // a report of a run that another goal has replaced
    return;
  }
  goal_.slots.clear();
  for (const job::JobId job : its.pending) {
    goal_.slots.push_back({.job = job});
  }
  complete_goal(call, gpu, Cause::kCharacterised);
  for (const job::JobId job : its.pending) {
    if (now.find(job) == nullptr) {
      goal_.remove(job);
    }
  }
  const bool is_short = goal_.slots.size() < its.pending.size();
  emit(call, gpu, "characterised");
  if (is_short) {
    its.is_dirty = true;
    postponed_.insert(static_cast<std::size_t>(gpu.value()));
  }
}

}  // namespace septule::sched
