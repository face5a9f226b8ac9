#include "control/reconciler.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace septule::control {

namespace {
constexpr int kNobody = -1;

void insert(std::vector<GpuId>& ascending, GpuId gpu) {
  const auto at = std::ranges::lower_bound(ascending, gpu);
  if (at == ascending.end() || *at != gpu) {
    ascending.insert(at, gpu);
  }
}

void erase(std::vector<GpuId>& ascending, GpuId gpu) {
  const auto at = std::ranges::lower_bound(ascending, gpu);
  if (at != ascending.end() && *at == gpu) {
    ascending.erase(at);
  }
}
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
  unwant(gpu);
  state(gpu).desired = goal;
  state(gpu).is_gang = members == Members::kGang;
  want(gpu, goal);
  touch(gpu);
}

void Reconciler::want(GpuId gpu, const sched::GpuGoal& goal) {
  for (const sched::Slot& slot : goal.slots) {
    if (!state(gpu).is_gang) {
      desirer_[static_cast<std::size_t>(slot.job.value())] = gpu.value();
      continue;
    }
    Gang& gang = gangs_[slot.job];
    insert(gang.wanted, gpu);
    touch_holders(gang);
  }
}

void Reconciler::unwant(GpuId id) {
  const Gpu& gpu = state(id);
  for (const sched::Slot& slot : gpu.desired.slots) {
    const auto gang = gangs_.find(slot.job);
    if (gpu.is_gang && gang != gangs_.end()) {
      erase(gang->second.wanted, id);
      touch_holders(gang->second);
    }
  }
}

/// The GPUs of a gang may have to stop it, because the set of them has changed.
void Reconciler::touch_holders(const Gang& gang) {
  for (const GpuId gpu : gang.held) {
    touch(gpu);
  }
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
    for (const std::vector<GpuId>* gpus : {&gang->second.wanted, &gang->second.held}) {
      for (const GpuId gpu : *gpus) {
        forget(job, gpu);
      }
    }
    gangs_.erase(gang);
  }
  holder_[index] = kNobody;
  desirer_[index] = kNobody;
}

void Reconciler::release(job::JobId job, GpuId from) {
  const auto gang = gangs_.find(job);
  if (gang != gangs_.end()) {
    erase(gang->second.held, from);
    if (gang->second.held.empty()) {
      for (const GpuId gpu : gang->second.wanted) {
        touch(gpu);
      }
    }
    return;
  }
  const auto index = static_cast<std::size_t>(job.value());
  if (holder_[index] == from.value()) {
    holder_[index] = kNobody;
    if (desirer_[index] != kNobody) {
      touch(GpuId(desirer_[index]));
    }
  }
}

/// Jobs that the last order does not name hold nothing here any more.
void Reconciler::release_left_out(GpuId id) {
  Gpu& gpu = state(id);
  for (std::size_t i = 0; i < gpu.held.size();) {
    const job::JobId job = gpu.held[i];
    if (gpu.ordered.find(job) == nullptr) {
      gpu.held.erase_at(i);
      release(job, id);
    } else {
      ++i;
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
  release_left_out(id);
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
  release_left_out(id);
  gpu.is_stuck = true;
  return true;
}

void Reconciler::retry(GpuId id) {
  Gpu& gpu = state(id);
  if (!gpu.is_stuck) {
    return;
  }
  gpu.is_stuck = false;
  gpu.is_unknown = true;
  finish(id);
}

/// Whether an order may name the job here: nobody else holds it; a gang forms, or has formed, on
/// exactly the GPUs that want it now.
bool Reconciler::may_take(GpuId id, job::JobId job) const {
  if (state(id).is_gang) {
    const Gang& gang = gangs_.at(job);
    return gang.held.empty() || gang.forming == gang.wanted;
  }
  const int holder = holder_[static_cast<std::size_t>(job.value())];
  return holder == kNobody || holder == id.value();
}

void Reconciler::hold(GpuId id, job::JobId job) {
  Gpu& gpu = state(id);
  if (gpu.is_gang) {
    Gang& gang = gangs_.at(job);
    if (gang.held.empty()) {
      gang.forming = gang.wanted;
    }
    insert(gang.held, id);
  } else {
    holder_[static_cast<std::size_t>(job.value())] = id.value();
  }
  if (std::find(gpu.held.begin(), gpu.held.end(), job) == gpu.held.end()) {
    gpu.held.push_back(job);
  }
}

std::optional<GpuOrder> Reconciler::order_for(GpuId id) {
  Gpu& gpu = state(id);
  if (gpu.is_busy || gpu.is_stuck) {
    return std::nullopt;
  }
  sched::GpuGoal goal = gpu.desired;
  for (std::size_t i = 0; i < goal.slots.size();) {
    if (may_take(id, goal.slots[i].job)) {
      ++i;
    } else {
      goal.slots.erase_at(i);
    }
  }
  if (goal == gpu.ordered && !gpu.is_unknown) {
    return std::nullopt;
  }
  gpu.ordered = goal;
  gpu.is_unknown = false;
  gpu.is_busy = true;
  gpu.is_changing = true;
  ++changing_count_;
  for (const sched::Slot& slot : goal.slots) {
    hold(id, slot.job);
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
