// Septule in whole simulations, under the independent checker.
#include <array>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "sim/sim_support.hpp"

namespace septule::sim {
namespace {

using test::Case;
using test::checked_run;
using test::odd_workload;
using test::seconds;
using test::setup_of;

/// miso-100 with Poisson arrivals, a minute apart, on eight A100-40GB.
job::RunFigures testbed_run(std::string_view policy, job::CostKind costs, std::uint64_t seed) {
  job::Workload base = *job::miso_workload("miso-100");
  const predict::SpeedBook book =
      *predict::SpeedBook::make(test::model("A100-40GB"), base.signatures);
  job::ArrivalOptions arrivals;
  arrivals.gap = seconds(60);
  const job::Workload workload = job::with_arrivals(base, *job::draw_arrivals(100, arrivals, seed));
  const Case wanted{.policy = policy, .costs = costs, .gpus = 8, .gpus_per_node = 8, .seed = seed};
  SimSetup setup = setup_of(wanted, workload);
  setup.book = &book;
  setup.error = {.mean = 0.016, .sd = 0.0032};
  return job::figures_of(checked_run(setup, wanted.text()));
}

TEST(SeptuleSim, Testbed_BeatsMisoByMoreThanTheTarget) {
  // Aim: mean JCT below MISO's by 7 %, with restarts of 25 s by 15 %, makespan and STP no worse,
  // over seeds not tuned on; the fair sister is below MISO too, and with dear restarts its 99th
  // percentile of slowdown is below Septule's.
  constexpr std::array<std::string_view, 3> kPolicies{"miso", "septule", "septule-fair"};
  for (const job::CostKind costs : {job::CostKind::kNominal, job::CostKind::kCalibrated}) {
    std::array<job::RunFigures, 3> sums{};
    for (std::uint64_t seed = 201; seed <= 206; ++seed) {
      for (std::size_t i = 0; i < kPolicies.size(); ++i) {
        const job::RunFigures figures = testbed_run(kPolicies[i], costs, seed);
        sums[i].mean_jct_s += figures.mean_jct_s;
        sums[i].makespan_s += figures.makespan_s;
        sums[i].stp_per_gpu += figures.stp_per_gpu;
        sums[i].slowdown_p99 += figures.slowdown_p99;
      }
    }
    const auto& [miso, septule, fair] = sums;
    const bool is_dear = costs == job::CostKind::kCalibrated;
    EXPECT_LT(septule.mean_jct_s, (is_dear ? 0.85 : 0.93) * miso.mean_jct_s);
    EXPECT_LE(septule.makespan_s, miso.makespan_s);
    EXPECT_GE(septule.stp_per_gpu, miso.stp_per_gpu);
    EXPECT_LT(fair.mean_jct_s, miso.mean_jct_s);
    EXPECT_LT(fair.slowdown_p99, miso.slowdown_p99);
    EXPECT_TRUE(!is_dear || fair.slowdown_p99 < septule.slowdown_p99);
  }
}

TEST(SeptuleSim, OneUnknownJobAlone_LeavesItsCharacterisationBehind) {
  // Aim: after its run a job goes on at full speed: no level of ATP stays with it.
  job::Workload workload = odd_workload(1, 1);
  workload.jobs.resize(1);
  workload.jobs[0] = {.id = job::JobId(0),
                      .name = "alone",
                      .work = seconds(5000),
                      .signature = job::SignatureIndex(0)};
  for (const std::string_view policy : {"septule", "septule-fair"}) {
    const Case wanted{.policy = policy, .gpus = 1, .gpus_per_node = 1};
    const job::RunRecord run = checked_run(setup_of(wanted, workload), wanted.text());
    const job::RunFigures figures = job::figures_of(run);
    EXPECT_GT(figures.mean_characterisation_s, 20);
    EXPECT_LT(figures.mean_characterisation_s, 60);
    EXPECT_LT(figures.mean_jct_s, 5200);
  }
}

TEST(SeptuleSim, OddWorkloads_WithGapsAndErrors_KeepEveryRule) {
  // Aim: changes of speed, gangs, priorities, prediction errors and a gap between runs, on four
  // models: no violation and every job done or rejected.
  std::uint64_t seed = 7000;
  for (const std::string_view model : {"A100-40GB", "A100-80GB", "H100-80GB-SXM", "A30-24GB"}) {
    for (const std::string_view policy : {"septule", "septule-fair"}) {
      for (int i = 0; i < 4; ++i, ++seed) {
        const Case wanted{
            .model = model,
            .policy = policy,
            .costs = i % 2 == 0 ? job::CostKind::kNominal : job::CostKind::kCalibrated,
            .gpus = 1 + i,
            .seed = seed};
        const job::Workload workload = odd_workload(seed, 60);
        SimSetup setup = setup_of(wanted, workload);
        setup.policy_setup.recharacterise_gap = seconds(120);
        setup.error = {.mean = 0.09, .sd = 0.02};
        checked_run(setup, wanted.text());
      }
    }
  }
}

}  // namespace
}  // namespace septule::sim
