// What Septule believes places and moves are worth.
#include "sched/policies/septule_values.hpp"

#include <cmath>
#include <deque>

#include <gtest/gtest.h>

#include "base/portable_math.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "sched/policies/septule_goals.hpp"
#include "sched/policies/septule_recheck.hpp"
#include "sched/repartitioning_loop.hpp"

namespace septule {
namespace {

using job::JobId;
using sched::SeptuleAim;
using sched::SeptuleCall;
using sched::SeptuleValues;
using test::WrittenPredictor;

class SeptuleValuesTest : public ::testing::Test {
 protected:
  static constexpr int kJobsMax = 16;
  const gpu::Geometry& geometry() const { return **catalogue_.find("A100-40GB"); }
  ProfileIndex profile(std::string_view name) const {
    return geometry().find_profile(name).value();
  }
  SeptuleValues values(SeptuleAim aim) const {
    return {geometry(), admission_, aim, sched::SeptuleTuning(), kJobsMax};
  }
  /// A job of 1g.5gb on: speed 0.4 there, 0.4 + 0.1 more per further compute slice.
  JobId submit() {
    const JobId id(static_cast<int>(specs_.size()));
    specs_.push_back({.id = id, .submit = now_});
    predict::SpeedRow row;
    for (const ProfileIndex index : geometry().profiles_in(gpu::ProfileSet::kPlain)) {
      row.speed[static_cast<std::size_t>(index.value())] =
          0.3 + 0.1 * geometry().profile(index).slices.value();
    }
    predictor_.write(id, profile("1g.5gb"), row);
    view_.submit(specs_.back(), now_);
    return id;
  }
  void advance(double seconds) {
    now_ = now_ + Duration::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  }
  SeptuleCall call() {
    context_.emplace(sched::PolicyContext{.now = now_, .predictor = predictor_, .costs = costs_});
    return {.view = view_, .context = *context_, .out = decisions_};
  }
  sched::GpuGoal goal_on(std::string_view name, JobId job) const {
    sched::GpuGoal goal;
    goal.instances.push_back({.profile = profile(name), .start = MemorySlices(0)});
    goal.add({.job = job, .instance = 0});
    return goal;
  }

