#include "sim/cluster_sim.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/sim_support.hpp"
#include "support/node_builder.hpp"

namespace septule::sim {
namespace {

using test::at_s;
using test::Case;
using test::checked_run;
using test::odd_workload;
using test::seconds;
using test::setup_of;
using Pace = control::Controller::Options::Pace;

constexpr std::string_view kModels[] = {"A100-40GB", "A100-80GB", "H100-80GB-SXM", "A30-24GB"};

/// Every combination of settings for one policy on one model, each with its own seed.
void run_all_settings(std::string_view policy, std::string_view model, std::uint64_t seed) {
  for (const sched::Setting setting : {sched::Setting::kPaper, sched::Setting::kArtifact}) {
    for (const job::CostKind costs : {job::CostKind::kNominal, job::CostKind::kCalibrated}) {
      for (const Duration tick : {Duration(), seconds(10)}) {
        for (const Pace pace : {Pace::kOverlapped, Pace::kSerial, Pace::kSerialStops}) {
          const Case wanted{.model = model,
                            .policy = policy,
                            .setting = setting,
                            .costs = costs,
                            .tick = tick,
                            .pace = pace,
                            .gpus = static_cast<int>(1 + seed % 5),
                            .seed = seed};
          const job::Workload workload = test::servable(wanted, odd_workload(seed, 30));
          checked_run(setup_of(wanted, workload), wanted.text());
          ++seed;
        }
      }
    }
  }
}

class EveryPolicy : public ::testing::TestWithParam<std::size_t> {};

TEST_P(EveryPolicy, OnEveryModelAndSetting_KeepsEveryRule) {
  // No crash, no violation, every job done or rejected, whatever is combined with whatever.
  const std::string_view policy = test::policies()[GetParam()];
  std::uint64_t seed = 1000 * (GetParam() + 1);
  for (const std::string_view model : kModels) {
    for (int round = 0; round < 3; ++round) {
      run_all_settings(policy, model, seed);
      seed += 24;
    }
  }
}

std::string policy_test_name(const ::testing::TestParamInfo<std::size_t>& parameter) {
  std::string name(test::policies()[parameter.param]);
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(ClusterSim,
                         EveryPolicy,
                         ::testing::Range<std::size_t>(0, test::policies().size()),
                         policy_test_name);

std::string_view any_policy() {
  return *rc::gen::elementOf(test::policies());
}

RC_GTEST_PROP(ClusterSim, AnyCluster_AnyJobs_KeepsEveryRule, ()) {
  // Sizes of cluster, node and workload at random too; jobs collide in few GPUs or spread on many.
  const Case wanted{.model = *rc::gen::elementOf(
                        std::vector<std::string_view>(std::begin(kModels), std::end(kModels))),
                    .policy = any_policy(),
                    .setting = *rc::gen::element(sched::Setting::kPaper, sched::Setting::kArtifact),
                    .costs = *rc::gen::element(job::CostKind::kNominal, job::CostKind::kCalibrated),
                    .tick = *rc::gen::element(Duration(), Duration::milliseconds(1), seconds(10)),
                    .pace = *rc::gen::element(Pace::kOverlapped, Pace::kSerial, Pace::kSerialStops),
                    .gpus = *rc::gen::inRange(1, 13),
                    .gpus_per_node = *rc::gen::inRange(1, 9),
                    .seed = *rc::gen::inRange<std::uint64_t>(1, 1U << 30U)};
  const job::Workload workload =
      test::servable(wanted, odd_workload(wanted.seed, *rc::gen::inRange(1, 80)));
  const test::Checked result = test::checked(setup_of(wanted, workload));
  for (const std::string& fault : result.faults) {
    RC_LOG() << wanted.text() << ": " << fault << "\n";
  }
  RC_ASSERT(result.faults.empty());
}

TEST(ClusterSim, NoJobs_EndsAtOnce) {
  // An empty workload is a run, not an error.
  const job::Workload workload{.name = "empty", .signatures = test::signatures(), .jobs = {}};
  for (const sched::PolicyVariant& policy : sched::policy_variants()) {
    const Case wanted{.policy = policy.name};
    const job::RunRecord run = checked_run(setup_of(wanted, workload), wanted.text());
    EXPECT_EQ(run.makespan, SimTime());
    EXPECT_TRUE(run.jobs.empty());
  }
}

TEST(ClusterSim, JobsThatFitNoGpu_AreRejectedAndCounted) {
  // A gang larger than the cluster and a job with more memory than a GPU: the others run.
  job::Workload workload = odd_workload(5, 6);
  for (job::JobSpec& job : workload.jobs) {
    job.gpus = 1;
    job.memory.reset();
    job.phases.clear();
    job.signature = job::SignatureIndex(0);
  }
  workload.jobs[1].gpus = 4;
  workload.jobs[4].memory = Bytes::mebibytes(41000);
  const Case wanted{.gpus = 3};
  const job::RunRecord run = checked_run(setup_of(wanted, workload), wanted.text());
  for (const job::JobOutcome& job : run.jobs) {
    const bool is_too_large = job.id == job::JobId(1) || job.id == job::JobId(4);
    EXPECT_EQ(job.state == job::JobState::kRejected, is_too_large);
    EXPECT_EQ(job.first_start.has_value(), !is_too_large);
  }
  EXPECT_EQ(job::figures_of(run).jobs_rejected, 2);
}

TEST(ClusterSim, JobThatNoPolicyServes_IsAnErrorThatNamesIt) {
  // optsta leaves jobs waiting that no instance of its layout holds; the run says which.
  job::Workload workload = odd_workload(5, 1);
  workload.jobs[0].gpus = 1;
  workload.jobs[0].memory = Bytes::mebibytes(30000);
  workload.jobs[0].name = "the-large-one";
  const Case wanted{.policy = "optsta"};
  const Result<job::RunRecord> run = simulate(setup_of(wanted, workload));
  ASSERT_FALSE(run.has_value());
  EXPECT_EQ(run.error().code, ErrorCode::kFailed);
  EXPECT_NE(run.error().message.find("optsta"), std::string::npos);
  EXPECT_NE(run.error().message.find("the-large-one"), std::string::npos);
}

TEST(ClusterSim, EveryModel_ServesTheMeasuredJobs) {
  // Aim: no policy offers a job an instance on which it makes no progress, also on models whose
  // memory nobody has published in full.
  job::Workload workload = *job::miso_workload("miso-100");
  workload.jobs.resize(24);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    workload.jobs[i].submit = SimTime::nanoseconds(static_cast<std::int64_t>(i) * 20000000000);
  }
  for (const gpu::Geometry& geometry : septule::test::catalogue().geometries()) {
    const auto book = predict::SpeedBook::make(geometry, workload.signatures);
    if (!geometry.has_profile_table() || !book) {
      continue;
    }
    for (const std::string_view policy : test::policies()) {
      test::Case wanted{.policy = policy, .gpus = 2};
      SimSetup setup = setup_of(wanted, workload);
      setup.geometry = &geometry;
      setup.book = &*book;
      setup.policy_setup.static_layout = {
          {.profile = book->whole_profile(), .start = MemorySlices(0)}};
      checked_run(setup, fmt::format("{} {}", geometry.key(), policy));
    }
  }
}

TEST(ClusterSim, TimesBeyondTheHorizon_AreRefused) {
  // Aim: jobs that would go on for centuries end in a message, not in an overflow.
  job::Workload workload = *job::miso_workload("miso-100");
  workload.jobs.resize(90);
  for (job::JobSpec& spec : workload.jobs) {
    spec.work = Duration::nanoseconds(315360000LL * 1000000000);
  }
  for (const std::string_view policy : test::policies()) {
    const test::Case wanted{.policy = policy, .gpus = 1};
    SimSetup setup = setup_of(wanted, workload);
    const auto book = predict::SpeedBook::make(*setup.geometry, workload.signatures);
    setup.book = &*book;
    const Result<job::RunRecord> run = simulate(setup);
    ASSERT_FALSE(run.has_value()) << policy;
    EXPECT_EQ(run.error().code, ErrorCode::kInvalidInput) << policy << run.error().message;
  }
}

TEST(ClusterSim, MisoAtFortyGpus_FiresFewTimersPerJob) {
  // A guard of speed that no clock is needed for: what one job costs in timers, of whatever kind.
  constexpr double kTimersPerJobMax = 40;
  const job::Workload base = *job::miso_workload("miso-1000");
  const job::Workload workload = job::with_arrivals(base, *job::artifact_arrivals(1000, 1));
  const predict::SpeedBook book =
      *predict::SpeedBook::make(test::model("A100-40GB"), workload.signatures);
  Case wanted{.gpus = 40, .gpus_per_node = 8};
  SimSetup setup = setup_of(wanted, workload);
  setup.book = &book;
  const job::RunRecord run = checked_run(setup, wanted.text());
  const double per_job = static_cast<double>(run.events) / 1000;
  RecordProperty("timers_per_job", std::to_string(per_job));
  EXPECT_LT(per_job, kTimersPerJobMax);
  EXPECT_GT(per_job, 4);
}

}  // namespace
}  // namespace septule::sim
