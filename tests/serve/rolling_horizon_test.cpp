#include "serve/rolling_horizon.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <gtest/gtest.h>

#include "serve/forecasters.hpp"
#include "serve/lattice_support.hpp"
#include "serve/policy_registry.hpp"
#include "serve/serving_tenants.hpp"
#include "support/fluid_serving.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::admitted_tenant;
using test::FluidResult;
using test::FluidServing;

SimTime second(int count) {
  return SimTime() + Duration::milliseconds(std::int64_t{1000} * count);
}

HorizonOptions small_options() {
  HorizonOptions options;
  options.shape.step = Duration::milliseconds(4000);
  options.shape.step_count = 15;
  return options;
}

std::unique_ptr<RollingHorizon> horizon(const FluidServing::World& world,
                                        const HorizonOptions& options = small_options(),
                                        std::string_view forecaster = "ewma-trend") {
  std::vector<std::unique_ptr<Forecaster>> forecasters;
  for (const AdmittedTenant& tenant : world.context.tenants) {
    auto made = make_forecaster(forecaster, {.prior_rps = tenant.tenant.rate.at(SimTime())});
    EXPECT_TRUE(made.has_value());
    forecasters.push_back(std::move(*made));
  }
  return std::make_unique<RollingHorizon>(
      "septule", world.context, world.gpu_count, options, std::move(forecasters));
}

/// Tenants and a world of their arrivals.
struct Case {
  std::vector<AdmittedTenant> tenants;
  FluidServing::World world;

  explicit Case(int gpu_count = 1) { world.gpu_count = gpu_count; }
  void add(const test::MadeTenant& made, std::vector<double> arrivals) {
    tenants.push_back(admitted_tenant(made, a100()));
    world.arrivals.push_back(std::move(arrivals));
    world.context = {.lattice = &a100(), .tenants = tenants};
  }
};

Case random_case(std::uint64_t seed, int seconds) {
  Case one(1 + static_cast<int>(seed % 3));
  const int count = 1 + static_cast<int>(seed % 4);
  for (int m = 0; m < count; ++m) {
    Rng rng = Rng(seed).stream("rates", static_cast<std::uint64_t>(m));
    one.add({.name = "t" + std::to_string(m), .warm_up_s = 2 + m, .rate_rps = 20},
            test::wandering(rng, seconds, 0, 50.0 * one.world.gpu_count));
    if (m % 2 == 0) {
      one.tenants.back().tenant.retraining = test::retraining_job(25, 0.9, 200);
    }
  }
  return one;
}

TEST(RollingHorizon, Decide_ConstantRates_SettlesAndNeverMovesAgain) {
  // Aim: all is served after the first warm-up, nothing moves later, and no plan is sought.
  Case one;
  one.add({.name = "a", .rate_rps = 35}, std::vector<double>(600, 35));
  one.add({.name = "b", .rate_rps = 25}, std::vector<double>(600, 25));
  const auto policy = horizon(one.world);
  const FluidResult result = FluidServing(one.world).run(*policy, 600);
  EXPECT_TRUE(result.faults.empty());
  EXPECT_EQ(result.served.back(), (std::vector<double>{35, 25}));
  EXPECT_LT(result.created.back(), second(60));
  EXPECT_LE(policy->log().plans, 8);
  EXPECT_GT(policy->log().skipped_good, 40);
  EXPECT_EQ(policy->log().triggered, (std::array<std::int64_t, kTriggerCount>{}));
}

TEST(RollingHorizon, Decide_ConstantRates_KeepsItsPromises) {
  // Aim: planned goodput is what comes out when arrivals equal the forecast.
  Case one;
  one.add({.name = "a", .rate_rps = 35}, std::vector<double>(300, 35));
  const auto policy = horizon(one.world);
  const FluidResult result = FluidServing(one.world).run(*policy, 300);
  EXPECT_NEAR(policy->planned_goodput().value_or(0), result.goodput, 1e-6 * result.goodput);
  EXPECT_EQ(policy->expected_rps()[0], 35);
}

