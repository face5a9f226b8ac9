#include "optimize/pattern_selection.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace septule::optimize {
namespace {

using Keys = std::vector<std::int64_t>;

// Every GPU tries every pattern.
std::optional<Keys> best_by_force(const PatternProblem& problem) {
  std::vector<std::size_t> gpus;
  for (std::size_t group = 0; group < problem.classes.size(); ++group) {
    gpus.insert(gpus.end(), static_cast<std::size_t>(problem.classes[group].gpu_count), group);
  }
  std::optional<Keys> best;
  std::vector<int> rest = problem.demand;
  Keys keys(problem.key_count, 0);
  const std::function<void(std::size_t)> visit = [&](std::size_t gpu) {
    if (gpu == gpus.size()) {
      const bool is_met = std::all_of(rest.begin(), rest.end(), [](int left) { return left == 0; });
      if (is_met && (!best || keys < *best)) {
        best = keys;
      }
      return;
    }
    for (const Pattern& pattern : problem.classes[gpus[gpu]].patterns) {
      for (std::size_t k = 0; k < rest.size(); ++k) {
        rest[k] -= pattern.takes[k];
      }
      for (std::size_t k = 0; k < keys.size(); ++k) {
        keys[k] += pattern.keys[k];
      }
      visit(gpu + 1);
      for (std::size_t k = 0; k < rest.size(); ++k) {
        rest[k] += pattern.takes[k];
      }
      for (std::size_t k = 0; k < keys.size(); ++k) {
        keys[k] -= pattern.keys[k];
      }
    }
  };
  visit(0);
  return best;
}

PatternProblem random_problem(std::mt19937& random) {
  const auto below = [&random](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  PatternProblem problem;
  const int demands = 1 + below(3);
  problem.key_count = 1 + static_cast<unsigned>(below(3));
  problem.keys_proven = problem.key_count;
  const int lowest = below(2) == 0 ? 0 : -2;
  const int groups = 1 + below(3);
  for (int group = 0; group < groups; ++group) {
    PatternClass members;
    members.gpu_count = 1 + below(3 - std::min(groups - 1, 2) + 1);
    members.patterns.push_back(
        {std::vector<int>(static_cast<std::size_t>(demands), 0), Keys(problem.key_count, 0)});
    const int patterns = below(6);
    for (int i = 0; i < patterns; ++i) {
      Pattern pattern;
      for (int k = 0; k < demands; ++k) {
        pattern.takes.push_back(lowest + below(4 - lowest));
      }
      for (std::size_t k = 0; k < problem.key_count; ++k) {
        pattern.keys.push_back(below(5) - (k == 1 ? 1 : 0));
      }
      members.patterns.push_back(pattern);
    }
    problem.classes.push_back(members);
  }
  for (int k = 0; k < demands; ++k) {
    problem.demand.push_back(below(7) + lowest);
  }
  return problem;
}

TEST(PatternSelection, SmallRandomProblems_EqualsBruteForce) {
  // Aim: values and proofs agree with trying everything, also where nothing is possible.
  std::mt19937 random(20240611);
  int possible = 0;
  for (int run = 0; run < 6000; ++run) {
    const PatternProblem problem = random_problem(random);
    const std::optional<Keys> expected = best_by_force(problem);
    WorkBudget budget(1000000);
    const PatternOutcome outcome = select_patterns(problem, budget);
    ASSERT_TRUE(outcome.is_proven) << run;
    ASSERT_EQ(outcome.counts.has_value(), expected.has_value()) << run;
    if (!expected) {
      continue;
    }
    ++possible;
    EXPECT_EQ(outcome.values, *expected) << run;
    EXPECT_EQ(outcome.lower_bounds, *expected) << run;
    Keys keys(problem.key_count, 0);
    std::vector<int> taken(problem.demand.size(), 0);
    for (std::size_t group = 0; group < problem.classes.size(); ++group) {
      int gpus = 0;
      for (std::size_t i = 0; i < problem.classes[group].patterns.size(); ++i) {
        const int count = (*outcome.counts)[group][i];
        gpus += count;
        for (std::size_t k = 0; k < taken.size(); ++k) {
          taken[k] += count * problem.classes[group].patterns[i].takes[k];
        }
        for (std::size_t k = 0; k < keys.size(); ++k) {
          keys[k] += count * problem.classes[group].patterns[i].keys[k];
        }
      }
      EXPECT_EQ(gpus, problem.classes[group].gpu_count);
    }
    EXPECT_EQ(taken, problem.demand);
    EXPECT_EQ(keys, outcome.values);
  }
  EXPECT_GT(possible, 1000);
}

TEST(PatternSelection, NoBudget_ClaimsNothing) {
  // Aim: without work units the answer is open, never a false "impossible" or "optimal".
  PatternProblem problem;
  problem.demand = {3, 4};
  problem.classes.push_back({3, {{{0, 0}, {0}}, {{1, 2}, {1}}, {{2, 1}, {1}}, {{1, 1}, {1}}}});
  WorkBudget budget(0);
  const PatternOutcome outcome = select_patterns(problem, budget);
  EXPECT_FALSE(outcome.counts.has_value());
  EXPECT_FALSE(outcome.is_proven);
}

}  // namespace
}  // namespace septule::optimize
