#include "serve/step_bound.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "serve/retraining_search.hpp"

namespace septule::serve {
namespace {

/// Two tenants on an A30, whose rates cross; one may retrain.
struct Case {
  gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  LayoutLattice lattice =
      LayoutLattice::make(*catalogue.find("A30-24GB").value(), gpu::ProfileSet::kPlain).value();
  GoodputProblem problem;

  Case() {
    problem.lattice = &lattice;
    problem.step_count = 6;
    for (int m = 0; m < 2; ++m) {
      GoodputTenant tenant{.name = m == 0 ? "a" : "b", .weight = 1.0 + m, .accuracy = 0.5};
      tenant.accuracy_after = 0.5;
      for (int step = 0; step < 6; ++step) {
        tenant.rate_rps.push_back(m == 0 ? 10.0 + 7 * step : 50.0 - 7 * step);
      }
      problem.tenants.push_back(tenant);
      Label label{.name = tenant.name, .serves = {{.tenant = m, .rate_rps = {}}}};
      for (std::size_t size = 0; size < lattice.sizes().size(); ++size) {
        label.serves.front().rate_rps[size] = 9.0 * lattice.sizes()[size].slices.value();
      }
      problem.labels.push_back(label);
    }
  }

  void add_retraining() {
    problem.tenants[0].accuracy_after = 0.9;
    problem.tenants[0].retraining = RetrainingNeed{.work_s = 1, .deadline_step = 6};
    Label label{.name = "a retrains", .retrains = 0};
    label.speed.fill(0.5);
    problem.labels.push_back(label);
  }
};

TEST(StepBound, Bound_IsNotBelowTheExactPlan) {
  // Aim: with and without retraining and terminal value no plan has more, and more GPUs bound more.
  for (const bool retrains : {false, true}) {
    Case one;
    one.problem.terminal_steps = 2;
    if (retrains) {
      one.add_retraining();
    }
    WorkBudget budget(100000000);
    const auto plan = plan_window(one.problem, budget);
    ASSERT_TRUE(plan.has_value());
    const auto bound = step_bound(one.problem, 1, budget);
    ASSERT_TRUE(bound.has_value()) << bound.error().message;
    EXPECT_GE(*bound, plan->objective - 1e-9);
    EXPECT_LE(*bound, step_bound(one.problem, 2, budget).value() + 1e-9);
  }
}

TEST(StepBound, ConstantRates_AreReachedWhereTheBestLayoutIsInForce) {
  // Aim: nothing is given away where one layout is best in all steps.
  Case one;
  for (GoodputTenant& tenant : one.problem.tenants) {
    std::ranges::fill(tenant.rate_rps, 30);
  }
  one.problem.labels[0].warm_up_steps = 0;
  one.problem.labels[1].warm_up_steps = 0;
  WorkBudget budget(100000000);
  const auto plan = plan_window(one.problem, budget);
  ASSERT_TRUE(plan.has_value());
  EXPECT_NEAR(step_bound(one.problem, 1, budget).value(), plan->objective, 1e-6);
}

TEST(StepBound, NoRequests_AreWorthNothing) {
  // Aim: steps without requests need no plan.
  Case one;
  for (GoodputTenant& tenant : one.problem.tenants) {
    std::ranges::fill(tenant.rate_rps, 0);
  }
  WorkBudget budget(1);
  EXPECT_DOUBLE_EQ(step_bound(one.problem, 1, budget).value(), 0);
}

TEST(StepBound, LimitsAndPairs_AreErrors) {
  // Aim: what cannot be bounded is said, not guessed.
  Case one;
  WorkBudget none(1);
  none.spend(1);
  EXPECT_EQ(step_bound(one.problem, 1, none).error().code, ErrorCode::kTimedOut);
  one.problem.labels[0].serves.push_back({.tenant = 1, .rate_rps = {}});
  WorkBudget budget(1000);
  EXPECT_EQ(step_bound(one.problem, 1, budget).error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace septule::serve
