#include "sim/cluster_sim.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "sim/sim_support.hpp"

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
        for (const Pace pace : {Pace::kOverlapped, Pace::kSerial}) {
          const Case wanted{.model = model,
                            .policy = policy,
                            .setting = setting,
                            .costs = costs,
                            .tick = tick,
                            .pace = pace,
                            .gpus = static_cast<int>(1 + seed % 5),
                            .seed = seed};
          job::Workload workload = odd_workload(seed, 30);
          if (policy.starts_with("optsta")) {
            workload = test::fitting_static_layout(workload, model);
          }
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
  const std::string_view policy = sched::policy_variants()[GetParam()].name;
  std::uint64_t seed = 1000 * (GetParam() + 1);
  for (const std::string_view model : kModels) {
    run_all_settings(policy, model, seed);
    seed += 100;
  }
}

std::string policy_test_name(const ::testing::TestParamInfo<std::size_t>& parameter) {
  std::string name(sched::policy_variants()[parameter.param].name);
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(ClusterSim,
                         EveryPolicy,
                         ::testing::Range<std::size_t>(0, sched::policy_variants().size()),
                         policy_test_name);

}  // namespace
}  // namespace septule::sim
