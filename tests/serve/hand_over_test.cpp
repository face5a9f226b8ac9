// HandOver::kRelabel of goodput_problem.hpp: the judge, the planners' count, the exact programs and
// the bounds.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "serve/goodput_support.hpp"
#include "serve/layout_dp.hpp"
#include "serve/retraining_search.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::a30;
using test::brute_force;
using test::draw_problem;
using test::DrawOptions;
using test::expect_sound;
using test::near;
using test::window_plan_of;

constexpr std::int64_t kUnits = 1'000'000'000;

double bound_of(const GoodputProblem& problem) {
  WorkBudget budget(kUnits);
  return window_bound(problem, budget).value().value;
}

/// A drawn problem with hand-overs; `rules` draws groups and memory that forbid some.
GoodputProblem drawn(std::uint64_t seed, DrawOptions options, bool rules = false) {
  options.has_early = false;
  GoodputProblem problem = draw_problem(a30(), seed, options);
  problem.hand_over = HandOver::kRelabel;
  Rng rng = Rng(seed).stream("rules");
  for (Label& label : problem.labels) {
    label.warm_up_steps = std::max(1, label.warm_up_steps);
    label.creation_cost /= 4;
    label.group = rules && rng.chance(1, 3) ? 1 : 0;
    for (double& memory : label.memory) {
      memory = rules ? 0.7 * rng.uniform() : 0;
    }
  }
  return problem;
}

GoodputPlan honest(const GoodputProblem& problem, std::vector<LabelledLayout> layouts) {
  const PlanValue value = value_plan(problem, layouts);
  GoodputPlan plan;
  plan.layouts = std::move(layouts);
  plan.retrained_from = value.retrained_from;
  plan.goodput = value.goodput;
  plan.objective = value.objective;
  plan.bound = value.objective;
  return plan;
}

/// The best plan is as good as all sequences, and the bounds hold.
void expect_exact(const GoodputProblem& problem) {
  const double best = brute_force(problem);
  WorkBudget budget(kUnits);
  const auto plan = plan_window(problem, budget);
  if (std::isinf(best)) {
    EXPECT_FALSE(plan.has_value());
    return;
  }
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  expect_sound(problem, *plan);
  EXPECT_EQ(plan->proof, GoodputProof::kOptimal);
  EXPECT_NEAR(plan->objective, best, near(best));
  EXPECT_GE(bound_of(problem), best - near(best));
}

bool is_small(const GoodputProblem& problem) {
  const auto choices = static_cast<double>(test::useful_layouts(problem).size());
  return std::pow(choices, problem.step_count) <= 70'000;
}

/// One instance for two tenants, 10 and 4 requests per second on it, steps of a second.
GoodputProblem two_on_one() {
  GoodputProblem problem;
  problem.lattice = &a30();
  problem.step_count = 6;
  for (int m = 0; m < 2; ++m) {
    problem.tenants.push_back(
        {.name = "t" + std::to_string(m), .rate_rps = std::vector<double>(6, 100.0)});
    Label label{.name = "t" + std::to_string(m), .warm_up_steps = 3, .creation_cost = 1};
    label.serves.push_back({.tenant = m});
    label.serves[0].rate_rps.fill(m == 0 ? 10 : 4);
    problem.labels.push_back(label);
  }
  problem.initial = {{0, 0}};
  problem.hand_over = HandOver::kRelabel;
  return problem;
}

using Served = std::vector<double>;

TEST(HandOver_Judge, OldOneGoesOn_UntilTheNewOneIsReady) {
  // By hand: ten requests a step in the three steps of the warm-up, then four; one creation.
  const GoodputProblem problem = two_on_one();
  const std::vector<LabelledLayout> layouts(6, {{0, 1}});
  const GoodputJudgement judged = check_goodput_plan(problem, honest(problem, layouts));
  EXPECT_TRUE(judged.violations.empty());
  EXPECT_EQ(judged.served[0], (Served{10, 10, 10, 0, 0, 0}));
  EXPECT_EQ(judged.served[1], (Served{0, 0, 0, 4, 4, 4}));
  EXPECT_DOUBLE_EQ(judged.goodput, 42 - 1);
  GoodputProblem none = problem;
  none.hand_over = HandOver::kNone;
  EXPECT_EQ(check_goodput_plan(none, honest(none, layouts)).served[0], Served(6, 0));
}

