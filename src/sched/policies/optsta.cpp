#include "sched/policies/optsta.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/check.hpp"

namespace septule::sched {

namespace {

std::size_t place_index(GpuId gpu, std::size_t instance) {
  return static_cast<std::size_t>(gpu.value()) * kInstancesMax + instance;
}

/// Which instances of a goal have a job.
std::array<bool, kInstancesMax> used_instances(const GpuGoal& goal) {
  std::array<bool, kInstancesMax> used{};
  for (const Slot& slot : goal.slots) {
    if (slot.instance >= 0) {
      used[static_cast<std::size_t>(slot.instance)] = true;
    }
  }
  return used;
}

}  // namespace

OptstaPolicy::OptstaPolicy(const PolicySetup& setup, std::string_view name, Promotion promotion)
    : name_(name),
      promotion_(promotion),
      setting_(setup.setting),
      geometry_(setup.geometry),
      gpu_count_(setup.gpu_count),
      layout_(setup.static_layout),
      idle_gpus_(static_cast<std::size_t>(setup.gpu_count)),
      promotable_(static_cast<std::size_t>(setup.gpu_count)),
      drafts_(setup.gpu_count) {
  SEPTULE_CHECK(layout_.size() <= kInstancesMax, "a layout has as many instances as a goal may");
  gpu::canonicalise(layout_);
  std::vector<ProfileIndex> profiles;
  for (const gpu::PlacedProfile& placed : layout_) {
    profiles.push_back(placed.profile);
  }
  // Largest first: compute slices, then memory; by index where both are equal.
  std::ranges::sort(profiles, [&](ProfileIndex a, ProfileIndex b) {
    const auto& left = geometry_->profile(a);
    const auto& right = geometry_->profile(b);
    return std::tuple(right.slices, size_of(b), a) < std::tuple(left.slices, size_of(a), b);
  });
  profiles.erase(std::unique(profiles.begin(), profiles.end()), profiles.end());
  for (const ProfileIndex profile : profiles) {
    ranks_.push_back({.profile = profile,
                      .size = size_of(profile),
                      .idle = IndexSet(static_cast<std::size_t>(setup.gpu_count) * kInstancesMax)});
  }
  for (std::size_t i = 0; i < layout_.size(); ++i) {
    const auto rank = std::ranges::find(ranks_, layout_[i].profile, &Rank::profile);
    rank_of_[i] = static_cast<std::size_t>(rank - ranks_.begin());
  }
}

MemorySlices OptstaPolicy::size_of(ProfileIndex profile) const {
  return geometry_->profile(profile).size();
}

GpuGoal OptstaPolicy::layout_goal() const {
  GpuGoal goal;
  for (const gpu::PlacedProfile& placed : layout_) {
    goal.instances.push_back(placed);
  }
  return goal;
}

void OptstaPolicy::decide(const ClusterView& view,
                          std::span<const Event> events,
                          const PolicyContext& context,
                          Decisions& out) {
  if (!is_cut_) {
    cut_all(view, out);
  }
  for (const Event& event : events) {
    if (const auto* ended = std::get_if<JobEnded>(&event); ended != nullptr) {
      gangs_.release(*ended, [&](GpuId gpu) { refresh(view, gpu, out); });
    } else if (const auto* troubled = std::get_if<GpuTroubled>(&event); troubled != nullptr) {
      refresh(view, troubled->gpu, out);
    }
  }
  bool does_job_wait = false;
  for (const ClusterView::QueueKey& key : view.queue()) {
    const Placing placing = place(view, *view.job(key.job).spec, context, out);
    if (placing == Placing::kNoRoom) {
      does_job_wait = true;
      const bool is_full =
          std::ranges::all_of(ranks_, [](const Rank& r) { return r.idle.empty(); });
      if (setting_ == Setting::kPaper || is_full) {
        break;
      }
    }
  }
  if (promotion_ == Promotion::kOn && (setting_ == Setting::kArtifact || !does_job_wait)) {
    promote_all(view, out);
  }
  drafts_.finish(out);
}

void OptstaPolicy::cut_all(const ClusterView& view, Decisions& out) {
  for (int id = 0; id < gpu_count_; ++id) {
    const GpuId gpu(id);
    GpuGoal& goal = drafts_.edit(view, gpu, "static layout", out);
    goal = layout_goal();
    note(gpu, goal);
  }
  is_cut_ = true;
}

void OptstaPolicy::refresh(const ClusterView& view, GpuId gpu, Decisions& out) {
  const GpuGoal& now = drafts_.peek(view, gpu, out);
  if (now.mode == GpuGoal::Mode::kWholeGpu && now.slots.empty()) {
    drafts_.edit(view, gpu, "cut back after a gang", out) = layout_goal();
  }
  note(gpu, drafts_.peek(view, gpu, out));
}

void OptstaPolicy::note(GpuId gpu, const GpuGoal& goal) {
  const auto index = static_cast<std::size_t>(gpu.value());
  const bool is_cut = goal.mode == GpuGoal::Mode::kPartitioned;
  const std::array<bool, kInstancesMax> used = used_instances(goal);
  std::size_t best_idle = ranks_.size();  // ranks ascend from the largest
  std::size_t worst_used = 0;
  for (std::size_t i = 0; i < layout_.size(); ++i) {
    const std::size_t rank = rank_of_[i];
    if (is_cut && !used[i]) {
      ranks_[rank].idle.insert(place_index(gpu, i));
      best_idle = std::min(best_idle, rank);
    } else {
      ranks_[rank].idle.erase(place_index(gpu, i));
      worst_used = std::max(worst_used, rank);
    }
  }
  if (is_cut && goal.slots.empty()) {
    idle_gpus_.insert(index);
  } else {
    idle_gpus_.erase(index);
  }
  if (is_cut && !goal.slots.empty() && best_idle < worst_used) {
    promotable_.insert(index);
  } else {
    promotable_.erase(index);
  }
}

OptstaPolicy::Placing OptstaPolicy::place(const ClusterView& view,
                                          const job::JobSpec& spec,
                                          const PolicyContext& context,
                                          Decisions& out) {
  if (spec.gpus > 1) {
    return place_gang(view, spec, out);
  }
  const std::optional<ProfileIndex> smallest = context.predictor.smallest(spec.id);
  Placing answer = Placing::kFitsNowhere;
  for (Rank& rank : ranks_) {
    if (!smallest.has_value() || rank.size < size_of(*smallest)) {
      continue;
    }
    answer = Placing::kNoRoom;
    const std::optional<std::size_t> found = rank.idle.first();
    if (!found.has_value()) {
      continue;
    }
    const GpuId gpu(static_cast<int>(*found / kInstancesMax));
    GpuGoal& goal = drafts_.edit(view, gpu, "arrival", out);
    goal.add({.job = spec.id, .instance = static_cast<int>(*found % kInstancesMax)});
    note(gpu, goal);
    return Placing::kPlaced;
  }
  return answer;
}

OptstaPolicy::Placing OptstaPolicy::place_gang(const ClusterView& view,
                                               const job::JobSpec& spec,
                                               Decisions& out) {
  if (idle_gpus_.size() < static_cast<std::size_t>(spec.gpus)) {
    return Placing::kNoRoom;
  }
  gangs_.start(spec.id);
  for (int i = 0; i < spec.gpus; ++i) {
    const std::size_t index = checked_value(idle_gpus_.first(), "idle GPUs were counted before");
    const GpuId gpu(static_cast<int>(index));
    GpuGoal& goal = drafts_.edit(view, gpu, "arrival of a gang", out);
    goal = GpuGoal();
    goal.mode = GpuGoal::Mode::kWholeGpu;
    goal.slots.push_back({.job = spec.id});
    note(gpu, goal);
    gangs_.add(spec.id, gpu);
  }
  return Placing::kPlaced;
}

void OptstaPolicy::promote_all(const ClusterView& view, Decisions& out) {
  for (auto next = promotable_.first(); next.has_value();
       next = promotable_.first_from(*next + 1)) {
    const GpuId gpu(static_cast<int>(*next));
    const GpuPhase phase = view.gpu(gpu).phase;
    if (phase != GpuPhase::kChanging && phase != GpuPhase::kCharacterising) {
      promote(view, gpu, out);
    }
  }
}

void OptstaPolicy::promote(const ClusterView& view, GpuId gpu, Decisions& out) {
  GpuGoal& goal = drafts_.edit(view, gpu, "promotion", out);
  std::array<bool, kInstancesMax> used = used_instances(goal);
  while (true) {
    std::optional<std::size_t> from;  // the smallest used instance
    std::optional<std::size_t> to;    // the largest idle one
    for (std::size_t i = 0; i < layout_.size(); ++i) {
      if (used[i] && (!from.has_value() || rank_of_[i] > rank_of_[*from])) {
        from = i;
      } else if (!used[i] && (!to.has_value() || rank_of_[i] < rank_of_[*to])) {
        to = i;
      }
    }
    if (!from.has_value() || !to.has_value() || rank_of_[*to] >= rank_of_[*from]) {
      break;
    }
    // Nobody moves twice: no instance left idle is larger than one that was just taken.
    auto* slot = std::ranges::find(goal.slots, static_cast<int>(*from), &Slot::instance);
    slot->instance = static_cast<int>(*to);
    used[*from] = false;
    used[*to] = true;
  }
  note(gpu, goal);
}

std::unique_ptr<Policy> make_optsta(const PolicySetup& setup) {
  return std::make_unique<OptstaPolicy>(setup, "optsta", OptstaPolicy::Promotion::kOff);
}

std::unique_ptr<Policy> make_optsta_promote(const PolicySetup& setup) {
  return std::make_unique<OptstaPolicy>(setup, "optsta-promote", OptstaPolicy::Promotion::kOn);
}

std::unique_ptr<Policy> make_optsta_on_trace(const PolicySetup& setup) {
  return std::make_unique<OptstaPolicy>(setup, "optsta-on-trace", OptstaPolicy::Promotion::kOff);
}

}  // namespace septule::sched
