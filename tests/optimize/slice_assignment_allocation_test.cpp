// Counts every heap allocation of this test program through the replaced global operator new.

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/group_time.hpp"
#include "optimize/random_cases.hpp"
#include "optimize/slice_assignment.hpp"
#include "plan/plan_support.hpp"
#include "predict/law_co_run.hpp"
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

TEST_F(AllocationTest, SeatedTimes_AllocateNothing) {
  // Aim: no time of jobs in a domain allocates, nor any answer of the law model, for every domain
  // and clock; with and without a table of the answers.
  const auto sharing = gpu::make_sharing_catalogue(geometry("A100-40GB"), {});
  ASSERT_TRUE(sharing.has_value());
  Rng rng(9);
  std::vector<predict::LawJob> laws(6);
  std::vector<plan::WindowJob> jobs;
  for (predict::LawJob& job : laws) {
    job.law = {.serial = 0.2 * rng.uniform(),
               .compute = 0.2 + rng.uniform(),
               .memory = 0.3 * rng.uniform(),
               .usable = 1};
    job.kernel = Duration::nanoseconds(static_cast<std::int64_t>(3000 + rng.below(100000)));
    jobs.push_back({.name = std::to_string(jobs.size()),
                    .user = "u",
                    .trust = "",
                    .memory = Bytes::mebibytes(512),
                    .solo = Duration::milliseconds(static_cast<std::int64_t>(1 + rng.below(999)))});
  }
  for (const bool is_prepared : {false, true}) {
    const auto model = predict::LawCoRunModel::make(
        geometry("A100-40GB"),
        laws,
        is_prepared ? std::span<const gpu::MemoryDomain>(sharing->domains)
                    : std::span<const gpu::MemoryDomain>());
    ASSERT_TRUE(model.has_value());
    for (const GroupClock clock :
         {GroupClock::kSteadyState, GroupClock::kIdle, GroupClock::kSpeedUp}) {
      WindowProblem problem;
      problem.jobs = jobs;
      problem.model = model->get();
      problem.catalogue = &*sharing;
      problem.clock = clock;
      const GroupTimer timer(problem);
      constexpr std::array<std::size_t, 6> kSeated = {0, 1, 2, 3, 4, 5};
      for (std::size_t domain = 0; domain < sharing->domains.size(); ++domain) {
        const std::size_t seats = sharing->domains[domain].seats.size();
        const long before = allocation_count.load();
        const auto best = timer.best(domain, std::span(kSeated).first(seats));
        ASSERT_EQ(allocation_count.load(), before);
        EXPECT_TRUE(best.has_value());
      }
    }
  }
}

}  // namespace
}  // namespace septule::optimize
