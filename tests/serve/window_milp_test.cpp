#include "serve/window_milp.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "port/milp_check.hpp"
#include "serve/built_in_milp.hpp"
#include "serve/goodput_checker.hpp"
#include "serve/lattice_support.hpp"
#include "serve/window_program.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::a30;

enum class Retraining { kNone, kFirst };

/// Serving labels for all tenants, whatever the size gives; sizes below `smallest` give nothing.
GoodputProblem random_problem(const LayoutLattice& lattice,
                              std::uint64_t seed,
                              int tenants,
                              int steps,
                              Retraining retraining,
                              std::size_t smallest) {
  Rng rng(seed);
  GoodputProblem problem;
  problem.lattice = &lattice;
  problem.step_count = steps;
  for (int tenant = 0; tenant < tenants; ++tenant) {
    GoodputTenant& who = problem.tenants.emplace_back();
    who.name = fmt::format("t{}", tenant);
    who.weight = 1 + static_cast<double>(rng.below(3));
    who.accuracy = 0.6 + 0.1 * rng.uniform();
    who.accuracy_after = who.accuracy + 0.3 * rng.uniform();
    for (int step = 0; step < steps; ++step) {
      who.rate_rps.push_back(static_cast<double>(rng.below(200)));
    }
    Label& label = problem.labels.emplace_back();
    label.name = who.name;
    label.serves.push_back({.tenant = tenant});
    label.warm_up_steps = static_cast<int>(rng.below(3));
    label.creation_cost = static_cast<double>(rng.below(4));
    for (std::size_t size = smallest; size < lattice.sizes().size(); ++size) {
      const double slices = lattice.sizes()[size].slices.value();
      label.serves[0].rate_rps[size] = slices * (20 + static_cast<double>(rng.below(30)));
    }
  }
  if (retraining == Retraining::kFirst) {
    problem.tenants[0].retraining =
        RetrainingNeed{.work_s = 0.3 + 0.5 * rng.uniform(), .deadline_step = steps};
    Label& label = problem.labels.emplace_back();
    label.name = "t0 retrains";
    label.retrains = 0;
    for (std::size_t size = smallest; size < lattice.sizes().size(); ++size) {
      label.speed[size] = 0.3 + 0.2 * static_cast<double>(size);
    }
  }
  return problem;
}

int first_of(const LayoutLattice& lattice, int size) {
  const auto found = std::ranges::find(lattice.placements(), size, &SizePlacement::size);
  return static_cast<int>(found - lattice.placements().begin());
}

std::vector<LabelledLayout> all_layouts(const GoodputProblem& problem, std::size_t smallest) {
  std::vector<LabelledLayout> layouts;
  for (const LayoutLattice::PlacedSet& set : problem.lattice->placed_sets()) {
    std::vector<LabelledLayout> partial = {{}};
    const auto placements = problem.lattice->placements();
    for (int place = 0; std::cmp_less(place, placements.size()); ++place) {
      if ((set.placements >> static_cast<unsigned>(place) & 1U) == 0) {
        continue;
      }
      std::vector<LabelledLayout> grown;
      const auto size = static_cast<std::size_t>(placements[static_cast<std::size_t>(place)].size);
      for (const LabelledLayout& layout : partial) {
        for (int label = 0; size >= smallest && std::cmp_less(label, problem.labels.size());
             ++label) {
          LabelledLayout next = layout;
          next.push_back({place, label});
          grown.push_back(std::move(next));
        }
      }
      partial = std::move(grown);
    }
    layouts.insert(layouts.end(), partial.begin(), partial.end());
  }
  std::erase_if(layouts, [&problem](const LabelledLayout& layout) {
    return std::ranges::count_if(layout, [&problem](const LabelledInstance& instance) {
             return problem.labels[static_cast<std::size_t>(instance.label)].retrains.has_value();
           }) > 1;
  });
  return layouts;
}

/// The best objective over every sequence of layouts; nothing if no plan keeps the rules.
std::optional<double> brute_force(const GoodputProblem& problem, std::size_t smallest) {
  const std::vector<LabelledLayout> layouts = all_layouts(problem, smallest);
  std::optional<double> best;
  GoodputPlan plan;
  const std::function<void()> extend = [&] {
    if (std::cmp_equal(plan.layouts.size(), problem.step_count)) {
      const GoodputJudgement judged = check_goodput_plan(problem, plan);
      const bool is_kept = std::ranges::all_of(judged.violations, [](const auto& violation) {
        return violation.fault == GoodputFault::kFigures ||
               violation.fault == GoodputFault::kRetraining;
      });
      if (is_kept) {
        best = std::max(best.value_or(-1e18), judged.goodput + judged.terminal);
      }
      return;
    }
    for (const LabelledLayout& layout : layouts) {
      plan.layouts.push_back(layout);
      extend();
      plan.layouts.pop_back();
    }
  };
  extend();
  return best;
}

