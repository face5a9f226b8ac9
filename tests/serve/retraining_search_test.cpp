#include "serve/retraining_search.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "serve/goodput_support.hpp"
#include "serve/retraining_facts.hpp"
#include "serve/window_cases.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::a30;
using test::draw_problem;
using test::DrawOptions;
using test::expect_sound;
using test::make_case;
using test::near;
using test::window_plan_of;

constexpr std::int64_t kUnits = 1'000'000'000;
// Searches as if outright answers were out of reach.
const RetrainingOptions kSearchOnly{.exact_units_max = 0};

TEST(PlanWindow_Exact, SmallCases_AsGoodAsAllSequences) {
  // Oracle (b) with retraining: all sequences of labelled layouts; the search stays below, its
  // bound above.
  int retrained = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const DrawOptions options{
        .steps = seed % 2 == 0 ? 3 : 4, .sizes_useful = 1, .has_early = false, .retrains = true};
    GoodputProblem problem = draw_problem(a30(), seed, options);
    for (Label& label : problem.labels) {
      label.warm_up_steps = std::max(1, label.warm_up_steps);
      if (label.retrains.has_value()) {  // trains on one size only
        const std::size_t size = seed % 3;
        label.speed = {};
        label.speed[size] = 0.5;
      }
    }
    for (GoodputTenant& tenant : problem.tenants) {
      if (tenant.retraining.has_value()) {
        tenant.retraining->work_s /= 2;
        tenant.accuracy_after = 1;
      }
    }
    problem.terminal_steps = 4;
    const double choices = static_cast<double>(test::useful_layouts(problem).size());
    if (std::pow(choices, problem.step_count) > 60'000) {
      continue;
    }
    const double best = test::brute_force(problem);
    const GoodputPlan exact = window_plan_of(problem);
    expect_sound(problem, exact);
    EXPECT_NEAR(exact.objective, best, near(best));
    EXPECT_EQ(exact.proof, GoodputProof::kOptimal);
    retrained +=
        std::ranges::any_of(exact.retrained_from, [](const auto& from) { return from.has_value(); })
            ? 1
            : 0;
    const GoodputPlan search = window_plan_of(problem, kSearchOnly);
    expect_sound(problem, search);
    EXPECT_LE(search.objective, best + near(best));
    EXPECT_GE(search.bound, best - near(best));
  }
  EXPECT_GT(retrained, 5);
}

TEST(PlanWindow_Bounds, SearchJointAndRelaxations_InOrder) {
  // Oracle (j): search <= exact joint program <= joint relaxation <= retraining for nothing.
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const DrawOptions options{.steps = 12, .has_early = seed % 2 == 0, .retrains = true};
    GoodputProblem problem = draw_problem(a30(), seed, options);
    for (GoodputTenant& tenant : problem.tenants) {
      if (tenant.retraining.has_value()) {
        tenant.retraining->work_s *= 2;
        tenant.retraining->deadline_step = 10;
      }
    }
    WorkBudget budget(kUnits);
    const GoodputPlan exact = window_plan_of(problem, {.exact_units_max = kUnits});
    const GoodputPlan search = window_plan_of(problem, kSearchOnly);
    const auto bound = window_bound(problem, budget);
    const auto free = multiset_bound(problem, budget);
    ASSERT_TRUE(bound.has_value());
    ASSERT_TRUE(free.has_value());
    expect_sound(problem, exact);
    expect_sound(problem, search);
    EXPECT_LE(search.objective, exact.objective + near(exact.objective));
    EXPECT_GE(bound->value, exact.objective - near(exact.objective));
    EXPECT_GE(*free, bound->value - near(*free));
    EXPECT_GE(search.objective, 0.97 * exact.objective);
  }
}

TEST(PlanWindow_Quality, TwoTenantsFortySteps_WithinHalfAPercentOfTheBound) {
  // "Must hold" 2 of the issue, on made-up arrivals.
  for (const double work_s : {10.0, 20.0, 30.0}) {
    const GoodputProblem problem = make_case(a100(), {.steps = 40, .step_s = 5, .work_s = work_s});
    const GoodputPlan plan = window_plan_of(problem);
    expect_sound(problem, plan);
    EXPECT_LE(plan.bound, plan.objective * 1.005);
    EXPECT_TRUE(plan.retrained_from[0].has_value() || plan.retrained_from[1].has_value());
  }
}

