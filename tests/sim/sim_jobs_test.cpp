// How fast jobs are, by hand-computed examples.
#include "sim/sim_jobs.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job/power_curve.hpp"
#include "sim/sim_jobs_support.hpp"

namespace septule::sim {
namespace {

using job::JobId;
using job::TimeKind;
using test::at_s;
using test::expect_close;
using test::seconds;
using test::SimJobsTest;

TEST_F(SimJobsTest, JobOnTheWholeGpu_StartsRunsAndEnds) {
  // 2 s of start-up, 100 s of work.
  const JobId job = add_job(100);
  begin();
  start({{job, whole()}}, 7);
  run_out();
  EXPECT_EQ(log_.lines, (std::vector<std::string>{"started 0/7 at 2", "ended 0 on 0 at 102"}));
  const job::RunRecord run = record();
  EXPECT_EQ(run.makespan, at_s(102));
  EXPECT_EQ(time_of(run.jobs[0], TimeKind::kReconfiguration), 2);
  EXPECT_EQ(time_of(run.jobs[0], TimeKind::kRunning), 100);
  EXPECT_EQ(run.jobs[0].ideal, seconds(102));
  EXPECT_EQ(run.jobs[0].work, seconds(100));
  EXPECT_EQ(jobs_->left_count(), 0);
}

TEST_F(SimJobsTest, JobOnASlice_RunsAtItsSpeedThere) {
  // A quarter of the speed on 1g: 400 s. Calibrated: 25 s of start-up and steps x 1.16.
  const JobId job = add_job(100);
  begin();
  start({{job, on("1g.5gb", 0)}}, 1);
  run_out();
  expect_close(*record().jobs[0].finish, 402);

  costs_.kind = job::CostKind::kCalibrated;
  log_.lines.clear();
  begin();
  start({{job, on("1g.5gb", 0)}}, 1);
  const double from = env_.now().to_seconds();
  run_out();
  expect_close(*record().jobs[0].finish, from + 25 + 464);
}

TEST_F(SimJobsTest, JobsThatShareByMps_SlowEachOtherDown) {
  // Both at s(1/2) / 1.15 until the first ends, then the other alone.
  const JobId first = add_job(100);
  const JobId second = add_job(200);
  begin();
  start({{first, whole()}, {second, whole()}}, 1);
  run_out();
  const double rate = book_->speed_at(job::SignatureIndex(0), 0.5) / 1.15;
  EXPECT_NEAR(rate, (0.5 + 0.625) / 2 / 1.15, 1e-12);
  expect_close(*record().jobs[0].finish, 2 + 100 / rate);
  expect_close(*record().jobs[1].finish, 2 + 100 / rate + 100);
}

TEST_F(SimJobsTest, NewJobOnASharedGpu_IsAwaitedByStarted) {
  // "Started" speaks for every job on the GPU; the new one slows the old one down from its launch.
  const JobId first = add_job(100);
  const JobId second = add_job(100);
  begin();
  start({{first, whole()}}, 1);
  run_until(1);
  start({{second, whole()}}, 2);
  run_out();
  EXPECT_EQ(log_.lines[0], "started 0/1 at 2");
  EXPECT_EQ(log_.lines[1], "started 0/2 at 3");
  const double rate = book_->speed_at(job::SignatureIndex(0), 0.5) / 1.15;
  expect_close(*record().jobs[0].finish, 2 + 100 / rate);
}

TEST_F(SimJobsTest, Limits_SetTheRateAndTheObservedStep) {
  // Alone at 50 %: s(1/2), a step of 100 ms / s(1/2); nothing is observed before the first step.
  const JobId job = add_job(100);
  begin();
  jobs_->start(
      GpuId(0), std::vector<port::JobStart>{{job, whole()}}, port::RunPurpose::kCharacterise, 1);
  EXPECT_EQ(jobs_->observed_step(job), std::nullopt);
  run_until(2);
  jobs_->set_atp(GpuId(0), ActiveThreadPercentage(50));
  run_until(12);
  const double rate = book_->speed_at(job::SignatureIndex(0), 0.5);
  EXPECT_EQ(jobs_->observed_step(job), scaled(Duration::milliseconds(100), 1 / rate));
  jobs_->set_atp(GpuId(0), ActiveThreadPercentage(100));
  run_out();
  expect_close(*record().jobs[0].finish, 12 + 100 - 10 * rate);
  EXPECT_EQ(record().jobs[0].characterisations, 1);
  EXPECT_GT(time_of(record().jobs[0], TimeKind::kCharacterisation), 100);
  EXPECT_EQ(time_of(record().jobs[0], TimeKind::kRunning), 0);
}

TEST_F(SimJobsTest, EndOfACharacterisation_LetsTheJobRunOnAtFullSpeed) {
  // 10 s at 14 %, then as kRun without a limit; nothing is saved or started again.
  const JobId job = add_job(100);
  begin();
  jobs_->start(
      GpuId(0), std::vector<port::JobStart>{{job, whole()}}, port::RunPurpose::kCharacterise, 1);
  jobs_->set_atp(GpuId(0), ActiveThreadPercentage(14));
  run_until(12);
  jobs_->end_characterisation(GpuId(0));
  run_out();
  const double done = 10 * book_->speed_at(job::SignatureIndex(0), 0.14);
  expect_close(*record().jobs[0].finish, 12 + 100 - done);
  EXPECT_EQ(time_of(record().jobs[0], TimeKind::kCharacterisation), 10);
  EXPECT_EQ(record().checkpoints, 0);
}

TEST_F(SimJobsTest, Phase_ChangesTheSpeedAndIsReportedWithItsFactor) {
  // 50 s at 0.4, then 50 s at 0.8: 125 s + 62.5 s.
  const JobId job = add_job(100);
  workload_.jobs[0].phases = {{.begins_at = 0.5, .signature = job::SignatureIndex(1)}};
  begin();
  start({{job, on("2g.10gb", 0)}}, 1);
  EXPECT_EQ(jobs_->current_signature(job), job::SignatureIndex(0));
  run_out();
  EXPECT_EQ(jobs_->current_signature(job), job::SignatureIndex(1));
  EXPECT_EQ(log_.lines[1], "speed of 0 on 0 x 2.000 at 127");
  expect_close(*record().jobs[0].finish, 2 + 125 + 62.5);
}

TEST_F(SimJobsTest, PhaseOfEqualSpeed_IsNotReported) {
  // Nothing that anyone could see has changed.
  const JobId job = add_job(100);
  workload_.jobs[0].phases = {{.begins_at = 0.25, .signature = job::SignatureIndex(1)}};
  begin();
  start({{job, whole()}}, 1);
  run_out();
  EXPECT_EQ(log_.lines.size(), 2U);
  expect_close(*record().jobs[0].finish, 102);
}

TEST_F(SimJobsTest, PhaseOfASharingJob_ChangesItsOwnSpeedOnly) {
  // In the default model a neighbour's signature does not matter, only that it is there.
  const JobId job = add_job(100);
  const JobId other = add_job(1000);
  workload_.jobs[0].phases = {{.begins_at = 0.5, .signature = job::SignatureIndex(1)}};
  begin();
  start({{job, on("3g.20gb", 0)}, {other, on("3g.20gb", 0)}}, 1);
  run_out();
  ASSERT_EQ(log_.lines.size(), 4U);
  EXPECT_TRUE(log_.lines[1].starts_with("speed of 0 on 0 x 1.")) << log_.lines[1];
}

TEST_F(SimJobsTest, Integrals_CountSlicesPowerAndIdleSlicesWhileAJobWaits) {
  // One job on 3g for 202 s, another waiting until 100 s and then beside it on 2g; 7 slices.
  const JobId first = add_job(100);
  const JobId second = add_job(20);
  begin();
  start({{first, on("3g.20gb", 4)}}, 1);
  run_until(100);
  start({{second, on("2g.10gb", 0)}}, 2);  // 2 s + 20 / 0.4 s = until 152 s
  run_out();
  const job::RunRecord run = record();
  EXPECT_EQ(run.makespan, at_s(202));
  EXPECT_NEAR(run.busy_slice_s, 3 * 202 + 2 * 52, 1e-6);
  EXPECT_NEAR(run.fragmented_slice_s, 4 * 100, 1e-6);
  EXPECT_EQ(run.total_slice_s, 7 * 202);
  const job::PowerCurve power = job::PowerCurve::builtin();
  const auto watts = [&](int busy) {
    return power.power_watts(ComputeSlices(busy), ComputeSlices(7));
  };
  EXPECT_NEAR(run.energy_j, watts(3) * 150 + watts(5) * 52, 1e-3);
}

TEST_F(SimJobsTest, SharedInstance_IsBusyOnce) {
  // Two jobs in one instance use its slices, not twice as many.
  const JobId first = add_job(100);
  const JobId second = add_job(100);
  begin();
  start({{first, on("2g.10gb", 0)}, {second, on("2g.10gb", 0)}}, 1);
  EXPECT_EQ(jobs_->busy_slices(), 2);
}

TEST_F(SimJobsTest, WholeInstanceAndNeighbours_CostWhatTheOptionsSay) {
  // 7g under MIG at 0.98; 3g beside a busy 3g (of 4 other slices) loses 3/4 of 4 %.
  whole_instance_speed_ = 0.98;
  neighbour_loss_ = 0.04;
  const JobId on_whole = add_job(98);
  const JobId left = add_job(48.5);
  const JobId right = add_job(1000);
  begin(2);
  start({{on_whole, on("7g.40gb", 0, 0)}}, 1, 0);
  start({{left, on("3g.20gb", 0, 1)}, {right, on("3g.20gb", 4, 1)}}, 2, 1);
  run_out();
  expect_close(*record().jobs[0].finish, 102);
  expect_close(*record().jobs[1].finish, 2 + 48.5 / (0.5 * (1 - 0.04 * 3 / 4)));
}

}  // namespace
}  // namespace septule::sim