TEST(RollingHorizon, Decide_LoadMoves_FollowsItFasterThanGreedy) {
  // Aim: a forecast error triggers a plan at once; more is served than by reactive greedy.
  Case one;
  std::vector<double> falling(600, 52);
  std::vector<double> rising(600, 6);
  std::fill(falling.begin() + 203, falling.end(), 6.0);
  std::fill(rising.begin() + 203, rising.end(), 52.0);
  one.add({.name = "a", .rate_rps = 52}, falling);
  one.add({.name = "b", .rate_rps = 6}, rising);
  const auto policy = horizon(one.world);
  const FluidResult result = FluidServing(one.world).run(*policy, 600);
  ReactiveGreedy greedy(one.world.context, 1, {});
  const FluidResult other = FluidServing(one.world).run(greedy, 600);
  EXPECT_TRUE(result.faults.empty());
  EXPECT_GT(policy->log().triggered[static_cast<std::size_t>(Trigger::kForecastError)], 0);
  EXPECT_GT(result.goodput, other.goodput);
  EXPECT_GE(result.served[599][1], 51);
}

TEST(RollingHorizonProperty, Decide_AnyRates_IsLegalAndKeepsDwellAndCaps) {
  // Aim: over seeds, one to three GPUs and one to four tenants with and without retraining:
  // deployments are legal, nobody leaves before two warm-ups are over, no more instances are
  // created in a minute than allowed, equal runs are equal.
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Case one = random_case(seed, 240);
    one.world.dwell_min = Duration::milliseconds(4000);
    HorizonOptions options = small_options();
    options.moves_max = 9;
    const auto policy = horizon(one.world, options);
    const FluidResult result = FluidServing(one.world).run(*policy, 240);
    EXPECT_TRUE(result.faults.empty()) << "seed " << seed << ": " << result.faults.front();
    // The first filling of an empty GPU is free.
    for (std::size_t i = 0; i < result.created.size(); ++i) {
      const SimTime from = result.created[i];
      const auto in_a_minute = std::ranges::count_if(result.created, [&](SimTime time) {
        return time >= from && time < from + Duration::milliseconds(60000);
      });
      EXPECT_LE(in_a_minute, (from == SimTime() ? 7 + 9 : 9) * one.world.gpu_count);
    }
    if (seed == 3) {
      continue;  // four tenants: the longest
    }
    const auto again = horizon(one.world, options);
    EXPECT_EQ(result.served, FluidServing(one.world).run(*again, 240).served);
  }
}

TEST(RollingHorizon, Decide_OneMoveAMinute_MakesOne) {
  // Aim: with load that swings every minute and a cap of one, one instance a minute is created
  // after the first filling.
  Case one;
  std::vector<double> swings;
  std::vector<double> opposite;
  for (int s = 0; s < 600; ++s) {
    swings.push_back(s / 60 % 2 == 0 ? 50 : 5);
    opposite.push_back(s / 60 % 2 == 0 ? 5 : 50);
  }
  one.add({.name = "a", .rate_rps = 50}, swings);
  one.add({.name = "b", .rate_rps = 5}, opposite);
  HorizonOptions options = small_options();
  options.moves_max = 1;
  const auto policy = horizon(one.world, options);
  const FluidResult result = FluidServing(one.world).run(*policy, 600);
  std::vector<SimTime> later;
  std::ranges::copy_if(
      result.created, std::back_inserter(later), [](SimTime time) { return time > SimTime(); });
  EXPECT_GE(later.size(), 2U);
  for (std::size_t i = 0; i + 1 < later.size(); ++i) {
    EXPECT_GE((later[i + 1] - later[i]).to_seconds(), 60);
  }
  EXPECT_GT(policy->log().caps_held, 0);
  const auto free = horizon(one.world);
  EXPECT_GT(FluidServing(one.world).run(*free, 600).created.size(), result.created.size());
}