  gpu::Catalogue catalogue_ = gpu::load_builtin_catalogue();
  sched::AdmissionTable admission_{geometry(), sched::PartitionChoice::kEverything};
  sched::ClusterView view_{geometry(), 4, kJobsMax};
  WrittenPredictor predictor_{geometry(), WrittenPredictor::Knows::kEverything};
  job::CostModel costs_;
  std::deque<job::JobSpec> specs_;
  sched::Decisions decisions_;
  std::optional<sched::PolicyContext> context_;
  SimTime now_;
};

TEST_F(SeptuleValuesTest, UsefulSeconds_GrowWithBelievedSpeed) {
  // Aim: the sum of speed times time over all changes of speed.
  SeptuleValues values = this->values(SeptuleAim::kSpeed);
  const JobId job = submit();
  EXPECT_EQ(values.useful_seconds(call(), job), 0);
  values.run_at(call(), job, 0.5);
  advance(100);
  values.run_at(call(), job, 1.0);
  advance(10);
  EXPECT_NEAR(values.useful_seconds(call(), job), 60, 1e-9);
}

TEST_F(SeptuleValuesTest, Weight_BySpeed_FallsWithAge) {
  // Aim: 1 at first, 1/sqrt(2) after age_scale_s useful seconds, 1/2 after three times that.
  SeptuleValues values = this->values(SeptuleAim::kSpeed);
  const JobId job = submit();
  EXPECT_DOUBLE_EQ(values.weight(call(), job), 1);
  values.run_at(call(), job, 1);
  advance(600);
  EXPECT_NEAR(values.weight(call(), job), std::sqrt(0.5), 1e-12);
  advance(1200);
  EXPECT_NEAR(values.weight(call(), job), 0.5, 1e-12);
}

TEST_F(SeptuleValuesTest, Weight_ByFairness_IsTheSquareOfTheSlowdownSoFar) {
  // Aim: 1 for a job at full speed, growing for one that stands still, never below 1.
  SeptuleValues values = this->values(SeptuleAim::kFairness);
  const JobId fast = submit();
  const JobId waiting = submit();
  values.run_at(call(), fast, 1);
  advance(540);
  EXPECT_NEAR(values.weight(call(), fast), 1, 1e-12);
  EXPECT_NEAR(values.weight(call(), waiting), 100, 1e-9);
}

TEST_F(SeptuleValuesTest, Utility_EveryBelief_IsPositiveAndGrows) {
  // Aim: no belief leaves a job without a place; more speed is worth more; logs are logs.
  for (const SeptuleAim aim : {SeptuleAim::kSpeed, SeptuleAim::kFairness}) {
    const SeptuleValues values = this->values(aim);
    for (const double odd : {0.0, -1.0, std::nan("")}) {
      EXPECT_GT(values.utility(odd), 0);
    }
    EXPECT_LT(values.utility(0.1), values.utility(0.2));
  }
  const SeptuleValues fair = this->values(SeptuleAim::kFairness);
  EXPECT_NEAR(fair.utility(0.4) - fair.utility(0.2), portable_log(2), 1e-12);
}

TEST_F(SeptuleValuesTest, MoveCost_IsLossOverHorizonTimesValue) {
  // Aim: gain and cost have one unit; both parts are learned, within the bounds.
  SeptuleValues values = this->values(SeptuleAim::kSpeed);
  const JobId job = submit();
  const sched::GpuGoal goal = goal_on("1g.5gb", job);
  EXPECT_NEAR(values.value_of(call(), goal), 0.4, 1e-12);
  EXPECT_NEAR(values.move_cost(call(), goal, job),
              0.4 * values.tuning().move_factor * values.loss_s() / values.horizon_s(),
              1e-12);
  for (int i = 0; i < 300; ++i) {
    values.learn_loss(Duration::milliseconds(40000));
    values.learn_horizon(Duration::milliseconds(500000));
  }
  EXPECT_NEAR(values.loss_s(), 40, 1e-3);
  EXPECT_NEAR(values.horizon_s(), 500, 1e-2);
  for (int i = 0; i < 300; ++i) {
    values.learn_horizon(Duration());
  }
  EXPECT_EQ(values.horizon_s(), values.tuning().horizon_min_s);
  // A job that runs nowhere costs nothing.
  EXPECT_EQ(values.move_cost(call(), sched::GpuGoal(), job), 0);
}

TEST_F(SeptuleValuesTest, Pose_TiesRunningJobsToTheirPlace_ButNotThoseBeingCharacterised) {
  // Aim: after a characterisation run everybody is moved anyway.
  const SeptuleValues values = this->values(SeptuleAim::kSpeed);
  const JobId job = submit();
  sched::GpuGoal goal = goal_on("2g.10gb", job);
  sched::SeptuleProblem posed;
  values.pose(call(), goal, posed);
  ASSERT_EQ(posed.problem.jobs.size(), 1U);
  EXPECT_EQ(posed.problem.jobs[0].current, goal.instances[0]);
  EXPECT_GT(posed.problem.jobs[0].move_cost, 0);
  goal.purpose = sched::GoalPurpose::kCharacterise;
  values.pose(call(), goal, posed);
  EXPECT_FALSE(posed.problem.jobs[0].current.has_value());
  EXPECT_EQ(posed.problem.jobs[0].move_cost, 0);
}

TEST_F(SeptuleValuesTest, UnknownJob_IsAssumedFromItsSmallestProfileOn) {
  // Aim: no place is offered in which its memory does not fit, and larger is faster.
  const SeptuleValues values = this->values(SeptuleAim::kSpeed);
  const JobId job = submit();
  predictor_.write(job, profile("2g.10gb"), {});
  predictor_.forget(job);
  sched::SeptuleProblem posed;
  values.add_arrival(call(), job, posed);
  const auto& value = posed.problem.jobs[0].value;
  const auto at = [&](std::string_view name) {
    return value[static_cast<std::size_t>(profile(name).value())];
  };
  EXPECT_EQ(at("1g.5gb"), 0);
  EXPECT_NEAR(at("2g.10gb"), std::sqrt(2 / 7.0), 1e-12);
  EXPECT_EQ(at("7g.40gb"), 1);
}

TEST_F(SeptuleValuesTest, RecheckGain_GrowsWithTheHorizonAndCostsTheRun) {
  // Aim: knowing a changed job pays only when cuts last; with nothing to win it costs the run.
  SeptuleValues values = this->values(SeptuleAim::kSpeed);
  sched::PolicySetup setup;
  setup.geometry = &geometry();
  setup.gpu_count = 4;
  setup.jobs_max = kJobsMax;
  sched::SeptuleGoals goals(setup, values);
  sched::SeptuleRecheck recheck(setup, values, goals);
  const JobId changed = submit();
  const JobId other = submit();
  predictor_.forget(changed);
  predict::SpeedRow steep;  // as good as lost on 3g
  steep.speed[static_cast<std::size_t>(profile("3g.20gb").value())] = 0.2;
  steep.speed[static_cast<std::size_t>(profile("4g.20gb").value())] = 1;
  steep.speed[static_cast<std::size_t>(profile("7g.40gb").value())] = 1;
  predictor_.write(other, profile("3g.20gb"), steep);
  sched::GpuGoal goal;
  goal.instances.push_back({.profile = profile("4g.20gb"), .start = MemorySlices(0)});
  goal.instances.push_back({.profile = profile("3g.20gb"), .start = MemorySlices(4)});
  goal.add({.job = changed, .instance = 0});
  goal.add({.job = other, .instance = 1});
  for (int i = 0; i < 300; ++i) {
    values.learn_horizon(Duration());
    values.learn_loss(Duration::milliseconds(60000));
  }
  EXPECT_LT(recheck.gain(call(), goal), 0);
  for (int i = 0; i < 300; ++i) {
    values.learn_horizon(Duration::milliseconds(100000000));
  }
  EXPECT_GT(recheck.gain(call(), goal), 0);
  // Where everybody is in the right place already, knowing more is worth nothing.
  std::swap(goal.slots[0].instance, goal.slots[1].instance);
  EXPECT_LT(recheck.gain(call(), goal), 0);
}

}  // namespace
}  // namespace septule
