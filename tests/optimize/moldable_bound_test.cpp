#include "optimize/moldable_bound.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "optimize/moldable_cases.hpp"
#include "optimize/moldable_exhaustive.hpp"

namespace septule::optimize {
namespace {

constexpr auto ms = Duration::milliseconds;

TEST(MoldableBound, Bounds_TasksOf4gOnly_KnowThatOneFits) {
  // Ten tasks that fit 4g only: there is one 4g place, so 10 s, where the area says 40/7 s.
  const test::MoldableBench bench("A100-40GB", test::MoldableBench::Costs::kFree);
  const MoldableProblem problem =
      bench.problem(std::vector<std::vector<std::int64_t>>(10, {0, 0, 0, 1000, 0}));
  const Result<MoldableBounds> bounds = moldable_bounds(problem);
  EXPECT_NEAR(bounds->layouts.to_seconds(), 10, 1e-6);
  EXPECT_NEAR(bounds->area.to_seconds(), 40.0 / 7, 1e-6);
  EXPECT_LE(bounds->layouts, ms(10000));
}

TEST(MoldableBound, Bounds_OneTask_CountsItsCreation) {
  // One task: the least of creation and time together.
  const test::MoldableBench bench("A100-40GB");
  const Result<MoldableBounds> bounds = moldable_bounds(bench.problem({{900, 890, 0, 0, 850}}));
  EXPECT_EQ(bounds->longest, ms(1060));
  EXPECT_EQ(bounds->best(), ms(1060));
}

TEST(MoldableBound, Bounds_NoTasks_AreZero) {
  // Nothing to do takes no time, not even a creation.
  const test::MoldableBench bench("A100-40GB");
  EXPECT_EQ(moldable_bounds(bench.problem({}))->best(), Duration());
}

TEST(MoldableBound, Bounds_AllTinyCases_AreNeverAboveTheOptimum) {
  // Against exhaustive search: the bound holds, also with prices that mean nothing.
  const test::MoldableBench bench("A30-24GB");
  double sum_ratio = 0;
  constexpr int kCases = 400;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const MoldableProblem problem = bench.random_problem(seed, 4);
    const Duration optimum = test::exhaustive_makespan(problem);
    const Result<MoldableBounds> bounds = moldable_bounds(problem);
    ASSERT_LE(bounds->best(), optimum) << seed;
    ASSERT_GE(bounds->layouts, bounds->area) << seed;
    Rng rng(seed);
    std::vector<double> prices;
    for (std::size_t size = 0; size < bench.gpu().sizes().size(); ++size) {
      prices.push_back(rng.uniform() * 1e6);
    }
    ASSERT_LE(priced_bound(problem, prices), optimum.to_nanoseconds()) << seed;
    sum_ratio += optimum.to_seconds() / bounds->best().to_seconds();
  }
  EXPECT_LT(sum_ratio / kCases, 1.6);
}

TEST(MoldableBound, PricedBound_ScaledPrices_AreTheSame) {
  // Only the proportion of prices counts; no prices prove nothing.
  const test::MoldableBench bench("A100-40GB");
  const MoldableProblem problem = bench.drawn(MoldableMix::kUniform, 30, 1);
  const std::vector<double> prices = {1, 2, 3, 4, 7};
  std::vector<double> thousandfold = prices;
  for (double& price : thousandfold) {
    price *= 1000;
  }
  EXPECT_NEAR(static_cast<double>(priced_bound(problem, thousandfold)),
              static_cast<double>(priced_bound(problem, prices)),
              2);
  EXPECT_EQ(priced_bound(problem, std::vector<double>(5, 0.0)), 0);
  EXPECT_NEAR(static_cast<double>(priced_bound(problem, prices)),
              static_cast<double>(moldable_bounds(problem)->area.to_nanoseconds()),
              2);
}

TEST(MoldableBound, Bounds_MoreRounds_AreNotWeaker) {
  // Rounds only raise the bound, and without any it is the area.
  const test::MoldableBench bench("A100-40GB");
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const MoldableProblem problem = bench.drawn(MoldableMix::kGood, 20, seed);
    Duration last;
    for (const int rounds : {0, 1, 2, 5, 60}) {
      const Duration bound = moldable_bounds(problem, rounds)->layouts;
      EXPECT_GE(bound, last);
      last = bound;
    }
  }
}

}  // namespace
}  // namespace septule::optimize
