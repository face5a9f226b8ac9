#include "serve/fleet_plan.hpp"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/fleet_checker.hpp"
#include "serve/fleet_generator.hpp"
#include "serve/fleet_support.hpp"
#include "serve/lattice_support.hpp"
#include "serve/parvagpu_support.hpp"
#include "support/shared_data.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::a30;
using test::BruteForce;
using test::odd_fleet;

constexpr const char* kProfiles = "data/serving/parvagpu_a100_80g_mig_mps.csv";
constexpr const char* kSets = "data/serving/parvagpu_slo_sets.csv";

/// What is known of one of ParvaGPU's sets: with all, with suspect rows kept, without MPS.
struct KnownSet {
  int set = 0;
  int gpus = 0;
  int gpcs = 0;
  int gpus_with_suspects = 0;
  int gpus_without_mps = 0;
};
// Sets 1-4: serving.md 3.4. Sets 5 and 6: proved by this planner and by CBC on the compact program.
constexpr KnownSet kKnown[] = {{1, 2, 10, 2, 2},
                               {2, 3, 20, 3, 3},
                               {3, 5, 30, 5, 5},
                               {4, 7, 44, 7, 7},
                               {5, 12, 82, 12, 13},
                               {6, 16, 104, 15, 17}};

TEST(FleetPlan, ParvagpuSets_ProvedOptimal) {
  // The fewest GPUs and compute slices for ParvaGPU's SLO sets are those of serving.md 3.4.
  SEPTULE_REQUIRE_SHARED(profiles_file, kProfiles);
  SEPTULE_REQUIRE_SHARED(sets_file, kSets);
  const auto profiles = test::read_parvagpu(profiles_file);
  for (const KnownSet& known : kKnown) {
    SCOPED_TRACE(known.set);
    const auto tenants = test::read_slo_set(sets_file, profiles, known.set);
    const auto plan_with = [&](test::Suspects suspects, int processes_max) {
      auto plan =
          plan_min_gpus(test::admit_for_fleet(a100(), tenants, suspects, processes_max), {});
      EXPECT_TRUE(plan.has_value());
      EXPECT_TRUE(plan->is_optimal);
      return std::move(plan).value();
    };
    const FleetPlan plan = plan_with(test::Suspects::kDropped, 5);
    EXPECT_EQ(plan.gpus, known.gpus);
    EXPECT_EQ(plan.gpcs, known.gpcs);
    EXPECT_EQ(plan_with(test::Suspects::kKept, 5).gpus, known.gpus_with_suspects);
    EXPECT_EQ(plan_with(test::Suspects::kDropped, 1).gpus, known.gpus_without_mps);
  }
}

/// A plan the checker has accepted.
FleetPlan min_gpus(const FleetProblem& problem, const FleetOptions& options = {}) {
  auto plan = plan_min_gpus(problem, options);
  EXPECT_TRUE(plan.has_value());
  const Status checked = check_fleet(problem, *plan, FleetGoal::kAllServed);
  EXPECT_TRUE(checked.is_ok()) << checked.error().message;
  return std::move(plan).value();
}

FleetPlan max_goodput(FleetProblem problem, int gpus, const FleetOptions& options = {}) {
  problem.gpu_count = gpus;
  auto plan = plan_max_goodput(problem, options);
  EXPECT_TRUE(plan.has_value());
  const Status checked = check_fleet(problem, *plan, FleetGoal::kBestGoodput);
  EXPECT_TRUE(checked.is_ok()) << checked.error().message;
  return std::move(plan).value();
}

TEST(FleetPlan, TwoGpusThreeTenants_AsEverythingTried) {
  // Fewest GPUs and slices, and the most goodput of one and two GPUs, as found by trying all.
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    const FleetProblem problem = odd_fleet(a100(), 2 + static_cast<int>(seed % 2), 9, seed);
    BruteForce all(problem);
    const FleetPlan plan = min_gpus(problem);
    EXPECT_TRUE(plan.is_optimal);
    if (const auto fewest = all.fewest(2); fewest.has_value()) {
      EXPECT_EQ((BruteForce::Fewest{plan.gpus, plan.gpcs}), *fewest);
      ++compared;
    } else {
      EXPECT_GT(plan.gpus, 2);
    }
    for (int gpus = 1; gpus <= 2; ++gpus) {
      const double most = all.most_goodput(gpus);
      const FleetPlan best = max_goodput(problem, gpus);
      EXPECT_TRUE(best.is_optimal);
      EXPECT_NEAR(best.goodput_rps, most, most * 2e-6);
      EXPECT_GE(best.goodput_bound, most * (1 - 1e-9));
    }
  }
  EXPECT_GT(compared, 20);
}

