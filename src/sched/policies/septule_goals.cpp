#include "sched/policies/septule_goals.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace septule::sched {

namespace {

/// A share of the GPU's speed that jobs of a characterisation run are believed to get together, for
/// their ages: they lose start-ups and share.
constexpr double kCharacterisedSpeed = 0.8;

bool is_held_whole(const GpuGoal& goal) {
  return goal.mode == GpuGoal::Mode::kWholeGpu && !goal.slots.empty();
}

}  // namespace

SeptuleGoals::SeptuleGoals(const PolicySetup& setup, SeptuleValues& values)
    : geometry_(setup.geometry),
      values_(&values),
      characterisation_(setup.characterisation.levels.empty()
                            ? default_characterisation(setup.setting)
                            : setup.characterisation),
      builder_(*geometry_),
      index_(setup.gpu_count, values.admission().rank_count()),
      assigner_(*geometry_),
      whole_{
          .profile = values.admission().whole_profile(),
          .start = geometry_->profile(values.admission().whole_profile()).placements.front().start},
      drafts_(setup.gpu_count),
      states_(static_cast<std::size_t>(setup.gpu_count)),
      ranked_(kJobsMax + 1, IndexSet(static_cast<std::size_t>(setup.gpu_count))),
      rank_of_(static_cast<std::size_t>(setup.gpu_count), kUnranked) {
  for (int gpu = 0; gpu < setup.gpu_count; ++gpu) {
    index_.set(GpuId(gpu), 0, values.admission().bound({}));
    ranked_[0].insert(static_cast<std::size_t>(gpu));
    rank_of_[static_cast<std::size_t>(gpu)] = 0;
  }
}

// ---- calls and phases

void SeptuleGoals::begin(const SeptuleCall& call) {
  ++call_count_;
  touched_.clear();
  std::erase_if(troubled_, [&](GpuId gpu) {
    State& its = state(gpu);
    if (its.is_troubled && call.context.now < its.usable_at) {
      return false;
    }
    its.is_troubled = false;
    touch(gpu);
    return true;
  });
}

void SeptuleGoals::touch(GpuId gpu) {
  if (state(gpu).touched_in != call_count_) {
    state(gpu).touched_in = call_count_;
    touched_.push_back(gpu);
  }
}

void SeptuleGoals::sort_touched() {
  std::ranges::sort(touched_);
}

bool SeptuleGoals::can_change(const SeptuleCall& call, GpuId gpu) const {
  const GpuPhase phase = call.view.gpu(gpu).phase;
  return (phase == GpuPhase::kSettled || phase == GpuPhase::kStarting) && !state(gpu).is_troubled;
}

void SeptuleGoals::settled(const SeptuleCall& call, GpuId gpu) {
  State& its = state(gpu);
  its.is_troubled = false;
  its.trouble_count = 0;
  if (its.is_moving) {
    its.is_moving = false;
    values_->learn_loss(call.context.now - its.changed_at);
  }
  touch(gpu);
}

void SeptuleGoals::troubled(const SeptuleCall& call, GpuId gpu) {
  State& its = state(gpu);
  const Duration pause = Duration::nanoseconds(
      kBackoffMin.to_nanoseconds() << std::min(its.trouble_count, kBackoffDoublingsMax));
  ++its.trouble_count;
  its.usable_at = call.context.now + pause;
  its.is_moving = false;  // what it takes now says nothing of what moves take
  its.is_troubled = true;
  if (std::ranges::find(troubled_, gpu) == troubled_.end()) {
    troubled_.push_back(gpu);
  }
  call.out.wakes.push_back({.time = its.usable_at});
  touch(gpu);
}

// ---- books

void SeptuleGoals::take_out(GpuId gpu) {
  const auto at = static_cast<std::size_t>(gpu.value());
  index_.erase(gpu);
  if (rank_of_[at] != kUnranked) {
    ranked_[static_cast<std::size_t>(rank_of_[at])].erase(at);
    rank_of_[at] = kUnranked;
  }
}

