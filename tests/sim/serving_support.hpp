#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "serve/lattice_support.hpp"
#include "sim/serving_sim.hpp"

namespace septule::sim::test {

constexpr Duration whole_seconds(std::int64_t count) {
  return Duration::milliseconds(count * 1000);
}

/// A tenant whose one row on each size of the lattice yields `per_slice` x compute slices requests
/// per second with batch 4 and one process.
inline serve::AdmittedTenant make_tenant(const serve::LayoutLattice& lattice,
                                         std::string name,
                                         double per_slice) {
  serve::AdmittedTenant made;
  made.tenant.name = std::move(name);
  made.tenant.slo = Duration::milliseconds(400);
  made.tenant.warm_up = {whole_seconds(1), whole_seconds(1), whole_seconds(1)};
  for (std::size_t s = 0; s < lattice.sizes().size(); ++s) {
    const double rate = per_slice * lattice.sizes()[s].slices.value();
    const Duration latency = Duration::nanoseconds(static_cast<std::int64_t>(4e9 / rate));
    made.tenant.profile.rows.push_back({.slices = lattice.sizes()[s].slices,
                                        .batch = 4,
                                        .throughput_rps = rate,
                                        .latency = latency});
    made.serving[s] = serve::OperatingPoint{.batch = 4, .throughput_rps = rate, .latency = latency};
    made.retraining_speed[s] = lattice.sizes()[s].slices.value() / 7.0;
  }
  return made;
}

inline serve::RateSeries constant_rate(double rps) {
  return {.step = whole_seconds(1), .values = {rps}};
}

/// Does what a table says at which second, and remembers what it was shown.
class ScriptedPolicy final : public serve::ServingPolicy {
 public:
  std::map<std::int64_t, serve::Deployment> orders;  ///< by second
  serve::DispatchRule rule = serve::DispatchRule::kSlack;
  std::vector<std::vector<serve::InstanceState>> seen;
  std::vector<std::vector<serve::TenantState>> tenants_seen;  ///< spans not to be read

  std::string_view name() const override { return "scripted"; }
  serve::DispatchRule dispatch() const override { return rule; }
  std::optional<serve::Deployment> decide(const serve::ServingView& view) override {
    seen.emplace_back(view.instances.begin(), view.instances.end());
    tenants_seen.emplace_back(view.tenants.begin(), view.tenants.end());
    const auto found = orders.find(view.now.to_nanoseconds() / 1000000000);
    return found == orders.end() ? std::nullopt : std::optional(found->second);
  }
};

inline serve::Occupant serves(int tenant) {
  return {.tenant = tenant, .batch = 4};
}
inline serve::Occupant retrains(int tenant) {
  return {.tenant = tenant, .role = serve::Role::kRetrain};
}

/// An instance at the place that the lattice has for so many slices from this memory slice on.
inline serve::ServingInstance instance_at(const serve::LayoutLattice& lattice,
                                          int slices,
                                          int start,
                                          std::vector<serve::Occupant> occupants) {
  for (const serve::SizePlacement& placement : lattice.placements()) {
    if (lattice.sizes()[static_cast<std::size_t>(placement.size)].slices.value() == slices &&
        placement.placed.start.value() == start) {
      return {.placed = placement.placed, .occupants = std::move(occupants)};
    }
  }
  check_failed("placement", "tests name legal placements", __FILE__, __LINE__);
}

/// A deployment of one GPU.
inline serve::Deployment one_gpu(std::vector<serve::ServingInstance> instances) {
  return {.gpus = {{.instances = std::move(instances)}}};
}

/// Everything a run needs, kept together. Copying would leave the spans behind.
struct ServingBench {
  const serve::LayoutLattice& lattice = serve::test::a100();
  std::vector<serve::AdmittedTenant> tenants;
  std::vector<serve::RateSeries> rates;
  int gpu_count = 1;
  const gpu::LatencyTable* latencies = nullptr;
  ServingSimOptions options;
  ScriptedPolicy policy;

  void add(std::string name, double per_slice, double rps) {
    tenants.push_back(make_tenant(lattice, std::move(name), per_slice));
    rates.push_back(constant_rate(rps));
  }
  Result<job::ServingRecord> run(serve::ServingPolicy& with) const {
    return simulate_serving({.lattice = &lattice,
                             .tenants = tenants,
                             .rates = rates,
                             .gpu_count = gpu_count,
                             .latencies = latencies,
                             .options = options},
                            with);
  }
  job::ServingRecord run_well() {
    auto record = run(policy);
    EXPECT_TRUE(record.has_value()) << record.error().message;
    for (const std::string& violation : record->violations) {
      ADD_FAILURE() << violation;
    }
    return std::move(record).value();
  }
};

}  // namespace septule::sim::test
