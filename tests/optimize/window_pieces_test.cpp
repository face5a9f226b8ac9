#include "optimize/window_pieces.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "optimize/window_support.hpp"

namespace septule::optimize {
namespace {

TEST(WindowPart, SomeJobs_AnswersLikeTheWhole) {
  // Aim: a part has the jobs, rates and rules of the whole, and its groups map back.
  const auto window = test::random_window({.jobs = 6}, 9);
  const std::array<std::size_t, 3> chosen{4, 0, 5};
  const WindowPart part(window->problem, chosen);
  ASSERT_TRUE(check_window_problem(part.problem()).is_ok());
  const GroupTimer whole(window->problem);
  const GroupTimer some(part.problem());
  int possible = 0;
  for (std::size_t sharing = 0; sharing < window->catalogue.templates.size(); ++sharing) {
    if (window->catalogue.templates[sharing].concurrency != 3) {
      continue;
    }
    SeatedGroup group{.sharing = sharing, .jobs = {}};
    for (const std::size_t job : {2U, 0U, 1U}) {
      group.jobs.push_back(job);
    }
    const SeatedGroup mapped = part.of_whole(group);
    EXPECT_EQ(mapped.jobs[0], 5U);
    EXPECT_EQ(mapped.jobs[1], 4U);
    EXPECT_EQ(group_time(some, group), group_time(whole, mapped));
    possible += group_time(some, group).has_value() ? 1 : 0;
  }
  EXPECT_GT(possible, 0);
}

TEST(OrderByCut, MixedCuts_EqualCutsTogether) {
  // Aim: groups of one cut come one after another, and nothing gets lost.
  const auto window = test::random_window({.jobs = 6}, 10);
  window->problem.costs = &window->costs;
  window->problem.initial = std::nullopt;
  std::vector<SeatedGroup> groups;
  for (std::size_t i = 0; i < 6; ++i) {
    // "full" and "7g" in turn.
    groups.push_back({.sharing = i % 2, .jobs = {}});
    groups.back().jobs.push_back(i);
  }
  order_by_cut(window->problem, groups);
  std::vector<std::size_t> jobs;
  for (const SeatedGroup& group : groups) {
    jobs.push_back(group.jobs[0]);
  }
  EXPECT_EQ(jobs, (std::vector<std::size_t>{0, 2, 4, 1, 3, 5}));
}

}  // namespace
}  // namespace septule::optimize