TEST(RollingHorizon, Decide_NoBudget_FallsBackToGreedy) {
  // Aim: with one unit of work no plan is made; reactive greedy serves all the same.
  Case one;
  one.add({.name = "a", .rate_rps = 35}, std::vector<double>(200, 35));
  one.add({.name = "b", .rate_rps = 20}, std::vector<double>(200, 20));
  HorizonOptions options = small_options();
  options.units_max = 1;
  const auto policy = horizon(one.world, options);
  const FluidResult result = FluidServing(one.world).run(*policy, 200);
  EXPECT_TRUE(result.faults.empty());
  EXPECT_EQ(policy->log().plans, 0);
  EXPECT_GT(policy->log().fallbacks_greedy, 0);
  EXPECT_GE(result.served.back()[0], 33);
}

TEST(RollingHorizon, Decide_Retraining_IsDoneInEveryPeriodAndEarly) {
  // Aim: with room to spare each period's job is done, and its instance goes.
  Case one;
  one.add({.name = "a", .rate_rps = 20}, std::vector<double>(600, 20));
  one.add({.name = "b", .rate_rps = 10}, std::vector<double>(600, 10));
  one.tenants[0].tenant.retraining = test::retraining_job(25, 0.95, 200);
  const auto policy = horizon(one.world);
  FluidServing fluid(one.world);
  const FluidResult result = fluid.run(*policy, 600);
  EXPECT_TRUE(result.faults.empty());
  EXPECT_EQ(result.retrainings_done, (std::vector<int>{3, 0}));
  EXPECT_GT(policy->log().triggered[static_cast<std::size_t>(Trigger::kRetraining)], 0);
  EXPECT_GE(result.in_slo, 0.97 * result.arrived);
}

/// Counts orders of instances that retrain a tenant without work left.
class Watched final : public ServingPolicy {
 public:
  explicit Watched(ServingPolicy& policy) : policy_(&policy) {}
  std::string_view name() const override { return policy_->name(); }
  DispatchRule dispatch() const override { return policy_->dispatch(); }
  std::optional<Deployment> decide(const ServingView& view) override {
    std::optional<Deployment> wanted = policy_->decide(view);
    if (wanted) {
      for (const GpuDeployment& gpu : wanted->gpus) {
        for (const ServingInstance& instance : gpu.instances) {
          for (const Occupant& occupant : instance.occupants) {
            const auto tenant = static_cast<std::size_t>(occupant.tenant);
            idle_ += occupant.role == Role::kRetrain && view.tenants[tenant].retraining_left_s <= 0;
          }
        }
      }
    }
    return wanted;
  }
  int idle() const { return idle_; }

 private:
  ServingPolicy* policy_;
  int idle_ = 0;
};

TEST(RollingHorizon, Decide_JobDone_IsNotStartedAgain) {
  // Aim: where plans are skipped because nothing changed, the plan followed forgets a job that is
  // done: no instance is ordered that retrains a tenant without work left.
  for (int rate = 10; rate <= 34; rate += 4) {
    Case one;
    for (const char* name : {"a", "b"}) {
      one.add({.name = name, .rate_rps = 1.0 * rate}, std::vector<double>(600, rate));
      one.tenants.back().tenant.retraining = test::retraining_job(20, 0.95, 200);
    }
    one.world.context.tenants = one.tenants;
    const auto policy = horizon(one.world);
    Watched watched(*policy);
    EXPECT_TRUE(FluidServing(one.world).run(watched, 600).faults.empty());
    EXPECT_EQ(watched.idle(), 0) << rate;
  }
}

TEST(RollingHorizon, Decide_SeveralGpus_ServesWhatFits) {
  // Aim: four tenants on three GPUs at 70 % of what they hold.
  Case one(3);
  for (int m = 0; m < 4; ++m) {
    one.add({.name = "t" + std::to_string(m), .rate_rps = 35}, std::vector<double>(300, 35));
  }
  const auto policy = horizon(one.world);
  const FluidResult result = FluidServing(one.world).run(*policy, 300);
  EXPECT_TRUE(result.faults.empty());
  const std::vector<double>& last = result.served.back();
  EXPECT_GE(std::accumulate(last.begin(), last.end(), 0.0), 0.99 * 140);
}

