#include "sched/policies/septule.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace septule::sched {

struct SeptulePolicy::Call {
  const ClusterView& view;
  const PolicyContext& context;
  Decisions& out;
};

SeptulePolicy::SeptulePolicy(const PolicySetup& setup, const Tuning& tuning)
    : tuning_(tuning),
      geometry_(setup.geometry),
      characterisation_(setup.characterisation.levels.empty()
                            ? default_characterisation(setup.setting)
                            : setup.characterisation),
      threshold_(setup.recharacterise_threshold),
      admission_(*geometry_, PartitionChoice::kEverything),
      index_(setup.gpu_count, admission_.rank_count()),
      assigner_(*geometry_),
      whole_{.profile = admission_.whole_profile(),
             .start = geometry_->profile(admission_.whole_profile()).placements.front().start},
      gpus_(static_cast<std::size_t>(setup.gpu_count)),
      ages_(static_cast<std::size_t>(setup.jobs_max)),
      by_count_(static_cast<std::size_t>(optimize::kAssignedJobsMax) + 1,
                IndexSet(static_cast<std::size_t>(setup.gpu_count))),
      count_of_(static_cast<std::size_t>(setup.gpu_count), 0),
      drafts_(setup.gpu_count) {
  for (int gpu = 0; gpu < setup.gpu_count; ++gpu) {
    index_.set(GpuId(gpu), 0, admission_.bound({}));
    by_count_[0].insert(static_cast<std::size_t>(gpu));
  }
}

void SeptulePolicy::touch(GpuId gpu) {
  if (state(gpu).seen_at != call_count_) {
    state(gpu).seen_at = call_count_;
    touched_.push_back(gpu);
  }
}

void SeptulePolicy::note(Call& call, const Event& event) {
  constexpr double kBlend = 0.05;
  if (const auto* ended = std::get_if<JobEnded>(&event); ended != nullptr) {
    gangs_.release(*ended, [&](GpuId gpu) {
      state(gpu).is_dirty = true;
      touch(gpu);
    });
  } else if (const auto* ready = std::get_if<GpuReady>(&event); ready != nullptr) {
    touch(ready->gpu);
  } else if (const auto* settled = std::get_if<GpuSettled>(&event); settled != nullptr) {
    GpuState& its = state(settled->gpu);
    its.is_troubled = false;
    if (its.is_moving) {
      its.is_moving = false;
      const double seen = (call.context.now - its.goal_at).to_seconds();
      loss_s_ += kBlend * (seen - loss_s_);
    }
    touch(settled->gpu);
  } else if (const auto* seen = std::get_if<GpuCharacterised>(&event); seen != nullptr) {
    state(seen->gpu).is_characterised = true;
    state(seen->gpu).is_dirty = true;
    touch(seen->gpu);
  } else if (const auto* changed = std::get_if<JobSpeedChanged>(&event); changed != nullptr) {
    if (!(std::abs(changed->factor - 1) <= threshold_)) {
      if (call.view.gpu(changed->gpu).phase != GpuPhase::kCharacterising) {
        call.context.predictor.forget(changed->job);
      }
      state(changed->gpu).is_dirty = true;
      touch(changed->gpu);
    }
  } else if (const auto* troubled = std::get_if<GpuTroubled>(&event); troubled != nullptr) {
    state(troubled->gpu).is_troubled = true;
    state(troubled->gpu).is_dirty = true;
    touch(troubled->gpu);
  }
}

int SeptulePolicy::smallest_rank(const Call& call, job::JobId job) const {
  return admission_.rank_of(call.context.predictor.smallest(job).value_or(whole_.profile));
}