TEST(FleetPlan, A30ThreeGpus_AsEverythingTried) {
  // The same on another geometry, three GPUs, three or four tenants.
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const FleetProblem problem = odd_fleet(a30(), 3 + static_cast<int>(seed % 2), 6, seed);
    BruteForce all(problem);
    const FleetPlan plan = min_gpus(problem);
    if (const auto fewest = all.fewest(3); fewest.has_value()) {
      EXPECT_EQ((BruteForce::Fewest{plan.gpus, plan.gpcs}), *fewest);
    } else {
      EXPECT_GT(plan.gpus, 3);
    }
    const double most = all.most_goodput(2);
    EXPECT_NEAR(max_goodput(problem, 2).goodput_rps, most, most * 2e-6);
  }
}

TEST(FleetPlan, WideGap_IsNotCalledOptimal) {
  // A plan that is good enough is not one that is proven best: what is called optimal is within a
  // millionth of all that was tried, however wide a gap was allowed.
  int good_enough = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const FleetProblem problem = odd_fleet(a100(), 3, 9, seed);
    const double most = BruteForce(problem).most_goodput(1);
    const FleetPlan plan = max_goodput(problem, 1, {.goodput_gap = 0.5});
    EXPECT_GE(plan.goodput_bound, most * (1 - 1e-9));
    if (plan.is_optimal) {
      EXPECT_NEAR(plan.goodput_rps, most, most * 2e-6);
    } else {
      EXPECT_GE(plan.goodput_rps * 1.5 + 1e-6, plan.goodput_bound);
      ++good_enough;
    }
  }
  EXPECT_GT(good_enough, 0);
}

TEST(FleetPlan, RequestsFarBeyondTheGpus_GapIsOfTheGoodput) {
  // A gap of a millionth is one of what the plan has, not of all that was asked for.
  FleetProblem problem{.lattice = &a100()};
  problem.tenants = {{.name = "flood", .rate_rps = 4e6, .throughput = {200, 0, 0, 0, 1407.003}},
                     {.name = "small", .rate_rps = 500, .throughput = {0, 300, 605, 0, 0}}};
  const FleetPlan plan = max_goodput(problem, 1);
  EXPECT_TRUE(plan.is_optimal);
  EXPECT_NEAR(plan.goodput_rps, 1407.003, 1e-9);
  EXPECT_LE(plan.goodput_bound, plan.goodput_rps * (1 + 1.01e-6));
}

TEST(FleetPlan, WorkLimits_BoundsHold) {
  // However little work is allowed, bounds are on the right side of the optimum and plans stand.
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    const FleetProblem problem = odd_fleet(a100(), 8, 30, seed);
    const FleetPlan best = min_gpus(problem);
    ASSERT_TRUE(best.is_optimal);
    const int gpus = std::max(1, best.gpus / 2);
    const FleetPlan most = max_goodput(problem, gpus);
    for (const std::int64_t units : {0, 30, 100, 300, 1000, 3000}) {
      const FleetPlan plan = min_gpus(problem, {.units_max = units});
      EXPECT_LE(plan.gpus_bound, best.gpus);
      EXPECT_GE(plan.gpus, best.gpus);
      if (plan.gpus == best.gpus) {
        EXPECT_LE(plan.gpcs_bound, best.gpcs);
        EXPECT_GE(plan.gpcs, best.gpcs);
      }
      const FleetPlan some = max_goodput(problem, gpus, {.units_max = units});
      EXPECT_GE(some.goodput_bound, most.goodput_rps * (1 - 1e-9));
      EXPECT_LE(some.goodput_rps, most.goodput_bound * (1 + 1e-9));
    }
  }
}

