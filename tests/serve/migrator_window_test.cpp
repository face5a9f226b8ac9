#include "serve/migrator_window.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/built_in_milp.hpp"
#include "serve/lattice_support.hpp"
#include "serve/window_milp.hpp"
#include "serve/window_program.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::a30;
using testing::HasSubstr;

AdmittedTenant tenant_of(std::string name, const LayoutLattice& lattice) {
  AdmittedTenant admitted;
  admitted.tenant.name = std::move(name);
  admitted.tenant.accuracy = 0.5;
  for (std::size_t size = 0; size < lattice.sizes().size(); ++size) {
    admitted.serving[size] =
        OperatingPoint{.throughput_rps = 10.0 * lattice.sizes()[size].slices.value()};
    admitted.retraining_speed[size] = 0.25 * lattice.sizes()[size].slices.value();
  }
  admitted.serving[0].reset();
  return admitted;
}

TEST(MigratorWindow, Defaults_AsReconstructed) {
  // Aim: 200 steps of a second, 6 s of warm-up or one step, serving labels before retraining ones,
  // nothing that the reconstruction does not have.
  EXPECT_THAT(std::string(kMigratorModeName), HasSubstr("reconstruction"));
  std::vector<AdmittedTenant> tenants = {tenant_of("bert", a100()), tenant_of("vgg", a100())};
  tenants[1].tenant.retraining = RetrainingJob{.work_s = 30,
                                               .accuracy_after = 0.9,
                                               .release = Duration::milliseconds(2500),
                                               .deadline = Duration::milliseconds(100900)};
  const std::vector<std::vector<double>> rates(2, std::vector<double>(200, 40));
  const auto problem = migrator_problem(a100(), tenants, rates, {.pre_initialised = {1}});
  ASSERT_TRUE(problem) << problem.error().message;
  EXPECT_EQ(problem->step_count, 200);
  EXPECT_EQ(problem->step, Duration::milliseconds(1000));
  ASSERT_EQ(problem->labels.size(), 3U);
  EXPECT_EQ(problem->labels[0].warm_up_steps, 6);
  EXPECT_EQ(problem->labels[1].warm_up_steps, 1);
  EXPECT_EQ(problem->labels[2].warm_up_steps, 1);
  EXPECT_EQ(problem->labels[2].retrains, 1);
  EXPECT_EQ(problem->labels[0].serves[0].rate_rps[0], 0) << "no operating point on 1g";
  EXPECT_EQ(problem->labels[0].serves[0].rate_rps[1], 20);
  ASSERT_TRUE(problem->tenants[1].retraining);
  EXPECT_EQ(problem->tenants[1].retraining->release_step, 3);
  EXPECT_EQ(problem->tenants[1].retraining->deadline_step, 100);
  EXPECT_EQ(problem->tenants[0].accuracy_after, 0.5);
  EXPECT_EQ(problem->terminal_steps, 0);
  EXPECT_EQ(problem->dwell_steps, 0);
  EXPECT_FALSE(problem->changes_per_step_max);
  for (const Label& label : problem->labels) {
    EXPECT_EQ(label.creation_cost, 0);
    EXPECT_LE(label.serves.size(), 1U);
  }
}

TEST(MigratorWindow, WrongInput_Named) {
  // Aim: what does not fit together is refused with its name.
  const std::vector<AdmittedTenant> tenants = {tenant_of("bert", a100())};
  const std::vector<std::vector<double>> rates(1, std::vector<double>(200, 40));
  auto refused = migrator_problem(a100(), tenants, {}, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("0 forecasts for 1 tenants"));
  refused = migrator_problem(a100(), tenants, rates, {.pre_initialised = {1}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("tenant 1 is called pre-initialised"));
  refused = migrator_problem(a100(), tenants, rates, {.step = Duration()});
  ASSERT_FALSE(refused);
  refused = migrator_problem(a100(), tenants, rates, {.step_count = -3});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("-3 steps"));
  refused = migrator_problem(a100(), tenants, rates, {.step_count = 100});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'bert': 200 rates for 100 steps"));
}

TEST(MigratorWindow, WarmUp_HidesNothingUnlessPreInitialised) {
  // Aim: on a short window the 6 s cost six steps of service, one step when pre-initialised.
  const std::vector<AdmittedTenant> tenants = {tenant_of("bert", a30())};
  const std::vector<std::vector<double>> rates(1, std::vector<double>(9, 40));
  BuiltInMilp solver;
  const auto cold = migrator_problem(a30(), tenants, rates, {.step_count = 9});
  ASSERT_TRUE(cold);
  const auto warm =
      migrator_problem(a30(), tenants, rates, {.step_count = 9, .pre_initialised = {0}});
  ASSERT_TRUE(warm);
  const auto cold_plan = plan_window_by_milp(*cold, solver);
  const auto warm_plan = plan_window_by_milp(*warm, solver);
  ASSERT_TRUE(cold_plan);
  ASSERT_TRUE(warm_plan);
  EXPECT_NEAR(cold_plan->goodput, 3 * 40 * 0.5, 1e-6);
  EXPECT_NEAR(warm_plan->goodput, 8 * 40 * 0.5, 1e-6);
}

}  // namespace
}  // namespace septule::serve
