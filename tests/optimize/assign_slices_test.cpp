#include "optimize/assign_slices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimize/random_cases.hpp"
#include "plan/plan_checker.hpp"
#include "plan/plan_support.hpp"

namespace septule::optimize {
namespace {

using gpu::ProfileSet;
using ::testing::HasSubstr;

class AssignSlicesTest : public test::CatalogueTest {
 protected:
  std::vector<plan::JobSpeeds> random_jobs(const gpu::Geometry& geometry,
                                           test::RandomCases& random,
                                           int job_count) {
    const SpeedMatrix matrix = random.matrix(geometry, job_count);
    std::vector<plan::JobSpeeds> jobs;
    for (int j = 0; j < job_count; ++j) {
      jobs.push_back(test::even_job(geometry, "job" + std::to_string(j), 0));
      for (std::size_t p = 0; p < geometry.profiles().size(); ++p) {
        jobs.back().speed[p] = matrix.speed(j, ProfileIndex(static_cast<int>(p)));
      }
      jobs.back().weight = matrix.weight(j);
      if (random.number(3) == 0) {
        jobs.back().memory = Bytes::mebibytes(static_cast<std::uint64_t>(random.number(40000)));
      }
    }
    return jobs;
  }
};

TEST_F(AssignSlicesTest, EveryPlan_PassesTheChecker) {
  // Aim: on every GPU the independent judge finds nothing in plans for random questions.
  test::RandomCases random(11);
  int feasible_count = 0;
  for (const gpu::Geometry& geometry : catalogue_.geometries()) {
    if (!geometry.has_profile_table()) {
      continue;
    }
    const auto layouts = test::legal_layouts(geometry, ProfileSet::kAll);
    for (int i = 0; i < 40; ++i) {
      const int job_count = 1 + random.number(7);
      const auto jobs = random_jobs(geometry, random, job_count);
      const auto current =
          i % 2 == 0 ? std::vector<CurrentInstance>() : random.current(layouts, job_count);
      const Result<plan::Plan> plan =
          assign_slices(geometry,
                        jobs,
                        {.gpu = GpuIndex(3),
                         .profiles = static_cast<ProfileSet>(random.number(3)),
                         .objective = static_cast<plan::ObjectiveKind>(random.number(4)),
                         .current = current,
                         .costs = random.costs()});
      ASSERT_TRUE(plan.has_value()) << plan.error().message;
      std::vector<plan::FrozenInstance> frozen;
      for (const CurrentInstance& instance : current) {
        if (instance.use != InstanceUse::kReusable) {
          using Use = plan::FrozenInstance::Use;
          frozen.push_back({.gpu = 0,
                            .placed = instance.placed,
                            .use = instance.use == InstanceUse::kFrozen   ? Use::kNobody
                                   : instance.use == InstanceUse::kPinned ? Use::kOneJob
                                                                          : Use::kAnyJob,
                            .job = static_cast<std::size_t>(instance.job.value_or(0))});
        }
      }
      for (const plan::PlanViolation& violation : plan::check_plan(*plan, jobs, frozen)) {
        ADD_FAILURE() << geometry.key() << " case " << i << ": " << violation.message;
      }
      EXPECT_EQ(plan->proof, plan::Proof::kOptimal);
      feasible_count += plan->is_feasible ? 1 : 0;
    }
  }
  EXPECT_GE(feasible_count, 100);
}

TEST_F(AssignSlicesTest, MemoryFit_IsAppliedAndNoted) {
  // Aim: a job too large for 1g does not get one, and the plan says what was taken away.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  std::vector<plan::JobSpeeds> jobs{test::even_job(a100, "bert", 0.5)};
  jobs[0].memory = Bytes::mebibytes(6000);
  const Result<plan::Plan> plan = assign_slices(a100, jobs, {});
  ASSERT_TRUE(plan.has_value());
  ASSERT_TRUE(plan->is_feasible);
  const auto& instance = plan->gpus[0].partition.instances[plan->slots[0].instance];
  EXPECT_EQ(instance.placed.profile, profile("2g.10gb"));
  ASSERT_FALSE(plan->notes.empty());
  EXPECT_THAT(plan->notes[0], HasSubstr("bert"));
}

TEST_F(AssignSlicesTest, EightJobs_AreInfeasibleNotAnError) {
  // Aim: too many jobs is an answer with a reason.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  const std::vector<plan::JobSpeeds> jobs(8, test::even_job(a100, "job", 0.5));
  const Result<plan::Plan> plan = assign_slices(a100, jobs, {});
  ASSERT_TRUE(plan.has_value());
  EXPECT_FALSE(plan->is_feasible);
  EXPECT_EQ(plan->objective_value, std::nullopt);
  EXPECT_THAT(plan->infeasible_reason, HasSubstr("8 jobs"));
}

TEST_F(AssignSlicesTest, Infeasible_KeepsTheCurrentLayoutAndNamesTheJob) {
  // Aim: an infeasible plan changes nothing and says which job is in trouble.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  const std::vector<plan::JobSpeeds> jobs{test::even_job(a100, "good", 0.5),
                                          test::even_job(a100, "hopeless", 0)};
  const std::vector<CurrentInstance> current{
      {.placed = {.profile = profile("2g.10gb"), .start = MemorySlices(2)}}};
  const Result<plan::Plan> plan = assign_slices(a100, jobs, {.current = current});
  ASSERT_TRUE(plan.has_value());
  EXPECT_FALSE(plan->is_feasible);
  EXPECT_THAT(plan->infeasible_reason, HasSubstr("hopeless"));
  EXPECT_EQ(plan->gpus[0].partition.instances.size(), 1U);
}

TEST_F(AssignSlicesTest, BadInput_IsRefused) {
  // Aim: no job, a wrong figure, an unknown job in the current layout, a board without a table.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  EXPECT_EQ(assign_slices(a100, {}, {}).error().code, ErrorCode::kInvalidInput);
  std::vector<plan::JobSpeeds> jobs{test::even_job(a100, "job", 2000)};
  EXPECT_THAT(assign_slices(a100, jobs, {}).error().message, HasSubstr("2000"));
  jobs = {test::even_job(a100, "job", 0.5)};
  const std::vector<CurrentInstance> current{
      {.placed = {.profile = profile("2g.10gb"), .start = MemorySlices(2)},
       .use = InstanceUse::kHost,
       .job = 1}};
  EXPECT_THAT(assign_slices(a100, jobs, {.current = current}).error().message, HasSubstr("job 1"));
  for (const gpu::Geometry& geometry : catalogue_.geometries()) {
    if (!geometry.has_profile_table()) {
      const std::vector<plan::JobSpeeds> none{test::even_job(geometry, "job", 0.5)};
      EXPECT_EQ(assign_slices(geometry, none, {}).error().code, ErrorCode::kNotFound);
    }
  }
}

}  // namespace
}  // namespace septule::optimize
