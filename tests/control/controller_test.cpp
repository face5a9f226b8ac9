#include "control/controller.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "control/controller_support.hpp"

namespace septule::control {
namespace {

using job::JobId;
using sched::GpuGoal;
using sched::JobView;
using test::ControllerTest;
using test::kGpus;
using test::placed;
using Calls = std::vector<std::string>;
using Kind = AgentReport::Kind;
using State = JobView::State;

TEST_F(ControllerTest, Start_AsksThePolicyOnceWithoutEvents) {
  // So that it can lay out empty GPUs.
  decide({{0, goal({})}, {1, goal({})}});
  controller_->start();
  EXPECT_EQ(policy_.calls, Calls{"0:"});
}

TEST_F(ControllerTest, InputsOfOneInstant_AreOneBatch) {
  // Two submissions and a report are decided together, at the end of the instant.
  at(5);
  submit();
  submit();
  report(Kind::kSpeedChanged, 0, 0, 0);
  EXPECT_TRUE(policy_.calls.empty());
  at(5);
  ASSERT_EQ(policy_.calls.size(), 1U);
  EXPECT_EQ(controller_->decision_count(), 1);
}

TEST_F(ControllerTest, Submissions_AreBatchedAndOrdersGoOut) {
  // Events in the order of submission; the order carries the goal, and the view shows it.
  at(5);
  submit();
  submit();
  decide({{1, goal({0, 1})}});
  at(5);
  EXPECT_EQ(policy_.calls, Calls{"5: job-submitted job-submitted"});
  EXPECT_EQ(predictor_.submitted_jobs, (std::vector<int>{0, 1}));
  ASSERT_EQ(orders_.orders.size(), 1U);
  EXPECT_EQ(orders_.orders[0].gpu, GpuId(1));
  EXPECT_EQ(orders_.orders[0].goal, goal({0, 1}));
  EXPECT_EQ(view_->gpu(GpuId(1)).phase, sched::GpuPhase::kChanging);
  EXPECT_EQ(view_->job(JobId(0)).state, State::kPlaced);
  report(Kind::kReady, 1, 1);
  at(6);
  EXPECT_EQ(view_->gpu(GpuId(1)).phase, sched::GpuPhase::kStarting);
  report(Kind::kSettled, 1, 1);
  at(7);
  EXPECT_EQ(view_->gpu(GpuId(1)).phase, sched::GpuPhase::kSettled);
}

TEST_F(ControllerTest, JobLeftOut_QueuesAgain) {
  // Preempted: waiting once more, and the GPU is ordered to stop it.
  submit();
  decide({{0, goal({0})}});
  at(1);
  report(Kind::kReady, 0, 1);
  at(2);
  submit();
  decide({{0, goal({1})}});
  at(3);
  EXPECT_EQ(view_->job(JobId(0)).state, State::kWaiting);
  EXPECT_EQ(view_->queue().size(), 1U);
  EXPECT_EQ(orders_.orders.back().goal, goal({1}));
  EXPECT_EQ(std::ranges::count(observer_.lines, "requeue 0"), 1);
}

TEST_F(ControllerTest, JobMovedInOneBatch_DoesNotQueue) {
  // Whichever of the two goals comes first.
  for (const bool is_source_first : {true, false}) {
    make({});
    submit();
    decide({{0, goal({0})}});
    at(env_.now().to_seconds() + 1);
    report(Kind::kReady, 0, 1);
    at(env_.now().to_seconds() + 1);
    if (is_source_first) {
      decide({{0, goal({})}, {1, goal({0})}});
    } else {
      decide({{1, goal({0})}, {0, goal({})}});
    }
    submit();
    at(env_.now().to_seconds() + 1);
    EXPECT_EQ(view_->job(JobId(0)).state, State::kPlaced);
    EXPECT_EQ(view_->job(JobId(0)).gpu, GpuId(1));
    EXPECT_EQ(std::ranges::count(observer_.lines, "requeue 0"), 0);
    EXPECT_TRUE(orders_.orders.back().goal.slots.empty());  // still held by GPU 0
    report(Kind::kReady, 0, 2);
    report(Kind::kReady, 1, 1);
    at(env_.now().to_seconds() + 1);
    EXPECT_EQ(orders_.orders.back().gpu, GpuId(1));
    EXPECT_EQ(orders_.orders.back().goal, goal({0}));
  }
}

TEST_F(ControllerTest, JobsThatFitNowhere_AreRejected) {
  // Too large for the GPUs, or a gang of more than there are: the policy never hears of them.
  predictor_.too_large = 1;
  submit();
  submit();
  submit(kGpus + 1);
  submit(kGpus);
  at(1);
  EXPECT_EQ(controller_->rejected_count(), 2);
  EXPECT_EQ(view_->job(JobId(1)).state, State::kRejected);
  EXPECT_EQ(view_->job(JobId(2)).state, State::kRejected);
  EXPECT_EQ(policy_.calls, Calls{"0: job-submitted job-submitted"});
  EXPECT_EQ(view_->queue().size(), 2U);
}

TEST_F(ControllerTest, RefusedDecision_IsNotCarriedOut) {
  // Nothing of the batch, and the first reason is kept.
  submit();
  GpuGoal twice = goal({0});
  decide({{0, twice}, {1, twice}});
  at(1);
  EXPECT_TRUE(orders_.orders.empty());
  EXPECT_FALSE(controller_->refusal().empty());
  EXPECT_EQ(view_->job(JobId(0)).state, State::kWaiting);
  const std::string first = controller_->refusal();
  decide({{7, goal({0})}});
  submit();
  at(2);
  EXPECT_EQ(controller_->refusal(), first);
  EXPECT_EQ(
      std::ranges::count_if(observer_.lines,
                            [](const std::string& line) { return line.starts_with("refusal: "); }),
      2);
}

TEST_F(ControllerTest, EndOfAJob_IsToldOnce) {
  // Each GPU of a gang reports it; and again if its end and an order have crossed.
  submit();
  decide({{0, goal({0})}});
  at(1);
  report(Kind::kReady, 0, 1);
  report(Kind::kJobEnded, 0, 1, 0);
  report(Kind::kJobEnded, 1, 0, 0);
  at(2);
  EXPECT_EQ(policy_.calls.back(), "1: gpu-ready job-ended");
  EXPECT_EQ(view_->job(JobId(0)).state, State::kEnded);
  EXPECT_TRUE(view_->gpu(GpuId(0)).goal.slots.empty());
}

TEST_F(ControllerTest, StaleReports_AreNoEvents) {
  // Of orders that have been replaced.
  submit();
  decide({{0, goal({0})}});
  at(1);
  for (const Kind kind : {Kind::kReady, Kind::kSettled, Kind::kCharacterised, Kind::kTroubled}) {
    report(kind, 0, 9);
  }
  at(2);
  EXPECT_EQ(policy_.calls.back(), "1:");
  EXPECT_EQ(view_->gpu(GpuId(0)).phase, sched::GpuPhase::kChanging);
}

TEST_F(ControllerTest, Characterisation_IsShownToThePredictorFirst) {
  // Before the policy hears that it is over.
  submit();
  GpuGoal measured;
  measured.instances.push_back(placed("7g.40gb", 0));
  measured.add({JobId(0), 0});
  measured.purpose = sched::GoalPurpose::kCharacterise;
  measured.characterisation.levels.push_back(ActiveThreadPercentage(100));
  measured.characterisation.per_level = Duration::milliseconds(1000);
  decide({{0, measured}});
  at(1);
  EXPECT_EQ(view_->gpu(GpuId(0)).phase, sched::GpuPhase::kCharacterising);
  AgentReport report;
  report.kind = Kind::kCharacterised;
  report.gpu = GpuId(0);
  report.epoch = 1;
  report.samples.push_back({.job = JobId(0)});
  std::size_t seen = 0;
  policy_.next = [&](const sched::ClusterView&, const sched::PolicyContext&, sched::Decisions&) {
    seen = predictor_.characterised_jobs.size();
  };
  controller_->report(report);
  at(2);
  EXPECT_EQ(seen, 1U);
  EXPECT_EQ(policy_.calls.back(), "1: gpu-characterised");
  policy_.next = nullptr;
}

TEST_F(ControllerTest, Observer_SeesEventsGoalsAndOrdersInOrder) {
  // All calls after the fact.
  submit();
  decide({{0, goal({0})}});
  at(1);
  EXPECT_EQ(observer_.lines, (Calls{"event job-submitted", "goal 0", "order 0/1"}));
}

}  // namespace
}  // namespace septule::control
