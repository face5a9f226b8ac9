#include "serve/goodput_checker.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "serve/goodput_support.hpp"
#include "serve/retraining_search.hpp"

namespace septule::serve {
namespace {

using test::a30;
using test::draw_problem;

bool has(const GoodputJudgement& judgement, GoodputFault fault) {
  return std::ranges::any_of(judgement.violations, [&](const GoodputViolation& violation) {
    return violation.fault == fault;
  });
}

/// A plan that says of itself what the judge finds.
GoodputPlan honest(const GoodputProblem& problem, std::vector<LabelledLayout> layouts) {
  GoodputPlan plan;
  plan.layouts = std::move(layouts);
  const GoodputJudgement judgement = check_goodput_plan(problem, plan);
  plan.goodput = judgement.goodput;
  plan.objective = judgement.goodput + judgement.terminal;
  plan.bound = plan.objective;
  plan.retrained_from = judgement.retrained_from;
  return plan;
}

/// One tenant with one 1g label (rate 10, warm-up 1, cost 2) and a trainer, three steps of 2 s.
GoodputProblem small_problem() {
  GoodputProblem problem;
  problem.lattice = &a30();
  problem.step = Duration::milliseconds(2000);
  problem.step_count = 3;
  GoodputTenant tenant;
  tenant.name = "alpha";
  tenant.weight = 2;
  tenant.accuracy = 0.5;
  tenant.accuracy_after = 0.75;
  tenant.rate_rps = {4, 15, 25};
  tenant.retraining = RetrainingNeed{2.0, 0, 3};
  problem.tenants = {tenant};
  Label serving;
  serving.name = "alpha";
  serving.serves = {{0, {10, 20, 40}}};
  serving.creation_cost = 2;
  Label training;
  training.name = "alpha retrains";
  training.retrains = 0;
  training.speed = {0.5, 1, 1};
  problem.labels = {serving, training};
  return problem;
}

/// The 1g placements of the A30, by start.
std::vector<int> small_places() {
  std::vector<int> places;
  for (int p = 0; p < static_cast<int>(a30().placements().size()); ++p) {
    if (a30().placements()[static_cast<std::size_t>(p)].size == 0) {
      places.push_back(p);
    }
  }
  return places;
}

TEST(CheckGoodputPlan_Counts, WorkedExample_AsByHand) {
  // Two instances created at steps 0 and 1, a trainer on 1g from step 0: counted by hand.
  GoodputProblem problem = small_problem();
  const std::vector<int> p = small_places();
  problem.terminal_steps = 3;
  problem.tenants[0].retraining->work_s = 1.0;  // one ready step at speed 0.5
  const GoodputPlan plan = honest(
      problem, {{{p[0], 0}, {p[1], 1}}, {{p[0], 0}, {p[1], 1}, {p[2], 0}}, {{p[0], 0}, {p[2], 0}}});
  const GoodputJudgement judgement = check_goodput_plan(problem, plan);
  EXPECT_TRUE(judgement.violations.empty());
  // Step 0: nothing ready. Step 1: one ready, min(30, 20). Step 2: both, min(50, 40), retrained.
  EXPECT_EQ(judgement.served[0], (std::vector<double>{0, 20, 40}));
  EXPECT_EQ(judgement.retrained_from[0], 2);
  EXPECT_EQ(judgement.creations, 3);
  EXPECT_DOUBLE_EQ(judgement.goodput, 2 * 0.5 * 20 + 2 * 0.75 * 40 - 2 * 2);
  EXPECT_DOUBLE_EQ(judgement.terminal, 3 * 2 * 0.75 * 40);
}

TEST(CheckGoodputPlan_Faults, EveryKind_IsFound) {
  // A plan that keeps all rules, broken in one way at a time.
  const GoodputProblem problem = small_problem();
  const std::vector<int> p = small_places();
  const LabelledLayout one = {{p[0], 0}};
  const std::vector<LabelledLayout> layouts = {one, one, one};
  const GoodputPlan good = honest(problem, layouts);
  ASSERT_TRUE(check_goodput_plan(problem, good).violations.empty());
  const auto found = [&](const GoodputProblem& judged, const std::vector<LabelledLayout>& broken) {
    return check_goodput_plan(judged, honest(judged, broken));
  };
  EXPECT_TRUE(has(found(problem, {one, one}), GoodputFault::kShape));
  EXPECT_TRUE(has(found(problem, {one, {{99, 0}}, one}), GoodputFault::kShape));
  EXPECT_TRUE(has(found(problem, {one, {{p[0], 5}}, one}), GoodputFault::kShape));
  EXPECT_TRUE(has(found(problem, {one, {{p[1], 0}, {p[0], 0}}, one}), GoodputFault::kShape));
  LabelledLayout all;
  for (int i = 0; i < static_cast<int>(a30().placements().size()); ++i) {
    all.push_back({i, 0});
  }
  EXPECT_TRUE(has(found(problem, {one, all, one}), GoodputFault::kLayout));
  const LabelledLayout trainers = {{p[0], 1}, {p[1], 1}};
  EXPECT_TRUE(has(found(problem, {one, trainers, one}), GoodputFault::kRetraining));
  GoodputProblem frozen = problem;
  frozen.initial = {{p[1], 0}};
  frozen.frozen = std::uint32_t{1} << static_cast<unsigned>(p[1]);
  EXPECT_TRUE(has(found(frozen, layouts), GoodputFault::kFrozen));
  GoodputProblem limited = problem;
  limited.changes_per_step_max = 0;
  EXPECT_TRUE(has(found(limited, layouts), GoodputFault::kChanges));
  GoodputProblem dwelling = problem;
  dwelling.dwell_steps = 2;
  EXPECT_TRUE(has(found(dwelling, {one, {}, {}}), GoodputFault::kDwell));
  EXPECT_FALSE(has(found(dwelling, {one, one, {}}), GoodputFault::kDwell));
  EXPECT_FALSE(has(found(dwelling, {{}, {}, one}), GoodputFault::kDwell));
  GoodputProblem floored = problem;
  floored.tenants[0].floor_share = 0.1;
  EXPECT_TRUE(has(found(floored, layouts), GoodputFault::kFloor));
}

TEST(CheckGoodputPlan_Figures, LiesAboutItself_AreFound) {
  // Goodput, objective, bound, proof and the step of the new model must be what comes out.
  const GoodputProblem problem = small_problem();
  const LabelledLayout one = {{small_places()[0], 0}};
  const GoodputPlan good = honest(problem, {one, one, one});
  const auto judged = [&](const std::function<void(GoodputPlan&)>& lie) {
    GoodputPlan plan = good;
    lie(plan);
    return check_goodput_plan(problem, plan);
  };
  EXPECT_TRUE(has(judged([](auto& plan) { plan.goodput += 1; }), GoodputFault::kFigures));
  EXPECT_TRUE(has(judged([](auto& plan) { plan.objective += 1; }), GoodputFault::kFigures));
  EXPECT_TRUE(has(judged([](auto& plan) { plan.bound -= 1; }), GoodputFault::kFigures));
  EXPECT_TRUE(has(judged([](auto& plan) {
                    plan.bound += 1;
                    plan.proof = GoodputProof::kOptimal;
                  }),
                  GoodputFault::kFigures));
  EXPECT_TRUE(
      has(judged([](auto& plan) { plan.retrained_from = {1}; }), GoodputFault::kRetraining));
  EXPECT_FALSE(has(judged([](auto& plan) { plan.bound += 1; }), GoodputFault::kFigures));
}

TEST(CheckGoodputPlan_Value, RandomLayouts_AsThePlannersCount) {
  // The planners' own figures (value_plan) and the judge's agree on any layouts, good or bad.
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    GoodputProblem problem =
        draw_problem(a30(), seed, {.steps = 6, .warm_up_max = 3, .retrains = seed % 2 == 0});
    Rng rng = Rng(seed).stream("layouts");
    problem.dwell_steps = static_cast<int>(rng.below(3));
    problem.tenants[0].floor_share = rng.chance(1, 4) ? 0.1 : 0.0;
    if (rng.chance(1, 2)) {
      problem.changes_per_step_max = 2;
    }
    if (!problem.initial.empty() && rng.chance(1, 3)) {
      problem.frozen = std::uint32_t{1} << static_cast<unsigned>(problem.initial[0].placement);
    }
    std::vector<LabelledLayout> layouts;
    for (int t = 0; t < problem.step_count; ++t) {
      const bool stays = t > 0 && rng.chance(1, 2);
      layouts.push_back(stays ? layouts.back() : test::draw_layout(rng, problem));
    }
    const GoodputJudgement judgement = check_goodput_plan(problem, honest(problem, layouts));
    const PlanValue value = value_plan(problem, layouts);
    EXPECT_EQ(value.is_feasible, judgement.violations.empty());
    if (value.is_feasible) {
      EXPECT_NEAR(value.goodput, judgement.goodput, 1e-6);
      EXPECT_NEAR(value.objective, judgement.goodput + judgement.terminal, 1e-6);
    }
    EXPECT_EQ(value.retrained_from, judgement.retrained_from);
  }
}

}  // namespace
}  // namespace septule::serve
