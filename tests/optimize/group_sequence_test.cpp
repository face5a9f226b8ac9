#include "optimize/group_sequence.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.hpp"

namespace septule::optimize {
namespace {

constexpr std::int64_t kUnits = 1'000'000'000;

/// Whole numbers that are the same with every standard library.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(bound));
  }

 private:
  std::mt19937_64 engine_;
};

struct Shape {
  std::size_t jobs = 4;
  std::size_t group_max = 3;
  std::size_t cuts = 3;
  std::int64_t time_max = 50;
  std::int64_t switch_max = 20;
  int impossible_percent = 10;
};

/// Switches of any kind: without symmetry or triangle inequality. `time_max` small makes ties.
GroupCosts random_costs(const Shape& shape, Draw& draw) {
  GroupCosts costs(shape.jobs, shape.group_max, shape.cuts);
  for (const JobSet group : costs.groups()) {
    for (std::size_t cut = 0; cut < shape.cuts; ++cut) {
      if (draw.below(100) >= shape.impossible_percent) {
        costs.set_time(group, cut, 1 + draw.below(shape.time_max));
      }
    }
  }
  for (std::size_t from = 0; from <= shape.cuts; ++from) {
    for (std::size_t to = 0; to < shape.cuts; ++to) {
      const bool is_same = from == to;
      costs.set_switch_time(from, to, is_same ? 0 : draw.below(shape.switch_max + 1));
    }
  }
  return costs;
}

/// Every sequence of groups, by recursion over which group comes next.
std::int64_t best_by_force(const GroupCosts& costs, JobSet left, std::size_t at) {
  if (left == 0) {
    return 0;
  }
  std::int64_t best = GroupCosts::kImpossible;
  for (JobSet group = left; group != 0; group = (group - 1) & left) {
    if (size_of(group) > costs.group_max()) {
      continue;
    }
    for (std::size_t cut = 0; cut < costs.cut_count(); ++cut) {
      const std::int64_t own = costs.time(group, cut);
      if (own < GroupCosts::kImpossible) {
        const std::int64_t rest = best_by_force(costs, left & ~group, cut);
        const std::int64_t turn = at == cut ? 0 : costs.switch_time(at, cut);
        best = std::min(best, own + rest + turn);
      }
    }
  }
  return best;
}

void expect_valid(const GroupCosts& costs, const GroupSequence& sequence) {
  JobSet seen = 0;
  for (const GroupSequence::Step& step : sequence.steps) {
    EXPECT_EQ(seen & step.group, 0U);
    EXPECT_LE(size_of(step.group), costs.group_max());
    EXPECT_LT(costs.time(step.group, step.cut), GroupCosts::kImpossible);
    seen |= step.group;
  }
  EXPECT_EQ(size_of(seen), costs.job_count());
  EXPECT_EQ(sequence.time, sequence_time(costs, sequence.steps));
}

void expect_best(const Shape& shape, std::uint64_t seed) {
  Draw draw(seed);
  const GroupCosts costs = random_costs(shape, draw);
  WorkBudget budget(kUnits);
  const std::optional<GroupSequence> found = find_best_sequence(costs, budget);
  const auto everything = static_cast<JobSet>((1U << shape.jobs) - 1);
  const std::int64_t best = best_by_force(costs, everything, shape.cuts);
  ASSERT_EQ(found.has_value(), best < GroupCosts::kImpossible) << "seed " << seed;
  if (found.has_value()) {
    ASSERT_EQ(found->time, best) << "seed " << seed;
    EXPECT_TRUE(found->is_proven);
    expect_valid(costs, *found);
  }
}

TEST(GroupCosts, Groups_AnySize_EachOnceBySize) {
  // Aim: the table has every subset up to the limit once, and index_of finds it.
  const GroupCosts costs(5, 3, 2);
  EXPECT_EQ(costs.groups().size(), 5U + 10U + 10U);
  for (std::size_t i = 0; i < costs.groups().size(); ++i) {
    EXPECT_EQ(costs.index_of(costs.groups()[i]), i);
    EXPECT_EQ(costs.time(costs.groups()[i], 1), GroupCosts::kImpossible);
  }
}

TEST(GroupSequence, NoJob_IsEmptyAndProven) {
  // Aim: the empty window has an answer.
  WorkBudget budget(kUnits);
  const auto found = find_best_sequence(GroupCosts(0, 4, 2), budget);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->steps.empty());
  EXPECT_EQ(found->time, 0);
  EXPECT_TRUE(found->is_proven);
}

TEST(GroupSequence, NothingPossible_IsNothing) {
  // Aim: a job without any group is told from a costly one.
  WorkBudget budget(kUnits);
  EXPECT_FALSE(find_best_sequence(GroupCosts(3, 2, 2), budget).has_value());
}

TEST(GroupSequence, DearSwitch_StaysOnOneCut) {
  // Aim: a cut that is better for one group is not worth a switch that costs more.
  GroupCosts costs(2, 1, 2);
  costs.set_time(0b01, 0, 10);
  costs.set_time(0b01, 1, 5);
  costs.set_time(0b10, 0, 10);
  costs.set_switch_time(0, 1, 6);
  costs.set_switch_time(1, 0, 6);
  costs.set_switch_time(2, 1, 6);
  WorkBudget budget(kUnits);
  const auto dear = find_best_sequence(costs, budget);
  ASSERT_TRUE(dear.has_value());
  EXPECT_EQ(dear->time, 20);
  EXPECT_EQ(dear->steps.front().cut, dear->steps.back().cut);
  costs.set_switch_time(0, 1, 4);
  const auto cheap = find_best_sequence(costs, budget);
  ASSERT_TRUE(cheap.has_value());
  EXPECT_EQ(cheap->time, 19);
}

TEST(GroupSequence, SmallWindows_EqualsBruteForce) {
  // Aim: optimal over all groups, cuts and orders, whatever the switches are like.
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Draw draw(seed);
    const Shape shape{.jobs = 1 + static_cast<std::size_t>(draw.below(4)),
                      .group_max = 1 + static_cast<std::size_t>(draw.below(4)),
                      .cuts = 1 + static_cast<std::size_t>(draw.below(4)),
                      .time_max = draw.below(2) == 0 ? 4 : 200,
                      .switch_max = draw.below(3) * 30,
                      .impossible_percent = static_cast<int>(draw.below(3)) * 25};
    expect_best(shape, seed);
  }
}

TEST(GroupSequence, SixJobs_EqualsBruteForce) {
  // Aim: the same with more groups than the threshold lets through at once.
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    expect_best({.jobs = 6, .group_max = 3, .cuts = 3, .switch_max = 15}, 7000 + seed);
  }
}

TEST(GroupSequence, BudgetEnds_FirstSequenceUnproven) {
  // Aim: no time left still gives a valid sequence, and says that it is not proven.
  Draw draw(5);
  const GroupCosts costs =
      random_costs({.jobs = 10, .group_max = 4, .cuts = 6, .impossible_percent = 0}, draw);
  WorkBudget small(2000);
  const auto found = find_best_sequence(costs, small);
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->is_proven);
  expect_valid(costs, *found);
  WorkBudget large(kUnits);
  const auto best = find_best_sequence(costs, large);
  ASSERT_TRUE(best.has_value());
  EXPECT_TRUE(best->is_proven);
  EXPECT_LE(best->time, found->time);
}

}  // namespace
}  // namespace septule::optimize