void SeptulePolicy::refresh(Call& call, GpuId gpu) {
  const auto at = static_cast<std::size_t>(gpu.value());
  const GpuGoal& goal = drafts_.peek(call.view, gpu, call.out);
  if (count_of_[at] >= 0) {
    by_count_[static_cast<std::size_t>(count_of_[at])].erase(at);
    count_of_[at] = -1;
  }
  if (!can_change(call.view.gpu(gpu)) ||
      (goal.mode == GpuGoal::Mode::kWholeGpu && !goal.slots.empty()) ||
      goal.purpose == GoalPurpose::kCharacterise) {
    index_.erase(gpu);
    return;
  }
  AdmissionState held;
  for (const Slot& slot : goal.slots) {
    held = AdmissionTable::with(held, smallest_rank(call, slot.job));
  }
  index_.set(gpu, held.job_count, admission_.bound(held));
  count_of_[at] = held.job_count;
  by_count_[static_cast<std::size_t>(held.job_count)].insert(at);
}

void SeptulePolicy::decide(const ClusterView& view,
                           std::span<const Event> events,
                           const PolicyContext& context,
                           Decisions& out) {
  Call call{view, context, out};
  ++call_count_;
  touched_.clear();
  for (const Event& event : events) {
    note(call, event);
  }
  std::ranges::sort(touched_);
  for (const GpuId gpu : touched_) {
    refresh(call, gpu);
  }
  for (const GpuId gpu : touched_) {
    if (state(gpu).is_characterised && can_change(view.gpu(gpu))) {
      optimise_again(call, gpu);
      state(gpu).is_characterised = false;
    }
  }
  place_queue(call);
  const std::size_t count = touched_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const GpuId gpu = touched_[i];
    if (state(gpu).is_dirty && can_change(view.gpu(gpu))) {
      pull_jobs(call, gpu);
      optimise_again(call, gpu);
    }
  }
  drafts_.finish(out);
}

// ---- values

double SeptulePolicy::attained(const Call& call, job::JobId job) {
  const JobAge& its = age(job);
  return its.attained_s + its.rate * (call.context.now - its.since).to_seconds();
}

void SeptulePolicy::set_rate(const Call& call, job::JobId job, double rate) {
  JobAge& its = age(job);
  its.attained_s = attained(call, job);
  its.since = call.context.now;
  its.rate = rate;
}

double SeptulePolicy::weight(const Call& call, job::JobId job) {
  return std::pow(tuning_.age_scale_s / (attained(call, job) + tuning_.age_scale_s),
                  tuning_.age_power);
}

const predict::SpeedRow& SeptulePolicy::row(const Call& call, job::JobId job) {
  if (const predict::SpeedRow* known = call.context.predictor.speeds(job)) {
    return *known;
  }
  assumed_ = {};
  const double all = geometry_->compute_slices().value();
  for (int rank = smallest_rank(call, job); rank < admission_.rank_count(); ++rank) {
    const ProfileIndex profile = admission_.profile_of(rank);
    assumed_.speed[static_cast<std::size_t>(profile.value())] =
        std::pow(geometry_->profile(profile).slices.value() / all, 0.5);
  }
  return assumed_;
}

double SeptulePolicy::loss_over_horizon() const {
  return tuning_.move_factor * loss_s_ /
         std::clamp(horizon_s_, tuning_.horizon_min_s, tuning_.horizon_max_s);
}

void SeptulePolicy::add_job(Call& call, const GpuGoal* goal, job::JobId job) {
  optimize::PlacedProblem::Job entry;
  const predict::SpeedRow& speeds = row(call, job);
  const double w = weight(call, job);
  const int smallest = smallest_rank(call, job);
  for (int rank = smallest; rank < admission_.rank_count(); ++rank) {
    const auto profile = static_cast<std::size_t>(admission_.profile_of(rank).value());
    entry.value[profile] = w * speeds.speed[profile];
  }
  if (goal != nullptr && goal->purpose == GoalPurpose::kRun) {
    const Slot* slot = goal->find(job);
    if (slot != nullptr && slot->instance != Slot::kWholeGpu) {
      entry.current = goal->instances[static_cast<std::size_t>(slot->instance)];
      const double now = entry.value[static_cast<std::size_t>(entry.current->profile.value())];
      entry.move_cost = now * loss_over_horizon();
    }
  }
  problem_.jobs.push_back(entry);
  problem_jobs_.push_back(job);
}