void SeptuleGoals::refresh(const SeptuleCall& call, GpuId gpu) {
  take_out(gpu);
  const GpuGoal& goal = peek(call, gpu);
  if (!can_change(call, gpu) || is_held_whole(goal) || is_shared(goal) ||
      goal.slots.size() > kJobsMax ||
      (goal.purpose == GoalPurpose::kCharacterise && !goal.slots.empty())) {
    return;
  }
  AdmissionState held;
  for (const Slot& slot : goal.slots) {
    held = AdmissionTable::with(held, values_->smallest_rank(call, slot.job));
  }
  index_.set(gpu, held.job_count, values_->admission().bound(held));
  const auto at = static_cast<std::size_t>(gpu.value());
  rank_of_[at] = held.job_count;
  ranked_[static_cast<std::size_t>(held.job_count)].insert(at);
}

void SeptuleGoals::find(const SeptuleCall& call, int rank, std::vector<GpuId>& out) {
  // A GPU may have begun to change without a word: when it waited for a job that moved to it.
  for (bool is_sound = false; !is_sound;) {
    out.clear();
    index_.find_several(rank, values_->tuning().candidates_max, out);
    is_sound = true;
    for (const GpuId gpu : out) {
      if (!can_change(call, gpu)) {
        take_out(gpu);
        is_sound = false;
      }
    }
  }
}

bool SeptuleGoals::find_empty(const SeptuleCall& call, std::size_t count, std::vector<GpuId>& out) {
  out.clear();
  for (auto gpu = index_.first_empty(0); gpu.has_value() && out.size() < count;
       gpu = index_.first_empty(gpu->value() + 1)) {
    if (can_change(call, *gpu)) {
      out.push_back(*gpu);
    } else {
      take_out(*gpu);
    }
  }
  return out.size() == count;
}

std::optional<GpuId> SeptuleGoals::first_with(std::size_t job_count, int from) const {
  const std::optional<std::size_t> at =
      ranked_[job_count].first_from(static_cast<std::size_t>(from));
  if (!at.has_value()) {
    return std::nullopt;
  }
  return GpuId(static_cast<int>(*at));
}

bool SeptuleGoals::has_memory_together(const SeptuleCall& call,
                                       const GpuGoal& goal,
                                       job::JobId job) const {
  if (goal.slots.size() >= kJobsMax) {
    return false;
  }
  const std::optional<Bytes> memory = geometry_->profile(whole_.profile).memory;
  if (!memory.has_value()) {
    return true;  // not known: the layout that holds them all later is what counts
  }
  Bytes needed = call.context.predictor.need(job);
  for (const Slot& slot : goal.slots) {
    needed = Bytes(needed.value() + call.context.predictor.need(slot.job).value());
  }
  return needed <= *memory;
}

// ---- goals

void SeptuleGoals::keep_idle_instances(const GpuGoal& before, GpuGoal& goal) const {
  gpu::LayoutBuilder builder = builder_;
  for (const gpu::PlacedProfile& used : goal.instances) {
    builder.add(used);
  }
  for (const gpu::PlacedProfile& old : before.instances) {
    if (!goal.instances.is_full() && builder.can_add(old)) {
      builder.add(old);
      goal.instances.push_back(old);
    }
  }
  std::ranges::sort(goal.instances, [](const gpu::PlacedProfile& a, const gpu::PlacedProfile& b) {
    return a.start != b.start ? a.start < b.start : a.profile < b.profile;
  });
}

void SeptuleGoals::run(const SeptuleCall& call,
                       GpuId gpu,
                       const SeptuleProblem& posed,
                       const optimize::PlacedAnswer& answer,
                       std::string_view reason) {
  GpuGoal& goal = drafts_.edit(call.view, gpu, reason, call.out);
  const GpuGoal before = goal;
  goal = {};
  for (const gpu::PlacedProfile& place : answer.places) {
    goal.instances.push_back(place);
  }
  keep_idle_instances(before, goal);
  for (std::size_t j = 0; j < posed.jobs.size(); ++j) {
    const auto* at = std::ranges::find(goal.instances, answer.places[j]);
    goal.add({.job = posed.jobs[j], .instance = static_cast<int>(at - goal.instances.begin())});
    values_->run_at(
        call, posed.jobs[j], values_->row(call, posed.jobs[j]).on(answer.places[j].profile));
  }
  note_cut(call, gpu, answer.moved != 0 ? Moving::kRunning : Moving::kNobody);
  refresh(call, gpu);
}

