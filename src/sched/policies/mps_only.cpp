#include "sched/policies/mps_only.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace septule::sched {

namespace {

/// More than any GPU has: stands for memory that is not published.
constexpr std::uint64_t kMemoryUnknown = std::uint64_t{1} << 62U;

std::uint64_t whole_memory(const gpu::Geometry& geometry) {
  const std::optional<ProfileIndex> whole = geometry.plain_profile(geometry.compute_slices());
  if (!whole.has_value()) {
    return kMemoryUnknown;
  }
  return geometry.profile(*whole).memory.value_or(Bytes(kMemoryUnknown)).value();
}

}  // namespace

MpsOnlyPolicy::MpsOnlyPolicy(const PolicySetup& setup, std::string_view name, Placement placement)
    : name_(name),
      is_memory_checked_(placement == Placement::kSpread || setup.setting == Setting::kPaper),
      memory_(whole_memory(*setup.geometry)),
      trees_(placement == Placement::kSpread ? std::size_t{kJobsMax} : 1,
             FirstFitTree(static_cast<std::size_t>(setup.gpu_count))),
      empty_(static_cast<std::size_t>(setup.gpu_count)),
      drafts_(setup.gpu_count) {
  for (int gpu = 0; gpu < setup.gpu_count; ++gpu) {
    const auto index = static_cast<std::size_t>(gpu);
    empty_.insert(index);
    trees_.front().set(index, memory_ + 1);
  }
}

void MpsOnlyPolicy::decide(const ClusterView& view,
                           std::span<const Event> events,
                           const PolicyContext& context,
                           Decisions& out) {
  const auto refresh = [&](GpuId gpu) { note(view, gpu, view.gpu(gpu).goal, context); };
  for (const Event& event : events) {
    if (const auto* ended = std::get_if<JobEnded>(&event); ended != nullptr) {
      gangs_.release(*ended, refresh);
    } else if (const auto* troubled = std::get_if<GpuTroubled>(&event); troubled != nullptr) {
      refresh(troubled->gpu);
    }
  }
  for (const ClusterView::QueueKey& key : view.queue()) {
    const job::JobSpec& spec = *view.job(key.job).spec;
    const bool is_done =
        spec.gpus > 1 ? place_gang(view, spec, context, out) : place(view, spec, context, out);
    if (!is_done) {
      break;
    }
  }
  drafts_.finish(out);
}

void MpsOnlyPolicy::note(const ClusterView& view,
                         GpuId gpu,
                         const GpuGoal& goal,
                         const PolicyContext& context) {
  const auto index = static_cast<std::size_t>(gpu.value());
  std::uint64_t room = memory_ + 1;
  bool has_gang = false;
  for (const Slot& slot : goal.slots) {
    has_gang = has_gang || view.job(slot.job).spec->gpus > 1;
    if (is_memory_checked_) {
      room -= std::min(room - 1, context.predictor.need(slot.job).value());
    }
  }
  if (has_gang || goal.slots.size() >= std::size_t{kJobsMax}) {
    room = 0;
  }
  for (std::size_t tree = 0; tree < trees_.size(); ++tree) {
    const bool is_here = trees_.size() == 1 || tree == goal.slots.size();
    trees_[tree].set(index, is_here ? room : 0);
  }
  if (goal.slots.empty()) {
    empty_.insert(index);
  } else {
    empty_.erase(index);
  }
}

std::optional<std::size_t> MpsOnlyPolicy::gpu_for(std::uint64_t room) const {
  for (const FirstFitTree& tree : trees_) {
    if (const auto found = tree.first_with(room); found.has_value()) {
      return found;
    }
  }
  return std::nullopt;
}

bool MpsOnlyPolicy::place(const ClusterView& view,
                          const job::JobSpec& spec,
                          const PolicyContext& context,
                          Decisions& out) {
  // Alone on a GPU every job fits, whatever it says it needs.
  const std::uint64_t need =
      is_memory_checked_ ? std::min(context.predictor.need(spec.id).value(), memory_) : 0;
  const std::optional<std::size_t> found = gpu_for(need + 1);
  if (!found.has_value()) {
    return false;
  }
  const GpuId gpu(static_cast<int>(*found));
  GpuGoal& goal = drafts_.edit(view, gpu, "arrival", out);
  goal.mode = GpuGoal::Mode::kWholeGpu;
  goal.add({.job = spec.id, .atp = kShare});
  note(view, gpu, goal, context);
  return true;
}

bool MpsOnlyPolicy::place_gang(const ClusterView& view,
                               const job::JobSpec& spec,
                               const PolicyContext& context,
                               Decisions& out) {
  if (empty_.size() < static_cast<std::size_t>(spec.gpus)) {
    return false;
  }
  gangs_.start(spec.id);
  for (int i = 0; i < spec.gpus; ++i) {
    const std::size_t index = checked_value(empty_.first(), "empty GPUs were counted before");
    const GpuId gpu(static_cast<int>(index));
    GpuGoal& goal = drafts_.edit(view, gpu, "arrival of a gang", out);
    goal.mode = GpuGoal::Mode::kWholeGpu;
    goal.add({.job = spec.id});
    note(view, gpu, goal, context);
    gangs_.add(spec.id, gpu);
  }
  return true;
}

std::unique_ptr<Policy> make_mps_only(const PolicySetup& setup) {
  return std::make_unique<MpsOnlyPolicy>(setup, "mps-only", MpsOnlyPolicy::Placement::kSpread);
}

std::unique_ptr<Policy> make_mps_only_pack(const PolicySetup& setup) {
  return std::make_unique<MpsOnlyPolicy>(setup, "mps-only-pack", MpsOnlyPolicy::Placement::kPack);
}

}  // namespace septule::sched