void SeptulePolicy::fill_problem(Call& call, const GpuGoal& goal) {
  problem_.jobs.clear();
  problem_jobs_.clear();
  for (const Slot& slot : goal.slots) {
    add_job(call, &goal, slot.job);
  }
}

double SeptulePolicy::value_now(const Call& call, const GpuGoal& goal) {
  double value = 0;
  if (goal.purpose != GoalPurpose::kRun) {
    return value;
  }
  for (const Slot& slot : goal.slots) {
    if (slot.instance != Slot::kWholeGpu) {
      value +=
          weight(call, slot.job) *
          row(call, slot.job).on(goal.instances[static_cast<std::size_t>(slot.instance)].profile);
    }
  }
  return value;
}

// ---- goals

void SeptulePolicy::apply(Call& call,
                          GpuId gpu,
                          const optimize::PlacedAnswer& answer,
                          std::string_view reason) {
  GpuGoal& goal = drafts_.edit(call.view, gpu, reason, call.out);
  const GpuGoal before = goal;
  goal.mode = GpuGoal::Mode::kPartitioned;
  goal.purpose = GoalPurpose::kRun;
  goal.restart = RestartRule::kMovedOnly;
  goal.characterisation = {};
  goal.slots.clear();
  InlineVector<gpu::PlacedProfile, kInstancesMax> instances;
  for (const gpu::PlacedProfile& place : answer.places) {
    instances.push_back(place);
  }
  // Idle instances that are in nobody's way stay: cutting them away buys nothing.
  for (const gpu::PlacedProfile& old : before.instances) {
    const gpu::Placement there = gpu::placement_of(*geometry_, old);
    const bool is_free =
        std::none_of(instances.begin(), instances.end(), [&](const gpu::PlacedProfile& place) {
          return gpu::placement_of(*geometry_, place).overlaps(there);
        });
    int slices = geometry_->profile(old.profile).slices.value();
    for (const gpu::PlacedProfile& place : instances) {
      slices += geometry_->profile(place.profile).slices.value();
    }
    if (is_free && slices <= geometry_->compute_slices().value()) {
      instances.push_back(old);
    }
  }
  std::sort(instances.begin(), instances.end(), [](const auto& a, const auto& b) {
    return a.start != b.start ? a.start < b.start : a.profile < b.profile;
  });
  goal.instances = instances;
  for (std::size_t j = 0; j < problem_jobs_.size(); ++j) {
    const auto* at = std::find(goal.instances.begin(), goal.instances.end(), answer.places[j]);
    goal.slots.push_back(
        {.job = problem_jobs_[j], .instance = static_cast<int>(at - goal.instances.begin())});
    set_rate(call, problem_jobs_[j], row(call, problem_jobs_[j]).on(answer.places[j].profile));
  }
  std::ranges::sort(goal.slots, {}, &Slot::job);
  GpuState& its = state(gpu);
  its.is_dirty = false;
  its.is_moving = answer.moved != 0;
  its.goal_at = call.context.now;
  const double lasted = (call.context.now - its.changed_at).to_seconds();
  if (its.changed_at > SimTime()) {
    horizon_s_ += 0.05 * (lasted - horizon_s_);
  }
  its.changed_at = call.context.now;
  index_.erase(gpu);
  const auto at = static_cast<std::size_t>(gpu.value());
  if (count_of_[at] >= 0) {
    by_count_[static_cast<std::size_t>(count_of_[at])].erase(at);
    count_of_[at] = -1;
  }
  // More of the queue may go to the same GPU in this batch.
  refresh(call, gpu);
}

