// How step times of jobs that run alone reach a predictor: agent and controller.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "control/agent_support.hpp"
#include "control/controller_support.hpp"

namespace septule::control::test {
namespace {

using Kind = AgentReport::Kind;

constexpr double kAfterS = 20;

class ObservingAgentTest : public AgentTest {
 protected:
  ObservingAgentTest() {
    AgentWaits waits;
    waits.observe_after = Duration::milliseconds(20000);
    make({}, waits);
  }
  /// Cuts and starts, up to the report that the GPU has settled.
  void settle(const GpuGoal& wanted) {
    order(wanted);
    for (int rounds = 0; rounds < 100 && !has_settled(); ++rounds) {
      if (runner_->is_stop_due()) {
        runner_->answer_stop();
      } else if (runner_->is_start_due()) {
        runner_->answer_start();
      } else {
        env_.fire_next();
      }
    }
    ASSERT_TRUE(has_settled());
  }
  bool has_settled() const {
    return !reports_.reports.empty() && reports_.reports.back().kind == Kind::kSettled &&
           reports_.reports.back().epoch == epoch_;
  }
  std::vector<AgentReport> observed() const {
    std::vector<AgentReport> found;
    for (const AgentReport& report : reports_.reports) {
      if (report.kind == Kind::kObserved) {
        found.push_back(report);
      }
    }
    return found;
  }
};

TEST_F(ObservingAgentTest, SettledGpu_AfterTheWait_TellsOfEachJobAloneOnce) {
  // Aim: profile, step time and signature of every job that runs alone; once for its stay.
  settle(goal({placed("3g.20gb", 4), placed("2g.10gb", 0)}, {{1, 0}, {2, 1}}));
  const double settled_s = env_.now().to_seconds();
  env_.run_until(settled_s + kAfterS - 1);
  EXPECT_TRUE(observed().empty());
  env_.run_until(settled_s + kAfterS);
  ASSERT_EQ(observed().size(), 1U);
  const auto seen = observed()[0].observations;
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].job, JobId(1));
  EXPECT_EQ(seen[0].profile, placed("3g.20gb", 4).profile);
  EXPECT_EQ(seen[0].step, Duration::milliseconds(1100));
  EXPECT_EQ(seen[0].signature, job::SignatureIndex(101));
  EXPECT_EQ(seen[1].job, JobId(2));
  env_.run_out();
  EXPECT_EQ(observed().size(), 1U);
}

TEST_F(ObservingAgentTest, NextOrder_JobThatStays_IsNotObservedAgain) {
  // Aim: an order cancels what was due; afterwards only those not observed in this stay are.
  settle(goal({placed("3g.20gb", 4), placed("2g.10gb", 0)}, {{1, 0}}));
  env_.run_out();
  EXPECT_EQ(observed().size(), 1U);
  settle(goal({placed("3g.20gb", 4), placed("2g.10gb", 0)}, {{1, 0}, {2, 1}}));
  env_.run_out();
  ASSERT_EQ(observed().size(), 2U);
  ASSERT_EQ(observed()[1].observations.size(), 1U);
  EXPECT_EQ(observed()[1].observations[0].job, JobId(2));
  // One that comes to another place is a new stay.
  settle(goal({placed("3g.20gb", 4), placed("2g.10gb", 0)}, {{1, 1}, {2, 0}}));
  env_.run_out();
  EXPECT_EQ(observed()[2].observations.size(), 2U);
}

TEST_F(ObservingAgentTest, SharingLimitedAndCharacterisedJobs_AreNotObserved) {
  // Aim: only jobs alone with all threads tell of a slice.
  settle(goal({placed("3g.20gb", 4), placed("2g.10gb", 0)}, {{1, 0}, {2, 0}, {3, 1, 50}}));
  env_.run_out();
  EXPECT_TRUE(observed().empty());
  carry_out(characterisation({1, 2, 3}, sched::LevelsFrom::kFirstStep));
  env_.run_out();
  EXPECT_TRUE(observed().empty());
}

TEST_F(ObservingAgentTest, WholeGpuWithMigOff_IsTheWholeProfile) {
  // Aim: a job on the whole GPU counts as on the profile of all compute slices.
  settle(whole_gpu({{4}}));
  env_.run_out();
  ASSERT_EQ(observed().size(), 1U);
  EXPECT_EQ(observed()[0].observations[0].profile, placed("7g.40gb", 0).profile);
}

