#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/sim_env.hpp"
#include "sim/sim_jobs.hpp"
#include "sim/sim_support.hpp"

namespace septule::sim::test {

using job::JobId;
using job::TimeKind;

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
inline void expect_close(SimTime time, double expected_s) {
  EXPECT_NEAR(static_cast<double>(time.to_nanoseconds()), expected_s * 1e9, 3);
}

/// Signature 0: speeds 1, 0.625, 0.5, 0.4, 0.25 on 7g .. 1g. Signature 1: twice as fast on 2g.
/// Both start in 2 s, hold 1 GiB: 1 s to save, 2.5 s to restart.
inline job::PerfSignature signature(std::string name, int two_g_ms) {
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
        predict::SpeedBook::make(model("A100-40GB"), workload_.signatures);
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

}  // namespace septule::sim::test
