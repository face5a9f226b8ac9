#include "serve/layout_dp.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "serve/goodput_support.hpp"
#include "serve/window_cases.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::a30;
using test::brute_force;
using test::draw_problem;
using test::DrawOptions;
using test::expect_sound;
using test::near;

constexpr std::int64_t kUnits = 1'000'000'000;

GoodputPlan plan_of(const GoodputProblem& problem, const LayoutDpOptions& options = {}) {
  WorkBudget budget(kUnits);
  auto plan = plan_layouts(problem, budget, options);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan.has_value() ? *plan : GoodputPlan{};
}

double bound_of(const GoodputProblem& problem) {
  WorkBudget budget(kUnits);
  const auto bound = multiset_bound(problem, budget);
  EXPECT_TRUE(bound.has_value());
  return bound.has_value() ? *bound : 0;
}

/// The program's plan is sound, optimal and as good as the best of all sequences.
void expect_exact(const GoodputProblem& problem, std::uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const double best = brute_force(problem);
  WorkBudget budget(kUnits);
  const auto plan = plan_layouts(problem, budget);
  if (std::isinf(best)) {
    ASSERT_FALSE(plan.has_value());
    EXPECT_EQ(plan.error().code, ErrorCode::kBlocked);
    return;
  }
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  expect_sound(problem, *plan);
  EXPECT_EQ(plan->proof, GoodputProof::kOptimal);
  EXPECT_EQ(plan->bound, plan->objective);
  EXPECT_NEAR(plan->objective, best, near(best));
  EXPECT_GE(bound_of(problem), plan->objective - near(best));
}

TEST(PlanLayouts_Exact, FourSliceGpuTwoSteps_AsGoodAsAllSequences) {
  // Oracle (b): every pair of all labelled layouts of the A30, costs and terminal values drawn.
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    expect_exact(draw_problem(a30(), seed, {.steps = 2}), seed);
  }
}

TEST(PlanLayouts_Exact, FourSliceGpuFourSteps_AsGoodAsAllSequences) {
  // The same over four steps with fewer sizes of use.
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const DrawOptions options{.steps = 4, .sizes_useful = 1, .has_initial = seed % 2 == 0};
    const GoodputProblem problem = draw_problem(a30(), seed, options);
    if (test::useful_layouts(problem).size() <= 16) {
      expect_exact(problem, seed);
    }
  }
}

TEST(PlanLayouts_Exact, SevenSliceGpuTwoSteps_AsGoodAsAllSequences) {
  // A100 geometry with one size for each tenant.
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const DrawOptions options{.steps = 2, .sizes_useful = 1};
    const GoodputProblem problem = draw_problem(a100(), seed, options);
    if (test::useful_layouts(problem).size() <= 200) {
      expect_exact(problem, seed);
    }
  }
}

TEST(PlanLayouts_Exact, LongWarmUps_AsGoodAsAllSequences) {
  // Ages in the labels: warm-ups of up to three steps.
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const DrawOptions options{.steps = 4, .sizes_useful = 1, .warm_up_max = 3};
    const GoodputProblem problem = draw_problem(a30(), seed, options);
    if (test::useful_layouts(problem).size() <= 16) {
      expect_exact(problem, seed);
    }
  }
}

TEST(PlanLayouts_Exact, Dwell_AsGoodAsAllSequences) {
  // A new instance stays for some steps, also one that serves at once. Tenants that are busy in
  // turn make that cost something.
  int binding = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const DrawOptions options{.steps = 4, .sizes_useful = 1, .has_costs = false};
    GoodputProblem problem = draw_problem(a30(), seed, options);
    for (std::size_t t = 0; t < 4; ++t) {
      problem.tenants[(t + seed) / (1 + seed % 2) % 2].rate_rps[t] = 0;
    }
    if (test::useful_layouts(problem).size() > 16) {
      continue;
    }
    const double free = brute_force(problem);
    problem.dwell_steps = 2 + static_cast<int>(seed % 3);
    binding += brute_force(problem) < free - near(free) ? 1 : 0;
    expect_exact(problem, seed);
  }
  EXPECT_GT(binding, 3);
}

TEST(PlanLayouts_Exact, LimitOnChanges_AsGoodAsAllSequences) {
  // No, one or two new instances a step.
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    GoodputProblem problem = draw_problem(a30(), seed, {.steps = 2, .has_early = false});
    problem.changes_per_step_max = static_cast<int>(seed % 3);
    expect_exact(problem, seed);
  }
}

TEST(PlanLayouts_Exact, FloorsAndFrozen_AsGoodAsAllSequences) {
  // Floors rule sequences out, perhaps all of them; a frozen instance stays and serves.
  int blocked = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    GoodputProblem problem = draw_problem(a30(), seed, {.steps = 2});
    problem.tenants[seed % 2].floor_share = 0.2 * static_cast<double>(seed % 4);
    if (!problem.initial.empty()) {
      problem.frozen = std::uint32_t{1} << static_cast<unsigned>(problem.initial.back().placement);
    }
    blocked += std::isinf(brute_force(problem)) ? 1 : 0;
    expect_exact(problem, seed);
  }
  EXPECT_GT(blocked, 0);
  EXPECT_LT(blocked, 40);
}

