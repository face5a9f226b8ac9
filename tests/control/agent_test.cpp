#include "control/agent.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "control/agent_support.hpp"

namespace septule::control {
namespace {

using job::JobId;
using port::DeviceCode;
using sched::GpuGoal;
using test::AgentTest;
using test::characterisation;
using test::goal;
using test::halves;
using test::kGpu;
using test::placed;
using test::whole_gpu;
using Kind = AgentReport::Kind;
using Kinds = std::vector<Kind>;

TEST_F(AgentTest, Order_IsCutLaunchedAndSettled_InThatOrder) {
  // Ready after the cut and the launches, settled after the first steps; the cut takes its time.
  const GpuGoal wanted = goal(halves(), {{1, 0}, {2, 1}});
  order(wanted);
  EXPECT_EQ(reports_.kinds(), Kinds());
  EXPECT_EQ(env_.pending_count(), 1U);  // the latency of the cut
  env_.fire_next();
  EXPECT_GT(env_.now(), SimTime());
  EXPECT_EQ(reports_.kinds(), Kinds{Kind::kReady});
  runner_->answer_start();
  EXPECT_EQ(reports_.kinds(), Kinds{Kind::kSettled});
  EXPECT_EQ(reports_.reports.back().epoch, 1U);
  expect_is(wanted);
  EXPECT_FALSE(device_->state().instances[0].has_mps);
  EXPECT_EQ(agent_->recut_count(), 1);
}

TEST_F(AgentTest, MovedOnly_LeavesTheOthersRunning) {
  // One half is re-cut; the job in the other is neither stopped nor started.
  carry_out(goal(halves(), {{1, 0}, {2, 1}}));
  runner_->log.clear();
  const GpuGoal next = goal({placed("2g.10gb", 0), placed("1g.5gb", 2), placed("3g.20gb", 4)},
                            {{1, 0}, {2, 2}, {3, 1}});
  carry_out(next);
  EXPECT_EQ(runner_->log, (std::vector<std::string>{"stop 1", "start 1", "start 3"}));
  expect_is(next);
}

TEST_F(AgentTest, Everything_RestartsTheWholeGpu) {
  // The paper's way: also jobs and instances that stay where they are.
  carry_out(goal(halves(), {{1, 0}, {2, 1}}));
  runner_->log.clear();
  GpuGoal next = goal(halves(), {{1, 0}});
  next.restart = sched::RestartRule::kEverything;
  carry_out(next);
  EXPECT_EQ(runner_->log, (std::vector<std::string>{"stop 1", "stop 2", "start 1"}));
  expect_is(next);
  EXPECT_EQ(agent_->recut_count(), 2);
}

TEST_F(AgentTest, EqualOrder_DisturbsNobodyAndIsReported) {
  // Carrying it out twice is harmless.
  const GpuGoal wanted = goal(halves(), {{1, 0}, {2, 1}});
  carry_out(wanted);
  reports_.kinds();
  runner_->log.clear();
  carry_out(wanted);
  EXPECT_EQ(reports_.kinds(), (Kinds{Kind::kReady, Kind::kSettled}));
  EXPECT_TRUE(runner_->log.empty());
  EXPECT_EQ(agent_->recut_count(), 1);
}

TEST_F(AgentTest, StaleOrder_IsDropped) {
  // Not newer than the last one: counted, and nothing else.
  carry_out(goal(halves(), {{1, 0}}));
  reports_.kinds();
  agent_->take({kGpu, 1, goal({}, {})});
  agent_->take({kGpu, 0, goal({}, {})});
  finish();
  EXPECT_EQ(agent_->stale_order_count(), 2);
  EXPECT_EQ(reports_.kinds(), Kinds());
  expect_is(goal(halves(), {{1, 0}}));
}

TEST_F(AgentTest, Daemons_RunWhereJobsShareOrAreLimited) {
  // Not in the instance of one job without a limit.
  const GpuGoal wanted = goal({placed("2g.10gb", 0), placed("2g.10gb", 2), placed("3g.20gb", 4)},
                              {{1, 0}, {2, 1, 50}, {3, 2}, {4, 2}});
  carry_out(wanted);
  expect_is(wanted);
  const port::DeviceState state = device_->state();
  EXPECT_FALSE(state.instances[0].has_mps);
  EXPECT_TRUE(state.instances[1].has_mps);
  EXPECT_TRUE(state.instances[2].has_mps);
}

TEST_F(AgentTest, JobThatComesToShare_RestartsTheOneThatRanWithoutMps) {
  // A process cannot join MPS later; a third one finds both under MPS and disturbs nobody.
  const std::vector<gpu::PlacedProfile> whole{placed("7g.40gb", 0)};
  carry_out(goal(whole, {{1, 0}}));
  runner_->log.clear();
  carry_out(goal(whole, {{1, 0}, {2, 0}}));
  EXPECT_EQ(runner_->log, (std::vector<std::string>{"stop 1", "start 1", "start 2"}));
  runner_->log.clear();
  carry_out(goal(whole, {{1, 0}, {2, 0}, {3, 0}}));
  EXPECT_EQ(runner_->log, std::vector<std::string>{"start 3"});
  expect_is(goal(whole, {{1, 0}, {2, 0}, {3, 0}}));
}

TEST_F(AgentTest, ChangedLimit_RestartsTheJob) {
  // Its place is another one, though the instance stays.
  carry_out(goal(halves(), {{1, 0, 50}}));
  runner_->log.clear();
  carry_out(goal(halves(), {{1, 0, 30}}));
  EXPECT_EQ(runner_->log, (std::vector<std::string>{"stop 1", "start 1"}));
  EXPECT_EQ(runner_->place(1).atp, ActiveThreadPercentage(30));
}

TEST_F(AgentTest, MigMode_IsSwitchedThereAndBack) {
  // Instances go first, and the daemon of the whole GPU before MIG comes on again.
  const GpuGoal cut = goal(halves(), {{1, 0}});
  carry_out(cut);
  const GpuGoal whole = whole_gpu({{1}, {2}});
  carry_out(whole);
  expect_is(whole);
  EXPECT_TRUE(device_->state().has_mps);
  EXPECT_EQ(runner_->place(2).instance, std::nullopt);
  carry_out(cut);
  expect_is(cut);
  EXPECT_FALSE(device_->state().has_mps);
}

TEST_F(AgentTest, CharacterisationFromFirstStep_SeesEveryLevel) {
  // Levels begin with the first steps, 10 s each; each job has a sample with its step per level.
  order(characterisation({1, 2}, sched::LevelsFrom::kFirstStep));
  env_.fire_next();
  EXPECT_EQ(reports_.kinds(), Kinds{Kind::kReady});
  const double launched = env_.now().to_seconds();
  env_.run_until(launched + 5);
  runner_->answer_start();
  env_.run_until(launched + 34.9);
  EXPECT_EQ(reports_.kinds(), Kinds());
  env_.run_until(launched + 35.1);
  ASSERT_EQ(reports_.kinds(), Kinds{Kind::kCharacterised});
  const AgentReport& report = reports_.reports.back();
  ASSERT_EQ(report.samples.size(), 2U);
  for (const predict::MpsSample& sample : report.samples) {
    EXPECT_EQ(sample.signature, job::SignatureIndex(sample.job.value() + 100));
    ASSERT_EQ(sample.levels.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      const int level = std::vector{100, 50, 14}[i];
      EXPECT_EQ(sample.levels[i].atp, ActiveThreadPercentage(level));
      EXPECT_EQ(sample.levels[i].step, Duration::milliseconds(1000 * sample.job.value() + level));
    }
  }
  EXPECT_EQ(agent_->characterisation_count(), 1);
  EXPECT_TRUE(device_->state().instances[0].has_mps);
}

TEST_F(AgentTest, CharacterisationFromLaunch_DoesNotWaitForFirstSteps) {
  // The artifact's way: 30 s from the launch, whatever the jobs have done by then.
  order(characterisation({1}, sched::LevelsFrom::kLaunch));
  env_.fire_next();
  const double launched = env_.now().to_seconds();
  env_.run_until(launched + 30.1);
  EXPECT_EQ(reports_.kinds(), (Kinds{Kind::kReady, Kind::kCharacterised}));
  runner_->answer_start();  // late: of a stage that is past
  EXPECT_EQ(reports_.kinds(), Kinds());
}

TEST_F(AgentTest, Characterisation_StopsEveryRunningJobFirst) {
  // Also one that is in the same instance already.
  carry_out(goal({placed("7g.40gb", 0)}, {{1, 0}}));
  runner_->log.clear();
  order(characterisation({1, 2}, sched::LevelsFrom::kFirstStep));
  EXPECT_EQ(runner_->log, std::vector<std::string>{"stop 1"});
  finish();
  EXPECT_EQ(runner_->running(), (std::vector<int>{1, 2}));
}

TEST_F(AgentTest, JobThatStaysAfterItsCharacterisation_RunsOnWithoutALimit) {
  // Not restarted, and not at the last level for the rest of its life.
  carry_out(characterisation({1}, sched::LevelsFrom::kFirstStep));
  runner_->log.clear();
  carry_out(goal({placed("7g.40gb", 0)}, {{1, 0}}));
  EXPECT_EQ(runner_->log, std::vector<std::string>{"end of characterisation"});
  expect_is(goal({placed("7g.40gb", 0)}, {{1, 0}}));
}

TEST_F(AgentTest, Waits_PassBetweenStopAndCut) {
  // After a checkpoint one wait, after a characterisation run another.
  make({},
       {.after_checkpoint = Duration::milliseconds(1000),
        .after_mps = Duration::milliseconds(2000)});
  carry_out(characterisation({1}, sched::LevelsFrom::kFirstStep));
  const SimTime before = env_.now();
  order(goal({placed("7g.40gb", 0)}, {}));
  runner_->answer_stop();
  env_.fire_next();
  EXPECT_EQ(env_.now() - before, Duration::milliseconds(2000));
  finish();
  carry_out(goal({placed("7g.40gb", 0)}, {{1, 0}}));
  const SimTime again = env_.now();
  order(goal({placed("7g.40gb", 0)}, {}));
  runner_->answer_stop();
  env_.fire_next();
  EXPECT_EQ(env_.now() - again, Duration::milliseconds(1000));
}

TEST_F(AgentTest, JobThatEnds_InEveryStage_IsReportedAndNotLaunched) {
  // While stopping, waiting, cutting, starting, settled: told once; its client is gone.
  for (int stage = 0; stage < 5; ++stage) {
    make({}, {.after_checkpoint = Duration::milliseconds(1000), .after_mps = Duration()});
    carry_out(goal(halves(), {{1, 0}, {2, 1}}));
    reports_.kinds();
    const GpuGoal next = goal({placed("4g.20gb", 0), placed("3g.20gb", 4)}, {{1, 0}, {2, 1}});
    order(next);
    const auto end = [&](int at) {
      if (at == stage) {
        runner_->end(kGpu, at == 0 ? 1 : 2);
      }
    };
    end(0);
    runner_->answer_stop();
    end(1);
    env_.fire_next();  // the wait
    end(2);
    env_.fire_next();  // the cut
    end(3);
    runner_->answer_start();
    end(4);
    const int gone = stage == 0 ? 1 : 2;
    const Kinds kinds = reports_.kinds();
    EXPECT_EQ(std::ranges::count(kinds, Kind::kJobEnded), 1) << stage;
    EXPECT_EQ(std::ranges::count(kinds, Kind::kReady), 1) << stage;
    EXPECT_EQ(std::ranges::count(kinds, Kind::kSettled), 1) << stage;
    GpuGoal left = next;
    left.remove(JobId(gone));
    expect_is(left, std::to_string(stage));
  }
}

TEST_F(AgentTest, JobThatEndsInALevel_LosesItsSample) {
  // The run goes on for the others.
  order(characterisation({1, 2}, sched::LevelsFrom::kFirstStep));
  env_.fire_next();
  runner_->answer_start();
  env_.run_until(env_.now().to_seconds() + 12);
  runner_->end(kGpu, 1);
  finish();
  const AgentReport& report = reports_.reports.back();
  EXPECT_EQ(report.kind, Kind::kCharacterised);
  ASSERT_EQ(report.samples.size(), 1U);
  EXPECT_EQ(report.samples[0].job, JobId(2));
  EXPECT_EQ(report.samples[0].levels.size(), 3U);
}

TEST_F(AgentTest, AllJobsEndInACharacterisation_ItIsReportedOver) {
  // Without samples; the GPU is free again.
  order(characterisation({1}, sched::LevelsFrom::kFirstStep));
  env_.fire_next();
  runner_->end(kGpu, 1);
  finish();
  EXPECT_EQ(reports_.reports.back().kind, Kind::kCharacterised);
  EXPECT_TRUE(reports_.reports.back().samples.empty());
}

TEST_F(AgentTest, JobToldToStop_IsLaunchedAgainThoughItNeedNotHaveBeenStopped) {
  // Jobs 1 and 2 are to share; 1 ends before it is saved, so that 2 would not have had to restart.
  // But it was stopped.
  carry_out(goal({placed("2g.10gb", 0), placed("3g.20gb", 4)}, {{1, 1}, {2, 0}}));
  order(goal({placed("2g.10gb", 0)}, {{1, 0}, {2, 0}}));
  EXPECT_TRUE(runner_->is_stop_due());
  runner_->end(kGpu, 1);
  finish();
  expect_is(goal({placed("2g.10gb", 0)}, {{2, 0}}));
}

TEST_F(AgentTest, SpeedChange_IsPassedOn) {
  // With job and factor.
  carry_out(goal(halves(), {{1, 0}}));
  agent_->on_speed_changed(kGpu, JobId(1), 0.5);
  EXPECT_EQ(reports_.reports.back().kind, Kind::kSpeedChanged);
  EXPECT_EQ(reports_.reports.back().job, JobId(1));
  EXPECT_EQ(reports_.reports.back().factor, 0.5);
}

TEST_F(AgentTest, Gpus_OverlapAndDoNotDisturbEachOther) {
  // Two orders under way at once, each with its own cut.
  make({}, {}, 2);
  agent_->take({GpuId(0), 1, goal(halves(), {{1, 0}})});
  agent_->take({GpuId(1), 1, goal({placed("7g.40gb", 0)}, {{2, 0}})});
  EXPECT_EQ(env_.pending_count(), 2U);
  env_.run_out();
  EXPECT_EQ(reports_.kinds(), (Kinds{Kind::kReady, Kind::kReady}));
  EXPECT_EQ(device_->state(0).instances.size(), 2U);
  EXPECT_EQ(device_->state(1).instances.size(), 1U);
}

TEST_F(AgentTest, NodeFoundWithHalfAnInstance_IsCleanedUp) {
  // What an earlier run left: a GPU instance without a compute instance.
  ASSERT_EQ(device_->create_gpu_instance(GpuIndex(0), placed("3g.20gb", 4)).code, DeviceCode::kOk);
  agent_ = std::make_unique<Agent>(
      Agent::Parts{env_, *device_, reports_}, test::a100(), GpuId(0), AgentWaits());
  runner_->set_agent(*agent_);
  agent_->set_runner(*runner_);
  carry_out(goal({placed("7g.40gb", 0)}, {{1, 0}}));
  expect_is(goal({placed("7g.40gb", 0)}, {{1, 0}}));
}

}  // namespace
}  // namespace septule::control
