#include "sched/decision_checker.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/layout.hpp"
#include "gpu/partition_checker.hpp"

namespace septule::sched {

namespace {

bool is_percentage(ActiveThreadPercentage atp) {
  return atp.value() >= 1 && atp.value() <= 100;
}

std::optional<Bytes> memory_of_whole(const gpu::Geometry& geometry) {
  std::optional<Bytes> memory;
  for (const gpu::GpuInstanceProfile& profile : geometry.profiles()) {
    if (profile.slices == geometry.compute_slices() && profile.memory.has_value()) {
      memory = std::max(memory.value_or(Bytes()), *profile.memory);
    }
  }
  return memory;
}

std::optional<std::string> refused_characterisation(const GpuGoal& goal) {
  if (goal.purpose != GoalPurpose::kCharacterise) {
    return std::nullopt;
  }
  if (goal.slots.empty()) {
    return "a characterisation needs a job";
  }
  for (const Slot& slot : goal.slots) {
    if (slot.instance != goal.slots[0].instance) {
      return fmt::format(
          "jobs {} and {} are characterised in different instances; all jobs of a "
          "characterisation share one",
          goal.slots[0].job.value(),
          slot.job.value());
    }
  }
  const CharacterisationPlan& plan = goal.characterisation;
  if (plan.levels.empty()) {
    return fmt::format("a characterisation has 0 levels; it takes 1 to {}", predict::kLevelsMax);
  }
  for (const ActiveThreadPercentage level : plan.levels) {
    if (!is_percentage(level)) {
      return fmt::format("a characterisation level is {} %; 1 to 100 are possible", level.value());
    }
  }
  if (plan.per_level <= Duration()) {
    return fmt::format("a characterisation level lasts {} ns; it must last longer than 0",
                       plan.per_level.to_nanoseconds());
  }
  return std::nullopt;
}

std::optional<std::string> refused_mode(const GpuGoal& goal) {
  if (goal.mode == GpuGoal::Mode::kWholeGpu && !goal.instances.empty()) {
    return fmt::format("{} instances with MIG off; whole-GPU mode has none", goal.instances.size());
  }
  for (const Slot& slot : goal.slots) {
    if (goal.mode == GpuGoal::Mode::kWholeGpu) {
      if (slot.instance != Slot::kWholeGpu) {
        return fmt::format("job {} is in instance {}; in whole-GPU mode there are no instances",
                           slot.job.value(),
                           slot.instance);
      }
    } else if (slot.instance < 0 ||
               static_cast<std::size_t>(slot.instance) >= goal.instances.size()) {
      return fmt::format("job {} is in instance {}; the goal has {} instances, counted from 0",
                         slot.job.value(),
                         slot.instance,
                         goal.instances.size());
    }
  }
  return std::nullopt;
}

}  // namespace

DecisionChecker::DecisionChecker(const gpu::Geometry& geometry,
                                 int gpu_count,
                                 MemoryRule memory_rule)
    : geometry_(&geometry),
      gpu_count_(gpu_count),
      memory_rule_(memory_rule),
      whole_memory_(memory_of_whole(geometry)) {}

std::optional<std::string> DecisionChecker::refusal(const ClusterView& view,
                                                    const predict::Predictor& predictor,
                                                    const Decisions& decisions) {
  for (const SetGoal& set : decisions.goals) {
    if (Verdict fault = refused_goal(view, predictor, set); fault.has_value()) {
      return fmt::format("goal for GPU {}: {}", set.gpu.value(), *fault);
    }
  }
  return refused_batch(view, decisions);
}

DecisionChecker::Verdict DecisionChecker::refused_goal(const ClusterView& view,
                                                       const predict::Predictor& predictor,
                                                       const SetGoal& set) {
  if (set.gpu.value() < 0 || set.gpu.value() >= gpu_count_) {
    return fmt::format("no such GPU; the cluster has {}, counted from 0", gpu_count_);
  }
  if (Verdict fault = refused_mode(set.goal); fault.has_value()) {
    return fault;
  }
  if (Verdict fault = refused_layout(set.goal); fault.has_value()) {
    return fault;
  }
  if (Verdict fault = refused_slots(view, set.goal); fault.has_value()) {
    return fault;
  }
  if (Verdict fault = refused_characterisation(set.goal); fault.has_value()) {
    return fault;
  }
  return memory_rule_ == MemoryRule::kChecked ? refused_memory(predictor, set.goal) : std::nullopt;
}

DecisionChecker::Verdict DecisionChecker::refused_layout(const GpuGoal& goal) {
  LayoutKey key{};
  for (std::size_t i = 0; i < goal.instances.size(); ++i) {
    const int profile = goal.instances[i].profile.value();
    const int start = goal.instances[i].start.value();
    if (profile < 0 || static_cast<std::size_t>(profile) >= geometry_->profiles().size()) {
      return fmt::format("instance {} has profile {}; {} has {} profiles, counted from 0",
                         i,
                         profile,
                         geometry_->key(),
                         geometry_->profiles().size());
    }
    if (start < 0 || start >= geometry_->memory_slices().value()) {
      return fmt::format("instance {} starts at memory slice {}; {} has memory slices 0 to {}",
                         i,
                         start,
                         geometry_->key(),
                         geometry_->memory_slices().value() - 1);
    }
    // Never 0, which stands for "no instance".
    key[i] = (static_cast<std::uint32_t>(profile) + 1) << 16U | static_cast<std::uint32_t>(start);
  }
  if (const auto known = layouts_.find(key); known != layouts_.end()) {
    return known->second;
  }
  const Verdict verdict = judged_layout(goal);
  if (layouts_.size() < kMemoMax) {
    layouts_.emplace(key, verdict);
  }
  return verdict;
}

DecisionChecker::Verdict DecisionChecker::judged_layout(const GpuGoal& goal) const {
  for (std::size_t i = 1; i < goal.instances.size(); ++i) {
    if (goal.instances[i].start < goal.instances[i - 1].start) {
      return fmt::format(
          "instance {} starts before instance {}; instances go by their start", i, i - 1);
    }
  }
  const gpu::Layout layout(goal.instances.begin(), goal.instances.end());
  const std::vector<gpu::Violation> violations =
      gpu::check_partition(*geometry_, gpu::partition_with_full_instances(*geometry_, layout));
  return violations.empty() ? std::nullopt : Verdict(violations.front().message);
}

DecisionChecker::Verdict DecisionChecker::refused_slots(const ClusterView& view,
                                                        const GpuGoal& goal) const {
  for (std::size_t i = 0; i < goal.slots.size(); ++i) {
    const Slot& slot = goal.slots[i];
    const int id = slot.job.value();
    if (i > 0 && slot.job <= goal.slots[i - 1].job) {
      return fmt::format("the slot of job {} follows that of job {}; slots go by job, one for each",
                         id,
                         goal.slots[i - 1].job.value());
    }
    if (id < 0 || id >= view.jobs_max() || view.job(slot.job).spec == nullptr) {
      return fmt::format("job {} was never submitted", id);
    }
    const JobView& job = view.job(slot.job);
    if (job.state != JobView::State::kWaiting && job.state != JobView::State::kPlaced) {
      return fmt::format("job {} has {}; only jobs that wait or are placed run",
                         id,
                         job.state == JobView::State::kEnded ? "ended" : "been rejected");
    }
    if (!is_percentage(slot.atp)) {
      return fmt::format("job {} has an active thread percentage of {}; 1 to 100 are possible",
                         id,
                         slot.atp.value());
    }
    const bool is_gang = job.spec->gpus > 1;
    if (is_gang && (goal.mode != GpuGoal::Mode::kWholeGpu || goal.slots.size() != 1)) {
      return fmt::format("job {} is a gang; it takes whole GPUs (MIG off) and shares none", id);
    }
  }
  return std::nullopt;
}

DecisionChecker::Verdict DecisionChecker::refused_memory(const predict::Predictor& predictor,
                                                         const GpuGoal& goal) const {
  // What is left of each instance; the whole GPU comes first.
  std::array<std::optional<Bytes>, kInstancesMax + 1> left{whole_memory_};
  for (std::size_t i = 0; i < goal.instances.size(); ++i) {
    left[i + 1] = geometry_->profile(goal.instances[i].profile).memory;
  }
  for (const Slot& slot : goal.slots) {
    std::optional<Bytes>& there =
        left[slot.instance == Slot::kWholeGpu ? 0 : static_cast<std::size_t>(slot.instance) + 1];
    if (!there.has_value()) {
      continue;
    }
    const Bytes need = predictor.need(slot.job);
    if (need > *there) {
      return fmt::format(
          "job {} needs {} MiB of memory; {} MiB are left on {}",
          slot.job.value(),
          need.whole_mebibytes(),
          there->whole_mebibytes(),
          slot.instance == Slot::kWholeGpu ? "the GPU" : fmt::format("instance {}", slot.instance));
    }
    there = Bytes(there->value() - need.value());
  }
  return std::nullopt;
}

DecisionChecker::Verdict DecisionChecker::refused_batch(const ClusterView& view,
                                                        const Decisions& decisions) {
  batch_gpus_.clear();
  given_.clear();
  gangs_.clear();
  for (const SetGoal& set : decisions.goals) {
    batch_gpus_.push_back(set.gpu);
    for (const Slot& slot : set.goal.slots) {
      given_.push_back({.job = slot.job, .gpu = set.gpu});
      note_gang(view, slot.job);
    }
    for (const Slot& slot : view.gpu(set.gpu).goal.slots) {
      note_gang(view, slot.job);
    }
  }
  std::ranges::sort(batch_gpus_);
  std::ranges::sort(given_);
  std::ranges::sort(gangs_);
  gangs_.erase(std::unique(gangs_.begin(), gangs_.end()), gangs_.end());
  if (const auto twice = std::ranges::adjacent_find(batch_gpus_); twice != batch_gpus_.end()) {
    return fmt::format("goal for GPU {}: the batch has a second one; one per GPU is possible",
                       twice->value());
  }
  Verdict fault = refused_doubles(view);
  return fault.has_value() ? fault : refused_gangs(view);
}

void DecisionChecker::note_gang(const ClusterView& view, job::JobId job) {
  if (view.job(job).spec->gpus > 1) {
    gangs_.push_back(job);
  }
}

DecisionChecker::Verdict DecisionChecker::refused_doubles(const ClusterView& view) const {
  for (std::size_t i = 0; i < given_.size(); ++i) {
    const Mention& mention = given_[i];
    if (view.job(mention.job).spec->gpus > 1) {
      continue;
    }
    if (i > 0 && given_[i - 1].job == mention.job) {
      return fmt::format("goal for GPU {}: job {} is on GPU {} too; a job runs in one place",
                         mention.gpu.value(),
                         mention.job.value(),
                         given_[i - 1].gpu.value());
    }
    const GpuId before = view.job(mention.job).gpu;
    if (before != mention.gpu && view.is_placed(mention.job) &&
        !std::ranges::binary_search(batch_gpus_, before)) {
      return fmt::format("goal for GPU {}: job {} stays on GPU {} too; a job runs in one place",
                         mention.gpu.value(),
                         mention.job.value(),
                         before.value());
    }
  }
  return std::nullopt;
}

DecisionChecker::Verdict DecisionChecker::refused_gangs(const ClusterView& view) const {
  for (const job::JobId gang : gangs_) {
    const auto given = std::ranges::equal_range(given_, gang, {}, &Mention::job);
    std::size_t count = given.size();
    for (const GpuId gpu : view.gpus_of(gang)) {
      count += std::ranges::binary_search(batch_gpus_, gpu) ? 0U : 1U;
    }
    const auto wanted = static_cast<std::size_t>(view.job(gang).spec->gpus);
    if (count != 0 && count != wanted) {
      const GpuId named = given.empty() ? view.job(gang).gpu : given.front().gpu;
      return fmt::format("goal for GPU {}: job {} would have {} {}; its gang takes {} or none",
                         named.value(),
                         gang.value(),
                         count,
                         count == 1 ? "GPU" : "GPUs",
                         wanted);
    }
  }
  return std::nullopt;
}

}  // namespace septule::sched
