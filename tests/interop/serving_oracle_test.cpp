// Oracle d of serving: deployments that ParvaGPU published keep their promises by our readers, our
// admission rule and our layouts.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "interop/interop_support.hpp"
#include "interop/named_table.hpp"
#include "interop/serving_profile.hpp"
#include "interop/tenant_file.hpp"
#include "serve/admission.hpp"
#include "support/shared_data.hpp"

namespace septule::interop {
namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// One instance of a published deployment.
struct Published {
  std::string set;
  std::string gpu;  ///< node and GPU
  std::string model;
  ComputeSlices slices;
  int batch = 1;
  int processes = 1;
};

std::vector<Published> deployments(const std::filesystem::path& path) {
  const std::string text = content(path);
  const auto table = NamedTable::read({text, "deployments"}, 1000);
  EXPECT_TRUE(table);
  std::vector<Published> out;
  for (std::size_t row = 0; table && row < table->size(); ++row) {
    out.push_back({*table->text(row, "slo_set"),
                   *table->text(row, "node") + "/" + *table->text(row, "gpu"),
                   *table->text(row, "model"),
                   ComputeSlices(*table->integer(row, "mig_gpc", 1, 7)),
                   *table->integer(row, "batch", 1, 1000),
                   *table->integer(row, "mps_procs", 1, 10)});
  }
  return out;
}

std::vector<serve::Tenant> set_of(const std::filesystem::path& path,
                                  const ServingProfiles& profiles,
                                  const std::string& set) {
  const std::string text = content(path);
  Result<TenantFile> file =
      parse_tenant_file({text, "sets"}, {.load = {}, .profiles = &profiles, .set = set});
  EXPECT_TRUE(file) << file.error().message;
  return file ? file->tenants : std::vector<serve::Tenant>();
}

const serve::ProfileRow* row_of(const serve::Tenant& tenant, const Published& instance) {
  const auto found = std::ranges::find_if(tenant.profile.rows, [&](const serve::ProfileRow& row) {
    return row.slices == instance.slices && row.batch == instance.batch &&
           row.processes == instance.processes;
  });
  return found == tenant.profile.rows.end() ? nullptr : &*found;
}

const serve::LayoutLattice& lattice() {
  static const auto made =
      serve::LayoutLattice::make(test::model("A100-80GB"), gpu::ProfileSet::kPlain);
  return *made;
}

bool is_legal(const std::vector<ComputeSlices>& sizes) {
  serve::SizeTable<int> counts{};
  for (const ComputeSlices slices : sizes) {
    ++counts[static_cast<std::size_t>(*lattice().size_of(slices))];
  }
  return std::ranges::any_of(
      lattice().multisets(),
      [&](const serve::LayoutLattice::Multiset& multiset) { return multiset.counts == counts; });
}

TEST(ParvaGpuOracle, PublishedDeployments_AreLegalFastAndEnough) {
  // Each GPU has a legal multiset of sizes, each row is below 0.45 of the SLO (whole ms), and each
  // service gets its rate.
  SEPTULE_REQUIRE_SHARED(profile_path, "data/serving/parvagpu_a100_80g_mig_mps.csv");
  SEPTULE_REQUIRE_SHARED(set_path, "data/serving/parvagpu_slo_sets.csv");
  SEPTULE_REQUIRE_SHARED(deployed_path, "data/serving/parvagpu_published_deployments.csv");
  const std::string text = content(profile_path);
  const auto profiles = parse_serving_profiles({text, "profiles"});
  ASSERT_TRUE(profiles) << profiles.error().message;
  const std::vector<Published> all = deployments(deployed_path);
  ASSERT_EQ(all.size(), 176U);
  std::size_t checked = 0;
  for (const std::string set : {"1", "2", "3", "4", "5", "6"}) {
    std::map<std::string, std::vector<ComputeSlices>> gpus;
    std::map<std::string, double> throughput;
    const std::vector<serve::Tenant> tenants = set_of(set_path, *profiles, set);
    for (const Published& instance : all) {
      if (instance.set != set) {
        continue;
      }
      const auto tenant = std::ranges::find(tenants, instance.model, &serve::Tenant::name);
      ASSERT_NE(tenant, tenants.end()) << instance.model;
      const serve::ProfileRow* row = row_of(*tenant, instance);
      ASSERT_NE(row, nullptr) << set << " " << instance.model;
      const std::int64_t slo_ms = tenant->slo.to_nanoseconds() / 1000000;
      const double slo_s = static_cast<double>(slo_ms) * 1e-3;
      EXPECT_LT(row->latency.to_seconds(), 0.45 * slo_s) << set << " " << instance.model;
      gpus[instance.gpu].push_back(instance.slices);
      throughput[instance.model] += row->throughput_rps;
      ++checked;
    }
    for (const auto& [gpu, sizes] : gpus) {
      EXPECT_TRUE(is_legal(sizes)) << "set " << set << ", GPU " << gpu;
    }
    for (const serve::Tenant& tenant : tenants) {
      EXPECT_GE(throughput[tenant.name], tenant.rate.values.front()) << set << " " << tenant.name;
    }
  }
  EXPECT_EQ(checked, 176U);
}

TEST(ParvaGpuOracle, PublishedRows_AreNeverBetterThanOurPoints) {
  // Admission by ParvaGPU's own rule, suspect rows kept, finds at least each published row.
  SEPTULE_REQUIRE_SHARED(profile_path, "data/serving/parvagpu_a100_80g_mig_mps.csv");
  SEPTULE_REQUIRE_SHARED(set_path, "data/serving/parvagpu_slo_sets.csv");
  SEPTULE_REQUIRE_SHARED(deployed_path, "data/serving/parvagpu_published_deployments.csv");
  const std::string text = content(profile_path);
  const auto profiles = parse_serving_profiles({text, "profiles"});
  ASSERT_TRUE(profiles) << profiles.error().message;
  serve::AdmissionRule rule = serve::parvagpu_rule(0.45);
  rule.suspect = serve::SuspectRows::kKept;
  rule.is_slo_truncated_to_ms = true;
  const std::vector<Published> all = deployments(deployed_path);
  for (const std::string set : {"1", "2", "3", "4", "5", "6"}) {
    const std::vector<serve::Tenant> tenants = set_of(set_path, *profiles, set);
    const auto admitted = serve::admit_all(tenants, lattice(), rule);
    ASSERT_TRUE(admitted) << admitted.error().message;
    for (const serve::AdmittedTenant& one : *admitted) {
      for (const Published& instance : all) {
        if (instance.set == set && instance.model == one.tenant.name) {
          EXPECT_GE(one.throughput_rps(*lattice().size_of(instance.slices)),
                    row_of(one.tenant, instance)->throughput_rps)
              << set << " " << instance.model;
        }
      }
    }
  }
}

}  // namespace
}  // namespace septule::interop
