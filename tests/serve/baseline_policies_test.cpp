// What the policies of the baselines order, second by second: when they plan, what they ignore.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "serve/lattice_support.hpp"
#include "serve/mps_share_model.hpp"
#include "serve/policies/hindsight.hpp"
#include "serve/policy_registry.hpp"

namespace septule::serve {
namespace {

Duration seconds(std::int64_t count) {
  return Duration::milliseconds(1000 * count);
}

SimTime at(std::int64_t second) {
  return SimTime() + seconds(second);
}

/// Tenants of one row per size: 100 requests per second and compute slice, batch 32.
struct Bench {
  explicit Bench(int count, double rate_rps = 100) {
    for (int m = 0; m < count; ++m) {
      Tenant tenant;
      tenant.name = "tenant" + std::to_string(m);
      tenant.slo = seconds(2);
      tenant.accuracy = 0.5;
      tenant.warm_up = {seconds(4), seconds(4), seconds(4)};
      tenant.rate.values = {rate_rps};
      for (const InstanceSize& size : test::a100().sizes()) {
        tenant.profile.rows.push_back(
            {.slices = size.slices,
             .batch = 32,
             .throughput_rps = 100.0 * size.slices.value(),
             .latency = Duration::milliseconds(320 / size.slices.value())});
      }
      tenants.push_back(std::move(tenant));
    }
    arrivals.resize(tenants.size());
    states.resize(tenants.size());
  }

  void retrain(int tenant, double work_s) {
    tenants[static_cast<std::size_t>(tenant)].retraining =
        RetrainingJob{.work_s = work_s, .accuracy_after = 0.9, .period = seconds(200)};
    TenantState& state = states[static_cast<std::size_t>(tenant)];
    state.retraining_left_s = work_s;
    state.retraining_release = at(0);
    state.retraining_deadline = at(200);
  }

  std::unique_ptr<ServingPolicy> make(std::string_view name, const PolicyOptions& options = {}) {
    admitted = admit_all(tenants, test::a100(), {}).value();
    ServingSetup setup{.lattice = &test::a100(), .tenants = admitted, .options = options};
    auto made = make_serving_policy(name, setup);
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    return std::move(made).value();
  }

  /// One second: what the policy orders, which is then in force and ready.
  std::optional<Deployment> step(ServingPolicy& policy, std::int64_t second) {
    for (std::size_t m = 0; m < states.size(); ++m) {
      arrivals[m].resize(static_cast<std::size_t>(second), tenants[m].rate.values[0]);
      states[m].arrived = arrivals[m];
    }
    instances.clear();
    for (const GpuDeployment& gpu : current.gpus) {
      for (const ServingInstance& instance : gpu.instances) {
        instances.push_back({.gpu = 0, .instance = instance, .ready = {}});
      }
    }
    auto order = policy.decide({.now = at(second),
                                .gpu_count = 1,
                                .tenants = states,
                                .current = second == 0 ? nullptr : &current,
                                .instances = instances});
    if (order.has_value()) {
      current = *order;
    }
    return order;
  }

