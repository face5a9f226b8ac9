#include "serve/capacitated_assignment.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace septule::serve {
namespace {

using Costs = std::vector<std::vector<std::int64_t>>;

/// The least total cost, by trying every column for every row.
std::int64_t least_cost(const Costs& costs, std::vector<int>& left, std::size_t row) {
  if (row == costs.size()) {
    return 0;
  }
  std::int64_t least = std::numeric_limits<std::int64_t>::max() / 4;
  for (std::size_t column = 0; column < left.size(); ++column) {
    if (left[column] > 0) {
      --left[column];
      least = std::min(least, costs[row][column] + least_cost(costs, left, row + 1));
      ++left[column];
    }
  }
  return least;
}

TEST(CapacitatedAssignment, RandomCosts_AsBruteForceWithinCapacities) {
  // Aim: over seeds no column is overfull and the total is that of trying everything.
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const std::size_t rows = 1 + rng.below(5);
    const std::size_t columns = 1 + rng.below(4);
    Costs costs(rows, std::vector<std::int64_t>(columns));
    for (std::vector<std::int64_t>& row : costs) {
      for (std::int64_t& cost : row) {
        cost = static_cast<std::int64_t>(rng.below(21)) - 10;
      }
    }
    std::vector<int> capacities(columns);
    for (int& capacity : capacities) {
      capacity = static_cast<int>(rng.below(4));
    }
    const int room = std::accumulate(capacities.begin(), capacities.end(), 0);
    capacities.back() += std::max(0, static_cast<int>(rows) - room);

    const std::vector<int> found = assign_within_capacities(costs, capacities);
    ASSERT_EQ(found.size(), rows);
    std::int64_t total = 0;
    std::vector<int> left = capacities;
    for (std::size_t row = 0; row < rows; ++row) {
      const auto column = static_cast<std::size_t>(found[row]);
      ASSERT_LT(column, columns) << "seed " << seed;
      total += costs[row][column];
      --left[column];
    }
    for (const int rest : left) {
      EXPECT_GE(rest, 0) << "seed " << seed;
    }
    EXPECT_EQ(total, least_cost(costs, capacities, 0)) << "seed " << seed;
  }
}

TEST(CapacitatedAssignment, LaterRow_MovesEarlierOnes) {
  // Aim: what came first gives way where the whole is cheaper so, along a chain of columns.
  const Costs costs = {{0, 1, 9}, {0, 9, 9}, {9, 0, 3}};
  EXPECT_EQ(assign_within_capacities(costs, std::vector<int>{1, 1, 1}),
            (std::vector<int>{1, 0, 2}));
}

TEST(CapacitatedAssignment, NoRows_Nothing) {
  // Aim: nothing to assign is no error.
  EXPECT_TRUE(assign_within_capacities(Costs{}, std::vector<int>{2, 0}).empty());
}

}  // namespace
}  // namespace septule::serve
