#include "control/reconciler.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace septule::control {

namespace {
constexpr int kNobody = -1;
}  // namespace

Reconciler::Reconciler(int gpu_count, int jobs_max)
    : gpus_(static_cast<std::size_t>(gpu_count)),
      holder_(static_cast<std::size_t>(jobs_max), kNobody),
      desirer_(static_cast<std::size_t>(jobs_max), kNobody) {}

void Reconciler::touch(GpuId id) {
  Gpu& gpu = state(id);
  if (!gpu.is_touched) {
    gpu.is_touched = true;
    touched_.push_back(id);
  }
}

void Reconciler::desire(GpuId gpu, const sched::GpuGoal& goal, Members members) {
  state(gpu).desired = goal;
  state(gpu).is_gang = members == Members::kGang;
  for (const sched::Slot& slot : goal.slots) {
    desirer_[static_cast<std::size_t>(slot.job.value())] = gpu.value();
    if (members == Members::kGang) {
      gangs_[slot.job].push_back(gpu);
    }
  }
  touch(gpu);
}

void Reconciler::forget(job::JobId job, GpuId on) {
  Gpu& gpu = state(on);
  gpu.desired.remove(job);
  gpu.ordered.remove(job);
  const auto* at = std::find(gpu.held.begin(), gpu.held.end(), job);
  if (at != gpu.held.end()) {
    gpu.held.erase_at(static_cast<std::size_t>(at - gpu.held.begin()));
  }
}

void Reconciler::job_ended(job::JobId job) {
  const auto index = static_cast<std::size_t>(job.value());
  for (const int number : {holder_[index], desirer_[index]}) {
    if (number != kNobody) {
      forget(job, GpuId(number));
    }
  }
  const auto gang = gangs_.find(job);
  if (gang != gangs_.end()) {
    for (const GpuId gpu : gang->second) {
      forget(job, gpu);
    }
    gangs_.erase(gang);
  }
  holder_[index] = kNobody;
  desirer_[index] = kNobody;
}

void Reconciler::release(job::JobId job, GpuId from) {
  const auto index = static_cast<std::size_t>(job.value());
  if (holder_[index] == from.value()) {
    holder_[index] = kNobody;
    if (desirer_[index] != kNobody) {
      touch(GpuId(desirer_[index]));
    }
  }
}

void Reconciler::settle_change(GpuId id) {
  if (state(id).is_changing) {
    state(id).is_changing = false;
    --changing_count_;
  }
}

void Reconciler::finish(GpuId id) {
  state(id).is_busy = false;
  touch(id);
}

bool Reconciler::ready(GpuId id, std::uint64_t epoch) {
  Gpu& gpu = state(id);
  if (gpu.epoch != epoch) {
    return false;
  }
  gpu.trouble_count = 0;
  settle_change(id);
  for (std::size_t i = 0; i < gpu.held.size();) {
    const job::JobId job = gpu.held[i];
    if (gpu.ordered.find(job) == nullptr) {
      gpu.held.erase_at(i);
      release(job, id);
    } else {
      ++i;
    }
  }
  if (gpu.ordered.purpose == sched::GoalPurpose::kRun) {
    finish(id);
  }
  return true;
}

bool Reconciler::characterised(GpuId id, std::uint64_t epoch) {
  if (state(id).epoch != epoch) {
    return false;
  }
  finish(id);
  return true;
}

bool Reconciler::troubled(GpuId id, std::uint64_t epoch) {
  Gpu& gpu = state(id);
  if (gpu.epoch != epoch) {
    return false;
  }
  ++gpu.trouble_count;
  settle_change(id);
  gpu.is_stuck = true;
  return true;
}

void Reconciler::retry(GpuId id) {
  Gpu& gpu = state(id);
  if (!gpu.is_stuck) {
    return;
  }
  gpu.is_stuck = false;
  gpu.ordered = sched::GpuGoal();  // what is there is not known: any goal differs from it
  gpu.ordered.mode = gpu.desired.mode == sched::GpuGoal::Mode::kPartitioned
                         ? sched::GpuGoal::Mode::kWholeGpu
                         : sched::GpuGoal::Mode::kPartitioned;
  finish(id);
}

std::optional<GpuOrder> Reconciler::order_for(GpuId id) {
  Gpu& gpu = state(id);
  if (gpu.is_busy || gpu.is_stuck) {
    return std::nullopt;
  }
  sched::GpuGoal goal = gpu.desired;
  for (std::size_t i = 0; i < goal.slots.size();) {
    const int holder = holder_[static_cast<std::size_t>(goal.slots[i].job.value())];
    if (!gpu.is_gang && holder != kNobody && holder != id.value()) {
      goal.slots.erase_at(i);
    } else {
      ++i;
    }
  }
  if (goal == gpu.ordered) {
    return std::nullopt;
  }
  gpu.ordered = goal;
  gpu.is_busy = true;
  gpu.is_changing = true;
  ++changing_count_;
  for (const sched::Slot& slot : goal.slots) {
    holder_[static_cast<std::size_t>(slot.job.value())] = id.value();
    if (std::find(gpu.held.begin(), gpu.held.end(), slot.job) == gpu.held.end()) {
      gpu.held.push_back(slot.job);
    }
  }
  return GpuOrder{id, ++gpu.epoch, goal};
}

std::optional<GpuOrder> Reconciler::next_order() {
  while (touched_next_ < touched_.size()) {
    const GpuId id = touched_[touched_next_++];
    state(id).is_touched = false;
    if (std::optional<GpuOrder> order = order_for(id)) {
      return order;
    }
  }
  touched_.clear();
  touched_next_ = 0;
  return std::nullopt;
}

}  // namespace septule::control
