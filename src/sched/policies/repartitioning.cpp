#include "sched/policies/repartitioning.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/check.hpp"

namespace septule::sched {

namespace {

plan::ObjectiveKind objective_of(const PolicySetup& setup) {
  return setup.objective.value_or(setup.setting == Setting::kArtifact
                                      ? plan::ObjectiveKind::kMeanSlowdown
                                      : plan::ObjectiveKind::kSumOfSpeeds);
}

const gpu::Geometry& geometry_of(const PolicySetup& setup) {
  SEPTULE_CHECK(setup.geometry != nullptr, "a policy is made for a geometry");
  return *setup.geometry;
}

std::optional<gpu::PlacedProfile> place_of(const GpuGoal& goal, job::JobId job) {
  const Slot* slot = goal.purpose == GoalPurpose::kRun ? goal.find(job) : nullptr;
  if (slot == nullptr || slot->instance == Slot::kWholeGpu) {
    return std::nullopt;
  }
  return goal.instances[static_cast<std::size_t>(slot->instance)];
}

/// Whether both goals run the same jobs, each in the same place.
bool has_equal_places(const GpuGoal& a, const GpuGoal& b) {
  if (a.mode != b.mode || a.purpose != b.purpose || a.slots.size() != b.slots.size()) {
    return false;
  }
  return std::ranges::all_of(a.slots, [&](const Slot& slot) {
    const Slot* other = b.find(slot.job);
    return other != nullptr && other->atp == slot.atp &&
           place_of(a, slot.job) == place_of(b, slot.job);
  });
}

}  // namespace

RepartitioningPolicy::RepartitioningPolicy(const Options& options, const PolicySetup& setup)
    : options_(options),
      setting_(setup.setting),
      pass_(setup.pass),
      characterisation_(setup.characterisation.levels.empty()
                            ? default_characterisation(setup.setting)
                            : setup.characterisation),
      threshold_(setup.recharacterise_threshold),
      gap_(setup.recharacterise_gap),
      geometry_(&geometry_of(setup)),
      admission_(*geometry_, options.choice),
      index_(setup.gpu_count, admission_.rank_count()),
      finder_(*geometry_, options.choice, objective_of(setup)),
      whole_{.profile = admission_.whole_profile(),
             .start = geometry_->profile(admission_.whole_profile()).placements.front().start},
      gpus_(static_cast<std::size_t>(setup.gpu_count)),
      postponed_(static_cast<std::size_t>(setup.gpu_count)),
      finished_runs_(static_cast<std::size_t>(setup.gpu_count)) {
  for (int gpu = 0; gpu < setup.gpu_count; ++gpu) {
    index_.set(GpuId(gpu), 0, admission_.bound({}));
  }
}

bool RepartitioningPolicy::can_change(const GpuView& gpu) const {
  return gpu.phase == GpuPhase::kSettled ||
         (setting_ == Setting::kArtifact && gpu.phase == GpuPhase::kStarting);
}

void RepartitioningPolicy::decide(const ClusterView& view,
                                  std::span<const Event> events,
                                  const PolicyContext& context,
                                  Decisions& out) {
  Call call{.view = view, .context = context, .out = out};
  ++call_count_;
  touched_.clear();
  for (const Event& event : events) {
    note(call, event);
  }
  // Afterwards: which runs ended at this instant decides what a change of speed means.
  for (const Event& event : events) {
    if (const auto* changed = std::get_if<JobSpeedChanged>(&event); changed != nullptr) {
      note_speed(call, *changed);
    }
  }
  std::ranges::sort(touched_);
  if (setting_ == Setting::kArtifact && pass_ == Pass::kOneByOne) {
    take_next_step(call, events);
    return;
  }
  for (const GpuId gpu : touched_) {
    refresh(call, gpu);
    if (state(gpu).is_characterised && can_change(view.gpu(gpu)) &&
        !view.gpu(gpu).goal.slots.empty()) {
      optimise_again(call, gpu);
    }
  }
  const bool is_queue_empty = place_queue(call);
  for (const GpuId gpu : touched_) {
    GpuState& its = state(gpu);
    its.is_characterised = false;
    if (!its.is_dirty || !can_change(view.gpu(gpu)) || its.decided_at == call_count_) {
      continue;
    }
    const bool must_wait = setting_ == Setting::kArtifact || view.gpu(gpu).goal.slots.empty();
    if (must_wait && !is_queue_empty) {
      postponed_.insert(static_cast<std::size_t>(gpu.value()));
    } else {
      optimise_again(call, gpu);
    }
  }
  if (is_queue_empty) {
    settle_postponed(call);
  }
}

// ---- events

void RepartitioningPolicy::touch(GpuId gpu) {
  if (state(gpu).seen_at != call_count_) {
    state(gpu).seen_at = call_count_;
    touched_.push_back(gpu);
  }
}

void RepartitioningPolicy::note(Call& call, const Event& event) {
  if (const auto* ended = std::get_if<JobEnded>(&event); ended != nullptr) {
    note_end(call, *ended);
  } else if (const auto* ready = std::get_if<GpuReady>(&event); ready != nullptr) {
    touch(ready->gpu);
  } else if (const auto* settled = std::get_if<GpuSettled>(&event); settled != nullptr) {
    state(settled->gpu).is_troubled = false;
    touch(settled->gpu);
  } else if (const auto* seen = std::get_if<GpuCharacterised>(&event); seen != nullptr) {
    GpuState& its = state(seen->gpu);
    its.is_characterised = true;
    its.is_dirty = true;
    its.was_characterised = true;
    its.characterised_at = call.context.now;
    touch(seen->gpu);
  } else if (const auto* troubled = std::get_if<GpuTroubled>(&event); troubled != nullptr) {
    state(troubled->gpu).is_troubled = true;
    state(troubled->gpu).is_dirty = true;
    touch(troubled->gpu);
  } else if (std::holds_alternative<WokeUp>(event)) {
    for (const GpuId gpu : gap_waiting_) {
      state(gpu).is_gap_waiting = false;
      touch(gpu);
    }
    gap_waiting_.clear();
  }
}

void RepartitioningPolicy::note_end(Call& call, const JobEnded& event) {
  state(event.gpu).is_dirty = true;
  touch(event.gpu);
  if (call.view.job(event.job).spec->gpus == 1) {
    return;
  }
  if (const auto gang = gangs_.find(event.job); gang != gangs_.end()) {
    for (const GpuId gpu : gang->second) {
      state(gpu).is_dirty = true;
      touch(gpu);
    }
    gangs_.erase(gang);
  }
}

void RepartitioningPolicy::note_speed(Call& call, const JobSpeedChanged& event) {
  // Written so that a factor that is no number counts as a change.
  if (std::abs(event.factor - 1) <= threshold_) {
    return;
  }
  const GpuView& gpu = call.view.gpu(event.gpu);
  // A characterisation run sees the job as it is now: what it tells must not be forgotten.
  if (options_.unknown_jobs == UnknownJobs::kCharacterise &&
      (gpu.phase == GpuPhase::kSettled || gpu.goal.purpose == GoalPurpose::kRun) &&
      !state(event.gpu).is_characterised) {
    call.context.predictor.forget(event.job);
  }
  state(event.gpu).is_dirty = true;
  touch(event.gpu);
}

void RepartitioningPolicy::refresh(const Call& call, GpuId gpu) {
  const GpuView& its = call.view.gpu(gpu);
  // A GPU held by a gang has a slot without an instance: it takes no one.
  if (!can_change(its) || (its.goal.mode == GpuGoal::Mode::kWholeGpu && !its.goal.slots.empty())) {
    index_.erase(gpu);
    return;
  }
  AdmissionState held;
  for (const Slot& slot : its.goal.slots) {
    held = AdmissionTable::with(held, smallest_rank(call, slot.job));
  }
  index_.set(gpu, held.job_count, admission_.bound(held));
}

// ---- arrivals

int RepartitioningPolicy::smallest_rank(const Call& call, job::JobId job) const {
  const std::optional<ProfileIndex> smallest = call.context.predictor.smallest(job);
  return admission_.rank_of(smallest.value_or(whole_.profile));
}

bool RepartitioningPolicy::place_queue(Call& call) {
  for (const ClusterView::QueueKey& due : call.view.queue()) {
    const job::JobSpec& spec = *call.view.job(due.job).spec;
    if (spec.gpus > 1) {
      if (!place_gang(call, spec)) {
        return false;
      }
      continue;
    }
    const std::optional<GpuId> gpu = find_gpu(call, smallest_rank(call, due.job));
    if (!gpu.has_value() || !place(call, *gpu, due.job)) {
      return false;
    }
  }
  return true;
}

std::optional<GpuId> RepartitioningPolicy::find_gpu(const Call& call, int rank) {
  // A GPU may have begun to change without a word: when it waited for a job that moved to it.
  std::optional<GpuId> gpu = index_.find(rank);
  while (gpu.has_value() && !can_change(call.view.gpu(*gpu))) {
    index_.erase(*gpu);
    gpu = index_.find(rank);
  }
  return gpu;
}

bool RepartitioningPolicy::place(Call& call, GpuId gpu, job::JobId job) {
  const GpuGoal& now = call.view.gpu(gpu).goal;
  goal_.slots = now.slots;
  goal_.slots.push_back({.job = job});
  std::ranges::sort(goal_.slots, {}, &Slot::job);
  complete_goal(call, gpu, Cause::kArrival);
  if (goal_.find(job) == nullptr) {
    return false;
  }
  emit(call, gpu, "arrival");
  return true;
}

bool RepartitioningPolicy::place_gang(Call& call, const job::JobSpec& spec) {
  for (auto gpu = index_.first_empty(0); gpu.has_value();
       gpu = index_.first_empty(gpu->value() + 1)) {
    if (!can_change(call.view.gpu(*gpu))) {
      index_.erase(*gpu);
    }
  }
  if (index_.empty_count() < static_cast<std::size_t>(spec.gpus)) {
    return false;
  }
  std::vector<GpuId>& gang = gangs_[spec.id];
  gang.clear();
  goal_ = {};
  goal_.mode = GpuGoal::Mode::kWholeGpu;
  goal_.restart = RestartRule::kEverything;
  goal_.slots.push_back({.job = spec.id});
  for (int i = 0; i < spec.gpus; ++i) {
    const GpuId gpu = checked_value(index_.first_empty(0), "so many GPUs are empty");
    gang.push_back(gpu);
    emit(call, gpu, "gang");
  }
  return true;
}

// ---- goals

void RepartitioningPolicy::emit(Call& call, GpuId gpu, std::string_view reason) {
  if (pass_ == Pass::kOneByOne) {
    note_change(call, gpu);
  }
  call.out.goals.push_back({.gpu = gpu, .goal = goal_, .reason = reason});
  index_.erase(gpu);
  postponed_.erase(static_cast<std::size_t>(gpu.value()));
  state(gpu).is_dirty = false;
  state(gpu).decided_at = call_count_;
}

bool RepartitioningPolicy::complete_goal(Call& call, GpuId gpu, Cause cause) {
  GpuState& its = state(gpu);
  goal_.mode = GpuGoal::Mode::kPartitioned;
  goal_.purpose = GoalPurpose::kRun;
  goal_.restart = RestartRule::kEverything;
  goal_.characterisation = {};
  if (goal_.slots.size() == 1) {
    make_alone(goal_.slots[0].job);
    return true;
  }
  const bool may_characterise = options_.unknown_jobs == UnknownJobs::kCharacterise &&
                                cause != Cause::kCharacterised && !its.is_troubled;
  if (may_characterise && is_unknown_among_slots(call)) {
    if (cause == Cause::kDeparture && its.was_characterised &&
        call.context.now < its.characterised_at + gap_) {
      if (!its.is_gap_waiting) {
        its.is_gap_waiting = true;
        gap_waiting_.push_back(gpu);
        call.out.wakes.push_back({.time = its.characterised_at + gap_});
      }
      return false;
    }
    make_characterisation();
    return true;
  }
  make_partition(call, call.view.gpu(gpu).goal);
  return true;
}

bool RepartitioningPolicy::is_unchanged(const GpuGoal& now) const {
  return setting_ == Setting::kArtifact
             ? now.mode == goal_.mode && now.purpose == goal_.purpose &&
                   now.instances == goal_.instances && now.slots == goal_.slots
             : has_equal_places(now, goal_);
}

bool RepartitioningPolicy::is_unknown_among_slots(const Call& call) const {
  return std::ranges::any_of(goal_.slots, [&](const Slot& slot) {
    return call.context.predictor.speeds(slot.job) == nullptr;
  });
}

void RepartitioningPolicy::make_alone(job::JobId job) {
  goal_.instances.clear();
  goal_.instances.push_back(whole_);
  goal_.slots.clear();
  goal_.slots.push_back({.job = job, .instance = 0});
}

void RepartitioningPolicy::make_characterisation() {
  goal_.instances.clear();
  goal_.instances.push_back(whole_);
  for (Slot& slot : goal_.slots) {
    slot.instance = 0;
    slot.atp = characterisation_.levels[0];
  }
  goal_.purpose = GoalPurpose::kCharacterise;
  goal_.characterisation = characterisation_;
}

void RepartitioningPolicy::assume_speeds(const Call& call,
                                         job::JobId job,
                                         predict::SpeedRow& row) const {
  row = {};
  const double all = geometry_->profile(whole_.profile).slices.value();
  for (int rank = smallest_rank(call, job); rank < admission_.rank_count(); ++rank) {
    const ProfileIndex profile = admission_.profile_of(rank);
    row.speed[static_cast<std::size_t>(profile.value())] =
        geometry_->profile(profile).slices.value() / all;
  }
}

bool RepartitioningPolicy::find_places(const Call& call, const GpuGoal& now) {
  if (goal_.slots.size() > static_cast<std::size_t>(optimize::kAssignedJobsMax)) {
    return false;
  }
  jobs_.clear();
  for (const Slot& slot : goal_.slots) {
    const predict::SpeedRow* speeds = call.context.predictor.speeds(slot.job);
    if (speeds == nullptr) {
      predict::SpeedRow& row = assumed_[jobs_.speeds.size()];
      assume_speeds(call, slot.job, row);
      speeds = &row;
    }
    jobs_.speeds.push_back(speeds);
    jobs_.current.push_back(place_of(now, slot.job));
  }
  finder_.find(jobs_, places_);
  if (places_.is_feasible) {
    return true;
  }
  for (std::size_t i = 0; i < goal_.slots.size(); ++i) {
    assume_speeds(call, goal_.slots[i].job, assumed_[i]);
    jobs_.speeds[i] = &assumed_[i];
  }
  finder_.find(jobs_, places_);
  return places_.is_feasible;
}

void RepartitioningPolicy::make_partition(Call& call, const GpuGoal& now) {
  while (!find_places(call, now)) {
    goal_.slots.pop_back();  // the newest: ids follow submission
    if (goal_.slots.size() == 1) {
      make_alone(goal_.slots[0].job);
      return;
    }
  }
  goal_.instances = places_.instances;
  for (std::size_t i = 0; i < goal_.slots.size(); ++i) {
    goal_.slots[i].instance = places_.instance_of[i];
    goal_.slots[i].atp = ActiveThreadPercentage(100);
  }
}

// ---- departures

void RepartitioningPolicy::optimise_again(Call& call, GpuId gpu) {
  const GpuGoal& now = call.view.gpu(gpu).goal;
  if (now.mode == GpuGoal::Mode::kWholeGpu && !now.slots.empty()) {
    state(gpu).is_dirty = false;  // a gang: nothing to choose
    return;
  }
  if (now.slots.empty()) {
    tidy_empty(call, gpu);
    return;
  }
  const bool is_characterised = state(gpu).is_characterised;
  goal_.slots = now.slots;
  const Cause cause = is_characterised ? Cause::kCharacterised : Cause::kDeparture;
  if (!complete_goal(call, gpu, cause)) {
    return;  // stays dirty until the gap is over
  }
  if (is_unchanged(now)) {
    state(gpu).is_dirty = false;
    return;
  }
  emit(call, gpu, is_characterised ? "characterised" : "departure");
}

void RepartitioningPolicy::tidy_empty(Call& call, GpuId gpu) {
  const GpuGoal& now = call.view.gpu(gpu).goal;
  goal_ = {};
  goal_.instances.push_back(whole_);
  goal_.restart = RestartRule::kEverything;
  if (now.mode == goal_.mode && now.purpose == goal_.purpose && now.instances == goal_.instances) {
    state(gpu).is_dirty = false;
    return;
  }
  emit(call, gpu, "empty");
}

void RepartitioningPolicy::settle_postponed(Call& call) {
  for (auto at = postponed_.first(); at.has_value(); at = postponed_.first_from(*at + 1)) {
    const GpuId gpu(static_cast<int>(*at));
    postponed_.erase(*at);
    if (state(gpu).is_dirty && can_change(call.view.gpu(gpu)) &&
        state(gpu).decided_at != call_count_) {
      optimise_again(call, gpu);
    }
  }
}

}  // namespace septule::sched
