#include "serve/policies/thief.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace septule::serve {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// A tenant whose rate is proportional to its quanta.
ThiefTenant linear(double per_quantum, int quanta, double expected) {
  ThiefTenant tenant{.rate_rps = {}, .expected_rps = expected, .accuracy = 0.5};
  for (int q = 0; q <= quanta; ++q) {
    tenant.rate_rps.push_back(per_quantum * q);
  }
  return tenant;
}

/// Work in quantum-seconds.
ThiefTenant::Retraining retraining(double work, int quanta, double after) {
  ThiefTenant::Retraining job{.finish_s = {kNever}, .accuracy_after = after};
  for (int q = 1; q <= quanta; ++q) {
    job.finish_s.push_back(work / q);
  }
  return job;
}

/// The documented value of an allocation, worked out anew.
double value_of(const std::vector<ThiefTenant>& tenants,
                const ThiefAllocation& allocation,
                double window_s) {
  double sum = 0;
  for (std::size_t m = 0; m < tenants.size(); ++m) {
    const ThiefTenant& tenant = tenants[m];
    const double rate = tenant.rate_rps[static_cast<std::size_t>(allocation.inference[m])];
    double accuracy = tenant.accuracy;
    if (tenant.retraining && allocation.retraining[m] > 0) {
      const double finish =
          tenant.retraining->finish_s[static_cast<std::size_t>(allocation.retraining[m])];
      const double part = std::min(finish, window_s) / window_s;
      accuracy = std::max(accuracy,
                          part * tenant.accuracy + (1 - part) * tenant.retraining->accuracy_after);
    }
    sum += std::min(1.0, tenant.expected_rps > 0 ? rate / tenant.expected_rps : 1.0) * accuracy;
  }
  return sum / static_cast<double>(tenants.size());
}

TEST(Thief, OneTenantWithoutRetraining_HasTheGpu) {
  // Aim: the smallest case.
  const std::vector<ThiefTenant> tenants{linear(10, 7, 100)};
  const ThiefAllocation found = thief_schedule(tenants, 7, 200);
  EXPECT_EQ(found.inference, std::vector<int>{7});
  EXPECT_EQ(found.retraining, std::vector<int>{0});
  EXPECT_DOUBLE_EQ(found.value, 0.7 * 0.5);
}

TEST(Thief, TenantOfLowTraffic_GivesItsSurplusToTheOther) {
  // Aim: 8 quanta, needs of 6 and 2: from 4 and 4 the first steals exactly two, and no more.
  const std::vector<ThiefTenant> tenants{linear(10, 8, 60), linear(10, 8, 20)};
  const ThiefAllocation found = thief_schedule(tenants, 8, 200);
  EXPECT_EQ(found.inference, (std::vector<int>{6, 2}));
  EXPECT_DOUBLE_EQ(found.value, 0.5);
}

TEST(Thief, Retraining_TakesWhatInferenceDoesNotNeed) {
  // Aim: worked by hand. Inference needs 1 of 4 quanta; 100 quantum-seconds on 3 end at 33.3 of
  // 100 s, accuracy 0.5 before and 1 after: (1 + 2) / 3 - 1/6 = 5/6.
  std::vector<ThiefTenant> tenants{linear(10, 4, 10)};
  tenants[0].retraining = retraining(100, 4, 1.0);
  const ThiefAllocation found = thief_schedule(tenants, 4, 100);
  EXPECT_EQ(found.inference, std::vector<int>{1});
  EXPECT_EQ(found.retraining, std::vector<int>{3});
  EXPECT_NEAR(found.value, 5.0 / 6, 1e-12);
}

TEST(Thief, RetrainingThatMakesItWorse_IsNotRun) {
  // Aim: "or none" is one of the configurations.
  std::vector<ThiefTenant> tenants{linear(10, 4, 10)};
  tenants[0].retraining = retraining(10, 4, 0.4);
  const ThiefAllocation found = thief_schedule(tenants, 4, 100);
  EXPECT_EQ(found.retraining, std::vector<int>{0});
  EXPECT_DOUBLE_EQ(found.value, 0.5);
}

TEST(Thief, TrafficDoesNotWeigh_OnlyTheShareAnswered) {
  // Aim: Ekya's blindness: a tenant of 10 requests per second counts as much as one of 1000.
  const std::vector<ThiefTenant> tenants{linear(100, 4, 1000), linear(2.5, 4, 10)};
  const ThiefAllocation found = thief_schedule(tenants, 4, 100);
  EXPECT_EQ(found.inference, (std::vector<int>{0, 4}));
}

TEST(Thief, RandomCases_EndWhereNoQuantumIsWorthStealing) {
  // Aim: quanta add up, the value is the documented one, at least that of equal parts, and no
  // single theft raises it.
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    const int quanta = 4 + static_cast<int>(rng.below(7));
    std::vector<ThiefTenant> tenants;
    const auto count = 1 + rng.below(4);
    for (std::uint64_t m = 0; m < count; ++m) {
      tenants.push_back(linear(5 + 10 * rng.uniform(), quanta, 60 * rng.uniform()));
      if (rng.chance(2, 3)) {
        tenants.back().retraining = retraining(50 + 400 * rng.uniform(), quanta, rng.uniform());
      }
    }
    const ThiefAllocation found = thief_schedule(tenants, quanta, 200);
    const int used = std::accumulate(found.inference.begin(), found.inference.end(), 0) +
                     std::accumulate(found.retraining.begin(), found.retraining.end(), 0);
    EXPECT_LE(used, quanta);
    EXPECT_NEAR(found.value, value_of(tenants, found, 200), 1e-12);
    const auto jobs = [&](ThiefAllocation& all, std::size_t job) -> int& {
      return job < tenants.size() ? all.inference[job] : all.retraining[job - tenants.size()];
    };
    for (std::size_t thief = 0; thief < 2 * tenants.size(); ++thief) {
      if (thief >= tenants.size() && !tenants[thief - tenants.size()].retraining) {
        continue;
      }
      for (std::size_t victim = 0; victim < 2 * tenants.size(); ++victim) {
        ThiefAllocation other = found;
        if (thief != victim && jobs(other, victim) > 0) {
          --jobs(other, victim);
          ++jobs(other, thief);
          EXPECT_LE(value_of(tenants, other, 200), found.value + 1e-9) << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace septule::serve
