// The simulator against the published replay of NoPart, run for run (miso.md 2.5 and 16).
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include <gtest/gtest.h>

#include "job/csv_rows.hpp"
#include "sim/sim_support.hpp"
#include "support/shared_data.hpp"

namespace septule::sim {
namespace {

constexpr std::int64_t kTickNs = 10000000000;

std::int64_t up_to_tick(std::int64_t ns) {
  return (ns + kTickNs - 1) / kTickNs * kTickNs;
}

struct Reference {
  std::string_view scenario;
  job::CostKind costs = job::CostKind::kNominal;
  std::string_view workload = "miso-100";
  int gpus = 8;
  double jct_within_s = 3;
  double makespan_within_s = 0;
};

/// The artifact's controller on whole GPUs: 10 s tick, no checkpoint, half a second at the end.
job::RunRecord replay(const Reference& reference, std::uint64_t seed) {
  const job::Workload base = *job::miso_workload(reference.workload);
  const job::Workload workload =
      job::with_arrivals(base, *job::artifact_arrivals(static_cast<int>(base.jobs.size()), seed));
  const predict::SpeedBook book =
      *predict::SpeedBook::make(test::model("A100-40GB"), workload.signatures);
  const test::Case wanted{.policy = "nopart",
                          .setting = sched::Setting::kArtifact,
                          .costs = reference.costs,
                          .tick = Duration::nanoseconds(kTickNs),
                          .gpus = reference.gpus,
                          .gpus_per_node = 8,
                          .seed = seed};
  SimSetup setup = test::setup_of(wanted, workload);
  setup.book = &book;
  setup.costs.finish =
      reference.costs == job::CostKind::kNominal ? Duration::milliseconds(500) : Duration();
  return test::checked_run(setup, wanted.text());
}

int compare(const std::filesystem::path& path, const Reference& reference) {
  int rows = 0;
  for (const auto& row : septule::test::csv_rows(path)) {
    if (row.at("policy") != "NoPart" || row.at("scenario") != reference.scenario) {
      continue;
    }
    ++rows;
    const auto seed = static_cast<std::uint64_t>(septule::test::number_of(row, "seed"));
    const job::RunRecord run = replay(reference, seed);
    // The published makespan is the tick at which the controller saw the last end.
    const double makespan_s = static_cast<double>(up_to_tick(run.makespan.to_nanoseconds())) / 1e9;
    EXPECT_NEAR(
        makespan_s, septule::test::number_of(row, "makespan_s"), reference.makespan_within_s)
        << seed;
    // The reference counts a job's time from the tick that noticed it, we from its submission: up
    // to 10 s earlier. Its own clock starts there again.
    double jct_s = 0;
    for (const job::JobOutcome& job : run.jobs) {
      const std::int64_t noticed = up_to_tick(job.submit.to_nanoseconds());
      jct_s += static_cast<double>(job.finish->to_nanoseconds() - noticed) / 1e9;
    }
    EXPECT_NEAR(jct_s / static_cast<double>(run.jobs.size()),
                septule::test::number_of(row, "mean_jct_s"),
                reference.jct_within_s)
        << seed;
  }
  return rows;
}

TEST(NoPartReference, NominalRows_AreReproduced) {
  // 20 seeds: the makespan exactly, the mean JCT within 3 s.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/baseline_runs.csv");
  EXPECT_EQ(compare(path, {.scenario = "8gpu_100job_nominal"}), 20);
}

TEST(NoPartReference, CalibratedRows_AreReproduced) {
  // 20 seeds: the makespan exactly, the mean JCT within 1 s.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/baseline_runs.csv");
  EXPECT_EQ(compare(path,
                    {.scenario = "8gpu_100job_calibrated",
                     .costs = job::CostKind::kCalibrated,
                     .jct_within_s = 1}),
            20);
}

TEST(NoPartReference, FortyGpuRows_AreReproducedToATick) {
  // 1,000 jobs, three seeds: the makespan within one tick, the mean JCT within 3 s.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/baseline_runs.csv");
  EXPECT_EQ(compare(path,
                    {.scenario = "40gpu_1000job_async_reconfig",
                     .workload = "miso-1000",
                     .gpus = 40,
                     .makespan_within_s = 10}),
            3);
}

TEST(NoPartReference, SeedOneCalibrated_IsCloseToTheMeasuredRun) {
  // The testbed's run had a mean JCT of 3,122.3 s and a makespan of 14,002 s (miso.md 2.5).
  const job::RunRecord run = replay({.costs = job::CostKind::kCalibrated}, 1);
  const job::RunFigures figures = job::figures_of(run);
  EXPECT_NEAR(figures.mean_jct_s, 3122.3, 0.02 * 3122.3);
  EXPECT_NEAR(figures.makespan_s, 14002, 0.03 * 14002);
}

}  // namespace
}  // namespace septule::sim
