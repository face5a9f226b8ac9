#include "serve/reactive_greedy.hpp"

#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "serve/lattice_support.hpp"
#include "serve/policy_registry.hpp"
#include "serve/serving_tenants.hpp"
#include "support/fluid_serving.hpp"

namespace septule::serve {
namespace {

using test::admitted_tenant;
using test::FluidResult;
using test::FluidServing;

class ReactiveGreedyTest : public testing::Test {
 protected:
  ReactiveGreedyTest() : lattice_(test::lattice_of("A100-80GB")) {}

  FluidServing::World world(int gpu_count = 1) {
    return {.context = {.lattice = &lattice_, .tenants = tenants_}, .gpu_count = gpu_count};
  }
  ReactiveGreedy policy(int gpu_count = 1, const ReactiveOptions& options = {}) {
    return {{.lattice = &lattice_, .tenants = tenants_}, gpu_count, options};
  }

  LayoutLattice lattice_;
  std::vector<AdmittedTenant> tenants_;
};

TEST_F(ReactiveGreedyTest, Decide_ConstantRates_SettlesAndServesAll) {
  // Aim: what fits is served after the warm-up, and nothing moves any more.
  tenants_ = {admitted_tenant({.name = "a", .rate_rps = 25}, lattice_),
              admitted_tenant({.name = "b", .rate_rps = 15}, lattice_)};
  FluidServing::World world = this->world();
  world.arrivals = {std::vector<double>(300, 25), std::vector<double>(300, 15)};
  ReactiveGreedy greedy = policy();
  const FluidResult result = FluidServing(world).run(greedy, 300);
  EXPECT_TRUE(result.faults.empty());
  EXPECT_EQ(result.served.back(), (std::vector<double>{25, 15}));
  EXPECT_LT(result.created.back(), SimTime() + Duration::milliseconds(60000));
  EXPECT_EQ(greedy.expected_rps()[0], 25);
}

TEST_F(ReactiveGreedyTest, Decide_LoadMoves_FollowsIt) {
  // Aim: when the load changes sides the larger part of the GPU does too.
  tenants_ = {admitted_tenant({.name = "a", .rate_rps = 50}, lattice_),
              admitted_tenant({.name = "b", .rate_rps = 5}, lattice_)};
  FluidServing::World world = this->world();
  std::vector<double> falling(400, 50);
  std::vector<double> rising(400, 5);
  std::fill(falling.begin() + 100, falling.end(), 5.0);
  std::fill(rising.begin() + 100, rising.end(), 50.0);
  world.arrivals = {falling, rising};
  ReactiveGreedy greedy = policy();
  const FluidResult result = FluidServing(world).run(greedy, 400);
  EXPECT_TRUE(result.faults.empty());
  EXPECT_GT(result.served[99][0], 45);
  EXPECT_GT(result.served[399][1], 45);
  EXPECT_GE(result.served[399][0], 5);
}

TEST_F(ReactiveGreedyTest, Decide_Retraining_StartsWhenASliceWasSpareAndIsDone) {
  // Aim: a job starts not before the surplus has held for 20 s, ends, and its instance goes.
  tenants_ = {admitted_tenant({.name = "a", .rate_rps = 20}, lattice_)};
  tenants_[0].tenant.retraining = test::retraining_job(30, 0.9, 400);
  FluidServing::World world = this->world();
  world.arrivals = {std::vector<double>(400, 20)};
  ReactiveGreedy greedy = policy();
  FluidServing fluid(world);
  const FluidResult result = fluid.run(greedy, 400);
  EXPECT_TRUE(result.faults.empty());
  EXPECT_EQ(result.retrainings_done, std::vector<int>{1});
  for (const GpuDeployment& gpu : fluid.current().gpus) {
    for (const ServingInstance& instance : gpu.instances) {
      EXPECT_EQ(instance.occupants.front().role, Role::kServe);
    }
  }
}

TEST_F(ReactiveGreedyTest, Decide_SeveralGpus_SpreadsOneTenant) {
  // Aim: a tenant larger than a GPU gets instances on more than one.
  tenants_ = {admitted_tenant({.name = "a", .rate_rps = 120}, lattice_)};
  FluidServing::World world = this->world(2);
  world.arrivals = {std::vector<double>(100, 120)};
  ReactiveGreedy greedy = policy(2);
  const FluidResult result = FluidServing(world).run(greedy, 100);
  EXPECT_TRUE(result.faults.empty());
  EXPECT_GE(result.served.back()[0], 119);
}

TEST(ReactiveGreedyProperty, Decide_AnyRates_IsLegalKeepsDwellAndRepeats) {
  // Aim: over seeds, deployments are legal, nobody leaves before two warm-ups are over, and equal
  // runs are equal.
  const LayoutLattice lattice = test::lattice_of("A100-80GB");
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const int count = 1 + static_cast<int>(seed % 4);
    std::vector<AdmittedTenant> tenants;
    FluidServing::World world{.context = {.lattice = &lattice},
                              .gpu_count = 1 + static_cast<int>(seed % 2),
                              .dwell_min = Duration::milliseconds(6000)};
    for (int m = 0; m < count; ++m) {
      Rng rng = Rng(seed).stream("rates", static_cast<std::uint64_t>(m));
      world.arrivals.push_back(test::wandering(rng, 600, 0, 60));
      tenants.push_back(admitted_tenant({.warm_up_s = 3, .rate_rps = 20}, lattice));
      if (m == 0) {
        tenants.back().tenant.retraining = test::retraining_job(20, 0.9, 200);
      }
    }
    world.context.tenants = tenants;
    ReactiveGreedy one(world.context, world.gpu_count, {});
    ReactiveGreedy two(world.context, world.gpu_count, {});
    const FluidResult first = FluidServing(world).run(one, 600);
    EXPECT_TRUE(first.faults.empty()) << first.faults.front();
    EXPECT_EQ(first.served, FluidServing(world).run(two, 600).served);
  }
}

TEST(ReactiveGreedyRegistry, Make_WithOptions_ChecksThem) {
  // Aim: made by name; unknown names, options and values are refused with what would be valid.
  const LayoutLattice lattice = test::lattice_of("A100-80GB");
  const std::vector<AdmittedTenant> tenants{admitted_tenant({}, lattice)};
  ServingSetup setup{.lattice = &lattice, .tenants = tenants};
  setup.options.set("period", "2");
  setup.options.set("period", "3");
  ASSERT_EQ(setup.options.all().size(), 1U);
  EXPECT_EQ(setup.options.number("period", 0), 3);
  const auto made = make_serving_policy("reactive-greedy", setup);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ((*made)->name(), "reactive-greedy");
  setup.options.set("period", "0");
  EXPECT_EQ(make_serving_policy("reactive-greedy", setup).error().code, ErrorCode::kUsage);
  setup.options.set("period", "5");
  setup.options.set("speed", "5");
  EXPECT_NE(make_serving_policy("reactive-greedy", setup).error().message.find("\"speed\""),
            std::string::npos);
  EXPECT_EQ(make_serving_policy("reactive-gredy", setup).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(make_serving_policy("reactive-greedy", {}).error().code, ErrorCode::kInvalidInput);
}

TEST(ServingPolicyRegistry, Variants_Each_IsNamedOnceAndMakesItsPolicy) {
  // Aim: every row has a name of its own, a summary, and a factory whose policy bears the name.
  const LayoutLattice lattice = test::lattice_of("A100-80GB");
  const std::vector<AdmittedTenant> tenants{admitted_tenant({}, lattice)};
  const std::vector<RateSeries> truth{tenants[0].tenant.rate};
  const ServingSetup setup{.lattice = &lattice,
                           .tenants = tenants,
                           .true_rates = truth,
                           .span = Duration::milliseconds(400000)};
  std::set<std::string_view> names;
  for (const ServingPolicyVariant& variant : serving_policy_variants()) {
    EXPECT_TRUE(names.insert(variant.name).second) << variant.name;
    EXPECT_FALSE(variant.summary.empty());
    const auto made = make_serving_policy(variant.name, setup);
    ASSERT_TRUE(made.has_value()) << variant.name << ": " << made.error().message;
    EXPECT_EQ((*made)->name(), variant.name);
    ServingSetup blind = setup;
    blind.true_rates = {};
    EXPECT_EQ(make_serving_policy(variant.name, blind).has_value(),
              variant.foresight == Foresight::kNone)
        << variant.name;
  }
}

}  // namespace
}  // namespace septule::serve