  std::vector<Tenant> tenants;
  std::vector<AdmittedTenant> admitted;
  std::vector<std::vector<double>> arrivals;
  std::vector<TenantState> states;
  std::vector<InstanceState> instances;
  Deployment current;
};

int count_retraining(const Deployment& deployment) {
  int count = 0;
  for (const GpuDeployment& gpu : deployment.gpus) {
    for (const ServingInstance& instance : gpu.instances) {
      count +=
          static_cast<int>(std::ranges::count(instance.occupants, Role::kRetrain, &Occupant::role));
    }
  }
  return count;
}

TEST(EkyaLike, NewRetraining_StartsAfterProfiling) {
  // Aim: at the begin of a window inference gets its shares at once, the retraining 4 s later, and
  // nothing is planned in between or afterwards.
  Bench bench(2);
  bench.retrain(1, 20);
  const auto policy = bench.make("ekya-like");
  const auto first = bench.step(*policy, 0);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(count_retraining(*first), 0);
  ASSERT_EQ(first->gpus[0].instances.size(), 1U);
  EXPECT_FALSE(first->gpus[0].instances[0].placed.has_value());
  for (int second = 1; second < 4; ++second) {
    EXPECT_FALSE(bench.step(*policy, second).has_value()) << second;
  }
  const auto second = bench.step(*policy, 4);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(count_retraining(*second), 1);
  EXPECT_FALSE(bench.step(*policy, 5).has_value());
}

TEST(EkyaLike, RetrainingDone_PlansAtOnceButTrafficDoesNot) {
  // Aim: re-run at each completion, at window begins, and never because arrivals changed.
  Bench bench(2);
  bench.retrain(0, 20);
  const auto policy = bench.make("ekya-like");
  for (int second = 0; second <= 10; ++second) {
    bench.step(*policy, second);
  }
  bench.tenants[1].rate.values = {600};
  for (int second = 11; second < 60; ++second) {
    EXPECT_FALSE(bench.step(*policy, second).has_value()) << second;
  }
  bench.states[0].is_retrained = true;
  bench.states[0].retraining_left_s = 0;
  const auto done = bench.step(*policy, 60);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(count_retraining(*done), 0);
  EXPECT_TRUE(bench.step(*policy, 200).has_value());
}

TEST(EkyaLike, SharesNeverExceedTheGpu) {
  // Aim: percentages of all occupants add up to at most 100, for any number of quanta.
  for (const char* quanta : {"1", "3", "7", "10", "100"}) {
    Bench bench(3, 200);
    bench.retrain(0, 20);
    bench.retrain(2, 40);
    PolicyOptions options;
    options.set("quanta", quanta);
    options.set("profiling-s", "0");
    const auto policy = bench.make("ekya-like", options);
    const auto order = bench.step(*policy, 0);
    ASSERT_TRUE(order.has_value());
    int sum = 0;
    for (const ServingInstance& instance : order->gpus[0].instances) {
      for (const Occupant& occupant : instance.occupants) {
        sum += occupant.share.value();
      }
    }
    EXPECT_LE(sum, 100) << quanta;
    EXPECT_GT(sum, 0) << quanta;
  }
}

TEST(AstraeaLike, FollowsTheLoad_AtMostEveryTenSeconds) {
  // Aim: a jump of one load brings a new plan, not before 10 s after the last, and a steady load
  // none.
  Bench bench(2, 100);
  const auto policy = bench.make("astraea-like");
  ASSERT_TRUE(bench.step(*policy, 0).has_value());
  const int share_before = bench.current.gpus[0].instances[0].occupants[1].share.value();
  for (int second = 1; second < 30; ++second) {
    EXPECT_FALSE(bench.step(*policy, second).has_value()) << second;
  }
  bench.tenants[1].rate.values = {300};
  std::vector<int> planned;
  for (int second = 30; second < 60; ++second) {
    if (bench.step(*policy, second).has_value()) {
      planned.push_back(second);
    }
  }
  ASSERT_GE(planned.size(), 2U);
  EXPECT_LE(planned[0], 33);
  EXPECT_GE(planned[1] - planned[0], 10);
  EXPECT_GT(bench.current.gpus[0].instances[0].occupants[1].share.value(), share_before);
}

TEST(AstraeaLike, Retraining_GetsWhatIsLeftAndNothingUnderFullLoad) {
  // Aim: no accuracy in the objective: the left-over is divided equally, an overloaded GPU leaves
  // none.
  Bench light(2, 50);
  light.retrain(0, 20);
  light.retrain(1, 20);
  const auto policy = light.make("astraea-like");
  const auto order = light.step(*policy, 0);
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(count_retraining(*order), 2);
  Bench heavy(2, 600);
  heavy.retrain(0, 20);
  const auto overloaded = heavy.make("astraea-like");
  const auto full = heavy.step(*overloaded, 0);
  ASSERT_TRUE(full.has_value());
  EXPECT_EQ(count_retraining(*full), 0);
  int sum = 0;
  for (const Occupant& occupant : full->gpus[0].instances[0].occupants) {
    sum += occupant.share.value();
  }
  EXPECT_GE(sum, 98) << "shares grow until the GPU is full";
}

TEST(ParisLike, LayoutStaysForTheWindow_RetrainingTakesTurns) {
  // Aim: whatever arrives, serving instances stay to the end of the window; two retrainings follow
  // each other in the pinned slice.
  Bench bench(2, 100);
  bench.retrain(0, 10);
  bench.retrain(1, 10);
  const auto policy = bench.make("paris-like");
  const auto first = bench.step(*policy, 0);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(count_retraining(*first), 1);
  bench.tenants[0].rate.values = {900};
  for (int second = 1; second < 50; ++second) {
    EXPECT_FALSE(bench.step(*policy, second).has_value()) << second;
  }
  bench.states[0].is_retrained = true;
  const auto second = bench.step(*policy, 50);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(count_retraining(*second), 1);
  for (const ServingInstance& instance : first->gpus[0].instances) {
    if (instance.occupants[0].role == Role::kServe) {
      EXPECT_EQ(std::ranges::count(second->gpus[0].instances, instance), 1);
    }
  }
  bench.states[1].is_retrained = true;
  const auto idle = bench.step(*policy, 80);
  ASSERT_TRUE(idle.has_value());
  EXPECT_EQ(count_retraining(*idle), 0) << "the slice idles";
}

TEST(ParisLike, NoTenantIsStarvedForRetraining) {
  // Aim: a slice is kept only where everybody keeps something: not with one tenant per slice.
  for (const int count : {1, 7}) {
    Bench bench(count, 650.0 / count);
    bench.retrain(0, 10);
    const auto policy = bench.make("paris-like");
    const auto order = bench.step(*policy, 0);
    ASSERT_TRUE(order.has_value());
    std::vector<int> served;
    for (const ServingInstance& instance : order->gpus[0].instances) {
      if (instance.occupants[0].role == Role::kServe) {
        served.push_back(instance.occupants[0].tenant);
      }
    }
    for (int m = 0; m < count; ++m) {
      EXPECT_GT(std::ranges::count(served, m), 0) << m << " of " << count;
    }
    EXPECT_EQ(count_retraining(*order), count == 1 ? 1 : 0);
  }
}

TEST(ParvaGpuPolicy, DeploysOnce_WithRetrainingInWhatIsLeft) {
  // Aim: 2 tenants of 100/s need one slice each (and a little for the headroom); nothing moves but
  // the retraining.
  Bench bench(2, 80);
  bench.retrain(1, 10);
  const auto policy = bench.make("parvagpu");
  const auto first = bench.step(*policy, 0);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(count_retraining(*first), 1);
  bench.tenants[0].rate.values = {900};
  for (int second = 1; second <= 400; ++second) {
    EXPECT_FALSE(bench.step(*policy, second).has_value() && second < 200) << second;
  }
}

TEST(ParvaGpuPolicy, TooLittleGpu_ServesAPartOfTheRates) {
  // Aim: demand of two GPUs on one: the deployment is legal and serves both.
  Bench bench(2, 700);
  const auto policy = bench.make("parvagpu");
  const auto order = bench.step(*policy, 0);
  ASSERT_TRUE(order.has_value());
  std::vector<int> served;
  for (const ServingInstance& instance : order->gpus[0].instances) {
    served.push_back(instance.occupants[0].tenant);
  }
  EXPECT_GT(std::ranges::count(served, 0), 0);
  EXPECT_GT(std::ranges::count(served, 1), 0);
}

TEST(Hindsight, LabelledCounts_AreAllDistributions) {
  // Aim: 2 + 1 instances of two sizes to 2 tenants and at most one lane: 6 x 3 ways less those with
  // more lanes (of size 0: (2,1,0) lanes in 1, 2, 3 ways; of size 1: lanes 1 or 0 in 1, 2 ways).
  const SizeTable<int> multiset{2, 1};
  EXPECT_EQ(labelled_counts({{multiset}}, 5, 3, 8).size(), 18U);
  EXPECT_EQ(labelled_counts({{multiset}}, 5, 3, 1).size(), 3U * 3 + 2 * 2);
  EXPECT_EQ(labelled_counts({{multiset}}, 5, 3, 0).size(), 3U * 2);
}

}  // namespace
}  // namespace septule::serve
