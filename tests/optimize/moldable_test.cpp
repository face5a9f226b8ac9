#include "optimize/moldable.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimize/moldable_cases.hpp"
#include "optimize/moldable_tree.hpp"

namespace septule::optimize {
namespace {

using ::testing::IsEmpty;

constexpr auto ms = Duration::milliseconds;
SimTime at_ms(std::int64_t count) {
  return SimTime() + ms(count);
}

TEST(Moldable, LayOut_SplitByHand_HasTheTimesOfTheRule) {
  // A30: one task on 4, then two on 2: 130 to create, run 1000, 100 to destroy, 2 x 120 to create.
  const test::MoldableBench bench("A30-24GB");
  const MoldableProblem problem = bench.problem({{0, 0, 1000}, {0, 500, 0}, {0, 700, 0}});
  const std::vector<MoldableBlock> blocks = {
      {bench.node(4, 0), {0}}, {bench.node(2, 0), {1}}, {bench.node(2, 2), {2}}};
  const MoldableSchedule schedule = lay_out(problem, blocks);
  EXPECT_THAT(test::moldable_faults(problem, schedule), IsEmpty());
  EXPECT_EQ(schedule.instances[0].usable_until, at_ms(1130));
  EXPECT_EQ(schedule.instances[0].gone_at, at_ms(1230));
  EXPECT_EQ(schedule.runs[1].begin, at_ms(1350));
  EXPECT_EQ(schedule.runs[2].begin, at_ms(1470));
  EXPECT_EQ(schedule.makespan, ms(2170));
  EXPECT_EQ(schedule.recutting, ms(130 + 100 + 240));
}

TEST(Moldable, LayOut_MergeByHand_WaitsForBothHalves) {
  // Two on 2, then one on 4: both halves are destroyed, the earlier first, while the other runs.
  const test::MoldableBench bench("A30-24GB");
  const MoldableProblem problem = bench.problem({{0, 500, 0}, {0, 900, 0}, {0, 0, 1000}});
  const std::vector<MoldableBlock> blocks = {
      {bench.node(2, 0), {0}}, {bench.node(2, 2), {1}}, {bench.node(4, 0), {2}}};
  const MoldableSchedule schedule = lay_out(problem, blocks);
  EXPECT_THAT(test::moldable_faults(problem, schedule), IsEmpty());
  EXPECT_EQ(schedule.instances[0].gone_at, at_ms(120 + 500 + 100));
  EXPECT_EQ(schedule.instances[1].gone_at, at_ms(240 + 900 + 100));
  EXPECT_EQ(schedule.runs[2].begin, at_ms(1240 + 130));
}

TEST(Moldable, LayOut_SamePlaceTwice_GoesOnWithoutRecut) {
  // A block on a place whose instance stands continues it.
  const test::MoldableBench bench("A30-24GB");
  const MoldableProblem problem = bench.problem({{0, 0, 100}, {0, 0, 200}});
  const std::vector<MoldableBlock> blocks = {{0, {1}}, {0, {0}}};
  const MoldableSchedule schedule = lay_out(problem, blocks);
  EXPECT_EQ(schedule.instances.size(), 1U);
  EXPECT_EQ(schedule.makespan, ms(430));
  EXPECT_EQ(schedule.runs[0].begin, at_ms(330));
}

TEST(Moldable, TreePass_RandomAssignments_EqualsTheTimeline) {
  // The fast pass and the timeline are written apart and agree on every makespan and end.
  for (const char* key : {"A30-24GB", "A100-40GB"}) {
    const test::MoldableBench bench(key);
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
      const MoldableProblem problem = bench.random_problem(seed, 12);
      const MoldableTimes times(problem);
      Rng rng(seed);
      MoldableAssignment assignment;
      for (std::size_t task = 0; task < problem.tasks.size(); ++task) {
        std::size_t node = 0;
        do {
          node = rng.below(bench.gpu().nodes().size());
        } while (!times.fits(task, bench.gpu().node(node).size));
        assignment.push_back(node);
      }
      for (const TreeTies ties : {TreeTies::kNodeOrder, TreeTies::kLongestFirst}) {
        const TreePass pass =
            tree_pass(bench.gpu(), loads_of(bench.gpu(), times, assignment), ties);
        const MoldableSchedule schedule =
            lay_out(problem, tree_blocks(bench.gpu(), times, assignment, ties));
        ASSERT_THAT(test::moldable_faults(problem, schedule), IsEmpty()) << key << " " << seed;
        ASSERT_EQ(schedule.makespan.to_nanoseconds(), pass.makespan) << key << " " << seed;
      }
    }
  }
}

TEST(Moldable, Judge_ChangedSchedules_AreRefused) {
  // The judge of these tests sees what it is there for.
  const test::MoldableBench bench("A30-24GB");
  const MoldableProblem problem = bench.problem({{0, 500, 0}, {0, 900, 0}, {0, 0, 1000}});
  const std::vector<MoldableBlock> blocks = {
      {bench.node(2, 0), {0}}, {bench.node(2, 2), {1}}, {bench.node(4, 0), {2}}};
  const MoldableSchedule good = lay_out(problem, blocks);
  const auto is_refused = [&](auto change) {
    MoldableSchedule bad = good;
    change(bad);
    return !test::moldable_faults(problem, bad).empty();
  };
  EXPECT_TRUE(is_refused([](auto& s) { s.makespan += ms(1); }));
  EXPECT_TRUE(is_refused([](auto& s) { s.runs[0].begin = SimTime(); }));
  EXPECT_TRUE(is_refused([](auto& s) { s.runs[1].instance = 0; }));
  EXPECT_TRUE(is_refused([](auto& s) { s.instances[1].node = s.instances[0].node; }));
  EXPECT_TRUE(is_refused([](auto& s) { s.instances[0].gone_at = s.instances[0].usable_until; }));
  EXPECT_TRUE(is_refused([](auto& s) { s.recutting = Duration(); }));
}

TEST(Moldable, Check_BadProblems_NameTheTask) {
  // Each fault is refused with its code and the number of the task.
  const test::MoldableBench bench("A30-24GB");
  const auto message = [&](const MoldableProblem& problem, ErrorCode code) {
    const Status status = check_moldable_problem(problem);
    EXPECT_FALSE(status.is_ok());
    EXPECT_EQ(status.error().code, code);
    return status.error().message;
  };
  EXPECT_EQ(message(bench.problem({{1, 1, 1}, {0, 0, 0}}), ErrorCode::kBlocked),
            "task 1 fits no instance of A30-24GB");
  EXPECT_EQ(message(bench.problem({{1, 1}}), ErrorCode::kInvalidInput),
            "task 0 has times for 2 sizes, and A30-24GB has 3");
  EXPECT_EQ(message(bench.problem({{1, -1, 1}}), ErrorCode::kInvalidInput),
            "task 0 has a time of -1000000 ns; times are above 0");
  EXPECT_NE(
      message(bench.problem({{1, 1, 1}, {1, 1, INT64_C(1000000000000)}}), ErrorCode::kInvalidInput)
          .find("up to task 1"),
      std::string::npos);
  const MoldableProblem many{&bench.gpu(), std::vector<MoldableTask>(kMoldableTasksMax + 1)};
  EXPECT_NE(message(many, ErrorCode::kInvalidInput).find("10001"), std::string::npos);
  EXPECT_FALSE(check_moldable_problem({}).is_ok());
}

}  // namespace
}  // namespace septule::optimize
