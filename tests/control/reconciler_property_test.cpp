// Any sequence of goals, reports, refusals and ends, against books of who may hold which job.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "control/reconciler.hpp"
#include "control/reconciler_support.hpp"

namespace septule::control {
namespace {

using job::JobId;
using test::gang_goal;
using test::goal;
using Members = Reconciler::Members;

/// A reconciler, and beside it the books of who may hold which job: from the order that names it
/// until a report that the GPU has left it out.
class World {
 public:
  static constexpr int kGpus = 4;
  static constexpr int kOwn = 6;   // jobs 0..5 need one GPU
  static constexpr int kJobs = 8;  // 6 and 7 are gangs of two

  void step() {
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
      case 1:
      case 2:
        change();
        break;
      case 3:
        report(gpu(), Report::kTroubled);
        break;
      case 4:
        end_job();
        break;
      case 5:
        stale(gpu());
        break;
      default:
        report(gpu(), Report::kReady);
        break;
    }
    take_orders();
  }

  /// Without further changes everything comes to what is wanted.
  void settle() {
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < kGpus; ++i) {
        report(i, Report::kReady);
      }
      take_orders();
    }
    for (int i = 0; i < kGpus; ++i) {
      RC_ASSERT(!reconciler_.is_busy(GpuId(i)));
      RC_ASSERT(at(i).has_order);
      RC_ASSERT(at(i).ordered == at(i).desired);
    }
    RC_ASSERT(reconciler_.changing_count() == 0);
  }

 private:
  enum class Report { kReady, kTroubled };
  struct Gpu {
    sched::GpuGoal desired;
    sched::GpuGoal ordered;
    std::set<int> held;
    std::uint64_t epoch = 0;
    bool has_order = true;  // untouched = as wanted
    bool is_busy = false;
    bool is_ready = false;  // in a characterisation run
    bool is_stuck = false;
  };
  static int gpu() { return *rc::gen::inRange(0, kGpus); }
  Gpu& at(int i) { return gpus_[static_cast<std::size_t>(i)]; }
  static bool is_gang(int job) { return job >= kOwn; }

  bool is_wanted(int job, const std::set<int>& but_for) {
    for (int i = 0; i < kGpus; ++i) {
      if (!but_for.contains(i) && at(i).desired.find(JobId(job)) != nullptr) {
        return true;
      }
    }
    return false;
  }

  /// New goals for some GPUs, as a policy may give them: each job wanted in one place, a gang on
  /// two GPUs or none.
  void change() {
    std::set<int> changed;
    for (int i = 0; i < kGpus; ++i) {
      if (*rc::gen::arbitrary<bool>()) {
        changed.insert(i);
      }
    }
    for (int job = kOwn; job < kJobs; ++job) {  // all of a gang's GPUs change, or none
      std::set<int> members;
      for (int i = 0; i < kGpus; ++i) {
        if (at(i).desired.find(JobId(job)) != nullptr) {
          members.insert(i);
        }
      }
      if (std::ranges::any_of(members, [&](int i) { return changed.contains(i); })) {
        changed.insert(members.begin(), members.end());
      }
    }
    std::map<int, std::vector<int>> wanted;
    std::vector<int> free(changed.begin(), changed.end());
    for (int job = kOwn; job < kJobs; ++job) {
      if (free.size() >= 2 && !ended_.contains(job) && !is_wanted(job, changed) &&
          *rc::gen::inRange(0, 3) == 0) {
        for (int part = 0; part < 2; ++part) {
          const auto which = *rc::gen::inRange<std::size_t>(0, free.size());
          at(free[which]).desired = gang_goal(job);
          reconciler_.desire(GpuId(free[which]), gang_goal(job), Members::kGang);
          changed.erase(free[which]);
          free.erase(free.begin() + static_cast<std::ptrdiff_t>(which));
        }
      }
    }
    for (int job = 0; job < kOwn && !free.empty(); ++job) {
      if (!ended_.contains(job) && !is_wanted(job, changed) && *rc::gen::inRange(0, 3) > 0) {
        wanted[*rc::gen::elementOf(free)].push_back(job);
      }
    }
    for (const int i : free) {
      const bool is_measured = *rc::gen::inRange(0, 4) == 0;
      at(i).desired = goal(
          wanted[i], is_measured ? sched::GoalPurpose::kCharacterise : sched::GoalPurpose::kRun);
      reconciler_.desire(GpuId(i), at(i).desired, Members::kOwnJobs);
    }
  }

  void take_orders() {
    while (const std::optional<GpuOrder> order = reconciler_.next_order()) {
      Gpu& gpu = at(order->gpu.value());
      RC_ASSERT(!gpu.is_busy && !gpu.is_stuck);
      RC_ASSERT(order->epoch > gpu.epoch);
      gpu.epoch = order->epoch;
      gpu.ordered = order->goal;
      gpu.has_order = true;
      gpu.is_busy = true;
      gpu.is_ready = false;
      for (const sched::Slot& slot : order->goal.slots) {
        const int job = slot.job.value();
        RC_ASSERT(!ended_.contains(job));
        check_holders(job, order->gpu.value());
        gpu.held.insert(job);
      }
    }
  }

  void check_holders(int job, int on) {
    std::set<int> holders;
    std::set<int> wanted;
    for (int i = 0; i < kGpus; ++i) {
      if (at(i).held.contains(job)) {
        holders.insert(i);
      }
      if (at(i).desired.find(JobId(job)) != nullptr) {
        wanted.insert(i);
      }
    }
    if (!is_gang(job)) {
      holders.erase(on);
      RC_ASSERT(holders.empty());
      return;
    }
    if (holders.empty()) {
      forming_[job] = wanted;
    }
    RC_ASSERT(wanted.contains(on));
    RC_ASSERT(forming_[job] == wanted);
  }

  void leave(Gpu& gpu) {
    std::erase_if(gpu.held, [&](int job) { return gpu.ordered.find(JobId(job)) == nullptr; });
  }

  void report(int i, Report what) {
    Gpu& gpu = at(i);
    if (gpu.is_stuck) {
      gpu.is_stuck = false;
      reconciler_.retry(GpuId(i));
      return;
    }
    if (!gpu.is_busy) {
      return;
    }
    if (gpu.is_ready) {
      RC_ASSERT(reconciler_.characterised(GpuId(i), gpu.epoch));
      gpu.is_busy = false;
      return;
    }
    leave(gpu);
    if (what == Report::kTroubled) {
      RC_ASSERT(reconciler_.troubled(GpuId(i), gpu.epoch));
      gpu.is_busy = false;
      gpu.is_stuck = true;
      return;
    }
    RC_ASSERT(reconciler_.ready(GpuId(i), gpu.epoch));
    gpu.is_ready = gpu.ordered.purpose == sched::GoalPurpose::kCharacterise;
    gpu.is_busy = gpu.is_ready;
  }

  void stale(int i) {
    for (const std::uint64_t epoch : {at(i).epoch + 1, at(i).epoch + 7}) {
      RC_ASSERT(!reconciler_.ready(GpuId(i), epoch));
      RC_ASSERT(!reconciler_.troubled(GpuId(i), epoch));
    }
  }

  void end_job() {
    const int job = *rc::gen::inRange(0, kJobs);
    if (!ended_.insert(job).second) {
      return;
    }
    reconciler_.job_ended(JobId(job));
    for (Gpu& gpu : gpus_) {
      gpu.desired.remove(JobId(job));
      gpu.ordered.remove(JobId(job));
      gpu.held.erase(job);
    }
  }

  Reconciler reconciler_{kGpus, kJobs};
  std::array<Gpu, kGpus> gpus_;
  std::set<int> ended_;
  std::map<int, std::set<int>> forming_;
};

RC_GTEST_PROP(Reconciler, AnySequence_NeverDoublesAJobAndAlwaysConverges, ()) {
  // Goals, reports, refusals and ends in any order: no job may be held by two GPUs, a gang only by
  // those of one forming; and once nothing changes any more all is as wanted.
  World world;
  for (int steps = *rc::gen::inRange(1, 60); steps > 0; --steps) {
    world.step();
  }
  world.settle();
}

}  // namespace
}  // namespace septule::control
