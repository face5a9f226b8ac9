#include "sim/sim_jobs.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job/power_curve.hpp"
#include "sim/sim_env.hpp"
#include "sim/sim_support.hpp"

namespace septule::sim {
namespace {

using job::JobId;
using job::JobState;
using job::TimeKind;
using test::at_s;
using test::seconds;

/// Writes down what the runner reports: "stopped 0/7 at 51".
class Log final : public port::JobRunnerClient {
 public:
  explicit Log(const port::Env& env) : env_(&env) {}
  void on_stopped(GpuId gpu, std::uint64_t token) override {
    add(fmt::format("stopped {}/{}", gpu.value(), token));
  }
  void on_started(GpuId gpu, std::uint64_t token) override {
    add(fmt::format("started {}/{}", gpu.value(), token));
  }
  void on_job_ended(GpuId gpu, JobId job) override {
    add(fmt::format("ended {} on {}", job.value(), gpu.value()));
  }
  void on_speed_changed(GpuId gpu, JobId job, double factor) override {
    add(fmt::format("speed of {} on {} x {:.3f}", job.value(), gpu.value(), factor));
  }
  std::vector<std::string> lines;

 private:
  void add(const std::string& what) {
    lines.push_back(fmt::format("{} at {}", what, env_->now().to_seconds()));
  }
  const port::Env* env_;
};

/// A sum of rates needs an end at a whole nanosecond.
void expect_close(SimTime time, double expected_s) {
  EXPECT_NEAR(static_cast<double>(time.to_nanoseconds()), expected_s * 1e9, 3);
}

/// Signature 0: speeds 1, 0.625, 0.5, 0.4, 0.25 on 7g .. 1g. Signature 1: twice as fast on 2g.
/// Both start in 2 s, hold 1 GiB: 1 s to save, 2.5 s to restart.
job::PerfSignature signature(std::string name, int two_g_ms) {
  job::PerfSignature made;
  made.name = std::move(name);
  made.family = "made";
  made.gpu_key = "A100-40GB";
  for (const auto& [profile, ms] : std::vector<std::pair<std::string, int>>{{"7g.40gb", 100},
                                                                            {"4g.20gb", 160},
                                                                            {"3g.20gb", 200},
                                                                            {"2g.10gb", two_g_ms},
                                                                            {"1g.5gb", 400}}) {
    made.times.push_back(
        {.profile = profile, .step = Duration::milliseconds(ms), .first_step = Duration()});
  }
  made.start = seconds(2);
  made.memory = Bytes::mebibytes(1024);
  return made;
}

class SimJobsTest : public ::testing::Test {
 protected:
  SimJobsTest() {
    workload_.signatures = {signature("slow", 250), signature("fast on 2g", 125)};
    Result<predict::SpeedBook> book =
        predict::SpeedBook::make(test::model("A100-40GB"), workload_.signatures);
    book_ = std::make_unique<predict::SpeedBook>(std::move(book).value());
  }

  JobId add_job(double work_s, int gpus = 1) {
    job::JobSpec spec;
    spec.id = JobId(static_cast<int>(workload_.jobs.size()));
    spec.name = fmt::format("job-{}", spec.id.value());
    spec.work = seconds(work_s);
    spec.gpus = gpus;
    workload_.jobs.push_back(spec);
    return spec.id;
  }

  /// After the last add_job(): all are submitted at 0.
  SimJobs& begin(int gpus = 1) {
    jobs_ = std::make_unique<SimJobs>(
        env_,
        SimJobs::Truth{workload_, *book_, mps_, costs_, whole_instance_speed_, neighbour_loss_},
        gpus);
    jobs_->set_client(log_);
    for (const job::JobSpec& spec : workload_.jobs) {
      jobs_->submitted(spec.id);
    }
    return *jobs_;
  }

  port::JobPlace whole(int gpu = 0, int atp = 100) const {
    return {.gpu = GpuId(gpu), .instance = std::nullopt, .atp = ActiveThreadPercentage(atp)};
  }
  port::JobPlace on(std::string_view profile, int start, int gpu = 0) const {
    return {.gpu = GpuId(gpu),
            .instance =
                gpu::PlacedProfile{*book_->geometry().find_profile(profile), MemorySlices(start)}};
  }
  void start(std::vector<port::JobStart> starts, std::uint64_t token, int gpu = 0) {
    jobs_->start(GpuId(gpu), starts, port::RunPurpose::kRun, token);
  }
  void stop(std::vector<JobId> jobs, std::uint64_t token, int gpu = 0) {
    jobs_->stop(GpuId(gpu), jobs, token);
  }
  /// Lets time pass: all timers up to then fire.
  void run_until(double time_s) {
    bool is_over = false;
    class Mark final : public port::TimerTarget {
     public:
      explicit Mark(bool& over) : over_(&over) {}
      void on_timer(std::uint64_t /*payload*/) override { *over_ = true; }

     private:
      bool* over_;
    } mark(is_over);
    env_.call_at(at_s(time_s), port::TimerClass::kController, mark, 0);
    while (!is_over && env_.fire_next()) {
    }
  }
  void run_out() {
    while (env_.fire_next()) {
    }
  }
  job::RunRecord record() {
    job::RunRecord run;
    jobs_->record(run);
    return run;
  }
  static double time_of(const job::JobOutcome& job, TimeKind kind) {
    return job.times[static_cast<std::size_t>(kind)].to_seconds();
  }

  SimEnv env_;
  Log log_{env_};
  job::Workload workload_;
  std::unique_ptr<predict::SpeedBook> book_;
  predict::MpsModel mps_;
  job::CostModel costs_;
  double whole_instance_speed_ = 1;
  double neighbour_loss_ = 0;
  std::unique_ptr<SimJobs> jobs_;
};

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
