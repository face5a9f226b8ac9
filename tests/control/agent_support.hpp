#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "control/agent.hpp"
#include "control/control_support.hpp"

namespace septule::control::test {

using job::JobId;
using sched::GpuGoal;

inline constexpr GpuId kGpu{0};

struct Use {
  int job = 0;
  int instance = 0;
  int atp = 100;
};

inline GpuGoal goal(const std::vector<gpu::PlacedProfile>& instances,
                    const std::vector<Use>& uses) {
  GpuGoal made;
  for (const gpu::PlacedProfile& instance : instances) {
    made.instances.push_back(instance);
  }
  for (const Use& use : uses) {
    made.add({JobId(use.job), use.instance, ActiveThreadPercentage(use.atp)});
  }
  return made;
}

inline GpuGoal whole_gpu(const std::vector<Use>& uses) {
  GpuGoal made = goal({}, uses);
  made.mode = GpuGoal::Mode::kWholeGpu;
  for (sched::Slot& slot : made.slots) {
    slot.instance = sched::Slot::kWholeGpu;
  }
  return made;
}

inline GpuGoal characterisation(const std::vector<int>& jobs, sched::LevelsFrom from) {
  std::vector<Use> uses;
  for (const int job : jobs) {
    uses.push_back({.job = job, .instance = 0});
  }
  GpuGoal made = goal({placed("7g.40gb", 0)}, uses);
  made.purpose = sched::GoalPurpose::kCharacterise;
  made.characterisation.from = from;
  made.characterisation.per_level = Duration::milliseconds(10000);
  for (const int level : {100, 50, 14}) {
    made.characterisation.levels.push_back(ActiveThreadPercentage(level));
  }
  return made;
}

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() { make({}, {}); }

  void make(const device::EmulatedDeviceOptions& options, const AgentWaits& waits, int gpus = 1) {
    device_ = std::make_unique<ScriptedDevice>(options, gpus);
    agent_ =
        std::make_unique<Agent>(Agent::Parts{env_, *device_, reports_}, a100(), GpuId(0), waits);
    runner_ = std::make_unique<ScriptedRunner>();
    runner_->set_agent(*agent_);
    agent_->set_runner(*runner_);
    epoch_ = 0;
  }
  void order(const GpuGoal& wanted) { agent_->take({kGpu, ++epoch_, wanted}); }
  /// Answers and waits until nothing is left to do.
  void finish() {
    for (bool is_moving = true; is_moving;) {
      is_moving = env_.fire_next();
      if (runner_->is_stop_due()) {
        runner_->answer_stop();
        is_moving = true;
      }
      if (!is_moving && runner_->is_start_due()) {
        runner_->answer_start();
        is_moving = true;
      }
    }
  }
  void carry_out(const GpuGoal& wanted) {
    order(wanted);
    finish();
  }
  /// The GPU is exactly as the goal says, and so are the processes.
  void expect_is(const GpuGoal& wanted, const std::string& what = "") {
    const port::DeviceState state = device_->state();
    const bool is_whole = wanted.mode == GpuGoal::Mode::kWholeGpu;
    EXPECT_EQ(state.mig_mode == port::MigMode::kDisabled, is_whole) << what;
    ASSERT_EQ(state.instances.size(), wanted.instances.size()) << what;
    std::vector<int> jobs;
    for (const sched::Slot& slot : wanted.slots) {
      jobs.push_back(slot.job.value());
    }
    EXPECT_EQ(runner_->running(), jobs) << what;
    for (std::size_t i = 0; i < wanted.instances.size(); ++i) {
      EXPECT_EQ(state.instances[i].placed, wanted.instances[i]) << what;
      EXPECT_EQ(state.instances[i].compute_instances.size(), 1U) << what;
      int clients = 0;
      for (const sched::Slot& slot : wanted.slots) {
        clients += slot.instance == static_cast<int>(i) ? 1 : 0;
      }
      EXPECT_EQ(state.instances[i].client_count, clients) << what;
      EXPECT_TRUE(clients < 2 || state.instances[i].has_mps) << what;
    }
    EXPECT_EQ(state.client_count, is_whole ? static_cast<int>(jobs.size()) : 0) << what;
  }

  ManualEnv env_;
  ReportLog reports_;
  std::unique_ptr<ScriptedDevice> device_;
  std::unique_ptr<ScriptedRunner> runner_;
  std::unique_ptr<Agent> agent_;
  std::uint64_t epoch_ = 0;
};

inline const std::vector<gpu::PlacedProfile>& halves() {
  static const std::vector<gpu::PlacedProfile> both{placed("3g.20gb", 0), placed("3g.20gb", 4)};
  return both;
}

}  // namespace septule::control::test