Result<GoodputPlan> solve(const GoodputProblem& problem, const WindowMilpOptions& options = {}) {
  BuiltInMilp solver({.nodes_max = 200000});
  return plan_window_by_milp(problem, solver, options);
}

void expect_as_brute_force(const GoodputProblem& problem,
                           std::size_t smallest,
                           std::string_view what) {
  const std::optional<double> best = brute_force(problem, smallest);
  const Result<GoodputPlan> plan = solve(problem);
  if (!best) {
    ASSERT_FALSE(plan) << what;
    EXPECT_EQ(plan.error().code, ErrorCode::kBlocked) << what;
    return;
  }
  ASSERT_TRUE(plan) << what << ": " << plan.error().message;
  EXPECT_EQ(plan->proof, GoodputProof::kOptimal) << what;
  EXPECT_NEAR(plan->objective, *best, 1e-6 * std::max(1.0, *best)) << what;
}

TEST(WindowMilp, TwoSteps_AsBruteForce) {
  // Aim: with every placement of a four-slice GPU and two tenants the program's optimum is that of
  // trying all pairs of layouts.
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    expect_as_brute_force(
        random_problem(a30(), seed, 2, 2, Retraining::kNone, 0), 0, fmt::format("seed {}", seed));
  }
}

TEST(WindowMilp, FourSteps_AsBruteForce) {
  // Aim: four steps, on the larger sizes only, warm-ups of 0 to 2 steps.
  for (std::uint64_t seed = 11; seed <= 22; ++seed) {
    expect_as_brute_force(
        random_problem(a30(), seed, 2, 4, Retraining::kNone, 1), 1, fmt::format("seed {}", seed));
  }
}

TEST(WindowMilp, Options_AsBruteForce) {
  // Aim: each option of the problem, alone and together: layout in force, frozen instances, dwell,
  // limit on changes, floors, terminal value.
  for (int option = 0; option < 7; ++option) {
    for (std::uint64_t seed = 31; seed <= 33; ++seed) {
      GoodputProblem problem = random_problem(a30(), seed, 2, 4, Retraining::kNone, 1);
      const auto is_on = [option](int wanted) { return option == wanted || option == 6; };
      if (is_on(0) || is_on(1)) {
        problem.initial = {{first_of(a30(), 1), 0}};
        ASSERT_TRUE(validate(problem));
      }
      if (is_on(1)) {
        problem.frozen = 1U << static_cast<unsigned>(problem.initial[0].placement);
      }
      problem.dwell_steps = is_on(2) ? 3 : 0;
      if (is_on(3)) {
        problem.changes_per_step_max = 1;
      }
      if (is_on(4)) {
        problem.tenants[1].floor_share = 0.3;
        problem.tenants[1].rate_rps[0] = 0;
      }
      problem.terminal_steps = is_on(5) ? 5 : 0;
      expect_as_brute_force(problem, 1, fmt::format("option {} seed {}", option, seed));
    }
  }
}

TEST(WindowMilp, Retraining_AsBruteForce) {
  // Aim: with a retraining job the program weighs its instance against what the new model brings.
  int retrained = 0;
  for (std::uint64_t seed = 41; seed <= 44; ++seed) {
    GoodputProblem problem = random_problem(a30(), seed, 2, 4, Retraining::kFirst, 1);
    problem.terminal_steps = 40;
    problem.tenants[0].retraining->release_step = static_cast<int>(seed % 2);
    expect_as_brute_force(problem, 1, fmt::format("seed {}", seed));
    const Result<GoodputPlan> plan = solve(problem);
    ASSERT_TRUE(plan);
    retrained += plan->retrained_from[0].has_value() ? 1 : 0;
  }
  EXPECT_GT(retrained, 0);
}

