#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "port/milp_check.hpp"
#include "port/milp_solver.hpp"

namespace septule::test {

inline port::MilpColumn integer_column(double cost, double lower, double upper) {
  return {.cost = cost, .lower = lower, .upper = upper, .is_integer = true};
}

inline port::MilpRow milp_row(double lower,
                              double upper,
                              const std::vector<std::pair<int, double>>& entries) {
  port::MilpRow row{.lower = lower, .upper = upper, .entries = {}};
  for (const auto& [column, coefficient] : entries) {
    row.entries.push_back({.column = column, .coefficient = coefficient});
  }
  return row;
}

/// Best: 3 of the second (12) beat one of each (9) and the first alone (5).
inline port::MilpProblem knapsack() {
  port::MilpProblem problem;
  problem.goal = port::MilpGoal::kMaximise;
  problem.columns = {integer_column(5, 0, 1), integer_column(4, 0, 3)};
  problem.rows = {milp_row(-port::kMilpUnlimited, 6, {{0, 3}, {1, 2}})};
  return problem;
}

/// The best objective over all whole numbers within the bounds of all columns (all integer);
/// nothing if there is no solution. The limits of the columns are small.
inline std::optional<double> brute_force(const port::MilpProblem& problem) {
  std::optional<double> best;
  std::vector<double> values(problem.columns.size());
  const std::function<void(std::size_t)> fill = [&](std::size_t column) {
    if (column == values.size()) {
      if (port::check_values(problem, values)) {
        const double objective = port::objective_of(problem, values);
        if (!best || port::is_better(problem.goal, objective, *best)) {
          best = objective;
        }
      }
      return;
    }
    for (double value = std::ceil(problem.columns[column].lower);
         value <= problem.columns[column].upper;
         ++value) {
      values[column] = value;
      fill(column + 1);
    }
  };
  fill(0);
  return best;
}

/// Up to 6 columns of up to 4 values, up to 5 rows of every kind; some have no solution.
inline port::MilpProblem random_program(std::uint64_t seed) {
  Rng rng(seed);
  const auto whole = [&rng](int low, int high) {
    return low +
           static_cast<int>(rng.below(std::uint64_t{1} + static_cast<std::uint64_t>(high - low)));
  };
  port::MilpProblem problem;
  problem.goal = whole(0, 1) == 0 ? port::MilpGoal::kMinimise : port::MilpGoal::kMaximise;
  const int columns = whole(1, 6);
  for (int column = 0; column < columns; ++column) {
    const int lower = whole(-2, 1);
    problem.columns.push_back(integer_column(whole(-9, 9), lower, lower + whole(0, 3)));
  }
  const int rows = whole(0, 5);
  for (int index = 0; index < rows; ++index) {
    port::MilpRow row;
    for (int column = 0; column < columns; ++column) {
      if (const int coefficient = whole(-4, 4); coefficient != 0) {
        row.entries.push_back({.column = column, .coefficient = 1.0 * coefficient});
      }
    }
    const int kind = whole(0, 3);
    const int level = whole(-6, 10);
    if (kind != 1) {
      row.upper = level;
    }
    if (kind == 1 || kind == 3) {
      row.lower = kind == 3 ? level - whole(0, 4) : level - 8;
    }
    problem.rows.push_back(std::move(row));
  }
  return problem;
}

/// That outcome and optimum of random_program(1 .. programs) are those of trying everything. How
/// many of them have no solution.
inline int expect_as_brute_force(port::MilpSolver& solver, std::uint64_t programs) {
  int without_solution = 0;
  for (std::uint64_t seed = 1; seed <= programs; ++seed) {
    const port::MilpProblem problem = random_program(seed);
    const std::optional<double> best = brute_force(problem);
    const auto found = solver.solve(problem, {}, {});
    EXPECT_TRUE(found) << "seed " << seed;
    if (!found) {
      continue;
    }
    without_solution += best ? 0 : 1;
    EXPECT_EQ(found->outcome, best ? port::MilpOutcome::kOptimal : port::MilpOutcome::kInfeasible)
        << "seed " << seed;
    if (best) {
      EXPECT_NEAR(found->objective, *best, 1e-6) << "seed " << seed;
      EXPECT_NEAR(found->bound.value_or(1e9), *best, 1e-6) << "seed " << seed;
      EXPECT_TRUE(port::check_values(problem, found->values)) << "seed " << seed;
    }
  }
  return without_solution;
}

/// Multiples of `size` requests that cover the demand of `tenants` by instances of five sizes on
/// the fewest GPUs: the shape of the fleet's programs (12 layouts of a seven-slice GPU). Columns 0
/// to 11 are layouts, then five for each tenant.
inline port::MilpProblem fleet_program(int tenants, double scale, std::uint64_t seed) {
  static constexpr int kLayouts[12][5] = {{0, 0, 0, 0, 1},
                                          {0, 0, 1, 1, 0},
                                          {0, 0, 2, 0, 0},
                                          {0, 2, 1, 0, 0},
                                          {1, 1, 0, 1, 0},
                                          {1, 3, 0, 0, 0},
                                          {2, 1, 1, 0, 0},
                                          {3, 0, 0, 1, 0},
                                          {3, 2, 0, 0, 0},
                                          {4, 0, 1, 0, 0},
                                          {5, 1, 0, 0, 0},
                                          {7, 0, 0, 0, 0}};
  static constexpr double kSlices[5] = {1, 2, 3, 4, 7};
  Rng rng(seed);
  port::MilpProblem problem;
  for (int layout = 0; layout < 12; ++layout) {
    problem.columns.push_back(integer_column(1, 0, port::kMilpUnlimited));
  }
  for (int size = 0; size < 5; ++size) {
    port::MilpRow row{.lower = 0, .upper = port::kMilpUnlimited, .entries = {}};
    for (int layout = 0; layout < 12; ++layout) {
      if (kLayouts[layout][size] != 0) {
        row.entries.push_back({layout, 1.0 * kLayouts[layout][size]});
      }
    }
    for (int tenant = 0; tenant < tenants; ++tenant) {
      row.entries.push_back({12 + 5 * tenant + size, -1});
    }
    problem.rows.push_back(std::move(row));
  }
  for (int tenant = 0; tenant < tenants; ++tenant) {
    const double speed = 40 + 400 * rng.uniform();
    const double bend = 0.75 + 0.3 * rng.uniform();
    port::MilpRow row{.lower = scale * (40 + 1500 * rng.uniform()), .entries = {}};
    for (int size = 0; size < 5; ++size) {
      problem.columns.push_back(integer_column(0, 0, port::kMilpUnlimited));
      row.entries.push_back({12 + 5 * tenant + size, speed * std::pow(kSlices[size], bend)});
    }
    problem.rows.push_back(std::move(row));
  }
  return problem;
}

}  // namespace septule::test