TEST(HandOver_Judge, ComingBackAtOnce_IsPassedOn) {
  // The new one is given up before it is ready: what is handed over goes on beside the return,
  // which is a creation all the same.
  const GoodputProblem problem = two_on_one();
  const std::vector<LabelledLayout> layouts = {
      {{0, 1}}, {{0, 0}}, {{0, 0}}, {{0, 0}}, {{0, 0}}, {{0, 0}}};
  const GoodputJudgement judged = check_goodput_plan(problem, honest(problem, layouts));
  EXPECT_TRUE(judged.violations.empty());
  EXPECT_EQ(judged.served[0], Served(6, 10));
  EXPECT_EQ(judged.creations, 2);
}

TEST(HandOver_Judge, OtherGroupsMemoryAndUnreadyOnes_HandNothingOver) {
  // Each condition by itself; at a memory of just the whole they still fit.
  const std::vector<LabelledLayout> layouts(6, {{0, 1}});
  GoodputProblem problem = two_on_one();
  const auto served = [&](const std::vector<LabelledLayout>& of) {
    return check_goodput_plan(problem, honest(problem, of)).served[0];
  };
  problem.labels[0].memory.fill(0.4);
  problem.labels[1].memory.fill(0.6);
  EXPECT_EQ(served(layouts)[0], 10);
  problem.labels[1].memory.fill(0.7);
  EXPECT_EQ(served(layouts), Served(6, 0));
  problem.labels[1].memory.fill(0);
  problem.labels[1].group = 1;
  EXPECT_EQ(served(layouts), Served(6, 0));
  problem.labels[1].group = 0;
  problem.initial = {};
  EXPECT_EQ(served({{{0, 0}}, {{0, 1}}, {{0, 1}}, {{0, 1}}, {{0, 1}}, {{0, 1}}}), Served(6, 0));
  EXPECT_EQ(served({{{0, 0}}, {}, {{0, 0}}, {{0, 0}}, {{0, 0}}, {{0, 0}}}),
            (Served{0, 0, 0, 0, 0, 10}));
}

TEST(HandOver_Value, RandomRelabels_AsTheJudgeCounts) {
  // The planners' own figures and the judge's agree on plans full of relabels; none yields less
  // than without hand-overs.
  int gained = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    GoodputProblem problem =
        drawn(seed,
              {.tenants = 3, .steps = 8, .warm_up_max = 4, .retrains = seed % 2 == 0},
              seed % 3 > 0);
    Rng rng = Rng(seed).stream("layouts");
    std::vector<LabelledLayout> layouts;
    LabelledLayout layout = test::draw_layout(rng, problem);
    for (int t = 0; t < problem.step_count; ++t) {
      if (rng.chance(1, 5)) {
        layout = test::draw_layout(rng, problem);
      }
      for (LabelledInstance& instance : layout) {
        const auto label = rng.below(problem.labels.size());
        if (rng.chance(1, 3) && !problem.labels[label].retrains.has_value()) {
          instance.label = static_cast<int>(label);
        }
      }
      layouts.push_back(layout);
    }
    const GoodputJudgement judged = check_goodput_plan(problem, honest(problem, layouts));
    EXPECT_TRUE(judged.violations.empty());
    GoodputProblem none = problem;
    none.hand_over = HandOver::kNone;
    const double before = value_plan(none, layouts).goodput;
    EXPECT_GE(judged.goodput, before - near(before));
    gained += judged.goodput > before + near(before) ? 1 : 0;
  }
  EXPECT_GT(gained, 100);
}

TEST(HandOver_Exact, TwoSteps_AsGoodAsAllSequences) {
  // Every pair of labelled layouts of the A30.
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_exact(drawn(seed, {.steps = 2}, seed % 2 == 1));
  }
}

TEST(HandOver_Exact, FourSteps_AsGoodAsAllSequences) {
  // Fewer sizes of use; most gain by handing over.
  int gained = 0;
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    GoodputProblem problem = drawn(seed, {.steps = 4, .sizes_useful = 1}, seed % 4 == 1);
    for (Label& label : problem.labels) {
      label.serves[0].rate_rps = {};
      label.serves[0].rate_rps[1 + seed % 2] =
          40 + 3 * static_cast<double>(label.name.back() - '0');
    }
    for (std::size_t t = 0; t < 4; ++t) {  // busy in turn
      problem.tenants[(t / 2 + seed) % 2].rate_rps[t] /= 8;
    }
    if (!is_small(problem)) {
      continue;
    }
    ++tried;
    expect_exact(problem);
    const double with = brute_force(problem);
    problem.hand_over = HandOver::kNone;
    const double without = brute_force(problem);
    EXPECT_GE(with, without - near(without));
    gained += with > without + near(without) ? 1 : 0;
  }
  EXPECT_GT(tried, 40);
  EXPECT_GT(gained, 15);
}

