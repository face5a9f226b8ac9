#include "serve/fleet_mapping.hpp"

#include <functional>
#include <limits>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/capacitated_assignment.hpp"
#include "serve/fleet_cases.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::a30;
using test::draw_fleet;
using test::FleetCase;
using testing::HasSubstr;

/// Most residents that any assignment of the plan's layouts keeps.
int most_kept(const FleetCase& drawn) {
  const LayoutLattice& lattice = *drawn.lattice;
  std::vector<int> left;
  int unused = static_cast<int>(drawn.current.size());
  for (const LayoutCount& layout : drawn.plan.layouts) {
    left.push_back(layout.gpus);
    unused -= layout.gpus;
  }
  int best = 0;
  std::vector<SizeTable<int>> in_place(drawn.plan.instances.size());
  const std::function<void(std::size_t)> choose = [&](std::size_t gpu) {
    if (gpu == drawn.current.size()) {
      int kept = 0;
      for (std::size_t tenant = 0; tenant < in_place.size(); ++tenant) {
        for (std::size_t size = 0; size < lattice.sizes().size(); ++size) {
          kept += std::min(in_place[tenant][size], drawn.plan.instances[tenant][size]);
        }
      }
      best = std::max(best, kept);
      return;
    }
    for (std::size_t layout = 0; layout <= left.size(); ++layout) {
      int& stock = layout == left.size() ? unused : left[layout];
      if (stock == 0) {
        continue;
      }
      --stock;
      if (layout == left.size()) {
        choose(gpu + 1);
      } else {
        for (const std::uint32_t set : lattice.sets_of(drawn.plan.layouts[layout].multiset)) {
          const auto count = [&](int change) {
            for (const Holding& holding : drawn.current[gpu]) {
              if ((set >> static_cast<unsigned>(holding.placement) & 1U) != 0) {
                const auto size = static_cast<std::size_t>(
                    lattice.placements()[static_cast<std::size_t>(holding.placement)].size);
                in_place[static_cast<std::size_t>(holding.tenant)][size] += change;
              }
            }
          };
          count(1);
          choose(gpu + 1);
          count(-1);
        }
      }
      ++stock;
    }
  };
  choose(0);
  return best;
}

void expect_follows_plan(const FleetCase& drawn, const FleetMapping& mapping) {
  const LayoutLattice& lattice = *drawn.lattice;
  std::vector<SizeTable<int>> given(drawn.plan.instances.size());
  std::map<int, int> layouts;
  int kept = 0;
  int started = 0;
  int held = 0;
  for (std::size_t gpu = 0; gpu < mapping.gpus.size(); ++gpu) {
    EXPECT_TRUE(lattice.is_legal(placement_bits(mapping.gpus[gpu])));
    if (mapping.multisets[gpu] >= 0) {
      ++layouts[mapping.multisets[gpu]];
    } else {
      EXPECT_TRUE(mapping.gpus[gpu].empty());
    }
    held += static_cast<int>(drawn.current[gpu].size());
    for (const Holding& holding : mapping.gpus[gpu]) {
      const auto size = static_cast<std::size_t>(
          lattice.placements()[static_cast<std::size_t>(holding.placement)].size);
      ++given[static_cast<std::size_t>(holding.tenant)][size];
      const bool is_kept = std::ranges::any_of(
          drawn.current[gpu], [&](const Holding& before) { return before.is_same_use(holding); });
      kept += is_kept ? 1 : 0;
      started += is_kept ? 0 : 1;
    }
  }
  EXPECT_EQ(given, drawn.plan.instances);
  for (const LayoutCount& layout : drawn.plan.layouts) {
    EXPECT_EQ(layouts[layout.multiset], layout.gpus);
  }
  EXPECT_GE(kept, mapping.kept) << "a new instance may by chance be where one went";
  EXPECT_LE(started, mapping.started);
  EXPECT_EQ(held, mapping.kept + mapping.stopped);
}

TEST(CapacitatedAssignment, SmallCases_AsTryingAll) {
  // Aim: the assignment's cost is that of the best of all, negative costs and scarce columns
  // included.
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const std::size_t rows = 1 + rng.below(5);
    const std::size_t columns = 1 + rng.below(4);
    std::vector<int> capacities(columns, 0);
    for (std::size_t row = 0; row < rows + rng.below(3); ++row) {
      ++capacities[rng.below(columns)];
    }
    std::vector<std::vector<std::int64_t>> costs(rows);
    for (auto& row : costs) {
      for (std::size_t column = 0; column < columns; ++column) {
        row.push_back(static_cast<std::int64_t>(rng.below(20)) - 10);
      }
    }
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    std::vector<int> left = capacities;
    const std::function<void(std::size_t, std::int64_t)> choose = [&](std::size_t row,
                                                                      std::int64_t sum) {
      if (row == rows) {
        best = std::min(best, sum);
        return;
      }
      for (std::size_t column = 0; column < columns; ++column) {
        if (left[column] > 0) {
          --left[column];
          choose(row + 1, sum + costs[row][column]);
          ++left[column];
        }
      }
    };
    choose(0, 0);
    const std::vector<int> chosen = assign_within_capacities(costs, capacities);
    std::int64_t sum = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      sum += costs[row][static_cast<std::size_t>(chosen[row])];
      --capacities[static_cast<std::size_t>(chosen[row])];
    }
    EXPECT_EQ(sum, best) << "seed " << seed;
    EXPECT_GE(*std::ranges::min_element(capacities), 0);
  }
}

