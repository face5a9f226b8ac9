#include "plan/plan_checker.hpp"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/plan_support.hpp"

namespace septule::plan {
namespace {

/// A good plan for two jobs on an A100: 4g@0 and 3g@4; each test breaks one thing.
class PlanCheckerTest : public test::CatalogueTest {
 protected:
  PlanCheckerTest() {
    const gpu::Geometry& a100 = geometry("A100-40GB");
    jobs_ = {test::even_job(a100, "a", 0.5), test::even_job(a100, "b", 0.25)};
    jobs_[0].weight = 3;
    plan_.is_feasible = true;
    const gpu::Layout layout{{.profile = profile("4g.20gb"), .start = MemorySlices(0)},
                             {.profile = profile("3g.20gb"), .start = MemorySlices(4)}};
    plan_.gpus.push_back({.gpu = GpuIndex(2),
                          .geometry = &a100,
                          .partition = gpu::partition_with_full_instances(a100, layout),
                          .idle_room = {}});
    plan_.slots = {{.gpu = 0, .instance = 0, .rate = 0.5}, {.gpu = 0, .instance = 1, .rate = 0.25}};
    plan_.objective_value = 0.75;
  }

  std::vector<PlanViolationKind> kinds(std::vector<FrozenInstance> frozen = {}) const {
    std::vector<PlanViolationKind> kinds;
    for (const PlanViolation& violation : check_plan(plan_, jobs_, frozen)) {
      EXPECT_FALSE(violation.message.empty());
      EXPECT_FALSE(plan_violation_name(violation.kind).empty());
      kinds.push_back(violation.kind);
    }
    return kinds;
  }
  gpu::PlacedProfile placed(std::size_t i) const {
    return plan_.gpus[0].partition.instances[i].placed;
  }

  std::vector<JobSpeeds> jobs_;
  Plan plan_;
};

using Kinds = std::vector<PlanViolationKind>;

TEST_F(PlanCheckerTest, GoodPlan_Passes) {
  // Aim: the checker does not cry wolf, for any objective.
  EXPECT_EQ(kinds(), Kinds{});
  plan_.objective = ObjectiveKind::kMeanSlowdown;
  plan_.objective_value = 3.0;
  EXPECT_EQ(kinds(), Kinds{});
  plan_.objective = ObjectiveKind::kWeightedSum;
  plan_.objective_value = 1.75;
  EXPECT_EQ(kinds(), Kinds{});
  plan_.objective = ObjectiveKind::kMaxMin;
  plan_.objective_value = 0.25;
  EXPECT_EQ(kinds(), Kinds{});
}

TEST_F(PlanCheckerTest, MissingSlotOrInstance_IsMalformed) {
  // Aim: each job has exactly one slot, and the slot exists.
  const Plan good = plan_;
  plan_.slots.pop_back();
  EXPECT_EQ(kinds(), Kinds{PlanViolationKind::kMalformed});
  plan_ = good;
  plan_.slots[1].instance = 2;
  EXPECT_EQ(kinds(), Kinds{PlanViolationKind::kMalformed});
  plan_ = good;
  plan_.slots[1].gpu = 1;
  EXPECT_EQ(kinds(), Kinds{PlanViolationKind::kMalformed});
  plan_ = good;
  plan_.gpus[0].geometry = nullptr;
  EXPECT_EQ(kinds(), Kinds{PlanViolationKind::kMalformed});
  plan_ = good;
  plan_.objective_value = std::nullopt;
  EXPECT_EQ(kinds(), Kinds{PlanViolationKind::kMalformed});
}

TEST_F(PlanCheckerTest, InfeasiblePlan_NeedsAReasonAndNothingElse) {
  // Aim: an infeasible answer carries no half answer.
  plan_.is_feasible = false;
  EXPECT_EQ(kinds(), (Kinds{PlanViolationKind::kMalformed, PlanViolationKind::kMalformed}));
  plan_.slots.clear();
  plan_.objective_value = std::nullopt;
  plan_.infeasible_reason = "no room";
  EXPECT_EQ(kinds(), Kinds{});
}

TEST_F(PlanCheckerTest, IllegalPartition_IsReported) {
  // Aim: overlapping instances are seen.
  plan_.gpus[0].partition.instances[1].placed.start = MemorySlices(0);
  EXPECT_THAT(kinds(), ::testing::Contains(PlanViolationKind::kPartition));
}

TEST_F(PlanCheckerTest, SharedInstance_IsReported) {
  // Aim: one job per instance.
  plan_.slots[1].instance = 0;
  EXPECT_EQ(kinds(), Kinds{PlanViolationKind::kSharedInstance});
}

TEST_F(PlanCheckerTest, MissingComputeInstance_IsReported) {
  // Aim: a job needs the one full compute instance.
  plan_.gpus[0].partition.instances[1].compute_instances.clear();
  EXPECT_EQ(kinds(), Kinds{PlanViolationKind::kComputeInstance});
}

TEST_F(PlanCheckerTest, TooMuchMemory_IsReported) {
  // Aim: memory is judged by the geometry, not by the speed table.
  jobs_[1].memory = Bytes::mebibytes(30000);
  EXPECT_EQ(kinds(), Kinds{PlanViolationKind::kMemory});
}

TEST_F(PlanCheckerTest, WrongRateOrZeroSpeed_IsReported) {
  // Aim: the rate is the table's entry and above 0.
  plan_.slots[0].rate = 0.5 + 1e-12;
  EXPECT_EQ(kinds(), Kinds{PlanViolationKind::kSpeed});
  plan_.slots[0].rate = 0;
  jobs_[0].speed.assign(jobs_[0].speed.size(), 0.0);
  plan_.objective_value = 0.25;
  EXPECT_EQ(kinds(), Kinds{PlanViolationKind::kSpeed});
}

TEST_F(PlanCheckerTest, WrongObjective_IsReported) {
  // Aim: the stated value is recomputed; NaN never passes.
  for (const double wrong : {0.7500001, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
    plan_.objective_value = wrong;
    EXPECT_EQ(kinds(), Kinds{PlanViolationKind::kObjective}) << wrong;
  }
}

TEST_F(PlanCheckerTest, FrozenInstances_MustStayAsTheyWere) {
  // Aim: gone, used by nobody allowed, or left by its job: each is seen; correct use passes.
  using Use = FrozenInstance::Use;
  const auto frozen = [&](std::size_t i, Use use, std::size_t job) {
    return std::vector<FrozenInstance>{{.gpu = 0, .placed = placed(i), .use = use, .job = job}};
  };
  EXPECT_EQ(kinds(frozen(0, Use::kAnyJob, 0)), Kinds{});
  EXPECT_EQ(kinds(frozen(0, Use::kOneJob, 0)), Kinds{});
  EXPECT_EQ(kinds(frozen(0, Use::kNobody, 0)), Kinds{PlanViolationKind::kFrozen});
  EXPECT_EQ(kinds(frozen(0, Use::kOneJob, 1)),
            (Kinds{PlanViolationKind::kFrozen, PlanViolationKind::kFrozen}));
  std::vector<FrozenInstance> gone = frozen(0, Use::kAnyJob, 0);
  gone[0].placed.start = MemorySlices(4);
  EXPECT_EQ(kinds(gone), Kinds{PlanViolationKind::kFrozen});
  gone[0].gpu = 7;
  EXPECT_EQ(kinds(gone), Kinds{PlanViolationKind::kFrozen});
}

}  // namespace
}  // namespace septule::plan
