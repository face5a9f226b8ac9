#include "control/controller.hpp"

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "control/control_support.hpp"

namespace septule::control {
namespace {

using job::JobId;
using sched::GpuGoal;
using sched::JobView;
using test::placed;
using Pace = Controller::Options::Pace;
using State = JobView::State;

/// Decides what the test says, and notes when it was asked and about what.
class ScriptedPolicy final : public sched::Policy {
 public:
  explicit ScriptedPolicy(const port::Env& env) : env_(&env) {}
  std::string_view name() const override { return "scripted"; }
  void decide(const sched::ClusterView& view,
              std::span<const sched::Event> events,
              const sched::PolicyContext& context,
              sched::Decisions& out) override {
    std::string line = fmt::format("{}:", env_->now().to_seconds());
    for (const sched::Event& event : events) {
      line += fmt::format(" {}", sched::event_name(event));
    }
    calls.push_back(line);
    if (next) {
      next(view, context, out);
    }
  }
  std::vector<std::string> calls;
  std::function<void(const sched::ClusterView&, const sched::PolicyContext&, sched::Decisions&)>
      next;

 private:
  const port::Env* env_;
};

/// Every job fits 1g unless it is said to fit nothing.
class StatedPredictor final : public predict::Predictor {
 public:
  void submitted(const job::JobSpec& job) override { submitted_jobs.push_back(job.id.value()); }
  const predict::SpeedRow* speeds(JobId /*job*/) const override { return nullptr; }
  std::optional<ProfileIndex> smallest(JobId job) const override {
    return too_large == job.value() ? std::nullopt : test::a100().find_profile("1g.5gb");
  }
  Bytes need(JobId /*job*/) const override { return Bytes::mebibytes(1000); }
  void characterised(const predict::MpsSample& sample) override {
    characterised_jobs.push_back(sample.job.value());
  }
  void forget(JobId /*job*/) override {}
  std::vector<int> submitted_jobs;
  std::vector<int> characterised_jobs;
  int too_large = -1;
};

class OrderLog final : public AgentLink {
 public:
  void send(const GpuOrder& order) override { orders.push_back(order); }
  std::vector<GpuOrder> orders;
};

class ObserverLog final : public ControlObserver {
 public:
  void on_event(SimTime /*time*/, const sched::Event& event) override {
    lines.push_back(fmt::format("event {}", sched::event_name(event)));
  }
  void on_goal(SimTime /*time*/, const sched::SetGoal& set) override {
    lines.push_back(fmt::format("goal {}", set.gpu.value()));
  }
  void on_order(SimTime /*time*/, const GpuOrder& order) override {
    lines.push_back(fmt::format("order {}/{}", order.gpu.value(), order.epoch));
  }
  void on_refusal(SimTime /*time*/, const std::string& why) override {
    lines.push_back("refusal: " + why);
  }
  void on_requeue(SimTime /*time*/, JobId job) override {
    lines.push_back(fmt::format("requeue {}", job.value()));
  }
  void on_reject(SimTime /*time*/, JobId job) override {
    lines.push_back(fmt::format("reject {}", job.value()));
  }
  std::vector<std::string> lines;
};

constexpr int kGpus = 3;
constexpr int kJobs = 8;

class ControllerTest : public ::testing::Test {
 protected:
  ControllerTest() { make({}); }

  void make(const Controller::Options& options) {
    view_ = std::make_unique<sched::ClusterView>(test::a100(), kGpus, kJobs);
    controller_ = std::make_unique<Controller>(
        Controller::Parts{env_, *view_, policy_, predictor_, orders_, costs_, &observer_}, options);
    specs_.clear();
    policy_.calls.clear();
    orders_.orders.clear();
    observer_.lines.clear();
  }
  JobId submit(int gpus = 1) {
    const JobId id(static_cast<int>(specs_.size()));
    specs_.push_back({.id = id,
                      .name = fmt::format("job-{}", id.value()),
                      .submit = env_.now(),
                      .work = Duration::milliseconds(1000),
                      .gpus = gpus});
    controller_->submit(specs_.back());
    return id;
  }
  static GpuGoal goal(const std::vector<int>& jobs) {
    GpuGoal made;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      made.instances.push_back(placed("1g.5gb", static_cast<int>(i)));
      made.add({JobId(jobs[i]), static_cast<int>(i)});
    }
    return made;
  }
  /// The next decision gives these goals.
  void decide(std::vector<std::pair<int, GpuGoal>> goals) {
    policy_.next = [this, goals](const sched::ClusterView&,
                                 const sched::PolicyContext&,
                                 sched::Decisions& out) {
      for (const auto& [gpu, wanted] : goals) {
        out.goals.push_back({.gpu = GpuId(gpu), .goal = wanted, .reason = "test"});
      }
      policy_.next = nullptr;
    };
  }
  void report(AgentReport::Kind kind,
              int gpu,
              std::uint64_t epoch,
              int job = 0,
              port::DeviceCode code = port::DeviceCode::kInUse) {
    AgentReport report;
    report.kind = kind;
    report.gpu = GpuId(gpu);
    report.epoch = epoch;
    report.job = JobId(job);
    report.code = code;
    report.step = "create a GPU instance";
    controller_->report(report);
  }
  void at(double seconds) { env_.run_until(seconds); }

  test::ManualEnv env_;
  ScriptedPolicy policy_{env_};
  StatedPredictor predictor_;
  OrderLog orders_;
  ObserverLog observer_;
  job::CostModel costs_;
  std::unique_ptr<sched::ClusterView> view_;
  std::unique_ptr<Controller> controller_;
  std::deque<job::JobSpec> specs_;
};

using Calls = std::vector<std::string>;
using Kind = AgentReport::Kind;

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

TEST_F(ControllerTest, Observer_SeesEventsGoalsAndOrdersInOrder) {
  // All calls after the fact.
  submit();
  decide({{0, goal({0})}});
  at(1);
  EXPECT_EQ(observer_.lines, (Calls{"event job-submitted", "goal 0", "order 0/1"}));
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
  sched::ClusterView view(test::a100(), kGpus, kJobs);
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
