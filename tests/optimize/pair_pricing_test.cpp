#include "optimize/pair_pricing.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "optimize/random_windows.hpp"
#include "optimize/window_bound.hpp"

namespace septule::optimize {
namespace {

using test::random_window;

constexpr double kNever = 1e30;

/// Steps of the clients of a kind's seats, for those of `positions`.
std::vector<double> steps_of(const test::RandomWindow& window,
                             const CompanyKind& kind,
                             const std::vector<std::size_t>& positions,
                             const std::vector<std::size_t>& jobs) {
  const gpu::MemoryDomain& domain = window.catalogue.domains[kind.domain];
  std::vector<predict::CoRunClient> clients;
  for (const std::size_t at : positions) {
    const gpu::Seat& seat = domain.seats[kind.seats[at]];
    clients.push_back({jobs[at], seat.compute, seat.atp});
  }
  std::vector<double> rates(clients.size());
  window.model->rates(
      {domain.profile, {domain.compute.begin(), domain.compute.size()}}, clients, rates);
  for (double& rate : rates) {
    rate = rate > 0 ? 1 / rate : kNever;
  }
  return rates;
}

TEST(PairPricing, LawModel_DelaysAddUp) {
  // Aim: the law model keeps the law that it claims, for random jobs in every kind of seats.
  std::int64_t compared = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const auto window = random_window({.jobs = 12, .templates_of_ten = 10}, seed);
    ASSERT_EQ(window->model->company_law(), predict::CompanyLaw::kDelaysAddUp);
    const CompanyKinds kinds = company_kinds(window->catalogue);
    Rng rng(seed);
    for (const CompanyKind& kind : kinds.kinds) {
      const gpu::MemoryDomain& domain = window->catalogue.domains[kind.domain];
      std::vector<std::size_t> jobs(12);
      std::vector<std::size_t> everybody;
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        jobs[j] = j;
      }
      rng.shuffle(std::span(jobs));
      for (std::size_t s = 0; s < kind.seats.size(); ++s) {
        everybody.push_back(s);
      }
      const std::vector<double> together = steps_of(*window, kind, everybody, jobs);
      for (std::size_t s = 0; s < kind.seats.size(); ++s) {
        const double alone = steps_of(*window, kind, {s}, jobs)[0];
        double least = alone;
        for (std::size_t t = 0; t < kind.seats.size(); ++t) {
          if (t != s &&
              domain.seats[kind.seats[t]].compute == domain.seats[kind.seats[s]].compute) {
            least += steps_of(*window, kind, {s, t}, jobs)[0] - alone;
          }
        }
        ++compared;
        EXPECT_GE(together[s], std::min(least * (1 - 1e-8), kNever));
      }
    }
  }
  EXPECT_GT(compared, 3000);
}

TEST(PairPricing, Prices_NeverBelowTheExactOnes) {
  // Aim: at any prices, what pairs say a template earns at most is at least what it earns.
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto window =
        random_window({.jobs = 7, .templates_of_ten = 5, .has_users = seed % 3 == 0}, seed);
    const GroupTimer timer(window->problem);
    WorkBudget budget(INT64_MAX);
    const auto exact = CompanyPricer::make(timer, 1000000, budget);
    ASSERT_NE(exact, nullptr);
    PairPricer pairs(timer, budget);
    Rng rng(seed);
    for (int round = 0; round < 5; ++round) {
      std::vector<double> prices;
      for (std::size_t j = 0; j < 7; ++j) {
        prices.push_back(rng.chance(1, 4) ? 0 : rng.uniform());
      }
      EXPECT_GE(pairs.price(prices, 0, budget).value_max * (1 + 1e-9),
                exact->price(prices, 0, budget).value_max)
          << seed;
    }
    for (std::size_t j = 0; j < 7; ++j) {
      EXPECT_GE(pairs.rate_max(j) * (1 + 1e-9), exact->rate_max(j)) << seed;
    }
  }
}

TEST(PairPricing, LargeWindow_BoundIsBelowTimeSharing) {
  // Aim: beyond the limit of tables there still is a bound, and it says something.
  const auto window = random_window({.jobs = 90, .templates_of_ten = 1}, 3);
  WorkBudget budget(INT64_MAX);
  const auto bound = bound_window(window->problem, budget);
  ASSERT_TRUE(bound.has_value());
  ASSERT_TRUE(bound->has_value());
  double solo = 0;
  for (const plan::WindowJob& job : window->jobs) {
    solo += job.solo.to_seconds();
  }
  EXPECT_LE((*bound)->lower_bound.to_seconds(), solo);
  EXPECT_GT((*bound)->lower_bound.to_seconds(), solo / 4);
}

TEST(PairPricing, LargeWindowOfAnUnknownModel_NoBound) {
  // Aim: what cannot be proven is not claimed.
  const auto window =
      random_window({.jobs = 70, .model = test::ModelKind::kChance, .templates_of_ten = 2}, 3);
  WorkBudget budget(INT64_MAX);
  const auto bound = bound_window(window->problem, budget);
  if (bound.has_value()) {
    EXPECT_FALSE(bound->has_value());
  } else {
    EXPECT_EQ(bound.error().code, ErrorCode::kBlocked);
  }
}

}  // namespace
}  // namespace septule::optimize
