// Starts, stops, gangs and ends of jobs, by hand-computed examples.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/sim_jobs_support.hpp"

namespace septule::sim {
namespace {

using job::JobId;
using job::JobState;
using job::TimeKind;
using test::at_s;
using test::expect_close;
using test::seconds;
using test::SimJobsTest;

TEST_F(SimJobsTest, StopAndRestartElsewhere_KeepsAllProgress) {
  // 48 s done at 50 s; saved at 51; restarted at 60 in 2.5 s at half the speed: 52 / 0.5 = 104 s.
  const JobId job = add_job(100);
  begin();
  start({{job, whole()}}, 1);
  run_until(50);
  stop({job}, 2);
  run_until(60);
  start({{job, on("3g.20gb", 4)}}, 3);
  run_out();
  EXPECT_EQ(log_.lines,
            (std::vector<std::string>{"started 0/1 at 2",
                                      "stopped 0/2 at 51",
                                      "started 0/3 at 62.5",
                                      "ended 0 on 0 at 166.5"}));
  const job::JobOutcome outcome = record().jobs[0];
  EXPECT_EQ(time_of(outcome, TimeKind::kWaiting), 0);
  EXPECT_EQ(time_of(outcome, TimeKind::kReconfiguration), 2 + 1 + 9 + 2.5);
  EXPECT_EQ(time_of(outcome, TimeKind::kRunning), 48 + 104);
  EXPECT_EQ(outcome.checkpoints, 1);
  EXPECT_EQ(outcome.gpu_changes, 0);
}

TEST_F(SimJobsTest, StopWhileStarting_SavesNothing) {
  // Nothing was done: stopped at once, and the next start is again a first one.
  const JobId job = add_job(10);
  begin();
  start({{job, whole()}}, 1);
  run_until(1);
  stop({job}, 2);
  run_until(5);
  start({{job, whole()}}, 3);
  run_out();
  EXPECT_EQ(log_.lines[0], "stopped 0/2 at 1");
  expect_close(*record().jobs[0].finish, 5 + 2 + 10);
  EXPECT_EQ(record().jobs[0].checkpoints, 0);
}

TEST_F(SimJobsTest, StopAtTheFirstStep_CountsAsStarted) {
  // At the very instant of the first step the job runs: it is saved, and restarts as such.
  const JobId job = add_job(10);
  begin();
  start({{job, whole()}}, 1);
  run_until(2);
  stop({job}, 2);
  run_until(10);
  start({{job, whole()}}, 3);
  run_out();
  EXPECT_EQ(record().jobs[0].checkpoints, 1);
  expect_close(*record().jobs[0].finish, 10 + 2.5 + 10);
}

TEST_F(SimJobsTest, Gang_RunsOnceEveryGpuHasBeenTold) {
  // GPU 0 is told at 0, GPU 9 (another node's) at 10: both hear of the first step at 12.
  const JobId gang = add_job(100, 2);
  begin(10);
  start({{gang, whole(0)}}, 1, 0);
  run_until(10);
  EXPECT_TRUE(log_.lines.empty());
  start({{gang, whole(9)}}, 2, 9);
  run_out();
  EXPECT_EQ(
      log_.lines,
      (std::vector<std::string>{
          "started 0/1 at 12", "started 9/2 at 12", "ended 0 on 0 at 112", "ended 0 on 9 at 112"}));
  const job::RunRecord run = record();
  EXPECT_EQ(time_of(run.jobs[0], TimeKind::kReconfiguration), 12);
  EXPECT_EQ(run.jobs[0].work, seconds(200));  // on two GPUs
  EXPECT_EQ(run.busy_slice_s, 7 * 112 + 7 * 102);
}

TEST_F(SimJobsTest, GangThatIsStopped_IsSavedOnceAndLeavesEveryGpu) {
  // Each GPU hears of it when the one checkpoint is written; later it starts elsewhere as one.
  const JobId gang = add_job(100, 2);
  begin(4);
  start({{gang, whole(0)}}, 1, 0);
  start({{gang, whole(1)}}, 2, 1);
  run_until(52);
  stop({gang}, 3, 0);
  stop({gang}, 4, 1);
  run_until(60);
  EXPECT_EQ(jobs_->busy_slices(), 0);
  start({{gang, whole(2)}}, 5, 2);
  start({{gang, whole(3)}}, 6, 3);
  run_out();
  EXPECT_EQ(log_.lines,
            (std::vector<std::string>{"started 0/1 at 2",
                                      "started 1/2 at 2",
                                      "stopped 0/3 at 53",
                                      "stopped 1/4 at 53",
                                      "started 2/5 at 62.5",
                                      "started 3/6 at 62.5",
                                      "ended 0 on 2 at 112.5",
                                      "ended 0 on 3 at 112.5"}));
  EXPECT_EQ(record().checkpoints, 1);
}

TEST_F(SimJobsTest, GangThatIsStoppedBeforeItIsWhole_StartsAnewWithAllParts) {
  // One part was told to start and told to stop again: it counts no more.
  const JobId gang = add_job(100, 2);
  begin(3);
  start({{gang, whole(0)}}, 1, 0);
  run_until(5);
  stop({gang}, 2, 0);
  run_until(6);
  start({{gang, whole(1)}}, 3, 1);
  run_until(9);
  EXPECT_EQ(log_.lines.size(), 1U);
  start({{gang, whole(2)}}, 4, 2);
  run_out();
  expect_close(*record().jobs[0].finish, 9 + 2 + 100);
  EXPECT_EQ(jobs_->busy_slices(), 0);
}

TEST_F(SimJobsTest, FinishDelay_PassesBetweenLastStepAndEnd) {
  // Half a second; a stop meanwhile ends the job at once, since nothing is left to save.
  costs_.finish = Duration::milliseconds(500);
  const JobId first = add_job(100);
  const JobId second = add_job(100);
  begin(2);
  start({{first, whole(0)}}, 1, 0);
  start({{second, whole(1)}}, 2, 1);
  run_until(102.2);
  stop({second}, 3, 1);
  run_out();
  const job::RunRecord run = record();
  EXPECT_EQ(run.jobs[0].finish, at_s(102.5));
  EXPECT_EQ(run.jobs[1].finish, at_s(102.2));
  EXPECT_EQ(run.checkpoints, 0);
}

TEST_F(SimJobsTest, ChangeDuringTheFinishDelay_DoesNotDelayTheEnd) {
  // All steps are done: that the neighbour ends or comes changes nothing any more.
  costs_.finish = Duration::milliseconds(500);
  const JobId job = add_job(100);
  const JobId other = add_job(100);
  begin();
  start({{job, whole()}}, 1);
  run_until(102.3);
  start({{other, whole()}}, 2);
  run_out();
  EXPECT_EQ(record().jobs[0].finish, at_s(102.5));
}

TEST_F(SimJobsTest, RequeuedJob_WaitsOnceItIsSaved) {
  // Its time counts as waiting from then on; if a goal takes it again, it is on its way instead.
  const JobId queued = add_job(100);
  const JobId taken = add_job(100);
  begin(2);
  start({{queued, whole(0)}}, 1, 0);
  start({{taken, whole(1)}}, 2, 1);
  EXPECT_EQ(jobs_->waiting_count(), 0);
  run_until(10);
  jobs_->requeued(queued);
  jobs_->requeued(taken);
  jobs_->placed(taken);
  stop({queued}, 3, 0);
  stop({taken}, 4, 1);
  run_until(31);
  EXPECT_EQ(jobs_->waiting_count(), 1);
  start({{queued, whole(1)}}, 5, 1);
  start({{taken, whole(0)}}, 6, 0);
  run_out();
  const job::RunRecord run = record();
  EXPECT_EQ(time_of(run.jobs[0], TimeKind::kWaiting), 20);
  EXPECT_EQ(time_of(run.jobs[1], TimeKind::kWaiting), 0);
  EXPECT_EQ(run.jobs[0].gpu_changes, 1);
}

TEST_F(SimJobsTest, RequeuedWhenStopped_WaitsAtOnce) {
  // The controller may change its mind after the checkpoint.
  const JobId job = add_job(100);
  begin();
  start({{job, whole()}}, 1);
  run_until(10);
  stop({job}, 2);
  run_until(15);
  jobs_->requeued(job);
  run_until(25);
  start({{job, whole()}}, 3);
  run_out();
  EXPECT_EQ(time_of(record().jobs[0], TimeKind::kWaiting), 10);
}

TEST_F(SimJobsTest, RejectedJob_IsLeftToNobody) {
  // It counts as rejected and never as waiting.
  const JobId rejected = add_job(100);
  const JobId served = add_job(10);
  begin();
  jobs_->rejected(rejected);
  EXPECT_EQ(jobs_->left_count(), 1);
  EXPECT_EQ(jobs_->waiting_count(), 1);
  start({{served, whole()}}, 1);
  run_out();
  const job::RunRecord run = record();
  EXPECT_EQ(run.jobs[0].state, JobState::kRejected);
  EXPECT_FALSE(run.jobs[0].finish.has_value());
  EXPECT_EQ(run.fragmented_slice_s, 0);
}

TEST_F(SimJobsTest, StartOfAnEndedJob_IsAnsweredByItsEnd) {
  // Its end and the order have crossed: told again, and the batch goes on.
  const JobId job = add_job(10);
  begin();
  start({{job, whole()}}, 1);
  run_out();
  log_.lines.clear();
  start({{job, whole()}}, 2);
  run_out();
  EXPECT_EQ(log_.lines, (std::vector<std::string>{"ended 0 on 0 at 12", "started 0/2 at 12"}));
}

TEST_F(SimJobsTest, EmptyBatches_AreAnswered) {
  // Later, not from inside the call.
  begin();
  stop({}, 4);
  start({}, 5);
  EXPECT_TRUE(log_.lines.empty());
  run_out();
  EXPECT_EQ(log_.lines, (std::vector<std::string>{"stopped 0/4 at 0", "started 0/5 at 0"}));
}

TEST_F(SimJobsTest, OneNanosecondOfWork_IsDone) {
  // Down to the smallest job, also with phases in it and stopped in between.
  const JobId job = add_job(1e-9);
  workload_.jobs[0].phases = {{.begins_at = 0.3, .signature = job::SignatureIndex(1)},
                              {.begins_at = 0.6, .signature = job::SignatureIndex(0)}};
  begin();
  start({{job, on("1g.5gb", 0)}}, 1);
  run_until(1);
  stop({job}, 2);
  run_until(4);
  start({{job, whole()}}, 3);
  run_out();
  ASSERT_TRUE(record().jobs[0].finish.has_value());
  expect_close(*record().jobs[0].finish, 6);
}

TEST_F(SimJobsTest, FreeCosts_TakeNoTimeButTheFirstStart) {
  // The oracle without overheads.
  costs_.is_free = true;
  const JobId job = add_job(100);
  begin();
  start({{job, whole()}}, 1);
  run_until(52);
  stop({job}, 2);
  run_until(52);
  start({{job, whole()}}, 3);
  run_out();
  EXPECT_EQ(record().jobs[0].finish, at_s(102));
}

}  // namespace
}  // namespace septule::sim