void SeptuleGoals::note_cut(const SeptuleCall& call, GpuId gpu, Moving moving) {
  State& its = state(gpu);
  if (its.is_cut) {
    values_->learn_horizon(call.context.now - its.changed_at);
  }
  its.is_cut = true;
  its.is_moving = moving == Moving::kRunning;
  its.changed_at = call.context.now;
}

bool SeptuleGoals::is_shared(const GpuGoal& goal) {
  if (goal.purpose != GoalPurpose::kRun || goal.mode != GpuGoal::Mode::kPartitioned) {
    return false;
  }
  std::uint32_t used = 0;
  for (const Slot& slot : goal.slots) {
    const std::uint32_t bit = std::uint32_t{1} << static_cast<unsigned>(slot.instance);
    if ((used & bit) != 0 || slot.atp != ActiveThreadPercentage(100)) {
      return true;
    }
    used |= bit;
  }
  return false;
}

void SeptuleGoals::set(const SeptuleCall& call,
                       GpuId gpu,
                       const GpuGoal& goal,
                       Moving moving,
                       std::string_view reason) {
  drafts_.edit(call.view, gpu, reason, call.out) = goal;
  note_cut(call, gpu, moving);
  refresh(call, gpu);
}

void SeptuleGoals::characterise(const SeptuleCall& call, GpuId gpu, std::optional<job::JobId> job) {
  GpuGoal& goal = drafts_.edit(call.view, gpu, "characterise", call.out);
  goal.mode = GpuGoal::Mode::kPartitioned;
  goal.purpose = GoalPurpose::kCharacterise;
  goal.restart = RestartRule::kMovedOnly;
  goal.characterisation = characterisation_;
  goal.instances.clear();
  goal.instances.push_back(whole_);
  if (job.has_value()) {
    goal.add({.job = *job});
  }
  for (Slot& slot : goal.slots) {
    slot.instance = 0;
    slot.atp = characterisation_.levels[0];
    values_->run_at(call, slot.job, kCharacterisedSpeed / static_cast<double>(goal.slots.size()));
  }
  State& its = state(gpu);
  its.is_moving = false;
  its.changed_at = call.context.now;
  refresh(call, gpu);
}

void SeptuleGoals::give_whole(const SeptuleCall& call, GpuId gpu, job::JobId gang) {
  GpuGoal& goal = drafts_.edit(call.view, gpu, "gang", call.out);
  goal = {};
  goal.mode = GpuGoal::Mode::kWholeGpu;
  goal.slots.push_back({.job = gang});
  state(gpu).is_moving = false;
  refresh(call, gpu);
}

void SeptuleGoals::drop(const SeptuleCall& call,
                        GpuId gpu,
                        job::JobId job,
                        std::string_view reason) {
  drafts_.edit(call.view, gpu, reason, call.out).remove(job);
  refresh(call, gpu);
}

void SeptuleGoals::optimise(const SeptuleCall& call, GpuId gpu) {
  const GpuGoal& goal = peek(call, gpu);
  if (goal.slots.empty() || is_held_whole(goal) || is_shared(goal) ||
      goal.slots.size() > kJobsMax) {
    return;
  }
  const bool is_after_run = goal.purpose == GoalPurpose::kCharacterise;
  values_->pose(call, goal, posed_);
  optimize::PlacedAnswer answer;
  assigner_.solve(posed_.problem, answer);
  if (!answer.is_feasible || (!is_after_run && answer.moved == 0)) {
    return;
  }
  run(call, gpu, posed_, answer, is_after_run ? "characterised" : "departure");
}

}  // namespace septule::sched
