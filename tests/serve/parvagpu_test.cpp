#include "serve/parvagpu.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "serve/fleet_checker.hpp"
#include "serve/fleet_plan.hpp"
#include "serve/lattice_support.hpp"
#include "serve/parvagpu_support.hpp"
#include "support/shared_data.hpp"

namespace septule::serve {
namespace {

using test::a100;

/// Model, GPU, start, slices, batch, processes.
using Row = std::tuple<int, int, std::string, int, int, int>;

std::vector<ParvaGpuService> services_of(const std::vector<Tenant>& tenants) {
  std::vector<ParvaGpuService> services;
  for (const Tenant& tenant : tenants) {
    services.push_back({&tenant, tenant.rate.values.front()});
  }
  return services;
}

TEST(Parvagpu, SixSets_PublishedDeploymentsRowForRow) {
  // From all rows of its table, suspect ones too, the published deployments come out as they are.
  SEPTULE_REQUIRE_SHARED(profiles_file, "data/serving/parvagpu_a100_80g_mig_mps.csv");
  SEPTULE_REQUIRE_SHARED(sets_file, "data/serving/parvagpu_slo_sets.csv");
  SEPTULE_REQUIRE_SHARED(published_file, "data/serving/parvagpu_published_deployments.csv");
  const auto profiles = test::read_parvagpu(profiles_file);
  for (int set = 1; set <= 6; ++set) {
    SCOPED_TRACE(set);
    std::vector<Row> published;
    for (const std::vector<std::string>& row : test::read_rows(published_file)) {
      if (std::stoi(row[0]) == set) {
        published.emplace_back(8 * std::stoi(row[1]) + std::stoi(row[2]),
                               std::stoi(row[4]),
                               row[3],
                               std::stoi(row[5]),
                               std::stoi(row[6]),
                               std::stoi(row[7]));
      }
    }
    std::ranges::sort(published);
    const std::vector<Tenant> tenants = test::read_slo_set(sets_file, profiles, set);
    const auto instances = deploy_parvagpu(services_of(tenants), SuspectRows::kKept, 5);
    ASSERT_TRUE(instances.has_value()) << instances.error().message;
    std::vector<Row> ours;
    for (const ParvaGpuInstance& own : *instances) {
      ours.emplace_back(own.gpu,
                        own.start,
                        tenants[static_cast<std::size_t>(own.service)].name,
                        own.slices.value(),
                        own.batch,
                        own.processes);
    }
    EXPECT_EQ(ours, published);
  }
}

TEST(Parvagpu, Sets1To4_AsFleetPlan_PublishedCountsNotBelowOptimum) {
  // GPUs and compute slices are the published ones; the plan stands and the optimum is not above.
  SEPTULE_REQUIRE_SHARED(profiles_file, "data/serving/parvagpu_a100_80g_mig_mps.csv");
  SEPTULE_REQUIRE_SHARED(sets_file, "data/serving/parvagpu_slo_sets.csv");
  const auto profiles = test::read_parvagpu(profiles_file);
  constexpr std::array<std::pair<int, int>, 4> kPublished = {{{2, 10}, {3, 20}, {5, 33}, {7, 48}}};
  for (int set = 1; set <= 4; ++set) {
    SCOPED_TRACE(set);
    const std::vector<Tenant> tenants = test::read_slo_set(sets_file, profiles, set);
    const FleetProblem problem = test::admit_for_fleet(a100(), tenants, test::Suspects::kKept, 5);
    const auto instances = deploy_parvagpu(services_of(tenants), SuspectRows::kKept, 5);
    ASSERT_TRUE(instances.has_value());
    const auto plan = parvagpu_plan(problem, *instances);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    const Status checked = check_fleet(problem, *plan, FleetGoal::kAllServed);
    EXPECT_TRUE(checked.is_ok()) << checked.error().message;
    EXPECT_EQ((std::pair(plan->gpus, plan->gpcs)), kPublished[static_cast<std::size_t>(set - 1)]);
    EXPECT_LE(plan_min_gpus(problem, {})->gpcs, plan->gpcs);
  }
}

TEST(Parvagpu, NoAdmissibleRow_NamedTenant) {
  // A service whose SLO no row meets is named, with the latency that would be needed.
  Tenant tenant;
  tenant.name = "slow";
  tenant.slo = Duration::milliseconds(100);
  tenant.profile.rows = {
      {.slices = ComputeSlices(7), .throughput_rps = 10, .latency = Duration::milliseconds(45)}};
  const std::vector<ParvaGpuService> services = {{&tenant, 5}};
  const auto instances = deploy_parvagpu(services, SuspectRows::kKept, 5);
  ASSERT_FALSE(instances.has_value());
  EXPECT_EQ(instances.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(instances.error().message.find("'slow'"), std::string::npos);
  EXPECT_NE(instances.error().message.find("below 45 ms"), std::string::npos);

  tenant.slo = Duration::milliseconds(200);
  for (const double rate : {0.0, -1.0, 1e9, std::numeric_limits<double>::quiet_NaN()}) {
    const std::vector<ParvaGpuService> odd = {{&tenant, rate}};
    const auto refused = deploy_parvagpu(odd, SuspectRows::kKept, 5);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message.find("cannot be deployed"), std::string::npos);
  }
}

TEST(Parvagpu, RateOfWholeInstances_NoEmptyRest) {
  // A rate that copies of the best size serve exactly takes just so many.
  Tenant tenant;
  tenant.name = "exact";
  tenant.slo = Duration::milliseconds(1000);
  tenant.profile.rows = {
      {.slices = ComputeSlices(2), .throughput_rps = 10, .latency = Duration::milliseconds(45)}};
  const std::vector<ParvaGpuService> services = {{&tenant, 30}};
  const auto instances = deploy_parvagpu(services, SuspectRows::kKept, 5);
  ASSERT_TRUE(instances.has_value());
  EXPECT_EQ(instances->size(), 3U);
}

}  // namespace
}  // namespace septule::serve