TEST(PlanLayouts_Exact, PairLabels_AsGoodAsAllSequences) {
  // A label that serves two tenants.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    GoodputProblem problem = draw_problem(a30(), seed, {.steps = 2, .sizes_useful = 2});
    Label pair = problem.labels[0];
    pair.name = "pair";
    pair.serves.push_back(problem.labels[1].serves[0]);
    for (Label::Output& output : pair.serves) {
      for (double& rate : output.rate_rps) {
        rate *= 0.7;
      }
    }
    problem.labels.push_back(pair);
    expect_exact(problem, seed);
  }
}

TEST(PlanLayouts_Checkpoints, LittleMemory_GivesTheSamePlan) {
  // Stretches worked out again lead back the same way as layers kept.
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const GoodputProblem problem = draw_problem(a100(), seed, {.steps = 23});
    const GoodputPlan kept = plan_of(problem);
    const GoodputPlan again = plan_of(problem, {.bytes_max = 1});
    EXPECT_EQ(kept.layouts, again.layouts);
    EXPECT_EQ(kept.objective, again.objective);
    expect_sound(problem, kept);
  }
}

TEST(PlanLayouts_Bounds, MultisetsAndHeuristics_OnTheirSidesOfTheOptimum) {
  // Oracle (j): multiset bound >= exact >= every heuristic; the heuristics' bounds hold too.
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    GoodputProblem problem =
        draw_problem(a30(), seed, {.steps = 12, .warm_up_max = 3, .has_early = seed % 2 == 0});
    problem.dwell_steps = static_cast<int>(seed % 4);
    const GoodputPlan exact = plan_of(problem);
    EXPECT_EQ(exact.proof, GoodputProof::kOptimal);
    EXPECT_GE(bound_of(problem), exact.objective - near(exact.objective));
    for (const std::int64_t states_max : {200, 60}) {
      const GoodputPlan plan = plan_of(problem, {.states_max = states_max, .multisets_max = 100});
      expect_sound(problem, plan);
      EXPECT_LE(plan.objective, exact.objective + near(exact.objective));
      EXPECT_GE(plan.bound, exact.objective - near(exact.objective));
    }
  }
}

TEST(PlanLayouts_Monotone, MoreOfAnything_NeverLosesGoodput) {
  // Oracle (f): more throughput, a size more, or more arrivals never lower the optimum.
  for (std::uint64_t seed = 0; seed < 15; ++seed) {
    const GoodputProblem problem = draw_problem(a100(), seed, {.steps = 10, .sizes_useful = 3});
    const double before = plan_of(problem).objective;
    GoodputProblem faster = problem;
    faster.labels[0].serves[0].rate_rps[1] *= 1.3;
    EXPECT_GE(plan_of(faster).objective, before - near(before));
    GoodputProblem wider = problem;
    for (double& rate : wider.labels[1].serves[0].rate_rps) {
      rate = std::max(rate, 7.0);
    }
    EXPECT_GE(plan_of(wider).objective, before - near(before));
    GoodputProblem busier = problem;
    busier.tenants[0].rate_rps[5] += 10;
    EXPECT_GE(plan_of(busier).objective, before - near(before));
    GoodputProblem cheaper = problem;
    cheaper.labels[0].creation_cost = 0;
    EXPECT_GE(plan_of(cheaper).objective, before - near(before));
  }
}

TEST(PlanLayouts_Budget, AnyLimit_GivesASoundPlanOrSaysWhy) {
  // Whatever the limit, the plan is sound, its bound holds, and more work never proves less.
  const GoodputProblem problem = draw_problem(a100(), 3, {.tenants = 3, .steps = 20});
  const GoodputPlan exact = plan_of(problem);
  for (const std::int64_t units : {0, 100, 5'000, 50'000, 300'000, 600'000}) {
    WorkBudget budget(units);
    const auto plan = plan_layouts(problem, budget);
    if (!plan.has_value()) {
      EXPECT_EQ(plan.error().code, ErrorCode::kTimedOut);
      continue;
    }
    expect_sound(problem, *plan);
    EXPECT_LE(plan->objective, exact.objective + near(exact.objective));
    EXPECT_GE(plan->bound, exact.objective - near(exact.objective));
  }
  WorkBudget budget(kUnits);
  EXPECT_EQ(plan_layouts(problem, budget)->layouts, exact.layouts);
}

TEST(PlanLayouts_Input, Retraining_IsRefused) {
  // The exact program does not plan retraining and says who does.
  const GoodputProblem problem = test::make_case(a100(), {.steps = 4, .step_s = 5, .work_s = 5});
  WorkBudget budget(kUnits);
  const auto plan = plan_layouts(problem, budget);
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(plan.error().message.find("resnet50"), std::string::npos);
}

}  // namespace
}  // namespace septule::serve
