#include "sim/serving_bound.hpp"

#include <gtest/gtest.h>

#include "serve/policy_registry.hpp"
#include "sim/serving_study.hpp"
#include "sim/serving_support.hpp"

namespace septule::sim {
namespace {

using test::whole_seconds;

/// Two tenants whose rates change every 20 s, over one minute and a half.
struct BoundBench {
  test::ServingBench bench;
  ServingStudySpec spec;

  explicit BoundBench(ServingMode mode) {
    bench.add("a", 10, 1);
    bench.add("b", 10, 1);
    bench.rates[0] = {.step = whole_seconds(20), .values = {40, 90, 20, 90, 60}};
    bench.rates[1] = {.step = whole_seconds(20), .values = {60, 30, 90, 40, 60}};
    for (std::size_t i = 0; i < 2; ++i) {
      bench.tenants[i].tenant.rate = bench.rates[i];
    }
    spec = {.lattice = &bench.lattice,
            .tenants = bench.tenants,
            .rates = bench.rates,
            .policies = {},
            .windows = {{Duration(), whole_seconds(90)}},
            .seeds = {1}};
    spec.options.mode = mode;
    for (const char* name : {"septule", "septule-oracle", "reactive-greedy", "static-best"}) {
      spec.policies.push_back({.name = name});
    }
  }

  ServingBoundInput input() const { return {.lattice = &bench.lattice, .tenants = bench.tenants}; }
};

double answered_by_the_better(const job::ServingRecord& run,
                              const std::vector<serve::AdmittedTenant>& tenants) {
  double sum = 0;
  for (std::size_t m = 0; m < tenants.size(); ++m) {
    sum += tenants[m].tenant.weight * tenants[m].tenant.accuracy * run.tenants[m].arrived;
  }
  return sum;
}

TEST(ServingBound, Fluid_NoPolicyIsAboveItAndItIsNotOnlyTheArrivals) {
  // Aim: the bound holds for planners, oracles and hindsight, and says more than "all answered".
  BoundBench made(ServingMode::kFluid);
  const auto study = ServingStudy::make(made.spec);
  ASSERT_TRUE(study) << study.error().message;
  for (const ServingTrial& trial : study->trials()) {
    const auto run = study->run_trial(trial);
    ASSERT_TRUE(run) << run.error().message;
    WorkBudget budget(100000000);
    const double bound = serving_bounds(*run, made.input(), budget).of(*run);
    EXPECT_GE(bound, run->weighted_goodput) << run->policy;
    EXPECT_LT(bound, answered_by_the_better(*run, made.bench.tenants)) << run->policy;
  }
}

TEST(ServingBound, Elsewhere_ItIsThatEverythingIsAnswered) {
  // Aim: request mode, a run whose series was dropped, and work that ends first all fall back on
  // the bound that always holds; so does a run that is above the other.
  BoundBench made(ServingMode::kRequest);
  const auto study = ServingStudy::make(made.spec);
  ASSERT_TRUE(study) << study.error().message;
  auto run = study->run_trial(study->trials().front());
  ASSERT_TRUE(run) << run.error().message;
  const double all = answered_by_the_better(*run, made.bench.tenants);
  WorkBudget budget(100000000);
  EXPECT_DOUBLE_EQ(serving_bounds(*run, made.input(), budget).of(*run), all);
  run->mode = "fluid";
  WorkBudget none(1);
  EXPECT_DOUBLE_EQ(serving_bounds(*run, made.input(), none).of(*run), all);
  run->weighted_goodput = all;
  EXPECT_DOUBLE_EQ(serving_bounds(*run, made.input(), budget).of(*run), all);
  run->weighted_goodput = 0;
  run->tenants.front().series.clear();
  EXPECT_DOUBLE_EQ(serving_bounds(*run, made.input(), budget).of(*run), all);
}

TEST(ServingBound, SeveralGpus_AreBoundedByStepsAndMoreGpusByMore) {
  // Aim: no policy on two GPUs is above the bound for two, which is not below that for one.
  BoundBench made(ServingMode::kFluid);
  for (serve::RateSeries& rate : made.bench.rates) {
    for (double& value : rate.values) {
      value *= 2;
    }
  }
  made.spec.gpu_count = 2;
  made.spec.policies = {{.name = "reactive-greedy"}, {.name = "static-best"}};
  const auto study = ServingStudy::make(made.spec);
  ASSERT_TRUE(study) << study.error().message;
  for (const ServingTrial& trial : study->trials()) {
    auto run = study->run_trial(trial);
    ASSERT_TRUE(run) << run.error().message;
    WorkBudget budget(100000000);
    const ServingBounds two = serving_bounds(*run, made.input(), budget);
    ASSERT_TRUE(two.relaxed.has_value());
    EXPECT_GE(two.of(*run), run->weighted_goodput) << run->policy;
    run->gpu_count = 1;
    EXPECT_LE(serving_bounds(*run, made.input(), budget).relaxed.value_or(0), *two.relaxed);
  }
}

TEST(ServingBound, RetrainingCountsAsTheBetterModel) {
  // Aim: with jobs the better accuracy is allowed for, so that no retrained run is above.
  BoundBench made(ServingMode::kFluid);
  made.bench.tenants[0].tenant.retraining = serve::RetrainingJob{.work_s = 5,
                                                                 .accuracy_after = 1,
                                                                 .release = whole_seconds(5),
                                                                 .deadline = whole_seconds(80),
                                                                 .period = {},
                                                                 .memory = {},
                                                                 .speeds = {}};
  made.bench.tenants[0].tenant.accuracy = 0.5;
  made.bench.tenants[0].retraining_speed.fill(0.5);
  made.spec.tenants = made.bench.tenants;
  const auto study = ServingStudy::make(made.spec);
  ASSERT_TRUE(study) << study.error().message;
  for (const ServingTrial& trial : study->trials()) {
    const auto run = study->run_trial(trial);
    ASSERT_TRUE(run) << run.error().message;
    WorkBudget budget(100000000);
    EXPECT_GE(serving_bounds(*run, made.input(), budget).of(*run), run->weighted_goodput)
        << run->policy;
  }
}

}  // namespace
}  // namespace septule::sim
