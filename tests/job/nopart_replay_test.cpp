#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "job/cost_model.hpp"
#include "job/csv_rows.hpp"
#include "job/workload.hpp"
#include "support/shared_data.hpp"

namespace septule::job {
namespace {

/// What a plain first-come-first-served replay on whole GPUs gives, in seconds.
struct Replay {
  double makespan_s = 0;
  double mean_jct_s = 0;
};

SimTime up_to_tick(SimTime time) {
  constexpr std::int64_t kTick = 10000000000;
  return SimTime::nanoseconds((time.to_nanoseconds() + kTick - 1) / kTick * kTick);
}

/// miso.md 2.5: arrivals and starts on multiples of 10 s, strict FIFO, lowest free GPU.
Replay replay_without_partitions(const Workload& workload, const CostModel& costs, int gpus) {
  std::vector<SimTime> free_at(static_cast<std::size_t>(gpus));
  Replay result;
  SimTime now;
  for (const JobSpec& job : workload.jobs) {
    const auto gpu = std::min_element(free_at.begin(), free_at.end());
    const SimTime seen = up_to_tick(job.submit);
    now = up_to_tick(std::max({now, seen, *gpu}));
    const PerfSignature& signature =
        workload.signatures[static_cast<std::size_t>(job.signature.value())];
    const Duration start =
        start_time(costs, signature, signature.times.data(), Bytes(), StartKind::kFirst);
    *gpu = now + start + scaled(job.work, costs.step_factor()) + costs.finish;
    result.makespan_s = std::max(result.makespan_s, gpu->to_seconds());
    result.mean_jct_s += (*gpu - seen).to_seconds() / static_cast<double>(workload.jobs.size());
  }
  return result;
}

Workload arriving(std::string_view name, std::uint64_t seed) {
  const Result<Workload> base = miso_workload(name);
  const Result<std::vector<Arrival>> arrivals =
      artifact_arrivals(static_cast<int>(base->jobs.size()), seed);
  return with_arrivals(*base, *arrivals);
}

/// Costs as the published replay takes them.
CostModel replay_costs(CostKind kind) {
  CostModel costs;
  costs.kind = kind;
  if (kind == CostKind::kNominal) {
    costs.finish = Duration::milliseconds(500);
  }
  return costs;
}

/// Compares the replay with each row of this scenario; gives the number of rows.
int compare_rows(const std::filesystem::path& path, std::string_view scenario, CostKind kind) {
  int rows = 0;
  for (const auto& row : test::csv_rows(path)) {
    if (row.at("policy") != "NoPart" || row.at("scenario") != scenario) {
      continue;
    }
    ++rows;
    const auto seed = static_cast<std::uint64_t>(test::number_of(row, "seed"));
    const Replay replay =
        replay_without_partitions(arriving("miso-100", seed), replay_costs(kind), 8);
    // The published makespan is the tick at which the last end was seen.
    EXPECT_EQ(std::ceil(replay.makespan_s / 10) * 10, test::number_of(row, "makespan_s")) << seed;
    EXPECT_NEAR(replay.mean_jct_s,
                test::number_of(row, "mean_jct_s"),
                kind == CostKind::kCalibrated ? 1 : 3)
        << seed;
  }
  return rows;
}

TEST(NoPartReplay_NominalCosts, GivesThePublishedRuns) {
  // Mix, arrivals and nominal costs together: makespan of 20 seeds to the tick, JCT to 3 s.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/baseline_runs.csv");
  EXPECT_EQ(compare_rows(path, "8gpu_100job_nominal", CostKind::kNominal), 20);
}

TEST(NoPartReplay_CalibratedCosts, GivesThePublishedRuns) {
  // The same with 25 s per start and steps x 1.16: JCT to 1 s.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/baseline_runs.csv");
  EXPECT_EQ(compare_rows(path, "8gpu_100job_calibrated", CostKind::kCalibrated), 20);
}

TEST(NoPartReplay_FortyGpus, GivesThePublishedRunsToATick) {
  // A thousand jobs: makespan within one tick, JCT within 3 s.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/baseline_runs.csv");
  int rows = 0;
  for (const auto& row : test::csv_rows(path)) {
    if (row.at("policy") == "NoPart" && row.at("scenario") == "40gpu_1000job_async_reconfig") {
      ++rows;
      const auto seed = static_cast<std::uint64_t>(test::number_of(row, "seed"));
      const Replay replay = replay_without_partitions(
          arriving("miso-1000", seed), replay_costs(CostKind::kNominal), 40);
      EXPECT_NEAR(replay.makespan_s, test::number_of(row, "makespan_s"), 10);
      EXPECT_NEAR(replay.mean_jct_s, test::number_of(row, "mean_jct_s"), 3);
    }
  }
  EXPECT_EQ(rows, 3);
}

TEST(NoPartReplay_SeedOneCalibrated, IsCloseToTheMeasuredRun) {
  // miso.md 2.5: the real testbed run had a mean JCT of 3,122.3 s and a makespan of 14,002 s.
  const Replay replay =
      replay_without_partitions(arriving("miso-100", 1), replay_costs(CostKind::kCalibrated), 8);
  EXPECT_NEAR(replay.mean_jct_s, 3122.3, 0.02 * 3122.3);
  EXPECT_NEAR(replay.makespan_s, 14002, 0.03 * 14002);
}

}  // namespace
}  // namespace septule::job
