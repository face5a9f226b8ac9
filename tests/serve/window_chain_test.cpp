#include "serve/policies/window_chain.hpp"

#include <algorithm>
#include <bit>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "serve/lattice_support.hpp"

namespace septule::serve {
namespace {

/// Random rewards per (window, label, size), with less and less for more of them.
struct RandomValues {
  explicit RandomValues(std::uint64_t seed) {
    Rng rng(seed);
    for (auto& window : rewards) {
      for (auto& label : window) {
        for (double& value : label) {
          value = rng.uniform();
        }
      }
    }
    for (auto& window : costs) {
      for (auto& label : window) {
        for (double& value : label) {
          value = 0.6 * rng.uniform();
        }
      }
    }
  }
  double reward(int window, const std::vector<SizeTable<int>>& counts) const {
    double sum = 0;
    for (std::size_t label = 0; label < counts.size(); ++label) {
      double of_label = 0;
      for (std::size_t size = 0; size < 5; ++size) {
        of_label += counts[label][size] * rewards[static_cast<std::size_t>(window)][label][size];
      }
      sum += std::min(of_label, 1.2);
    }
    return sum;
  }
  double rewards[3][2][5];
  double costs[3][2][5];
};

ChainProblem problem_of(const RandomValues& values, int labels) {
  return {.lattice = &test::a30(),
          .label_count = labels,
          .windows = 3,
          .reward = [&](int window, const auto& counts) { return values.reward(window, counts); },
          .creation_cost =
              [&](int window, int label, int size) { return values.costs[window][label][size]; }};
}

/// Every labelled layout of the A30.
std::vector<LabelledLayout> all_layouts(int labels) {
  std::vector<LabelledLayout> all;
  for (const LayoutLattice::PlacedSet& set : test::a30().placed_sets()) {
    std::vector<LabelledLayout> grown{{}};
    for (std::uint32_t bits = set.placements; bits != 0; bits &= bits - 1) {
      std::vector<LabelledLayout> next;
      for (const LabelledLayout& layout : grown) {
        for (int label = 0; label < labels; ++label) {
          next.push_back(layout);
          next.back().push_back({std::countr_zero(bits), label});
        }
      }
      grown = std::move(next);
    }
    all.insert(all.end(), grown.begin(), grown.end());
  }
  return all;
}

double worth_of(const ChainProblem& problem, int window, const LabelledLayout& layout) {
  std::vector<SizeTable<int>> counts(static_cast<std::size_t>(problem.label_count));
  for (const LabelledInstance& instance : layout) {
    const int size =
        problem.lattice->placements()[static_cast<std::size_t>(instance.placement)].size;
    ++counts[static_cast<std::size_t>(instance.label)][static_cast<std::size_t>(size)];
  }
  return problem.reward(window, counts);
}

double cost_of(const ChainProblem& problem,
               int window,
               const LabelledLayout& before,
               const LabelledLayout& after) {
  double cost = 0;
  for (const LabelledInstance& instance : after) {
    if (std::ranges::count(before, instance) == 0) {
      const int size =
          problem.lattice->placements()[static_cast<std::size_t>(instance.placement)].size;
      cost += problem.creation_cost(window, instance.label, size);
    }
  }
  return cost;
}

TEST(WindowChain, RandomValues_EqualThePairwiseProgram) {
  // Aim: the closures give what comparing every pair of layouts gives, and the chain is worth it.
  const std::vector<LabelledLayout> all = all_layouts(2);
  ASSERT_EQ(static_cast<std::int64_t>(all.size()), test::a30().labelled_set_count(2));
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    const RandomValues values(seed);
    const ChainProblem problem = problem_of(values, 2);
    const auto found = chain_layouts(problem);
    ASSERT_TRUE(found.has_value());
    std::vector<double> best(all.size(), -1e300);
    best[0] = 0;
    double free_value = 0;
    for (int window = 0; window < 3; ++window) {
      std::vector<double> next(all.size(), -1e300);
      double free_best = 0;
      for (std::size_t after = 0; after < all.size(); ++after) {
        const double worth = worth_of(problem, window, all[after]);
        free_best = std::max(free_best, worth);
        for (std::size_t before = 0; before < all.size(); ++before) {
          next[after] =
              std::max(next[after],
                       best[before] + worth - cost_of(problem, window, all[before], all[after]));
        }
      }
      best = next;
      free_value += free_best;
    }
    EXPECT_NEAR(found->value, *std::ranges::max_element(best), 1e-9) << seed;
    EXPECT_NEAR(found->free_value, free_value, 1e-9);
    double walked = 0;
    LabelledLayout before;
    for (int window = 0; window < 3; ++window) {
      const LabelledLayout& layout = found->layouts[static_cast<std::size_t>(window)];
      walked += worth_of(problem, window, layout) - cost_of(problem, window, before, layout);
      before = layout;
    }
    EXPECT_NEAR(walked, found->value, 1e-9) << seed;
  }
}

TEST(WindowChain, TooManyLabels_IsAnError) {
  // Aim: the limit is stated instead of the memory being used up.
  const RandomValues values(1);
  ChainProblem problem = problem_of(values, 1);
  problem.lattice = &test::a100();
  problem.label_count = 9;
  problem.windows = 100;
  const auto found = chain_layouts(problem);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace septule::serve
