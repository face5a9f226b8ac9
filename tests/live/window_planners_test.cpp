#include <cstdint>

#include <gtest/gtest.h>

#include "live/milp_solvers.hpp"
#include "serve/goodput_support.hpp"
#include "serve/layout_dp.hpp"
#include "serve/window_milp.hpp"

namespace septule::live {
namespace {

using serve::GoodputPlan;
using serve::GoodputProblem;
using serve::GoodputProof;

class WindowPlannersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (solver_ == nullptr) {
      GTEST_SKIP() << "built without CBC (package coinor-libcbc-dev)";
    }
  }
  /// The exact program and the ILP agree on the optimum, and each is a bound of the other.
  void expect_equal(const GoodputProblem& problem, std::uint64_t seed) {
    WorkBudget budget(100'000'000);
    const Result<GoodputPlan> exact = serve::plan_layouts(problem, budget);
    const Result<GoodputPlan> by_milp = serve::plan_window_by_milp(problem, *solver_);
    ASSERT_EQ(exact.has_value(), by_milp.has_value()) << "seed " << seed;
    if (!exact) {
      EXPECT_EQ(exact.error().code, by_milp.error().code) << "seed " << seed;
      return;
    }
    ASSERT_EQ(exact->proof, GoodputProof::kOptimal) << "seed " << seed;
    EXPECT_EQ(by_milp->proof, GoodputProof::kOptimal) << "seed " << seed;
    EXPECT_NEAR(exact->objective, by_milp->objective, 1e-6 * std::max(1.0, exact->objective))
        << "seed " << seed;
  }

  std::unique_ptr<port::MilpSolver> solver_ = make_milp_solver();
};

TEST_F(WindowPlannersTest, SevenSlices_ProgramsAgree) {
  // Aim: oracle of serving.md section 5 b on a real GPU: ILP = DP for four steps, two tenants, with
  // a layout in force, creation costs and terminal value.
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    expect_equal(serve::test::draw_problem(
                     serve::test::a100(), seed, {.tenants = 2, .steps = 4, .sizes_useful = 4}),
                 seed);
  }
}

TEST_F(WindowPlannersTest, FloorsAndFrozen_ProgramsAgree) {
  // Aim: the same with floors (some out of reach), limits on changes and frozen instances.
  for (std::uint64_t seed = 101; seed <= 130; ++seed) {
    GoodputProblem problem =
        serve::test::draw_problem(serve::test::a30(), seed, {.tenants = 2, .steps = 5});
    problem.tenants[seed % 2].floor_share = 0.1 * static_cast<double>(seed % 5);
    if (seed % 3 == 0 && !problem.initial.empty()) {
      problem.frozen = 1U << static_cast<unsigned>(problem.initial[0].placement);
    }
    expect_equal(problem, seed);
  }
}

TEST_F(WindowPlannersTest, LongWarmUpsAndDwell_ProgramsAgree) {
  // Aim: ages of instances in the exact program against the ILP's readiness and dwell rows.
  for (std::uint64_t seed = 201; seed <= 220; ++seed) {
    GoodputProblem problem = serve::test::draw_problem(
        serve::test::a30(), seed, {.tenants = 2, .steps = 6, .warm_up_max = 3});
    problem.dwell_steps = static_cast<int>(seed % 4);
    expect_equal(problem, seed);
  }
}

}  // namespace
}  // namespace septule::live