TEST(RollingHorizon, Decide_ForeignDeployment_IsReplaced) {
  // Aim: what stands but was not ordered triggers a plan, and is put right.
  Case one;
  one.add({.name = "a", .rate_rps = 35}, std::vector<double>(50, 35));
  const auto policy = horizon(one.world);
  const std::vector<TenantState> states(1);
  ServingView view{.gpu_count = 1, .tenants = states};
  const std::optional<Deployment> first = policy->decide(view);
  ASSERT_TRUE(first.has_value());
  const Deployment foreign{.gpus = {{}}};
  view.now = second(1);
  view.current = &foreign;
  const std::optional<Deployment> repaired = policy->decide(view);
  ASSERT_TRUE(repaired.has_value());
  EXPECT_FALSE(repaired->gpus[0].instances.empty());
  EXPECT_EQ(policy->log().triggered[static_cast<std::size_t>(Trigger::kInstances)], 1);
}

TEST(HorizonTriggers, Look_EachCause_FiresAfterItsSeconds) {
  // Aim: three seconds outside the margin, three of misses, a job's release and end, silence.
  HorizonTriggers triggers(1, {.silence_s = 5});
  using Instances = HorizonTriggers::Instances;
  std::vector<double> arrived;
  const auto look = [&](double rate, std::int64_t answered, double left) {
    arrived.push_back(rate);
    const TenantState state{
        .arrived = arrived, .answered_in_slo = answered, .retraining_left_s = left};
    const HorizonTriggers::Expectation expected{
        .mean_rps = 100, .margin_rps = 20, .promised_rps = 100};
    return triggers.look({.now = second(static_cast<int>(arrived.size())), .tenants = {&state, 1}},
                         {&expected, 1},
                         Instances::kAsOrdered);
  };
  EXPECT_EQ(look(110, 100, 0), std::nullopt);
  EXPECT_EQ(look(130, 100, 0), std::nullopt);
  EXPECT_EQ(look(130, 100, 0), std::nullopt);
  EXPECT_EQ(look(130, 100, 0), Trigger::kForecastError);
  EXPECT_EQ(look(100, 80, 0), std::nullopt);
  EXPECT_EQ(look(100, 80, 0), std::nullopt);
  EXPECT_EQ(look(100, 80, 0), Trigger::kMisses);
  EXPECT_EQ(look(100, 100, 30), Trigger::kRetraining);
  EXPECT_EQ(look(100, 100, 10), std::nullopt);
  EXPECT_EQ(look(100, 100, 0), Trigger::kRetraining);
  std::vector<std::optional<Trigger>> silence;
  for (int i = 0; i < 5; ++i) {
    silence.push_back(look(0, 0, 0));
  }
  EXPECT_EQ(silence[2], Trigger::kForecastError);
  EXPECT_EQ(silence[4], Trigger::kTenant);
  EXPECT_EQ(look(100, 100, 0), Trigger::kTenant);
}

TEST(TenantShares, Deal_AnyNeeds_GivesEachTenantAllOfItsLoadOnce) {
  // Aim: shares add up to 1, everybody has a place, GPUs are equally full, small moves keep shares.
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const int gpus = 1 + static_cast<int>(rng.below(6));
    const int count = 1 + static_cast<int>(rng.below(7));
    std::vector<AdmittedTenant> tenants;
    std::vector<double> rates;
    for (int m = 0; m < count; ++m) {
      tenants.push_back(admitted_tenant({}, a100()));
      rates.push_back(rng.chance(1, 6) ? 0 : rng.uniform() * 100);
    }
    TenantShares shares({.lattice = &a100(), .tenants = tenants}, gpus, 0.25);
    EXPECT_EQ(shares.deal(rates), TenantShares::Dealt::kAnew);
    for (int m = 0; m < count; ++m) {
      double sum = 0;
      for (int g = 0; g < gpus; ++g) {
        sum += shares.share(m, static_cast<std::size_t>(g));
      }
      EXPECT_NEAR(sum, 1, 1e-9);
    }
    for (double& rate : rates) {
      rate *= 1.02;
    }
    EXPECT_EQ(shares.deal(rates), TenantShares::Dealt::kAsBefore);
  }
}

