#include "serve/fleet_milp.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "live/milp_solvers.hpp"
#include "serve/fleet_checker.hpp"
#include "serve/fleet_plan.hpp"
#include "serve/fleet_support.hpp"
#include "serve/lattice_support.hpp"
#include "serve/parvagpu_support.hpp"
#include "support/shared_data.hpp"

namespace septule::serve {
namespace {

class FleetMilpTest : public testing::Test {
 protected:
  void SetUp() override {
    if (solver_ == nullptr) {
      GTEST_SKIP() << "built without CBC (package coinor-libcbc-dev)";
    }
  }
  double cost_of_compact(const FleetProblem& problem, const FleetStage& stage) {
    const FleetMaster master(problem, stage);
    const auto solved = solver_->solve(compact_program(problem, master, 0), {}, {});
    EXPECT_TRUE(solved.has_value());
    EXPECT_EQ(solved->outcome, port::MilpOutcome::kOptimal);
    return solved->objective;
  }

  std::unique_ptr<port::MilpSolver> solver_ = live::make_milp_solver();
};

TEST_F(FleetMilpTest, SmallFleets_CompactProgramEqualsOurs) {
  // CBC on the layout-count program finds as few GPUs, as few slices and as much goodput as we do.
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    FleetProblem problem = test::odd_fleet(test::a100(), 4, 20, seed);
    const auto plan = plan_min_gpus(problem, {});
    ASSERT_TRUE(plan.has_value());
    ASSERT_TRUE(plan->is_optimal);
    EXPECT_NEAR(cost_of_compact(problem, {.gpu_cost = 1, .gpus_max = 100}), plan->gpus, 1e-5);
    EXPECT_NEAR(
        cost_of_compact(problem, {.instance_cost = {1, 2, 3, 4, 7}, .gpus_max = plan->gpus}),
        plan->gpcs,
        1e-5);

    problem.gpu_count = std::max(1, plan->gpus / 2);
    const auto most = plan_max_goodput(problem, {});
    ASSERT_TRUE(most.has_value());
    double all = 0;
    for (const FleetTenant& tenant : problem.tenants) {
      all += tenant.weight * tenant.accuracy * tenant.rate_rps;
    }
    const double lost = cost_of_compact(problem,
                                        {.gpus_max = *problem.gpu_count,
                                         .unserved = FleetStage::Unserved::kPaid,
                                         .values = FleetStage::Values::kAny});
    EXPECT_NEAR(all - lost, most->goodput_rps, all * 1e-5);
  }
}

TEST_F(FleetMilpTest, ParvagpuSets_CompactProgramEqualsOurs) {
  // Our optima of ParvaGPU's six sets, of which no reference exists for 5 and 6, are CBC's too.
  SEPTULE_REQUIRE_SHARED(profiles_file, "data/serving/parvagpu_a100_80g_mig_mps.csv");
  SEPTULE_REQUIRE_SHARED(sets_file, "data/serving/parvagpu_slo_sets.csv");
  const auto profiles = test::read_parvagpu(profiles_file);
  for (int set = 1; set <= 6; ++set) {
    SCOPED_TRACE(set);
    const FleetProblem problem = test::admit_for_fleet(
        test::a100(), test::read_slo_set(sets_file, profiles, set), test::Suspects::kDropped, 5);
    const auto plan = plan_min_gpus(problem, {});
    ASSERT_TRUE(plan.has_value());
    EXPECT_TRUE(plan->is_optimal);
    EXPECT_NEAR(cost_of_compact(problem, {.gpu_cost = 1, .gpus_max = 100}), plan->gpus, 1e-5);
    EXPECT_NEAR(
        cost_of_compact(problem, {.instance_cost = {1, 2, 3, 4, 7}, .gpus_max = plan->gpus}),
        plan->gpcs,
        1e-5);
  }
}

TEST_F(FleetMilpTest, SearchWithoutWork_SolverImprovesPlanOrBound) {
  // Where our own search may do nothing, the solver makes up for it, and the checker agrees.
  const FleetProblem problem = test::odd_fleet(test::a100(), 5, 20, 3);
  const auto best = plan_min_gpus(problem, {});
  const auto alone = plan_min_gpus(problem, {.units_max = 0});
  const auto helped = plan_min_gpus(problem, {.units_max = 0, .solver = solver_.get()});
  ASSERT_TRUE(best.has_value() && alone.has_value() && helped.has_value());
  EXPECT_TRUE(check_fleet(problem, *helped, FleetGoal::kAllServed).is_ok());
  EXPECT_FALSE(alone->is_optimal);
  EXPECT_TRUE(helped->is_optimal);
  EXPECT_EQ(helped->gpus, best->gpus);
  EXPECT_EQ(helped->gpcs, best->gpcs);
  EXPECT_EQ(helped->method, "branch-and-price+milp");
}

}  // namespace
}  // namespace septule::serve