TEST(FleetPlan, MoreToServeWith_NeverWorse) {
  // Goodput never falls with a GPU more; GPUs never grow with more throughput or a tenant less.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    FleetProblem problem = odd_fleet(a100(), 6, 40, seed);
    const FleetPlan plan = min_gpus(problem);
    ASSERT_TRUE(plan.is_optimal);
    double goodput = 0;
    for (int gpus = 1; gpus <= plan.gpus + 1; ++gpus) {
      const FleetPlan next = max_goodput(problem, gpus, {.units_max = 40000});
      EXPECT_GE(next.goodput_bound, goodput * (1 - 1e-9));
      goodput = next.goodput_rps;
      if (gpus >= plan.gpus) {
        EXPECT_EQ(next.instances, plan.instances);
      }
    }
    FleetProblem faster = problem;
    for (FleetTenant& tenant : faster.tenants) {
      tenant.throughput[1] = tenant.throughput[1] * 1.2 + 0.1;
    }
    EXPECT_LE(min_gpus(faster).gpus, plan.gpus);
    problem.tenants.pop_back();
    EXPECT_LE(min_gpus(problem).gpus, plan.gpus);
  }
}

TEST(FleetPlan, DoubleMemorySizes_NeverMoreGpus) {
  // More layouts to choose from never cost more GPUs (the double-memory size serves as 1g does).
  const LayoutLattice wide = test::lattice_of("A100-80GB", gpu::ProfileSet::kDouble);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    FleetProblem plain = odd_fleet(a100(), 6, 40, seed);
    FleetProblem rich{.lattice = &wide, .tenants = plain.tenants};
    for (FleetTenant& tenant : rich.tenants) {
      const SizeTable<double> before = tenant.throughput;
      tenant.throughput = {};
      for (std::size_t s = 0; s < a100().sizes().size(); ++s) {
        for (std::size_t r = 0; r < wide.sizes().size(); ++r) {
          if (wide.sizes()[r].slices == a100().sizes()[s].slices) {
            tenant.throughput[r] = before[s];
          }
        }
      }
    }
    EXPECT_LE(min_gpus(rich).gpus, min_gpus(plain).gpus);
  }
}

TEST(FleetPlan, EqualTenants_Proved) {
  // Many tenants alike are no harder: 60 that each need 3g and a bit.
  FleetProblem problem = odd_fleet(a100(), 60, 1, 1);
  for (FleetTenant& tenant : problem.tenants) {
    tenant.throughput = {1, 2, 3, 4, 7};
    tenant.rate_rps = 3.5;
  }
  const FleetPlan plan = min_gpus(problem);
  EXPECT_TRUE(plan.is_optimal);
  // Half of a GPU each in slices, but 3.5 takes 4 of 7: 240 slices at least.
  EXPECT_EQ(plan.gpus, 35);
  EXPECT_EQ(plan.gpcs, 240);
}

TEST(FleetPlan, TinyAndHugeRates_Planned) {
  // A rate next to nothing takes one instance; a huge one takes thousands and is still proved.
  FleetProblem problem = odd_fleet(a100(), 2, 1, 1);
  problem.tenants[0].throughput = {100, 200, 300, 400, 700};
  problem.tenants[0].rate_rps = 1e-6;
  problem.tenants.resize(1);
  const FleetPlan one = min_gpus(problem);
  EXPECT_EQ(one.gpus, 1);
  EXPECT_EQ(one.gpcs, 1);
  EXPECT_TRUE(one.is_optimal);
  problem.tenants[0].throughput = {101, 203, 305, 402, 705};
  problem.tenants[0].rate_rps = 500000;
  const FleetPlan many = min_gpus(problem);
  EXPECT_GT(many.gpus, 700);
  EXPECT_LE(many.gpus - many.gpus_bound, 1);
}

