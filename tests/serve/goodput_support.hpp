#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "serve/goodput_checker.hpp"
#include "serve/goodput_problem.hpp"
#include "serve/lattice_support.hpp"
#include "serve/plan_value.hpp"
#include "serve/retraining_search.hpp"

namespace septule::serve::test {

/// What a drawn problem has. Every tenant has a serving label; the figures are small and uneven.
struct DrawOptions {
  int tenants = 2;
  int steps = 3;
  int sizes_useful = 8;   ///< a label keeps this many of its sizes at most
  int warm_up_max = 1;    ///< drawn 0 or 1 .. this
  bool has_early = true;  ///< warm-ups of 0 steps too
  bool has_costs = true;
  bool has_initial = true;
  bool has_terminal = true;
  bool retrains = false;
};

inline double draw(Rng& rng, double low, double high) {
  return low + (high - low) * rng.uniform();
}

/// Drops instances at random until the rest is what one of `labels` can hold.
inline LabelledLayout draw_layout(Rng& rng, const GoodputProblem& problem) {
  const auto sets = problem.lattice->placed_sets();
  const auto& set = sets[static_cast<std::size_t>(rng.below(sets.size()))];
  LabelledLayout layout;
  for (int p = 0; p < static_cast<int>(problem.lattice->placements().size()); ++p) {
    if ((set.placements >> static_cast<unsigned>(p) & 1U) != 0) {
      layout.push_back({p, static_cast<int>(rng.below(problem.labels.size()))});
    }
  }
  // One instance at most retrains a tenant.
  std::uint64_t retrained = 0;
  std::erase_if(layout, [&](const LabelledInstance& instance) {
    const auto& retrains = problem.labels[static_cast<std::size_t>(instance.label)].retrains;
    const std::uint64_t bit = retrains.has_value() ? std::uint64_t{1} << *retrains : 0;
    const bool is_second = (retrained & bit) != 0;
    retrained |= bit;
    return is_second;
  });
  return layout;
}

inline GoodputProblem draw_problem(const LayoutLattice& lattice,
                                   std::uint64_t seed,
                                   const DrawOptions& options) {
  Rng rng = Rng(seed).stream("goodput");
  GoodputProblem problem;
  problem.lattice = &lattice;
  problem.step = Duration::milliseconds(static_cast<std::int64_t>(500 * (1 + rng.below(4))));
  problem.step_count = options.steps;
  for (int m = 0; m < options.tenants; ++m) {
    GoodputTenant tenant;
    tenant.name = "tenant" + std::to_string(m);
    tenant.weight = draw(rng, 0.5, 2);
    tenant.accuracy = draw(rng, 0.5, 0.8);
    tenant.accuracy_after = tenant.accuracy + draw(rng, 0.05, 0.2);
    for (int t = 0; t < options.steps; ++t) {
      tenant.rate_rps.push_back(rng.chance(1, 8) ? 0.0 : draw(rng, 0, 120));
    }
    if (options.retrains && (m == 0 || rng.chance(1, 2))) {
      const double whole = problem.step.to_seconds();
      tenant.retraining = RetrainingNeed{
          draw(rng, 0.3, 1.6) * whole, static_cast<int>(rng.below(2)), options.steps};
    }
    Label label;
    label.name = tenant.name;
    Label::Output output;
    output.tenant = m;
    std::vector<std::size_t> sizes;
    for (std::size_t s = 0; s < lattice.sizes().size(); ++s) {
      output.rate_rps[s] = draw(rng, 5, 30) * lattice.sizes()[s].slices.value();
      sizes.push_back(s);
    }
    rng.shuffle(std::span(sizes));
    for (std::size_t i = static_cast<std::size_t>(options.sizes_useful); i < sizes.size(); ++i) {
      output.rate_rps[sizes[i]] = 0;
    }
    label.serves = {output};
    label.warm_up_steps =
        options.has_early && rng.chance(1, 4)
            ? 0
            : 1 + static_cast<int>(rng.below(static_cast<std::uint64_t>(options.warm_up_max)));
    label.creation_cost = options.has_costs ? draw(rng, 0, 10) : 0;
    problem.tenants.push_back(tenant);
    problem.labels.push_back(label);
    if (tenant.retraining.has_value()) {
      Label trainer;
      trainer.name = tenant.name + " retrains";
      trainer.retrains = m;
      trainer.warm_up_steps = static_cast<int>(rng.below(2));
      for (std::size_t s = 0; s < lattice.sizes().size(); ++s) {
        trainer.speed[s] = lattice.sizes()[s].slices.value() / 4.0;
      }
      problem.labels.push_back(trainer);
    }
  }
  if (options.has_initial) {
    problem.initial = draw_layout(rng, problem);
  }
  problem.terminal_steps = options.has_terminal ? static_cast<int>(rng.below(3)) : 0;
  return problem;
}

/// All labelled layouts in which every instance is of use.
inline std::vector<LabelledLayout> useful_layouts(const GoodputProblem& problem) {
  const LayoutLattice& lattice = *problem.lattice;
  const auto is_useful = [&](int placement, int label) {
    const auto size =
        static_cast<std::size_t>(lattice.placements()[static_cast<std::size_t>(placement)].size);
    const Label& use = problem.labels[static_cast<std::size_t>(label)];
    return use.speed[size] > 0 ||
           std::ranges::any_of(use.serves, [&](const auto& o) { return o.rate_rps[size] > 0; }) ||
           std::ranges::find(problem.initial, LabelledInstance{placement, label}) !=
               problem.initial.end();
  };
  std::vector<LabelledLayout> layouts;
  for (const auto& set : lattice.placed_sets()) {
    std::vector<LabelledLayout> grown = {{}};
    for (int p = 0; p < static_cast<int>(lattice.placements().size()); ++p) {
      if ((set.placements >> static_cast<unsigned>(p) & 1U) == 0) {
        continue;
      }
      std::vector<LabelledLayout> next;
      for (const LabelledLayout& layout : grown) {
        for (int l = 0; l < static_cast<int>(problem.labels.size()); ++l) {
          if (is_useful(p, l)) {
            next.push_back(layout);
            next.back().push_back({p, l});
          }
        }
      }
      grown = std::move(next);
    }
    layouts.insert(layouts.end(), grown.begin(), grown.end());
  }
  std::erase_if(layouts, [&](const LabelledLayout& layout) {
    std::uint64_t retrained = 0;
    return std::ranges::any_of(layout, [&](const LabelledInstance& instance) {
      const auto& retrains = problem.labels[static_cast<std::size_t>(instance.label)].retrains;
      const std::uint64_t bit = retrains.has_value() ? std::uint64_t{1} << *retrains : 0;
      const bool is_second = (retrained & bit) != 0;
      retrained |= bit;
      return is_second;
    });
  });
  return layouts;
}

/// The best objective of all sequences of layouts; minus infinity if none keeps the rules.
inline double brute_force(const GoodputProblem& problem) {
  const std::vector<LabelledLayout> choices = useful_layouts(problem);
  std::vector<LabelledLayout> layouts(static_cast<std::size_t>(problem.step_count));
  double best = -std::numeric_limits<double>::infinity();
  const std::function<void(std::size_t)> extend = [&](std::size_t t) {
    if (t == layouts.size()) {
      const PlanValue value = value_plan(problem, layouts);
      best = value.is_feasible ? std::max(best, value.objective) : best;
      return;
    }
    for (const LabelledLayout& choice : choices) {
      layouts[t] = choice;
      extend(t + 1);
    }
  };
  extend(0);
  return best;
}

inline void expect_sound(const GoodputProblem& problem, const GoodputPlan& plan) {
  for (const GoodputViolation& violation : check_goodput_plan(problem, plan).violations) {
    ADD_FAILURE() << goodput_fault_name(violation.fault) << ": " << violation.message;
  }
}

/// How far two ways of counting the same goodput may be apart.
inline double near(double value) {
  return 1e-7 * std::max(1.0, std::abs(value));
}

/// The plan of plan_window() with more work allowed than it needs.
inline GoodputPlan window_plan_of(const GoodputProblem& problem,
                                  const RetrainingOptions& options = {}) {
  WorkBudget budget(1'000'000'000);
  auto plan = plan_window(problem, budget, options);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan.has_value() ? *plan : GoodputPlan{};
}

}  // namespace septule::serve::test
