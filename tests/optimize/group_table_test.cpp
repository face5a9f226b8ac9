#include "optimize/group_table.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "optimize/switch_costs.hpp"
#include "optimize/window_support.hpp"

namespace septule::optimize {
namespace {

using test::random_window;

constexpr std::int64_t kUnits = 1'000'000'000;

/// The least time of a group on a cut over all templates and all permutations; no bundles, no
/// choices.
std::int64_t best_on(const GroupTimer& timer, std::vector<std::size_t> jobs, const GpuCut& cut) {
  const gpu::SharingCatalogue& catalogue = *timer.problem().catalogue;
  std::int64_t best = GroupCosts::kImpossible;
  for (std::size_t index = 0; index < catalogue.templates.size(); ++index) {
    if (std::cmp_not_equal(catalogue.templates[index].concurrency, jobs.size()) ||
        cut_of(catalogue, index) != cut) {
      continue;
    }
    std::ranges::sort(jobs);
    do {
      SeatedGroup group{.sharing = index, .jobs = {}};
      for (const std::size_t job : jobs) {
        group.jobs.push_back(job);
      }
      const std::optional<Duration> time = group_time(timer, group);
      if (time.has_value()) {
        best = std::min(best, time->to_nanoseconds());
      }
    } while (std::ranges::next_permutation(jobs).found);
  }
  return best;
}

std::vector<std::size_t> jobs_in(JobSet set) {
  std::vector<std::size_t> jobs;
  for (std::size_t job = 0; job < kTableJobsMax; ++job) {
    if ((set >> job & 1U) != 0) {
      jobs.push_back(job);
    }
  }
  return jobs;
}

void expect_right(const std::unique_ptr<test::RandomWindow>& window, std::uint64_t seed) {
  WorkBudget budget(kUnits);
  const auto table = GroupTable::make(window->problem, budget);
  if (!table.has_value()) {
    EXPECT_EQ(table.error().code, ErrorCode::kBlocked);
    return;
  }
  EXPECT_TRUE(table->is_complete());
  for (const JobSet group : table->costs().groups()) {
    for (std::size_t cut = 0; cut < table->cuts().size(); ++cut) {
      const std::int64_t best = best_on(table->timer(), jobs_in(group), table->cuts()[cut]);
      const std::int64_t found = table->costs().time(group, cut);
      // Sums of rates may be rounded in another order.
      ASSERT_NEAR(static_cast<double>(found), static_cast<double>(best), 2)
          << "seed " << seed << " group " << group << " cut " << cut;
      if (found < GroupCosts::kImpossible) {
        const SeatedGroup seated = table->seated(group, cut);
        EXPECT_EQ(cut_of(window->catalogue, seated.sharing), table->cuts()[cut]);
        const auto time = group_time(table->timer(), seated);
        ASSERT_TRUE(time.has_value());
        EXPECT_NEAR(static_cast<double>(time->to_nanoseconds()), static_cast<double>(found), 2);
      }
    }
  }
}

TEST(GroupTable, AllTemplates_EqualsEveryPermutation) {
  // Aim: every group on every cut of an A100, and the seating that gives the time.
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    expect_right(random_window({.jobs = 5}, seed), seed);
  }
}

TEST(GroupTable, CombinationsMissing_EqualsEveryPermutation) {
  // Aim: catalogues that are no product of choices.
  for (std::uint64_t seed = 100; seed < 180; ++seed) {
    expect_right(random_window({.jobs = 4, .templates = 25}, seed), seed);
  }
}

TEST(GroupTable, Cuts_EachOnceWithSwitchTimes) {
  // Aim: templates that differ in percentages only share a cut; switches are those between cuts.
  const auto window = random_window({.jobs = 4, .clock = test::GroupClock::kIdle}, 3);
  window->problem.costs = &window->costs;
  WorkBudget budget(kUnits);
  const auto table = GroupTable::make(window->problem, budget);
  ASSERT_TRUE(table.has_value()) << table.error().message;
  const auto cuts = table->cuts();
  EXPECT_EQ(cuts.size(), 21U);
  EXPECT_FALSE(cuts.front().has_value());
  for (std::size_t a = 0; a < cuts.size(); ++a) {
    EXPECT_EQ(table->costs().switch_time(a, a), 0);
    const Duration entry = switch_time(&window->costs, window->problem.initial, cuts[a]);
    EXPECT_EQ(table->costs().switch_time(cuts.size(), a), entry.to_nanoseconds());
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_NE(cuts[a], cuts[b]);
    }
  }
}

TEST(GroupTable, SmallBudget_LargerGroupsAreMissing) {
  // Aim: a table that ran out of work says so, and still has all jobs alone.
  const auto window = random_window({.jobs = 8, .can_lack_memory = false}, 3);
  WorkBudget budget(3000);
  const auto table = GroupTable::make(window->problem, budget);
  ASSERT_TRUE(table.has_value()) << table.error().message;
  EXPECT_FALSE(table->is_complete());
  for (std::size_t job = 0; job < 8; ++job) {
    EXPECT_LT(std::ranges::min(table->costs().row(JobSet{1} << job)), GroupCosts::kImpossible);
  }
}

}  // namespace
}  // namespace septule::optimize