TEST(CapacityChoices, BestRate_AnyRates_BoundsEveryLabelledLayout) {
  // Aim: no placed layout with any labels earns more in a step; some layout earns exactly it.
  std::vector<AdmittedTenant> tenants{admitted_tenant({.per_slice_rps = 10}, a100()),
                                      admitted_tenant({.per_slice_rps = 7}, a100())};
  const HoldingContext context{.lattice = &a100(), .tenants = tenants};
  const std::vector<int> both{0, 1};
  const auto choices = CapacityChoices::make(context, both);
  ASSERT_TRUE(choices.has_value());
  EXPECT_GE(choices->way_count(), 7U);
  Rng rng(9);
  for (int i = 0; i < 20; ++i) {
    const std::vector<double> rates{rng.uniform() * 80, rng.uniform() * 60};
    const std::vector<double> values{1, rng.uniform()};
    double best = 0;
    for (const LayoutLattice::PlacedSet& set : a100().placed_sets()) {
      for (int labels = 0; labels < 1 << set.size_count; ++labels) {
        std::vector<double> capacity(2, 0.0);
        int next = 0;
        for (int p = 0; p < 14; ++p) {
          if ((set.placements >> static_cast<unsigned>(p) & 1U) != 0) {
            const int tenant = labels >> next++ & 1;
            const int size = a100().placements()[static_cast<std::size_t>(p)].size;
            capacity[static_cast<std::size_t>(tenant)] +=
                tenants[static_cast<std::size_t>(tenant)].throughput_rps(size);
          }
        }
        best = std::max(best,
                        values[0] * std::min(rates[0], capacity[0]) +
                            values[1] * std::min(rates[1], capacity[1]));
      }
    }
    EXPECT_NEAR(choices->best_rate(rates, values), best, 1e-9);
  }
}

TEST(RollingHorizonRegistry, Make_WithOptions_PlansAndKnowsTheTruth) {
  // Aim: made by name with options; the oracle needs the truth.
  Case one;
  one.add({.name = "a", .rate_rps = 35}, std::vector<double>(100, 35));
  ServingSetup setup{.lattice = &a100(), .tenants = one.tenants};
  setup.options.set("z", "0.5");
  setup.options.set("step", "5");
  setup.options.set("warm-up", "p50");
  auto made = make_serving_policy("septule", setup);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_GT(FluidServing(one.world).run(**made, 100).in_slo, 3000);
  EXPECT_FALSE(make_serving_policy("septule-oracle", setup).has_value());
  setup.forecaster = "crystal";
  EXPECT_EQ(make_serving_policy("septule", setup).error().code, ErrorCode::kNotFound);
}

TEST(RollingHorizonRegistry, Make_LongWarmUps_LooksFarEnoughToFollowTheLoad) {
  // Aim: a model that loads for most of a minute is not left short because a minute's plan cannot
  // see that a move pays.
  Case one;
  std::vector<double> falling(1200, 52);
  std::vector<double> rising(1200, 6);
  std::fill(falling.begin() + 203, falling.end(), 20.0);
  std::fill(rising.begin() + 203, rising.end(), 34.0);
  one.add({.name = "a", .warm_up_s = 45, .rate_rps = 52}, falling);
  one.add({.name = "b", .warm_up_s = 45, .rate_rps = 6}, rising);
  ServingSetup setup{.lattice = &a100(), .tenants = one.tenants};
  auto far = make_serving_policy("septule", setup);
  setup.options.set("horizon", "60");
  auto near = make_serving_policy("septule", setup);
  ASSERT_TRUE(far.has_value() && near.has_value());
  const FluidResult result = FluidServing(one.world).run(**far, 1200);
  EXPECT_GE(result.served[1199][1], 33);
  EXPECT_GT(result.goodput, FluidServing(one.world).run(**near, 1200).goodput);
}

}  // namespace
}  // namespace septule::serve
