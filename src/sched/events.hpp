#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "predict/predictor.hpp"
#include "sched/goal.hpp"

namespace septule::sched {

// The whole contract between the world and a policy: what happened, and what to do.

/// A job was submitted. Its JobSpec is in the view.
struct JobSubmitted {
  job::JobId job;
};
/// A job finished its work; it holds nothing any more.
struct JobEnded {
  job::JobId job;
  GpuId gpu;  ///< for gangs the first of its GPUs
};
/// The GPU is cut as ordered and its jobs have been launched: it can take a new goal.
struct GpuReady {
  GpuId gpu;
};
/// Every job on the GPU has completed its first step since the last change.
struct GpuSettled {
  GpuId gpu;
};
/// A characterisation run is over; the predictor has been told what it saw.
struct GpuCharacterised {
  GpuId gpu;
};
/// A running job's speed departs by `factor` from what it was since its start.
struct JobSpeedChanged {
  job::JobId job;
  GpuId gpu;
  double factor = 1;
};
/// An order could not be carried out; `what` says why. The GPU keeps what it has.
struct GpuTroubled {
  GpuId gpu;
};
/// The wake-up that a policy asked for.
struct WokeUp {};

using Event = std::variant<JobSubmitted,
                           JobEnded,
                           GpuReady,
                           GpuSettled,
                           GpuCharacterised,
                           JobSpeedChanged,
                           GpuTroubled,
                           WokeUp>;
std::string_view event_name(const Event& event);

/// Bring this GPU there. A goal replaces the one before; jobs that it leaves out and no other goal
/// of the same batch takes are preempted: saved and put back into the queue.
struct SetGoal {
  GpuId gpu;
  GpuGoal goal;
  std::string_view reason;  ///< a text with static lifetime: "arrival", "departure"; for stories
};
/// Call decide() again at this time (besides events).
struct WakeAt {
  SimTime time;
};
/// What a policy wants done. Filled by decide(); reused from call to call.
struct Decisions {
  std::vector<SetGoal> goals;  ///< at most one per GPU
  std::vector<WakeAt> wakes;

  void clear() {
    goals.clear();
    wakes.clear();
  }
};

}  // namespace septule::sched
