#include "serve/tenant_split.hpp"

#include <gtest/gtest.h>

#include "serve/lattice_support.hpp"
#include "serve/serving_tenants.hpp"

namespace septule::serve {
namespace {

std::vector<AdmittedTenant> tenants_of(std::initializer_list<double> rates) {
  std::vector<AdmittedTenant> tenants;
  for (const double rate : rates) {
    tenants.push_back(test::admitted_tenant({.rate_rps = rate}, test::a100()));
  }
  return tenants;
}

TEST(TenantSplit, GreatestDemandFirst_ToTheLeastLoadedGpu) {
  // Aim: LPT by hand: 5 | 4, then 3 to the second, 2 to the first.
  const auto tenants = tenants_of({2, 5, 3, 4});
  EXPECT_EQ(assign_tenants_to_gpus(test::a100(), tenants, 2),
            (std::vector<std::vector<int>>{{0, 1}, {2, 3}}));
  EXPECT_EQ(assign_tenants_to_gpus(test::a100(), tenants, 1),
            (std::vector<std::vector<int>>{{0, 1, 2, 3}}));
}

TEST(TenantSplit, EqualDemands_GoByIndex) {
  // Aim: ties are stable, and there may be more GPUs than tenants.
  EXPECT_EQ(assign_tenants_to_gpus(test::a100(), tenants_of({1, 1}), 3),
            (std::vector<std::vector<int>>{{0}, {1}, {}}));
}

TEST(TenantSplit, Demand_CountsRetrainingWork) {
  // Aim: 20 s of work every 200 s are a tenth of a GPU; no throughput anywhere is a whole one.
  AdmittedTenant tenant = tenants_of({0}).front();
  EXPECT_EQ(gpu_demand(test::a100(), tenant), 0);
  tenant.tenant.retraining = test::retraining_job(20, 0.9, 200);
  EXPECT_DOUBLE_EQ(gpu_demand(test::a100(), tenant), 0.1);
  tenant.tenant.retraining.reset();
  tenant.serving = {};
  EXPECT_EQ(gpu_demand(test::a100(), tenant), 1);
}

}  // namespace
}  // namespace septule::serve
