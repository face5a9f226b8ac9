// The emulated baselines of serve/policies in the serving simulator.
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "serve/policy_registry.hpp"
#include "sim/serving_support.hpp"

namespace septule::sim {
namespace {

using test::whole_seconds;

constexpr std::string_view kBaselines[] = {
    "ekya-like", "astraea-like", "paris-like", "parvagpu", "static-best", "oracle-static"};

/// Tenants with profiles of several batches on every size, like measured ones: throughput grows
/// with the batch and saturates earlier on small instances.
struct World {
  std::vector<serve::Tenant> tenants;
  std::vector<serve::AdmittedTenant> admitted;
  std::vector<serve::RateSeries> rates;
  int gpu_count = 1;
  int length_s = 0;
};

serve::Tenant random_tenant(Rng& rng, const serve::LayoutLattice& lattice, int index) {
  serve::Tenant tenant;
  tenant.name = "tenant" + std::to_string(index);
  tenant.slo = Duration::milliseconds(250 + static_cast<std::int64_t>(rng.below(300)));
  tenant.accuracy = 0.5 + 0.2 * rng.uniform();
  const auto warm_up = static_cast<std::int64_t>(1 + rng.below(8));
  tenant.warm_up = {whole_seconds(warm_up), whole_seconds(warm_up), whole_seconds(warm_up)};
  const double unit = 40 + 80 * rng.uniform();
  for (const serve::InstanceSize& size : lattice.sizes()) {
    for (int batch = 1; batch <= 64; batch *= 2) {
      const double best = unit * size.slices.value();
      const double half = 1.5 * size.slices.value();
      const double rate = best * batch / (batch + half);
      tenant.profile.rows.push_back(
          {.slices = size.slices,
           .batch = batch,
           .throughput_rps = rate,
           .latency = Duration::nanoseconds(static_cast<std::int64_t>(1e9 * batch / rate))});
    }
  }
  if (rng.chance(2, 3)) {
    tenant.retraining =
        serve::RetrainingJob{.work_s = 5 + 40 * rng.uniform(),
                             .accuracy_after = 0.7 + 0.3 * rng.uniform(),
                             .release = whole_seconds(5 * static_cast<int>(rng.below(8))),
                             .period = whole_seconds(100)};
  }
  return tenant;
}

World random_world(std::uint64_t seed, const serve::LayoutLattice& lattice) {
  Rng rng(seed);
  World world;
  world.length_s = 300;
  world.gpu_count = 1 + static_cast<int>(rng.below(2));
  const auto count = 1 + static_cast<int>(rng.below(4));
  for (int m = 0; m < count; ++m) {
    world.tenants.push_back(random_tenant(rng, lattice, m));
    const double mean = world.tenants.back().profile.rows.back().throughput_rps * world.gpu_count /
                        count * (0.3 + 0.9 * rng.uniform());
    serve::RateSeries rate;
    double level = mean;
    for (int s = 0; s < world.length_s; ++s) {
      if (rng.chance(1, 40)) {
        level = mean * (0.2 + 1.6 * rng.uniform());
      }
      rate.values.push_back(static_cast<double>(rng.poisson(std::min(level + 0.1, 500.0))));
    }
    world.tenants.back().rate = rate;
    world.rates.push_back(std::move(rate));
  }
  auto admitted = serve::admit_all(world.tenants, lattice, {});
  EXPECT_TRUE(admitted.has_value()) << (admitted ? "" : admitted.error().message);
  world.admitted = admitted.value();
  return world;
}

job::ServingRecord run(const World& world, std::string_view policy, ServingMode mode) {
  const serve::LayoutLattice& lattice = serve::test::a100();
  const serve::ServingSetup setup{.lattice = &lattice,
                                  .tenants = world.admitted,
                                  .gpu_count = world.gpu_count,
                                  .true_rates = world.rates,
                                  .span = whole_seconds(world.length_s),
                                  .seed = 7};
  auto made = serve::make_serving_policy(policy, setup);
  EXPECT_TRUE(made.has_value()) << policy << (made ? "" : made.error().message);
  auto record =
      simulate_serving({.lattice = &lattice,
                        .tenants = world.admitted,
                        .rates = world.rates,
                        .gpu_count = world.gpu_count,
                        .options = {.mode = mode, .length = whole_seconds(world.length_s)}},
                       **made);
  EXPECT_TRUE(record.has_value()) << policy;
  return std::move(record).value();
}

TEST(ServingBaselines, RandomWorlds_EveryOrderIsLegalAndRunsRepeat) {
  // Aim: every baseline over random tenants, rates, retrainings and GPU counts: the
  // simulator refuses nothing, somebody is served, and a second run is equal.
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const World world = random_world(seed, serve::test::a100());
    for (const std::string_view policy : kBaselines) {
      const job::ServingRecord first = run(world, policy, ServingMode::kFluid);
      EXPECT_TRUE(first.violations.empty())
          << policy << " seed " << seed << ": " << first.violations.front();
      EXPECT_GT(first.weighted_goodput, 0) << policy << " seed " << seed;
      EXPECT_EQ(first.digest, run(world, policy, ServingMode::kFluid).digest)
          << policy << " seed " << seed;
    }
  }
}

TEST(ServingBaselines, RandomWorlds_OracleBracketsTheWindowStaticPolicies) {
  // Aim: serving.md 5 h: the bound without costs is above every policy that is static inside
  // windows and uses MIG layouts.
  const serve::LayoutLattice& lattice = serve::test::a100();
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const World world = random_world(seed, lattice);
    const double oracle = run(world, "oracle-static", ServingMode::kFluid).weighted_goodput;
    EXPECT_GT(oracle, 0.9 * run(world, "static-best", ServingMode::kFluid).weighted_goodput)
        << seed;
  }
}

}  // namespace
}  // namespace septule::sim
