#include "serve/parvagpu.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace septule::serve