TEST(FleetPlan, EqualCalls_EqualPlans) {
  // Nothing but the problem and the options decides.
  const FleetProblem problem = generate_fleet(a100(), {.tenant_count = 40, .seed = 5});
  const FleetPlan first = min_gpus(problem);
  const FleetPlan second = min_gpus(problem);
  EXPECT_EQ(first.instances, second.instances);
  EXPECT_EQ(first.units_spent, second.units_spent);
  const FleetOptions brief{.units_max = 50000};
  EXPECT_EQ(max_goodput(problem, 20, brief).instances, max_goodput(problem, 20, brief).instances);
}

TEST(FleetPlan, GeneratedFleets_WithinTargets) {
  // The sizes of serving.md section 6 and of the benchmarks, by bound.
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    EXPECT_TRUE(min_gpus(generate_fleet(a100(), {.tenant_count = 100, .seed = seed})).is_optimal);
    const FleetProblem large =
        generate_fleet(a100(), {.tenant_count = 300, .load_mean = 2, .seed = seed});
    const FleetPlan plan = min_gpus(large);
    EXPECT_LE(plan.gpus - plan.gpus_bound, 0.003 * plan.gpus);
    const FleetPlan most = max_goodput(large, 500, {.units_max = 300000});
    EXPECT_GE(most.goodput_rps, 0.99 * most.goodput_bound);
  }
}

TEST(FleetPlan, FleetTooSmall_SaysWhatIsNeeded) {
  // The error names the shortage and what would be enough.
  FleetProblem problem = odd_fleet(a100(), 1, 1, 1);
  problem.tenants[0].throughput = {1, 2, 3, 4, 7};
  problem.tenants[0].rate_rps = 30;
  problem.gpu_count = 3;
  const auto plan = plan_min_gpus(problem, {});
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, ErrorCode::kBlocked);
  EXPECT_EQ(
      plan.error().message,
      "the fleet is too small: the tenants need 5 GPUs (proved), 2 more than the 3 there are");
  problem.gpu_count = 5;
  EXPECT_TRUE(plan_min_gpus(problem, {}).has_value());
}

TEST(FleetPlan, InvalidProblems_NamedTenant) {
  // What cannot be planned is an error that says whose fault it is.
  const auto message_of = [](auto change) {
    FleetProblem problem = odd_fleet(a100(), 2, 5, 1);
    change(problem);
    const auto plan = plan_min_gpus(problem, {});
    EXPECT_FALSE(plan.has_value());
    EXPECT_EQ(plan.error().code, ErrorCode::kInvalidInput);
    return plan.error().message;
  };
  using testing::HasSubstr;
  EXPECT_THAT(message_of([](FleetProblem& p) { p.tenants[1].throughput = {}; }),
              HasSubstr("'t1': no size"));
  EXPECT_THAT(message_of([](FleetProblem& p) { p.tenants[0].rate_rps = 0; }),
              HasSubstr("'t0': a rate of 0"));
  EXPECT_THAT(message_of([](FleetProblem& p) {
                p.tenants[0].rate_rps = std::numeric_limits<double>::quiet_NaN();
              }),
              HasSubstr("'t0': a rate of nan"));
  EXPECT_THAT(message_of([](FleetProblem& p) { p.tenants[0].throughput[0] = -1; }),
              HasSubstr("'t0': a throughput of -1"));
  EXPECT_THAT(message_of([](FleetProblem& p) { p.tenants[0].throughput[7] = 1; }),
              HasSubstr("on size 7"));
  EXPECT_THAT(message_of([](FleetProblem& p) { p.tenants[0].weight = 0; }),
              HasSubstr("the weight (0)"));
  EXPECT_THAT(message_of([](FleetProblem& p) { p.tenants[0].rate_rps = 1e9; }),
              HasSubstr("more than 10000 instances"));
  EXPECT_THAT(message_of([](FleetProblem& p) { p.tenants.clear(); }), HasSubstr("there are 0"));
  EXPECT_THAT(message_of([](FleetProblem& p) { p.gpu_count = 0; }), HasSubstr("0 were given"));
  EXPECT_THAT(message_of([](FleetProblem& p) { p.lattice = nullptr; }), HasSubstr("GPU model"));
  EXPECT_FALSE(plan_max_goodput(odd_fleet(a100(), 2, 5, 1), {}).has_value());
}

}  // namespace
}  // namespace septule::serve
