#include "serve/window_problem.hpp"

#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"

namespace septule::serve {
namespace {

Duration seconds(double value) {
  return Duration::nanoseconds(static_cast<std::int64_t>(value * 1e9));
}

struct Case {
  gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  LayoutLattice lattice =
      LayoutLattice::make(*catalogue.find("A100-80GB").value(), gpu::ProfileSet::kPlain).value();
  std::vector<AdmittedTenant> tenants;

  Case() {
    AdmittedTenant served;
    served.tenant.name = "bert";
    served.tenant.rate = {seconds(1), {10, 20, 30, 40}};
    served.tenant.slo = seconds(1);
    served.tenant.warm_up = {seconds(1), seconds(2.5), seconds(4)};
    served.tenant.accuracy = 0.7;
    served.tenant.retraining = RetrainingJob{.work_s = 3,
                                             .accuracy_after = 0.9,
                                             .release = seconds(1.5),
                                             .deadline = seconds(3.9),
                                             .period = {},
                                             .memory = {},
                                             .speeds = {}};
    served.serving[0] = OperatingPoint{.throughput_rps = 12};
    served.retraining_speed[0] = 0.36;
    tenants = {served, served};
    tenants[1].tenant.name = "vgg";
    tenants[1].tenant.retraining.reset();
  }
};

TEST(WindowProblem, Make_RatesAreMeansOverSteps) {
  // Aim: a step of two seconds has the mean of two values; past the end the last value holds.
  Case one;
  const auto problem = make_window_problem(
      one.lattice, one.tenants, {.begin = seconds(1), .step = seconds(2), .step_count = 2});
  ASSERT_TRUE(problem.has_value());
  EXPECT_EQ(problem->tenants[0].rate_rps, (std::vector<double>{25, 40}));
}

TEST(WindowProblem, Make_LabelsServeThenRetrain) {
  // Aim: labels, their rates, speeds and warm-ups in whole steps, the driver's part included.
  Case one;
  const auto problem = make_window_problem(
      one.lattice, one.tenants, {.begin = {}, .step_count = 4, .driver = seconds(0.6)});
  ASSERT_TRUE(problem.has_value());
  ASSERT_EQ(problem->labels.size(), 3U);
  EXPECT_EQ(problem->labels[0].name, "bert");
  EXPECT_EQ(problem->labels[1].name, "vgg");
  EXPECT_EQ(problem->labels[2].name, "bert retrains");
  EXPECT_EQ(problem->labels[0].warm_up_steps, 4);
  EXPECT_DOUBLE_EQ(problem->labels[1].serves.front().rate_rps[0], 12);
  EXPECT_EQ(problem->labels[1].serves.front().tenant, 1);
  EXPECT_EQ(problem->labels[2].retrains, 0);
  EXPECT_DOUBLE_EQ(problem->labels[2].speed[0], 0.36);
}

TEST(WindowProblem, Make_RetrainingIsRoundedToTheSafeSide) {
  // Aim: release up, deadline down, so that a plan in steps holds in time.
  Case one;
  const auto problem = make_window_problem(
      one.lattice, one.tenants, {.begin = {}, .step_count = 4, .warm_up_steps = 1});
  ASSERT_TRUE(problem.has_value());
  ASSERT_TRUE(problem->tenants[0].retraining.has_value());
  EXPECT_EQ(problem->tenants[0].retraining->release_step, 2);
  EXPECT_EQ(problem->tenants[0].retraining->deadline_step, 3);
  EXPECT_DOUBLE_EQ(problem->tenants[0].accuracy_after, 0.9);
  EXPECT_EQ(problem->labels[0].warm_up_steps, 1);
  EXPECT_FALSE(problem->tenants[1].retraining.has_value());
}

TEST(WindowProblem, Make_RefusesWindowsOutOfRange) {
  // Aim: no steps, or steps without length, are errors and not empty problems.
  Case one;
  EXPECT_FALSE(make_window_problem(one.lattice, one.tenants, {.begin = {}}).has_value());
  EXPECT_FALSE(
      make_window_problem(one.lattice, one.tenants, {.begin = {}, .step = {}, .step_count = 3})
          .has_value());
}

}  // namespace
}  // namespace septule::serve
