#include "sched/goal.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "gpu/partition.hpp"

namespace septule::sched {

namespace {

std::string slot_text(const Slot& slot) {
  if (slot.atp == ActiveThreadPercentage(100)) {
    return fmt::format("{}", slot.job.value());
  }
  return fmt::format("{} ({} %)", slot.job.value(), slot.atp.value());
}

/// The jobs of one instance (or of the whole GPU): "17, 18 (33 %)", or "-" for none.
std::string jobs_text(const GpuGoal& goal, int instance) {
  std::string text;
  for (const Slot& slot : goal.slots) {
    if (slot.instance == instance) {
      text += text.empty() ? "" : ", ";
      text += slot_text(slot);
    }
  }
  return text.empty() ? "-" : text;
}

std::string levels_text(const CharacterisationPlan& plan) {
  std::string text;
  for (const ActiveThreadPercentage level : plan.levels) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", level.value());
  }
  return text;
}

}  // namespace

const Slot* GpuGoal::find(job::JobId job) const {
  const auto* slot = std::ranges::find(slots, job, &Slot::job);
  return slot == slots.end() ? nullptr : slot;
}

void GpuGoal::add(const Slot& slot) {
  slots.push_back(slot);
  auto* place = std::ranges::upper_bound(slots.begin(), slots.end() - 1, slot.job, {}, &Slot::job);
  std::rotate(place, slots.end() - 1, slots.end());
}

void GpuGoal::remove(job::JobId job) {
  if (const Slot* slot = find(job); slot != nullptr) {
    slots.erase_at(static_cast<std::size_t>(slot - slots.begin()));
  }
}

std::string goal_text(const gpu::Geometry& geometry, const GpuGoal& goal) {
  std::vector<std::string> places;
  for (std::size_t i = 0; i < goal.instances.size(); ++i) {
    places.push_back(fmt::format("{}: {}",
                                 gpu::placed_text(geometry, goal.instances[i]),
                                 jobs_text(goal, static_cast<int>(i))));
  }
  if (goal.mode == GpuGoal::Mode::kWholeGpu) {
    places.push_back("whole GPU: " + jobs_text(goal, Slot::kWholeGpu));
  }
  if (places.empty()) {
    places.emplace_back("empty");
  }
  std::string text = fmt::format("{}", fmt::join(places, "; "));
  if (goal.purpose == GoalPurpose::kCharacterise) {
    return fmt::format("characterise at {} %: {}", levels_text(goal.characterisation), text);
  }
  return text;
}

}  // namespace septule::sched