void SeptulePolicy::characterise(Call& call, GpuId gpu, job::JobId job) {
  GpuGoal& goal = drafts_.edit(call.view, gpu, "characterise", call.out);
  goal.mode = GpuGoal::Mode::kPartitioned;
  goal.purpose = GoalPurpose::kCharacterise;
  goal.restart = RestartRule::kMovedOnly;
  goal.characterisation = characterisation_;
  goal.instances.clear();
  goal.instances.push_back(whole_);
  if (goal.find(job) == nullptr) {
    goal.slots.push_back({.job = job});
  }
  std::ranges::sort(goal.slots, {}, &Slot::job);
  for (Slot& slot : goal.slots) {
    slot.instance = 0;
    slot.atp = characterisation_.levels[0];
    set_rate(call, slot.job, 0.8 / static_cast<double>(goal.slots.size()));
  }
  GpuState& its = state(gpu);
  its.is_dirty = false;
  its.is_moving = false;
  its.goal_at = call.context.now;
  refresh(call, gpu);
}

bool SeptulePolicy::is_all_known(const Call& call, const GpuGoal& goal) const {
  return std::all_of(goal.slots.begin(), goal.slots.end(), [&](const Slot& slot) {
    return call.context.predictor.speeds(slot.job) != nullptr;
  });
}

void SeptulePolicy::optimise_again(Call& call, GpuId gpu) {
  const GpuGoal& goal = drafts_.peek(call.view, gpu, call.out);
  state(gpu).is_dirty = false;
  if (goal.slots.empty() || goal.mode == GpuGoal::Mode::kWholeGpu) {
    return;
  }
  fill_problem(call, goal);
  optimize::PlacedAnswer answer;
  assigner_.solve(problem_, answer);
  if (!answer.is_feasible) {
    return;
  }
  if (goal.purpose == GoalPurpose::kRun && answer.moved == 0) {
    return;
  }
  apply(call,
        gpu,
        answer,
        goal.purpose == GoalPurpose::kCharacterise ? "characterised" : "departure");
}

// ---- arrivals

void SeptulePolicy::place_queue(Call& call) {
  due_.clear();
  for (const ClusterView::QueueKey& key : call.view.queue()) {
    due_.push_back(key.job);
    if (due_.size() >= 64) {
      break;
    }
  }
  for (const job::JobId job : due_) {
    const job::JobSpec& spec = *call.view.job(job).spec;
    if (!(spec.gpus > 1 ? place_gang(call, spec) : place(call, job))) {
      break;
    }
  }
}

bool SeptulePolicy::place(Call& call, job::JobId job) {
  candidates_.clear();
  index_.find_several(smallest_rank(call, job), tuning_.candidates_max, candidates_);
  if (candidates_.empty()) {
    return false;
  }
  const bool is_known = call.context.predictor.speeds(job) != nullptr;
  if (!is_known &&
      (tuning_.unknown == 0 || drafts_.peek(call.view, candidates_[0], call.out).slots.empty())) {
    characterise(call, candidates_[0], job);
    return true;
  }
  std::optional<GpuId> best;
  double best_gain = 0;
  optimize::PlacedAnswer best_answer;
  optimize::PlacedProblem best_problem;
  std::vector<job::JobId> best_jobs;
  for (const GpuId gpu : candidates_) {
    const GpuGoal& goal = drafts_.peek(call.view, gpu, call.out);
    fill_problem(call, goal);
    add_job(call, nullptr, job);
    optimize::PlacedAnswer answer;
    assigner_.solve(problem_, answer);
    if (!answer.is_feasible) {
      continue;
    }
    const double gain = answer.value - value_now(call, goal);
    if (!best.has_value() || gain > best_gain + 1e-12) {
      best = gpu;
      best_gain = gain;
      best_answer = answer;
      best_problem = problem_;
      best_jobs = problem_jobs_;
    }
  }
  if (!best.has_value()) {
    return false;
  }
  problem_ = best_problem;
  problem_jobs_ = best_jobs;
  apply(call, *best, best_answer, "arrival");
  return true;
}

