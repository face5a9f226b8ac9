#include "serve/fleet_checker.hpp"

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/fleet_plan.hpp"
#include "serve/fleet_support.hpp"
#include "serve/lattice_support.hpp"

namespace septule::serve {
namespace {

TEST(FleetChecker, EveryFault_Found) {
  // A good plan passes; each way of spoiling it is found and said.
  FleetProblem problem{.lattice = &test::a100()};
  problem.tenants = {{.name = "a", .rate_rps = 10, .throughput = {1, 2, 3, 4, 7}},
                     {.name = "b", .rate_rps = 5, .throughput = {0, 2, 3, 4, 7}}};
  const auto plan = plan_min_gpus(problem, {});
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(check_fleet(problem, *plan, FleetGoal::kAllServed).is_ok());

  const auto fault_of = [&](const std::function<void(FleetPlan&)>& spoil) {
    FleetPlan spoilt = *plan;
    spoil(spoilt);
    const Status checked = check_fleet(problem, spoilt, FleetGoal::kAllServed);
    return checked.is_ok() ? std::string("none") : checked.error().message;
  };
  using testing::HasSubstr;
  EXPECT_THAT(fault_of([](FleetPlan& p) { ++p.gpus; }), HasSubstr("the plan says"));
  EXPECT_THAT(fault_of([](FleetPlan& p) { ++p.gpcs; }), HasSubstr("compute slices"));
  EXPECT_THAT(fault_of([](FleetPlan& p) { p.instances[1][0] = 1; }), HasSubstr("'b' has 1"));
  EXPECT_THAT(fault_of([](FleetPlan& p) { p.instances[0][1] = -1; }), HasSubstr("-1 instances"));
  EXPECT_THAT(fault_of([](FleetPlan& p) { p.instances[0][4] += 9; }),
              HasSubstr("but the layouts hold"));
  EXPECT_THAT(fault_of([](FleetPlan& p) { p.served_rps[0] = 9; }), HasSubstr("'a' is served"));
  EXPECT_THAT(fault_of([](FleetPlan& p) { p.goodput_rps += 1; }), HasSubstr("the goodput is"));
  EXPECT_THAT(fault_of([](FleetPlan& p) { p.goodput_bound = 1; }), HasSubstr("above its bound"));
  EXPECT_THAT(fault_of([](FleetPlan& p) { ++p.gpus_bound; }), HasSubstr("below their bounds"));
  EXPECT_THAT(fault_of([](FleetPlan& p) { --p.gpcs_bound; }), HasSubstr("called optimal"));
  EXPECT_THAT(fault_of([](FleetPlan& p) { p.layouts[0].multiset = 99; }), HasSubstr("layout 99"));
  EXPECT_THAT(fault_of([](FleetPlan& p) { p.layouts[0].gpus = 0; }), HasSubstr("for 0 GPUs"));
  EXPECT_THAT(fault_of([](FleetPlan& p) { p.layouts.push_back(p.layouts[0]); }),
              HasSubstr("out of order"));
  EXPECT_THAT(fault_of([](FleetPlan& p) { p.instances.pop_back(); }), HasSubstr("1 tenants"));

  problem.gpu_count = plan->gpus - 1;
  EXPECT_THAT(fault_of([](FleetPlan&) {}), HasSubstr("but there are"));
}

TEST(FleetChecker, UnservedRate_FaultOnlyWhereAllMustBeServed) {
  // Serving less is a fault of a plan that must serve all, not of one for the most goodput.
  FleetProblem problem{.lattice = &test::a100(), .gpu_count = 1};
  problem.tenants = {{.name = "a", .rate_rps = 20, .throughput = {1, 2, 3, 4, 7}}};
  const auto plan = plan_max_goodput(problem, {});
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(check_fleet(problem, *plan, FleetGoal::kBestGoodput).is_ok());
  const Status checked = check_fleet(problem, *plan, FleetGoal::kAllServed);
  ASSERT_FALSE(checked.is_ok());
  EXPECT_THAT(checked.error().message, testing::HasSubstr("of its 20 requests/s"));
}

}  // namespace
}  // namespace septule::serve
