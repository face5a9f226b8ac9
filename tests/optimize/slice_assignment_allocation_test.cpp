// Counts every heap allocation of this test program through the replaced global operator new.

#include <gtest/gtest.h>

#include "optimize/random_cases.hpp"
#include "optimize/slice_assignment.hpp"
#include "plan/plan_support.hpp"
#include "support/counted_heap.hpp"

namespace septule::optimize {
namespace {

class AllocationTest : public test::CatalogueTest {};

TEST_F(AllocationTest, Counter_CountsAtAll) {
  // Aim: the test below can fail.
  const long before = allocation_count.load();
  const std::vector<int> some(100, 1);
  EXPECT_GT(allocation_count.load(), before) << some.size();
}

TEST_F(AllocationTest, Solve_AllocatesNothing) {
  // Aim: no solve allocates, for every objective, with and without a current layout and costs.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  const std::vector<CurrentInstance> current{
      {.placed = {.profile = profile("2g.10gb"), .start = MemorySlices(0)},
       .use = InstanceUse::kReusable,
       .job = 0},
      {.placed = {.profile = profile("1g.5gb"), .start = MemorySlices(2)},
       .use = InstanceUse::kFrozen},
      {.placed = {.profile = profile("1g.5gb"), .start = MemorySlices(3)},
       .use = InstanceUse::kHost}};
  test::RandomCases random(3);
  for (const bool has_current : {false, true}) {
    const auto assigner = SliceAssigner::make(
        a100,
        {.profiles = gpu::ProfileSet::kAll,
         .current = has_current ? std::span<const CurrentInstance>(current)
                                : std::span<const CurrentInstance>(),
         .costs = {.create = 0.1, .destroy = 0.1, .move = has_current ? 0.1 : 0.0}});
    ASSERT_TRUE(assigner.has_value());
    int feasible_count = 0;
    for (int i = 0; i < 112; ++i) {
      const SpeedMatrix matrix = random.matrix(a100, 1 + i % 7);
      const auto objective = static_cast<plan::ObjectiveKind>(i % 4);
      SliceAssignment answer;
      const long before = allocation_count.load();
      assigner->solve(matrix, objective, answer);
      ASSERT_EQ(allocation_count.load(), before);
      feasible_count += answer.is_feasible() ? 1 : 0;
    }
    EXPECT_GT(feasible_count, 20);
  }
}

}  // namespace
}  // namespace septule::optimize
