// When a controller acts: ticks, serial paces, wake-ups, retries.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "control/controller_support.hpp"

namespace septule::control {
namespace {

using job::JobId;
using sched::GpuGoal;
using test::a100;
using test::ControllerTest;
using test::kGpus;
using test::kJobs;
using test::placed;
using Calls = std::vector<std::string>;
using Kind = AgentReport::Kind;
using Pace = Controller::Options::Pace;

TEST_F(ControllerTest, Tick_NoticesAtMultiplesOnly) {
  // What comes at 12 s and 17 s is seen at 20 s, together; what comes at 20 s is seen at once.
  make({.tick = Duration::milliseconds(10000)});
  at(12);
  submit();
  at(17);
  submit();
  at(19.9);
  EXPECT_TRUE(policy_.calls.empty());
  at(20);
  submit();
  at(29);
  EXPECT_EQ(policy_.calls, (Calls{"20: job-submitted job-submitted", "20: job-submitted"}));
}

TEST_F(ControllerTest, SerialPace_ChangesOneGpuAtATime) {
  // The second order waits for the first GPU to be ready; jobs that come meanwhile are not noticed.
  make({.tick = Duration::milliseconds(10000), .pace = Pace::kSerial});
  submit();
  submit();
  decide({{0, goal({0})}, {1, goal({1})}});
  at(1);
  EXPECT_EQ(orders_.orders.size(), 1U);
  submit();
  at(25);
  EXPECT_EQ(policy_.calls.size(), 1U);
  report(Kind::kReady, 0, 1);
  at(26);
  ASSERT_EQ(orders_.orders.size(), 2U);  // at once, not at the next tick
  EXPECT_EQ(orders_.orders[1].gpu, GpuId(1));
  EXPECT_EQ(policy_.calls.size(), 1U);
  report(Kind::kReady, 1, 1);
  at(40);
  // Its work over, it looks at once what else there is to do.
  EXPECT_EQ(policy_.calls.back(), "26: gpu-ready gpu-ready job-submitted");
}

TEST_F(ControllerTest, SerialStopsPace_WaitsForStopsOnly) {
  // The next order goes out when the jobs of the first GPU are saved, though it is not cut yet.
  make({.tick = Duration::milliseconds(10000), .pace = Pace::kSerialStops});
  submit();
  submit();
  decide({{0, goal({0})}, {1, goal({1})}});
  at(1);
  EXPECT_EQ(orders_.orders.size(), 1U);
  at(3);
  report(Kind::kStopped, 0, 1);
  at(3);
  ASSERT_EQ(orders_.orders.size(), 2U);
  EXPECT_EQ(orders_.orders[1].gpu, GpuId(1));
}

TEST_F(ControllerTest, SerialPace_SleepsATickAfterItsLastWork) {
  // Ticks count from the end of the work at 7 s: what comes at 8 s is noticed at 17 s.
  make({.tick = Duration::milliseconds(10000), .pace = Pace::kSerial});
  submit();
  decide({{0, goal({0})}});
  at(7);
  report(Kind::kReady, 0, 1);
  at(8);
  submit();
  at(16.9);
  EXPECT_EQ(policy_.calls.back(), "7: gpu-ready");
  at(17);
  EXPECT_EQ(policy_.calls.back(), "17: job-submitted");
}

TEST_F(ControllerTest, SerialPace_TroubleLetsTheOthersGoOn) {
  // The failed order does not hold the one thread.
  make({.tick = Duration(), .pace = Pace::kSerial});
  submit();
  submit();
  decide({{0, goal({0})}, {1, goal({1})}});
  at(1);
  report(Kind::kTroubled, 0, 1);
  at(1.5);
  ASSERT_EQ(orders_.orders.size(), 2U);
  EXPECT_EQ(orders_.orders[1].gpu, GpuId(1));
}

TEST_F(ControllerTest, WakeUps_ComeWhenAskedFor) {
  // At their time, as one event however many fall together; those in the past are dropped.
  policy_.next = [this](const sched::ClusterView&,
                        const sched::PolicyContext& context,
                        sched::Decisions& out) {
    EXPECT_EQ(context.now, env_.now());
    for (const int second : {3, 3, 8, 0}) {
      out.wakes.push_back({SimTime() + Duration::milliseconds(1000 * second)});
    }
    policy_.next = nullptr;
  };
  controller_->start();
  at(20);
  ASSERT_GE(policy_.calls.size(), 3U);
  EXPECT_EQ(policy_.calls[1], "3: woke-up");
  EXPECT_EQ(policy_.calls.back(), "8: woke-up");
}

TEST_F(ControllerTest, WakeUpWhileASerialControllerWaits_IsNotLost) {
  // It comes as soon as the GPU is ready.
  make({.tick = Duration::milliseconds(10000), .pace = Pace::kSerial});
  submit();
  policy_.next =
      [this](const sched::ClusterView&, const sched::PolicyContext&, sched::Decisions& out) {
        out.goals.push_back({.gpu = GpuId(0), .goal = goal({0}), .reason = "test"});
        out.wakes.push_back({SimTime::nanoseconds(5000000000)});
        policy_.next = nullptr;
      };
  at(35);
  EXPECT_EQ(policy_.calls.size(), 1U);
  report(Kind::kReady, 0, 1);
  at(60);
  EXPECT_EQ(policy_.calls.back(), "35: gpu-ready woke-up");
}

TEST_F(ControllerTest, Trouble_IsRetriedWithDoublingDelay) {
  // After 1, 2, 4 ... at most 64 s, with a new epoch each; success begins the count anew.
  submit();
  decide({{0, goal({0})}});
  at(0);
  double due = 0;
  for (const double delay : {1, 2, 4, 8, 16, 32, 64, 64, 64}) {
    const std::size_t before = orders_.orders.size();
    report(Kind::kTroubled, 0, before);
    at(due + delay - 0.001);
    EXPECT_EQ(orders_.orders.size(), before) << delay;
    due += delay;
    at(due);
    ASSERT_EQ(orders_.orders.size(), before + 1) << delay;
    EXPECT_EQ(orders_.orders.back().epoch, before + 1);
    EXPECT_EQ(orders_.orders.back().goal, goal({0}));
  }
  report(Kind::kReady, 0, orders_.orders.size());
  at(due);
  decide({{0, goal({})}});
  submit();
  at(due);
  const std::size_t before = orders_.orders.size();
  report(Kind::kTroubled, 0, before);
  at(due + 1);
  EXPECT_EQ(orders_.orders.size(), before + 1);
}

TEST_F(ControllerTest, LostGpu_IsNotRetried) {
  // Nothing that is ordered can help; the policy hears of it, the others go on.
  submit();
  decide({{0, goal({0})}});
  at(1);
  report(Kind::kTroubled, 0, 1, 0, port::DeviceCode::kGpuLost);
  at(1000);
  EXPECT_EQ(orders_.orders.size(), 1U);
  EXPECT_EQ(controller_->lost_gpus(), std::vector<GpuId>{GpuId(0)});
  EXPECT_EQ(policy_.calls.back(), "1: gpu-troubled");
  decide({{1, goal({1})}});
  submit();
  at(1001);
  EXPECT_EQ(orders_.orders.back().gpu, GpuId(1));
}

TEST_F(ControllerTest, ReportFromInsideAnOrder_IsNotLost) {
  // An agent with nothing to do answers at once, while orders are still going out.
  class AtOnce final : public AgentLink {
   public:
    void send(const GpuOrder& order) override {
      AgentReport report;
      report.kind = Kind::kReady;
      report.gpu = order.gpu;
      report.epoch = order.epoch;
      controller->report(report);
    }
    Controller* controller = nullptr;
  } agents;
  sched::ClusterView view(a100(), kGpus, kJobs);
  Controller controller({env_, view, policy_, predictor_, agents, costs_, nullptr}, {});
  agents.controller = &controller;
  decide({{0, goal({})}, {1, goal({})}});
  GpuGoal cut;
  cut.instances.push_back(placed("7g.40gb", 0));
  decide({{0, cut}, {1, cut}});
  controller.start();
  at(1);
  EXPECT_EQ(policy_.calls, (Calls{"0:", "0: gpu-ready gpu-ready"}));
}

}  // namespace
}  // namespace septule::control
