#pragma once

#include <vector>

#include "sched/policies/septule_goals.hpp"
#include "sched/policy_registry.hpp"

namespace septule::sched {

/// Decides whether a GPU on which jobs have changed their speed is characterised again.
///
/// Assumptions: what was believed of such a job is void. Its new curve lies between flat (the
/// smallest profile is as good as the largest) and linear in compute slices; knowing it would let
/// the GPU be cut optimally.
/// Test: the regret of the present places = what the optimum under a curve is worth more than the
/// places as they are under it. The mean regret of both curves over the expected life of a cut must
/// exceed what a characterisation run costs: the values of all jobs of the GPU over the run, and a
/// lost restart for each. A job alone on its GPU is never characterised for this: the largest
/// instance it can have is right under every curve. Otherwise jobs go on where they are; later
/// decisions take the changed ones to run as unknown jobs are assumed to.
/// Between runs of one GPU at least PolicySetup::recharacterise_gap passes; a GPU that has to wait
/// asks to be woken. Cost: two assignments per test. One thread.
class SeptuleRecheck {
 public:
  /// Both outlive it.
  SeptuleRecheck(const PolicySetup& setup, SeptuleValues& values, SeptuleGoals& goals);

  /// A job of the GPU changed: test when it can change.
  void suspect(GpuId gpu) { state(gpu).is_suspected = true; }
  bool is_suspected(GpuId gpu) const {
    return states_[static_cast<std::size_t>(gpu.value())].is_suspected;
  }
  /// A run of the GPU is over.
  void characterised(const SeptuleCall& call, GpuId gpu);
  /// GPUs whose time has come are touched.
  void wake(const SeptuleCall& call);
  /// Characterises the GPU if it is suspected and the test says so. True if it did.
  bool check(const SeptuleCall& call, GpuId gpu);
  /// The test itself: expected gain less cost, in weighted useful seconds (what is not known).
  double gain(const SeptuleCall& call, const GpuGoal& goal);

 private:
  struct State {
    bool is_suspected = false;
    bool has_run = false;
    bool is_waiting = false;  // in waiting_
    SimTime run_at;           // end of the last run
  };
  State& state(GpuId gpu) { return states_[static_cast<std::size_t>(gpu.value())]; }
  double regret(const SeptuleCall& call, const GpuGoal& goal, SeptuleValues::Shape shape);

  SeptuleValues* values_;
  SeptuleGoals* goals_;
  Duration gap_;
  double run_s_;  // all levels of a run
  std::vector<State> states_;
  std::vector<GpuId> waiting_;
  SeptuleProblem posed_;
};

}  // namespace septule::sched
