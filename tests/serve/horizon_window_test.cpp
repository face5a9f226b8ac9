#include "serve/horizon_window.hpp"

#include <gtest/gtest.h>

#include "serve/lattice_support.hpp"
#include "serve/serving_tenants.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::admitted_tenant;
using test::second;

class HorizonWindowTest : public testing::Test {
 protected:
  HorizonWindowTest() {
    tenants_ = {admitted_tenant({.name = "a", .warm_up_s = 4}, a100()),
                admitted_tenant({.name = "b", .warm_up_s = 30}, a100()),
                admitted_tenant({.name = "elsewhere"}, a100())};
    tenants_[0].tenant.retraining = test::retraining_job(30, 0.9, 200);
    states_.resize(3);
    shape_.step = Duration::milliseconds(5000);
    shape_.step_count = 4;
  }
  HorizonWindow window(const GpuHoldings& holdings, RetrainingRule rule, SimTime now) const {
    const WindowInput input{.now = now,
                            .holdings = &holdings,
                            .tenants = indices_,
                            .rates_rps = rates_,
                            .states = states_};
    return make_window({.lattice = &a100(), .tenants = tenants_}, shape_, input, rule);
  }

  std::vector<AdmittedTenant> tenants_;
  std::vector<TenantState> states_;
  std::vector<int> indices_{0, 1};
  std::vector<std::vector<double>> rates_{{1, 2, 3, 4}, {5, 6, 7, 8}};
  WindowShape shape_;
};

TEST_F(HorizonWindowTest, Make_PlainWindow_IsValidAndHoldsWhatWasGiven) {
  // Aim: tenants, rates and labels of this GPU; longer warm-ups are charged at creation.
  const HorizonWindow made = window({}, RetrainingRule::kFrozen, second(10));
  ASSERT_TRUE(validate(made.problem).is_ok());
  ASSERT_EQ(made.problem.tenants.size(), 2U);
  EXPECT_EQ(made.problem.tenants[1].rate_rps, rates_[1]);
  ASSERT_EQ(made.problem.labels.size(), 2U);
  EXPECT_EQ(made.problem.labels[0].warm_up_steps, 1);
  EXPECT_EQ(made.problem.labels[1].warm_up_steps, 1);
  EXPECT_GT(made.problem.labels[1].creation_cost, 10 * made.problem.labels[0].creation_cost);
}

TEST_F(HorizonWindowTest, Make_YoungAndForeignInstances_AreFrozenAndLeftOut) {
  // Aim: instances in their dwell are frozen, those of tenants of other GPUs are not in the layout.
  const GpuHoldings holdings{{.placement = 0, .tenant = 0, .since = second(0)},
                             {.placement = 13, .tenant = 1, .since = second(0)}};
  const HorizonWindow early = window(holdings, RetrainingRule::kFrozen, second(7));
  EXPECT_EQ(early.problem.frozen, 1U | 1U << 13U);
  const HorizonWindow late = window(holdings, RetrainingRule::kFrozen, second(9));
  EXPECT_EQ(late.problem.frozen, 1U << 13U);  // 30 s of warm-up dwell longer
  GpuHoldings foreign = holdings;
  foreign[0].tenant = 2;
  EXPECT_EQ(window(foreign, RetrainingRule::kFrozen, second(9)).problem.initial.size(), 1U);
}

TEST_F(HorizonWindowTest, Make_RunningJob_IsFrozenOrPlanned) {
  // Aim: under kFrozen a running job only blocks its place; under kPlanned it is a need with
  // release, deadline and the value of what comes after the window.
  states_[0].retraining_left_s = 12;
  states_[0].retraining_release = second(100);
  states_[0].retraining_deadline = second(125);
  const GpuHoldings holdings{{.placement = 0, .tenant = 0, .role = Role::kRetrain}};
  const HorizonWindow frozen = window(holdings, RetrainingRule::kFrozen, second(110));
  ASSERT_TRUE(validate(frozen.problem).is_ok());
  EXPECT_EQ(frozen.problem.frozen, 1U);
  EXPECT_FALSE(frozen.problem.tenants[0].retraining.has_value());
  const HorizonWindow planned = window(holdings, RetrainingRule::kPlanned, second(95));
  ASSERT_TRUE(validate(planned.problem).is_ok());
  ASSERT_TRUE(planned.problem.tenants[0].retraining.has_value());
  EXPECT_EQ(planned.problem.tenants[0].retraining->release_step, 1);
  EXPECT_EQ(planned.problem.tenants[0].retraining->deadline_step, 4);
  EXPECT_EQ(planned.problem.terminal_steps, (200 - 95) / 5 - 4);
  EXPECT_EQ(planned.problem.frozen, 0U);
}

TEST_F(HorizonWindowTest, HoldingsOf_ALayout_KeepsTimesOfWhatGoesOn) {
  // Aim: the way back from labels to uses.
  const GpuHoldings holdings{{.placement = 0, .tenant = 0, .since = second(3)}};
  const HorizonWindow made = window(holdings, RetrainingRule::kFrozen, second(50));
  const GpuHoldings back = made.holdings_of(
      {{.placement = 0, .label = 0}, {.placement = 13, .label = 1}}, holdings, second(50));
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(back[0].since, second(3));
  EXPECT_EQ(back[1].since, second(50));
  EXPECT_EQ(back[1].tenant, 1);
}

}  // namespace
}  // namespace septule::serve
