// Runs on devices that refuse: what the controller and the agents make of it.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "sim/sim_support.hpp"

namespace septule::sim {
namespace {

using test::Case;
using test::checked_run;
using test::odd_workload;
using test::setup_of;

using Ratio = device::FaultRatio device::FaultPlan::*;

struct Fault {
  std::string_view name;
  Ratio ratio;
};
constexpr Fault kFaults[] = {{"in-use", &device::FaultPlan::in_use},
                             {"insufficient", &device::FaultPlan::insufficient_resources},
                             {"no-permission", &device::FaultPlan::no_permission},
                             {"reset-required", &device::FaultPlan::reset_required}};
constexpr std::uint64_t kOneIn[] = {50, 20, 5};

TEST(ClusterSimFaults, RefusalsOfEveryKind_AreSurvivedByEveryPolicy) {
  // At one call in 50, 20 and 5: every job still ends, and no rule is broken on the way.
  std::uint64_t seed = 77;
  for (const std::string_view policy : test::policies()) {
    for (const Fault& fault : kFaults) {
      for (const std::uint64_t one_in : kOneIn) {
        const Case wanted{.policy = policy, .gpus = static_cast<int>(1 + seed % 4), .seed = ++seed};
        const job::Workload workload = test::servable(wanted, odd_workload(seed, 25));
        SimSetup setup = setup_of(wanted, workload);
        setup.device.faults.*fault.ratio = {.numerator = 1, .denominator = one_in};
        checked_run(setup, fmt::format("{} 1/{}: {}", fault.name, one_in, wanted.text()));
      }
    }
  }
}

TEST(ClusterSimFaults, AllRefusalsTogether_WithSerialPaces_AreSurvived) {
  // The artifact's controller waits for one GPU at a time: a refusal must not hold it for ever.
  using Pace = control::Controller::Options::Pace;
  std::uint64_t seed = 900;
  for (const std::string_view policy : test::policies()) {
    for (const Pace pace : {Pace::kSerial, Pace::kSerialStops}) {
      const Case wanted{.policy = policy,
                        .setting = sched::Setting::kArtifact,
                        .tick = test::seconds(10),
                        .pace = pace,
                        .gpus = 3,
                        .seed = ++seed};
      const job::Workload workload = test::servable(wanted, odd_workload(seed, 25));
      SimSetup setup = setup_of(wanted, workload);
      for (const Fault& fault : kFaults) {
        setup.device.faults.*fault.ratio = {.numerator = 1, .denominator = 20};
      }
      checked_run(setup, wanted.text());
    }
  }
}

TEST(ClusterSimFaults, LostGpu_EndsTheRunWithAnErrorThatNamesIt) {
  // Nothing takes a GPU out of service yet: the run must not go on for ever, and says why.
  int errors = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const std::string_view policy : test::policies()) {
      const Case wanted{.policy = policy, .gpus = 3, .seed = seed};
      const job::Workload workload = test::servable(wanted, odd_workload(seed, 20));
      SimSetup setup = setup_of(wanted, workload);
      setup.device.faults.gpu_lost = {.numerator = 1, .denominator = 300};
      const Result<job::RunRecord> run = simulate(setup);
      if (!run) {
        ++errors;
        EXPECT_EQ(run.error().code, ErrorCode::kFailed) << run.error().message;
        EXPECT_NE(run.error().message.find("is lost"), std::string::npos) << run.error().message;
      }
    }
  }
  EXPECT_GT(errors, 20);
}

TEST(ClusterSimFaults, LostGpu_DoesNotStopTheOthers) {
  // Without partitions a lost GPU holds one job: all others are done before the run gives up.
  class Ends final : public JobObserver {
   public:
    void on_segment(const JobSegment& /*segment*/) override {}
    void on_end(job::JobId /*job*/, SimTime /*time*/) override { ++count; }
    int count = 0;
  };
  constexpr int kGpus = 12;
  constexpr int kJobs = 200;
  int errors = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Case wanted{.policy = "nopart", .gpus = kGpus, .gpus_per_node = 1, .seed = seed};
    job::Workload workload = odd_workload(seed, kJobs);
    for (job::JobSpec& job : workload.jobs) {
      job.gpus = 1;
      job.memory.reset();
      job.phases.clear();
      job.signature = job::SignatureIndex(job.id.value() % 32);  // measured: they fit
    }
    SimSetup setup = setup_of(wanted, workload);
    setup.device.faults.gpu_lost = {.numerator = 1, .denominator = 400};
    Ends ends;
    const Result<job::RunRecord> run = simulate(setup, {.jobs = &ends});
    EXPECT_GE(ends.count, kJobs - kGpus) << seed;
    errors += run ? 0 : 1;
  }
  EXPECT_GT(errors, 0);
}

}  // namespace
}  // namespace septule::sim
