// Tails of the simulator against published ones (docs/benchmarks.md, "Tails against MLPerf").
#include <cmath>

#include <gtest/gtest.h>

#include "job/metrics.hpp"
#include "sim/mlperf_cases.hpp"
#include "support/read_file.hpp"
#include "support/shared_data.hpp"

namespace septule::sim {
namespace {

TEST(Mlperf, SimulatedP99_IsWithinTheStatedErrorOfThePublishedOne) {
  // Aim: median and p90 of |log(simulated / published)| over the usable Server rows.
  SEPTULE_REQUIRE_SHARED(path, "data/serving/mlperf_inference_mig.csv");
  const auto cases = test::read_mlperf_cases(septule::test::read_file(path));
  EXPECT_EQ(cases.size(), 55U);
  std::vector<double> errors;
  for (const test::MlperfCase& row : cases) {
    if (row.excluded.empty()) {
      const auto figures = test::simulate_mlperf(row, {}, 20000);
      errors.push_back(std::abs(std::log(figures.p99_ms / row.p99_ms)));
    }
  }
  EXPECT_EQ(errors.size(), 44U);
  EXPECT_LT(job::quantile(errors, 0.5), 0.27);
  EXPECT_LT(job::quantile(errors, 0.9), 0.68);
}

TEST(Mlperf, Cases_AreReadWithTheirOfflineRows) {
  // Aim: matching, instances by the system's name, exclusions.
  const std::string csv =
      "mlperf,submitter,system,benchmark,scenario,samples_per_s,mean_ms,p50_ms,p90_ms,p99_ms\n"
      "v1.0,N,A100-MIG_56x1g.10gb_T,resnet50,Offline,560,,,,\n"
      "v1.0,N,A100-MIG_56x1g.10gb_T,resnet50,Server,280,1,2,3,4\n"
      "v1.0,N,A100-SXM-80GBx8_T,resnet50,Server,280,1,2,3,4\n"
      "v1.0,N,A30-MIG_1x1g_HeteroMultiUse,bert-99,Server,280,1,2,3,4\n";
  const auto cases = test::read_mlperf_cases(csv);
  ASSERT_EQ(cases.size(), 3U);
  EXPECT_EQ(cases[0].instances, 56);
  EXPECT_EQ(cases[0].offline_rps, 560);
  EXPECT_EQ(cases[0].p99_ms, 4);
  EXPECT_TRUE(cases[0].excluded.empty());
  EXPECT_EQ(cases[1].instances, 8);
  EXPECT_FALSE(cases[1].is_mig);
  EXPECT_FALSE(cases[1].excluded.empty());
  EXPECT_FALSE(cases[2].excluded.empty());
}

}  // namespace
}  // namespace septule::sim