TEST(HandOver_Exact, RulesOfAllKinds_AsGoodAsAllSequences) {
  // Limits on changes, dwell (with ages in the letters), floors and frozen instances.
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const bool dwells = seed % 4 == 1;
    GoodputProblem problem =
        drawn(seed, {.steps = dwells ? 4 : 2, .sizes_useful = dwells ? 1 : 8}, seed % 3 == 0);
    if (seed % 4 == 0) {
      problem.changes_per_step_max = static_cast<int>(seed / 4 % 3);
    } else if (dwells) {
      problem.dwell_steps = 2 + static_cast<int>(seed / 4 % 2);
    } else if (seed % 4 == 2) {
      problem.tenants[seed / 4 % 2].floor_share = 0.2;
    } else if (!problem.initial.empty()) {
      problem.frozen = std::uint32_t{1} << static_cast<unsigned>(problem.initial[0].placement);
    }
    if (is_small(problem)) {
      expect_exact(problem);
    }
  }
}

TEST(HandOver_Exact, Retraining_AsGoodAsAllSequences) {
  // The joint program hands over to retrainings too; the search stays below, its bound above.
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    GoodputProblem problem =
        drawn(seed, {.steps = 3, .sizes_useful = 1, .retrains = true}, seed % 4 == 1);
    for (Label& label : problem.labels) {
      if (label.retrains.has_value()) {
        label.speed = {};
        label.speed[seed % 3] = 0.5;
      } else if (seed % 2 == 0) {
        label.serves[0].rate_rps = {};
        label.serves[0].rate_rps[seed % 3] = 30;
      }
    }
    for (GoodputTenant& tenant : problem.tenants) {
      if (tenant.retraining.has_value()) {
        tenant.retraining->work_s /= 2;
        tenant.accuracy_after = 1;
      }
    }
    problem.terminal_steps = 4;
    if (!is_small(problem)) {
      continue;
    }
    ++tried;
    const double best = brute_force(problem);
    expect_exact(problem);
    const GoodputPlan search = window_plan_of(problem, {.exact_units_max = 0});
    expect_sound(problem, search);
    EXPECT_LE(search.objective, best + near(best));
    EXPECT_GE(search.bound, best - near(best));
  }
  EXPECT_GT(tried, 20);
}

TEST(HandOver_Bounds, LongWarmUpsAndMixedOnes_StayBelowTheirBounds) {
  // Beyond the program: plans are sound, and the best of all sequences is between plan and bound.
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    GoodputProblem problem =
        drawn(seed, {.steps = 4, .sizes_useful = 1, .warm_up_max = 3}, seed % 3 == 0);
    if (seed % 4 == 0) {
      problem.labels[0].warm_up_steps = 0;
    } else if (seed % 4 == 1) {
      problem.dwell_steps = 2;
      problem.changes_per_step_max = 1;
    }
    if (!is_small(problem)) {
      continue;
    }
    ++tried;
    const double best = brute_force(problem);
    const GoodputPlan plan = window_plan_of(problem);
    expect_sound(problem, plan);
    EXPECT_LE(plan.objective, best + near(best));
    EXPECT_GE(plan.bound, best - near(best));
    EXPECT_GE(bound_of(problem), best - near(best));
  }
  EXPECT_GT(tried, 30);
}

TEST(HandOver_Monotone, SevenSlices_NeverLosesGoodput) {
  // With hand-overs the optimum is never below; little memory for the way back changes nothing.
  int gained = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    GoodputProblem problem = draw_problem(a100(), seed, {.steps = 20, .has_early = false});
    const double without = window_plan_of(problem).objective;
    problem.hand_over = HandOver::kRelabel;
    const GoodputPlan with = window_plan_of(problem);
    expect_sound(problem, with);
    EXPECT_EQ(with.proof, GoodputProof::kOptimal);
    EXPECT_GE(with.objective, without - near(without));
    EXPECT_GE(bound_of(problem), with.objective - near(without));
    EXPECT_EQ(window_plan_of(problem, {.layouts = {.bytes_max = 1}}).layouts, with.layouts);
    gained += with.objective > without + near(without) ? 1 : 0;
  }
  EXPECT_GT(gained, 6);
}

}  // namespace
}  // namespace septule::serve