TEST(PlanWindow_Rules, FrozenDwellAndLimits_AreKept) {
  // Whatever the rules, plans are sound and bounds hold against the same problem without them.
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const DrawOptions options{.steps = 10, .warm_up_max = 2, .retrains = true};
    GoodputProblem problem = draw_problem(a30(), seed, options);
    const double free = window_plan_of(problem).bound;
    if (seed % 3 == 0 && !problem.initial.empty()) {
      problem.frozen = std::uint32_t{1} << static_cast<unsigned>(problem.initial.front().placement);
    }
    problem.dwell_steps = seed % 3 == 1 ? 3 : 0;
    if (seed % 3 == 2) {
      problem.changes_per_step_max = 1;
    }
    for (const RetrainingOptions& how : {RetrainingOptions{}, kSearchOnly}) {
      const GoodputPlan plan = window_plan_of(problem, how);
      expect_sound(problem, plan);
      EXPECT_LE(plan.objective, free + near(free));
    }
  }
}

TEST(PlanWindow_Running, JobInForce_GoesOnInItsPlace) {
  // An instance that already retrains needs no warm-up and is not moved.
  GoodputProblem problem = make_case(a100(), {.steps = 12, .step_s = 5, .work_s = 3});
  const int training = 1;  // "resnet50 retrains"
  ASSERT_TRUE(problem.labels[training].retrains.has_value());
  const auto place = std::ranges::find(a100().placements(), 2, &SizePlacement::size);
  problem.initial = {{static_cast<int>(place - a100().placements().begin()), training}};
  const GoodputPlan plan = window_plan_of(problem);
  expect_sound(problem, plan);
  ASSERT_TRUE(plan.retrained_from[0].has_value());
  EXPECT_EQ(*plan.retrained_from[0], 1);
}

TEST(PlanWindow_NotWorthIt, NoGain_IsPlannedWithoutRetraining) {
  // Work that cannot be done in time, or that gains nothing, leaves the exact program's plan.
  GoodputProblem problem = make_case(a100(), {.steps = 10, .step_s = 5, .work_s = 1000});
  EXPECT_FALSE(is_worth_retraining(problem, 0));
  const GoodputPlan late = window_plan_of(problem);
  EXPECT_EQ(late.proof, GoodputProof::kOptimal);
  EXPECT_EQ(late.method, "layout-dp");
  for (GoodputTenant& tenant : problem.tenants) {
    tenant.retraining->work_s = 5;
    tenant.accuracy_after = tenant.accuracy;
  }
  EXPECT_EQ(window_plan_of(problem).objective, late.objective);
}

TEST(PlanWindow_Budget, AnyLimit_GivesASoundPlan) {
  // Less work never gives an unsound plan or a bound below a plan that exists.
  const GoodputProblem problem = make_case(a100(), {.steps = 20, .step_s = 5, .work_s = 15});
  const GoodputPlan full = window_plan_of(problem);
  for (const std::int64_t units : {0, 1'000, 30'000, 150'000, 1'000'000, 4'000'000}) {
    WorkBudget budget(units);
    const auto plan = plan_window(problem, budget);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    expect_sound(problem, *plan);
    EXPECT_GE(plan->bound, full.objective - near(full.objective));
  }
}

TEST(PlanWindow_Repeat, EqualInput_EqualPlan) {
  // Nothing but the problem decides.
  const GoodputProblem problem =
      make_case(a100(), {.tenants = 3, .steps = 15, .step_s = 5, .work_s = 10});
  const GoodputPlan first = window_plan_of(problem);
  const GoodputPlan second = window_plan_of(problem);
  EXPECT_EQ(first.layouts, second.layouts);
  EXPECT_EQ(first.bound, second.bound);
  expect_sound(problem, first);
}

}  // namespace
}  // namespace septule::serve