TEST(FleetMapping, SmallFleets_FewestTouched) {
  // Aim: on small fleets as many residents stay as in the best of all assignments, the bound is
  // never crossed, and the result is the plan.
  int proved = 0;
  int best = 0;
  constexpr int kCases = 150;
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    const FleetCase drawn = draw_fleet(a30(),
                                       seed,
                                       {.gpus = 3,
                                        .spare = static_cast<int>(seed % 2),
                                        .tenants = 3,
                                        .moved = static_cast<int>(seed % 3)});
    const auto mapping = map_fleet(*drawn.lattice, drawn.plan, drawn.current);
    ASSERT_TRUE(mapping) << mapping.error().message;
    expect_follows_plan(drawn, *mapping);
    const int most = most_kept(drawn);
    EXPECT_LE(mapping->kept, most) << "seed " << seed;
    EXPECT_GE(mapping->touched(), mapping->touched_bound) << "seed " << seed;
    const int least_touched = mapping->touched() - 2 * (most - mapping->kept);
    EXPECT_LE(mapping->touched_bound, least_touched) << "seed " << seed;
    EXPECT_GE(mapping->kept, most - 1) << "seed " << seed;
    best += mapping->kept == most ? 1 : 0;
    proved += mapping->is_optimal() ? 1 : 0;
  }
  RecordProperty("best", best);
  RecordProperty("proved", proved);
  EXPECT_GE(best, kCases * 9 / 10);
  EXPECT_GE(proved, kCases / 2);
}

TEST(FleetMapping, NothingChanges_NothingTouched) {
  // Aim: a plan that is in force already touches nothing, whatever the order of its GPUs.
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    FleetCase drawn = draw_fleet(a100(), seed, {.gpus = 12, .spare = 1, .tenants = 5});
    drawn.plan = test::plan_of(a100(), drawn.current, 5);
    const auto mapping = map_fleet(a100(), drawn.plan, drawn.current);
    ASSERT_TRUE(mapping);
    EXPECT_EQ(mapping->touched(), 0) << "seed " << seed;
    for (std::size_t gpu = 0; gpu < drawn.current.size(); ++gpu) {
      EXPECT_TRUE(is_same_use(mapping->gpus[gpu], drawn.current[gpu]));
    }
  }
}

TEST(FleetMapping, FewerNeeded_UnneededAreNotStarted) {
  // Aim: layouts may hold more than the plan gives to tenants; nothing is created for nobody.
  FleetCase drawn = draw_fleet(a100(), 3, {.gpus = 4, .tenants = 2});
  for (SizeTable<int>& instances : drawn.plan.instances) {
    for (int& count : instances) {
      count = count / 2;
    }
  }
  const auto mapping = map_fleet(a100(), drawn.plan, drawn.current);
  ASSERT_TRUE(mapping);
  expect_follows_plan(drawn, *mapping);
}

TEST(FleetMapping, RetrainingAndStrangers_Leave) {
  // Aim: what a fleet plan does not know is not kept, and counts as stopped.
  FleetCase drawn = draw_fleet(a100(), 5, {.gpus = 2, .tenants = 2});
  drawn.current = {{{.placement = 0, .tenant = 0, .role = Role::kRetrain, .since = {}}},
                   {{.placement = 0, .tenant = 7, .since = {}}}};
  drawn.plan = test::plan_of(a100(), {{{.placement = 0, .tenant = 0, .since = {}}}}, 2);
  const auto mapping = map_fleet(a100(), drawn.plan, drawn.current);
  ASSERT_TRUE(mapping);
  EXPECT_EQ(mapping->kept, 0);
  EXPECT_EQ(mapping->stopped, 2);
  EXPECT_EQ(mapping->started, 1);
}

TEST(FleetMapping, PlanThatDoesNotFit_Refused) {
  // Aim: too few GPUs, unknown layouts and layouts without room are errors that name the numbers.
  FleetCase drawn = draw_fleet(a100(), 1, {.gpus = 3, .tenants = 2});
  drawn.current.pop_back();
  auto refused = map_fleet(a100(), drawn.plan, drawn.current);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBlocked);
  EXPECT_THAT(refused.error().message, HasSubstr("takes 3 GPUs, there are 2"));
  drawn = draw_fleet(a100(), 1, {.gpus = 3, .tenants = 2});
  drawn.plan.instances[0][4] += 3;
  refused = map_fleet(a100(), drawn.plan, drawn.current);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("instances of size 7g"));
  drawn.plan.layouts[0].multiset = 38;
  refused = map_fleet(a100(), drawn.plan, drawn.current);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("there are layouts 0 to 37"));
}

TEST(FleetMapping, FiveHundredGpus_Mapped) {
  // Aim: a large fleet is mapped whole; the plan is followed and close to the bound.
  const FleetCase drawn =
      draw_fleet(a100(), 11, {.gpus = 500, .spare = 5, .tenants = 60, .moved = 100});
  const auto mapping = map_fleet(a100(), drawn.plan, drawn.current);
  ASSERT_TRUE(mapping);
  expect_follows_plan(drawn, *mapping);
  EXPECT_LE(mapping->touched() - mapping->touched_bound, (mapping->kept + mapping->stopped) / 25);
  RecordProperty("touched", mapping->touched());
  RecordProperty("bound", mapping->touched_bound);
}

}  // namespace
}  // namespace septule::serve