TEST(WindowProgram, Sizes_AsPublished) {
  // Aim: the table of serving.md 2.3 for one GPU of seven slices. Its 200-step rows with retraining
  // leave the rows for one retraining instance out (T for each tenant); its 40-step rows have one
  // readiness family only, so they follow the formula here.
  struct Case {
    int steps;
    int tenants;
    bool retrain;
    int columns;
    int integers;
    int rows;
  };
  const std::vector<Case> cases = {{200, 2, false, 17200, 5600, 18744},
                                   {200, 3, false, 25800, 8400, 27316},
                                   {200, 4, false, 34400, 11200, 35888},
                                   {200, 2, true, 35200, 11600, 37486 + 400},
                                   {40, 2, true, 7040, 2320, 5222 + 2240 - 56 + 80},
                                   {40, 3, true, 10560, 3480, 7673 + 3360 - 84 + 120},
                                   {40, 4, true, 14080, 4640, 10124 + 4480 - 112 + 160}};
  for (const Case& wanted : cases) {
    GoodputProblem problem =
        random_problem(a100(), 1, wanted.tenants, wanted.steps, Retraining::kNone, 0);
    for (int tenant = 0; wanted.retrain && tenant < wanted.tenants; ++tenant) {
      problem.tenants[static_cast<std::size_t>(tenant)].retraining =
          RetrainingNeed{.work_s = 10, .deadline_step = wanted.steps};
      Label& label = problem.labels.emplace_back();
      label.retrains = tenant;
      label.speed = {0.4, 0.5, 0.7, 0.8, 1};
    }
    for (Label& label : problem.labels) {
      label.warm_up_steps = 1;
    }
    const WindowProgramSizes sizes = WindowProgram(problem).sizes();
    EXPECT_EQ(sizes.columns, wanted.columns);
    EXPECT_EQ(sizes.integers, wanted.integers);
    EXPECT_EQ(sizes.rows, wanted.rows);
  }
}

TEST(WindowProgram, Plan_IsASolutionOfItsValue) {
  // Aim: a plan turned into values is a solution of the program with the plan's objective, and
  // comes back as the same layouts.
  for (std::uint64_t seed = 51; seed <= 60; ++seed) {
    GoodputProblem problem = random_problem(a100(), seed, 2, 6, Retraining::kFirst, 0);
    problem.terminal_steps = 3;
    const WindowProgram program(problem);
    Rng rng(seed);
    GoodputPlan plan;
    const auto sets = a100().placed_sets();
    for (int step = 0; step < 6; ++step) {
      LabelledLayout& layout = plan.layouts.emplace_back();
      const std::uint32_t set = sets[static_cast<std::size_t>(rng.below(sets.size()))].placements;
      for (int place = 0; place < 14; ++place) {
        if ((set >> static_cast<unsigned>(place) & 1U) != 0) {
          layout.push_back({place, static_cast<int>(rng.below(layout.empty() ? 3 : 2))});
        }
      }
    }
    const GoodputJudgement judged = check_goodput_plan(problem, plan);
    const std::vector<double> values = program.values(plan);
    const Status is_solution = port::check_values(program.milp(), values);
    EXPECT_TRUE(is_solution) << seed << (is_solution ? "" : is_solution.error().message);
    EXPECT_NEAR(port::objective_of(program.milp(), values), judged.goodput + judged.terminal, 1e-6);
    EXPECT_EQ(program.layouts(values), plan.layouts);
  }
}

TEST(WindowMilp, NotValid_RefusedBeforeSolving) {
  // Aim: what the problem's own check refuses never becomes a program.
  GoodputProblem problem = random_problem(a30(), 1, 2, 2, Retraining::kNone, 0);
  problem.tenants[1].rate_rps.pop_back();
  const Result<GoodputPlan> plan = solve(problem);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kInvalidInput);
}

TEST(WindowMilp, FloorsOutOfReach_SaysBlocked) {
  // Aim: a floor above what the whole GPU serves has no plan, and that is what is said.
  GoodputProblem problem = random_problem(a30(), 1, 2, 3, Retraining::kNone, 0);
  problem.tenants[0].rate_rps = {1e6, 1e6, 1e6};
  problem.tenants[0].floor_share = 0.9;
  const Result<GoodputPlan> plan = solve(problem);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kBlocked);
  EXPECT_THAT(plan.error().message, testing::HasSubstr("no plan of 3 steps keeps the floors"));
}

TEST(WindowMilp, LimitReached_SeedAndBoundRemain) {
  // Aim: without work the seed is the plan, with a bound above; without a seed it says so.
  const GoodputProblem problem = random_problem(a30(), 3, 2, 4, Retraining::kNone, 1);
  const Result<GoodputPlan> best = solve(problem);
  ASSERT_TRUE(best);
  GoodputPlan idle;
  idle.layouts.resize(4);
  const WindowMilpOptions none{.limits = {.nodes = 1}, .seed = &idle};
  const Result<GoodputPlan> kept = solve(problem, none);
  ASSERT_TRUE(kept);
  EXPECT_GE(kept->bound, best->objective - 1e-6);
  EXPECT_LE(kept->objective, best->objective + 1e-6);
  const Result<GoodputPlan> nothing = solve(problem, {.limits = {.nodes = 0}});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::kTimedOut);
}

}  // namespace
}  // namespace septule::serve
