#include "sched/policies/septule.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/check.hpp"

namespace septule::sched {

namespace {

constexpr double kTie = 1e-12;

const gpu::Geometry& geometry_of(const PolicySetup& setup) {
  SEPTULE_CHECK(setup.geometry != nullptr, "a policy is made for a geometry");
  return *setup.geometry;
}

}  // namespace

SeptulePolicy::SeptulePolicy(const Options& options, const PolicySetup& setup)
    : name_(options.name),
      threshold_(setup.recharacterise_threshold),
      admission_(geometry_of(setup), PartitionChoice::kEverything),
      values_(geometry_of(setup), admission_, options.aim, options.tuning, setup.jobs_max),
      goals_(setup, values_),
      relief_(values_, goals_),
      recheck_(setup, values_, goals_),
      due_(setup.jobs_max),
      gpus_(static_cast<std::size_t>(setup.gpu_count)) {}

void SeptulePolicy::decide(const ClusterView& view,
                           std::span<const Event> events,
                           const PolicyContext& context,
                           Decisions& out) {
  const SeptuleCall call{.view = view, .context = context, .out = out};
  goals_.begin(call);
  recheck_.wake(call);
  open_runs_.clear();
  for (const Event& event : events) {
    note(call, event);
  }
  // Afterwards: which runs ended at this instant decides what a change of speed means.
  for (const Event& event : events) {
    if (const auto* changed = std::get_if<JobSpeedChanged>(&event); changed != nullptr) {
      note_speed(call, *changed);
    }
  }
  goals_.sort_touched();
  const std::vector<GpuId> touched = goals_.touched();
  for (const GpuId gpu : touched) {
    goals_.refresh(call, gpu);
  }
  for (const GpuId gpu : touched) {
    if (state(gpu).is_characterised && goals_.can_change(call, gpu)) {
      state(gpu) = {};
      place_characterised(call, gpu);
    }
  }
  due_.fill(view);
  place_waiting(call, touched);
  const QueueLength left = due_.finish(view) ? QueueLength::kEmpty : QueueLength::kWaiting;
  for (const GpuId gpu : touched) {
    if ((!state(gpu).is_dirty && !recheck_.is_suspected(gpu)) || !goals_.can_change(call, gpu)) {
      continue;
    }
    state(gpu).is_dirty = false;
    settle(call, gpu, left);
  }
  goals_.finish(call);
}

void SeptulePolicy::place_characterised(const SeptuleCall& call, GpuId gpu) {
  goals_.optimise(call, gpu);
}

void SeptulePolicy::place_waiting(const SeptuleCall& call, std::span<const GpuId> /*touched*/) {
  place_queue(call);
}

void SeptulePolicy::settle(const SeptuleCall& call, GpuId gpu, QueueLength left) {
  if (recheck_.check(call, gpu)) {
    return;
  }
  if (left == QueueLength::kEmpty) {
    relief_.pull(call, gpu);
  }
  goals_.optimise(call, gpu);
}

// ---- events

void SeptulePolicy::mark(GpuId gpu) {
  state(gpu).is_dirty = true;
  goals_.touch(gpu);
}

void SeptulePolicy::note(const SeptuleCall& call, const Event& event) {
  if (const auto* ended = std::get_if<JobEnded>(&event); ended != nullptr) {
    gangs_.release(*ended, [&](GpuId gpu) { mark(gpu); });
  } else if (const auto* ready = std::get_if<GpuReady>(&event); ready != nullptr) {
    goals_.touch(ready->gpu);
  } else if (const auto* settled = std::get_if<GpuSettled>(&event); settled != nullptr) {
    goals_.settled(call, settled->gpu);
  } else if (const auto* seen = std::get_if<GpuCharacterised>(&event); seen != nullptr) {
    state(seen->gpu).is_characterised = true;
    recheck_.characterised(call, seen->gpu);
    mark(seen->gpu);
  } else if (const auto* troubled = std::get_if<GpuTroubled>(&event); troubled != nullptr) {
    goals_.troubled(call, troubled->gpu);
    mark(troubled->gpu);
  }
}

void SeptulePolicy::note_speed(const SeptuleCall& call, const JobSpeedChanged& event) {
  // Written so that a factor that is no number counts as a change.
  if (std::abs(event.factor - 1) <= threshold_) {
    return;
  }
  // A characterisation run sees the job as it is now: what it tells must not be forgotten.
  const GpuView& gpu = call.view.gpu(event.gpu);
  if (gpu.goal.purpose == GoalPurpose::kRun && !state(event.gpu).is_characterised) {
    call.context.predictor.forget(event.job);
    recheck_.suspect(event.gpu);
  }
  mark(event.gpu);
}

// ---- arrivals

void SeptulePolicy::place_queue(const SeptuleCall& call) {
  // Within a decision room only shrinks: where a rank found none, a larger one finds none either.
  int rank_failed = admission_.rank_count();
  for (std::size_t from = 0; from < due_.size(); from += values_.tuning().lookahead) {
    order_due(call, from, std::min(from + values_.tuning().lookahead, due_.size()));
    for (const DueJob& due : ordered_) {
      if (!due_.may_place(due.index)) {
        continue;
      }
      const job::JobSpec& spec = *call.view.job(due_.job(due.index)).spec;
      if (spec.gpus > 1 ? place_gang(call, spec) : due.rank < rank_failed && place(call, spec.id)) {
        due_.placed(due.index);
      } else if (spec.gpus == 1 && found_.empty()) {
        rank_failed = std::min(rank_failed, due.rank);
      }
    }
  }
}

void SeptulePolicy::order_due(const SeptuleCall& call, std::size_t from, std::size_t to) {
  ordered_.clear();
  for (std::size_t i = from; i < to; ++i) {
    const job::JobSpec& spec = *call.view.job(due_.job(i)).spec;
    // A gang needs more than any other job: whole empty GPUs.
    const int rank = spec.gpus > 1 ? admission_.rank_count() : values_.smallest_rank(call, spec.id);
    ordered_.push_back({.index = i, .rank = rank});
  }
  std::ranges::sort(ordered_, [](const DueJob& a, const DueJob& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.index < b.index;
  });
}

bool SeptulePolicy::place(const SeptuleCall& call, job::JobId job) {
  return SeptuleValues::is_known(call, job) ? place_known(call, job) : place_unknown(call, job);
}

bool SeptulePolicy::place_known(const SeptuleCall& call, job::JobId job) {
  goals_.find(call, values_.smallest_rank(call, job), found_);
  std::optional<GpuId> best;
  double best_gain = 0;
  optimize::PlacedAnswer best_answer;
  for (const GpuId gpu : found_) {
    const GpuGoal& goal = goals_.peek(call, gpu);
    values_.pose(call, goal, posed_);
    values_.add_arrival(call, job, posed_);
    optimize::PlacedAnswer answer;
    goals_.assigner().solve(posed_.problem, answer);
    if (!answer.is_feasible) {
      continue;
    }
    const double gain = answer.value - values_.value_of(call, goal);
    if (!best.has_value() || gain > best_gain + kTie) {
      best = gpu;
      best_gain = gain;
      best_answer = answer;
      best_posed_ = posed_;
    }
  }
  if (!best.has_value()) {
    return false;
  }
  goals_.run(call, *best, best_posed_, best_answer, "arrival");
  return true;
}

bool SeptulePolicy::place_unknown(const SeptuleCall& call, job::JobId job) {
  goals_.find(call, values_.smallest_rank(call, job), found_);
  std::optional<GpuId> best;
  double least = 0;
  for (const GpuId gpu : found_) {
    const GpuGoal& goal = goals_.peek(call, gpu);
    if (!goals_.has_memory_together(call, goal, job)) {
      continue;
    }
    const double disturbed = values_.value_of(call, goal);
    if (!best.has_value() || disturbed < least - kTie) {
      best = gpu;
      least = disturbed;
    }
  }
  const bool is_empty = best.has_value() && goals_.peek(call, *best).slots.empty();
  if (!is_empty && join_run(call, job)) {
    return true;
  }
  if (!best.has_value()) {
    return false;
  }
  goals_.characterise(call, *best, job);
  open_runs_.push_back(*best);
  return true;
}

bool SeptulePolicy::join_run(const SeptuleCall& call, job::JobId job) {
  const int rank = values_.smallest_rank(call, job);
  for (const GpuId gpu : open_runs_) {
    const GpuGoal& goal = goals_.peek(call, gpu);
    AdmissionState held;
    for (const Slot& slot : goal.slots) {
      held = AdmissionTable::with(held, values_.smallest_rank(call, slot.job));
    }
    // Later each has to find an instance there.
    if (goals_.has_memory_together(call, goal, job) && admission_.bound(held) >= rank) {
      goals_.characterise(call, gpu, job);
      return true;
    }
  }
  return false;
}

bool SeptulePolicy::place_gang(const SeptuleCall& call, const job::JobSpec& spec) {
  if (!goals_.find_empty(call, static_cast<std::size_t>(spec.gpus), found_)) {
    return false;
  }
  gangs_.start(spec.id);
  for (const GpuId gpu : found_) {
    gangs_.add(spec.id, gpu);
    goals_.give_whole(call, gpu, spec.id);
    state(gpu).is_dirty = false;
  }
  return true;
}

std::unique_ptr<Policy> make_septule(const PolicySetup& setup) {
  return std::make_unique<SeptulePolicy>(
      SeptulePolicy::Options{.name = "septule", .aim = SeptuleAim::kSpeed}, setup);
}

std::unique_ptr<Policy> make_septule_fair(const PolicySetup& setup) {
  return std::make_unique<SeptulePolicy>(
      SeptulePolicy::Options{.name = "septule-fair", .aim = SeptuleAim::kFairness}, setup);
}

}  // namespace septule::sched
