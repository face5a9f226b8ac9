#include "serve/gpu_holding.hpp"

#include <gtest/gtest.h>

#include "serve/lattice_support.hpp"
#include "serve/serving_tenants.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::admitted_tenant;
using test::second;

class GpuHoldingTest : public testing::Test {
 protected:
  GpuHoldingTest() : tenants_{admitted_tenant({}, a100()), admitted_tenant({}, a100())} {}
  HoldingContext context() const { return {.lattice = &a100(), .tenants = tenants_}; }
  std::vector<AdmittedTenant> tenants_;
};

TEST_F(GpuHoldingTest, Adopted_EveryLayout_ComesBackFromItsDeployment) {
  // Aim: holdings to deployment and back, over all placed layouts, with operating points filled in.
  for (const LayoutLattice::PlacedSet& set : a100().placed_sets()) {
    GpuHoldings holdings;
    for (int p = 0; p < static_cast<int>(a100().placements().size()); ++p) {
      if ((set.placements >> static_cast<unsigned>(p) & 1U) != 0) {
        insert_holding(
            holdings,
            {.placement = p, .tenant = p % 2, .role = p % 3 == 0 ? Role::kRetrain : Role::kServe});
      }
    }
    EXPECT_EQ(placement_bits(holdings), set.placements);
    const std::vector<GpuHoldings> gpus{holdings};
    const Deployment deployment = to_deployment(context(), gpus);
    ASSERT_EQ(deployment.gpus.size(), 1U);
    for (const ServingInstance& instance : deployment.gpus[0].instances) {
      const Occupant& occupant = instance.occupants.at(0);
      EXPECT_EQ(occupant.batch > 1, occupant.role == Role::kServe);
    }
    const std::vector<GpuHoldings> none(1);
    const auto back = adopted(context(), deployment, none, second(5));
    ASSERT_EQ(back.size(), 1U);
    EXPECT_TRUE(is_same_use(back[0], holdings));
  }
}

TEST_F(GpuHoldingTest, Adopted_UsesThatGoOn_KeepTheirTimes) {
  // Aim: equal place, tenant and role keep their begin; whatever differs begins now.
  const std::vector<GpuHoldings> before{{{.placement = 0, .tenant = 0, .since = second(3)},
                                         {.placement = 13, .tenant = 1, .since = second(4)}}};
  std::vector<GpuHoldings> after = before;
  after[0][1].tenant = 0;
  const auto found = adopted(context(), to_deployment(context(), after), before, second(9));
  EXPECT_EQ(found[0][0].since, second(3));
  EXPECT_EQ(found[0][1].since, second(9));
  EXPECT_FALSE(is_same_use(found[0], before[0]));
}

TEST_F(GpuHoldingTest, Adopted_SharedOrWholeOrTooMany_AreLeftOut) {
  // Aim: what such a policy cannot hold is not held: shared instances, whole GPUs, further GPUs.
  const gpu::PlacedProfile place = a100().placements()[0].placed;
  const Deployment strange{
      .gpus = {{.instances = {{.placed = place, .occupants = {{.tenant = 0}, {.tenant = 1}}}}},
               {.instances = {{.occupants = {{.tenant = 0}}}}},
               {.instances = {{.placed = place, .occupants = {{.tenant = 0}}}}}}};
  const std::vector<GpuHoldings> none(2);
  const auto found = adopted(context(), strange, none, second(1));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0].empty());
  EXPECT_TRUE(found[1].empty());
}

}  // namespace
}  // namespace septule::serve