TEST_F(ObservingAgentTest, SpeedChange_MakesTheStayWorthAnotherLook) {
  // Aim: after a change of phase the next settled moment observes the job anew.
  settle(goal({placed("3g.20gb", 4), placed("2g.10gb", 0)}, {{1, 0}}));
  env_.run_out();
  agent_->on_speed_changed(kGpu, JobId(1), 0.5);
  settle(goal({placed("3g.20gb", 4), placed("2g.10gb", 0)}, {{1, 0}}));
  env_.run_out();
  EXPECT_EQ(observed().size(), 2U);
}

TEST_F(ObservingAgentTest, JobsThatEndedMeanwhile_NothingIsReported) {
  // Aim: the timer of an empty GPU tells nothing.
  settle(goal({placed("3g.20gb", 4)}, {{1, 0}}));
  runner_->end(kGpu, 1);
  env_.run_out();
  EXPECT_TRUE(observed().empty());
}

TEST_F(AgentTest, NoObservationsWanted_NoTimerIsSet) {
  // Aim: without AgentWaits::observe_after a settled GPU leaves no timer behind.
  carry_out(goal({placed("3g.20gb", 4)}, {{1, 0}}));
  EXPECT_EQ(env_.pending_count(), 0U);
}

/// Holds every second observation for a change.
class DoubtingPredictor final : public predict::Predictor {
 public:
  void submitted(const job::JobSpec& /*job*/) override {}
  const predict::SpeedRow* speeds(JobId /*job*/) const override { return nullptr; }
  std::optional<ProfileIndex> smallest(JobId /*job*/) const override {
    return a100().find_profile("1g.5gb");
  }
  Bytes need(JobId /*job*/) const override { return Bytes(); }
  void characterised(std::span<const predict::MpsSample> /*run*/) override {}
  void forget(JobId /*job*/) override {}
  bool wants_observations() const override { return true; }
  std::optional<double> observed(const predict::SliceObservation& observation) override {
    jobs.push_back(observation.job.value());
    return jobs.size() % 2 == 0 ? std::optional(0.5) : std::nullopt;
  }
  std::vector<int> jobs;
};

TEST(ControllerObservations, ReportOfThem_GoesToThePredictor_ChangesBecomeEvents) {
  // Aim: each observation is handed over in order; what is held for a change is a speed change of
  // that job, but not of one that has ended.
  ManualEnv env;
  ScriptedPolicy policy(env);
  DoubtingPredictor predictor;
  OrderLog orders;
  ObserverLog observer;
  const job::CostModel costs;
  sched::ClusterView view(a100(), 1, 2);
  Controller controller({env, view, policy, predictor, orders, costs, &observer}, {});
  std::vector<job::JobSpec> specs(2);
  for (int id = 0; id < 2; ++id) {
    specs[static_cast<std::size_t>(id)].id = JobId(id);
    specs[static_cast<std::size_t>(id)].work = Duration::milliseconds(1000);
    controller.submit(specs[static_cast<std::size_t>(id)]);
  }
  policy.next = [&](const auto&, const auto&, sched::Decisions& out) {
    out.goals.push_back({.gpu = GpuId(0),
                         .goal = goal({placed("1g.5gb", 0), placed("1g.5gb", 1)}, {{0, 0}, {1, 1}}),
                         .reason = "test"});
    policy.next = nullptr;
  };
  env.run_out();
  AgentReport report;
  report.gpu = GpuId(0);
  report.epoch = 1;
  report.kind = Kind::kReady;
  controller.report(report);
  report.kind = Kind::kObserved;
  const Duration step = Duration::milliseconds(100);
  for (const int job : {0, 1, 1, 0}) {
    report.observations.push_back({JobId(job), placed("1g.5gb", 0).profile, step, {}});
  }
  observer.lines.clear();
  controller.report(report);
  env.run_out();
  EXPECT_EQ(predictor.jobs, (std::vector{0, 1, 1, 0}));
  EXPECT_EQ(std::ranges::count(observer.lines,
                               "event " + std::string(sched::event_name(
                                              sched::JobSpeedChanged{JobId(1), GpuId(0), 0.5}))),
            2);
  // The job ends before its observation is looked at.
  report.kind = Kind::kJobEnded;
  report.job = JobId(0);
  controller.report(report);
  observer.lines.clear();
  report.kind = Kind::kObserved;
  report.observations.resize(2);
  report.observations[1].job = JobId(0);
  controller.report(report);
  env.run_out();
  EXPECT_EQ(std::ranges::count(observer.lines,
                               "event " + std::string(sched::event_name(
                                              sched::JobSpeedChanged{JobId(0), GpuId(0), 0.5}))),
            0);
}

}  // namespace
}  // namespace septule::control::test