bool SeptulePolicy::place_gang(Call& call, const job::JobSpec& spec) {
  if (index_.empty_count() < static_cast<std::size_t>(spec.gpus)) {
    return false;
  }
  gangs_.start(spec.id);
  for (int i = 0; i < spec.gpus; ++i) {
    const GpuId gpu = checked_value(index_.first_empty(0), "so many GPUs are empty");
    gangs_.add(spec.id, gpu);
    GpuGoal& goal = drafts_.edit(call.view, gpu, "gang", call.out);
    goal = {};
    goal.mode = GpuGoal::Mode::kWholeGpu;
    goal.slots.push_back({.job = spec.id});
    state(gpu).is_dirty = false;
    refresh(call, gpu);
  }
  return true;
}

// ---- migration

void SeptulePolicy::pull_jobs(Call& call, GpuId gpu) {
  if (tuning_.donors_max == 0) {
    return;
  }
  for (int round = 0; round < 7; ++round) {
    const GpuGoal& goal = drafts_.peek(call.view, gpu, call.out);
    if (goal.purpose != GoalPurpose::kRun || goal.slots.size() >= 6 ||
        (goal.mode == GpuGoal::Mode::kWholeGpu && !goal.slots.empty())) {
      return;
    }
    const double here = value_now(call, goal);
    double best_gain = tuning_.pull_margin;
    std::optional<GpuId> best_donor;
    job::JobId best_job;
    optimize::PlacedAnswer best_here;
    std::size_t looked = 0;
    for (std::size_t count = by_count_.size();
         count-- > goal.slots.size() + 2 && looked < tuning_.donors_max;) {
      for (auto at = by_count_[count].first(); at.has_value() && looked < tuning_.donors_max;
           at = by_count_[count].first_from(*at + 1)) {
        const GpuId donor(static_cast<int>(*at));
        ++looked;
        const GpuGoal& theirs = drafts_.peek(call.view, donor, call.out);
        const double there = value_now(call, theirs);
        for (const Slot& slot : theirs.slots) {
          if (call.context.predictor.speeds(slot.job) == nullptr) {
            continue;
          }
          // Their GPU without it, ours with it.
          GpuGoal rest = theirs;
          rest.remove(slot.job);
          fill_problem(call, rest);
          optimize::PlacedAnswer without;
          assigner_.solve(problem_, without);
          fill_problem(call, goal);
          const double now =
              weight(call, slot.job) *
              row(call, slot.job)
                  .on(theirs.instances[static_cast<std::size_t>(slot.instance)].profile);
          add_job(call, nullptr, slot.job);
          optimize::PlacedAnswer with;
          assigner_.solve(problem_, with);
          if (!with.is_feasible || (!without.is_feasible && !rest.slots.empty())) {
            continue;
          }
          const double gain = with.value + (rest.slots.empty() ? 0 : without.value) - here - there -
                              now * loss_over_horizon() * 1.5;
          if (gain > best_gain + 1e-12) {
            best_gain = gain;
            best_donor = donor;
            best_job = slot.job;
            best_here = with;
          }
        }
      }
    }
    if (!best_donor.has_value()) {
      return;
    }
    fill_problem(call, goal);
    add_job(call, nullptr, best_job);
    apply(call, gpu, best_here, "relief");
    // The donor lets go of the job; what is left there is optimised with its own goal.
    GpuGoal& theirs = drafts_.edit(call.view, *best_donor, "relief", call.out);
    theirs.remove(best_job);
    refresh(call, *best_donor);
    optimise_again(call, *best_donor);
  }
}

std::unique_ptr<Policy> make_septule(const PolicySetup& setup) {
  const SeptulePolicy::Tuning tuning;
  return std::make_unique<SeptulePolicy>(setup, tuning);
}

}  // namespace septule::sched
