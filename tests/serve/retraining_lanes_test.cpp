#include "serve/policies/retraining_lanes.hpp"

#include <set>

#include <gtest/gtest.h>

namespace septule::serve {
namespace {

Duration seconds(std::int64_t count) {
  return Duration::milliseconds(1000 * count);
}

LaneJob job(int tenant, int release_s, int deadline_s, double work_s) {
  return {.tenant = tenant,
          .release_s = release_s,
          .deadline_s = deadline_s,
          .until_s = deadline_s,
          .work_s = work_s,
          .speed = {0.5, 1}};
}

TEST(RetrainingLanes, LaneJobs_OnePerPeriodInTheWindow) {
  // Aim: release and deadline count from each period's begin; ends are cut.
  Tenant tenant;
  tenant.retraining = RetrainingJob{.work_s = 7,
                                    .accuracy_after = 0.9,
                                    .release = seconds(10),
                                    .deadline = seconds(60),
                                    .period = seconds(100)};
  tenant.warm_up = {seconds(1), seconds(2), seconds(3)};
  const std::vector<LaneJob> jobs = lane_jobs(tenant, 4, 100, 250);
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].tenant, 4);
  EXPECT_EQ(jobs[0].release_s, 110);
  EXPECT_EQ(jobs[0].deadline_s, 160);
  EXPECT_EQ(jobs[0].until_s, 200);
  EXPECT_EQ(jobs[0].warm_up_s, 3) << "p90 of 2 s and the driver";
  EXPECT_EQ(jobs[1].release_s, 210);
  EXPECT_EQ(jobs[1].deadline_s, 250);
  tenant.retraining->period.reset();
  EXPECT_EQ(lane_jobs(tenant, 0, 0, 250).size(), 1U);
  EXPECT_EQ(lane_jobs(tenant, 0, 0, 250)[0].until_s, 250);
  EXPECT_TRUE(lane_jobs(tenant, 0, 100, 250).empty());
  EXPECT_TRUE(lane_jobs(Tenant(), 0, 0, 250).empty());
}

TEST(RetrainingLanes, OneLane_OneAfterAnotherInTheOrder) {
  // Aim: worked by hand: 10 s of work at half speed end at 20 and 40.
  const std::vector<LaneJob> jobs{job(0, 0, 100, 10), job(1, 0, 100, 10)};
  const std::vector<int> lane{0};
  const std::vector<int> order{1, 0};
  const std::vector<LaneRun> runs = run_lanes(jobs, lane, order);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].tenant, 1);
  EXPECT_EQ(runs[0].from_s, 20);
  EXPECT_EQ(runs[1].tenant, 0);
  EXPECT_EQ(runs[1].start_s, 20);
  EXPECT_EQ(runs[1].from_s, 40);
}

TEST(RetrainingLanes, TwoLanes_BothWork) {
  // Aim: the faster lane comes first in the list and takes the first of the order.
  const std::vector<LaneJob> jobs{job(0, 5, 100, 10), job(1, 0, 100, 10.5)};
  const std::vector<int> lanes{1, 0};
  const std::vector<int> order{0, 1};
  const std::vector<LaneRun> runs = run_lanes(jobs, lanes, order);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].tenant, 1);
  EXPECT_EQ(runs[0].lane, 0) << "only tenant 1 is released at 0";
  EXPECT_EQ(runs[0].from_s, 11);
  EXPECT_EQ(runs[1].tenant, 0);
  EXPECT_EQ(runs[1].start_s, 5);
  EXPECT_EQ(runs[1].from_s, 25);
}

TEST(RetrainingLanes, JobThatCannotBeInTime_IsNotStarted) {
  // Aim: too slow, does not fit, not named by the order.
  const std::vector<int> lane{0};
  const std::vector<int> order{0};
  EXPECT_TRUE(run_lanes({{job(0, 0, 19, 10)}}, lane, order).empty());
  EXPECT_EQ(run_lanes({{job(0, 0, 20, 10)}}, lane, order).size(), 1U);
  EXPECT_TRUE(run_lanes({{job(1, 0, 100, 10)}}, lane, order).empty());
  LaneJob misfit = job(0, 0, 100, 10);
  misfit.speed = {0, 1};
  EXPECT_TRUE(run_lanes({{misfit}}, lane, order).empty());
  EXPECT_TRUE(run_lanes({{job(0, 0, 100, 10)}}, {}, order).empty());
}

TEST(RetrainingLanes, OrderedChoices_AreAllOfThem) {
  // Aim: sum over k of n! / (n - k)!: 1, 2, 5, 16, 65.
  std::vector<int> tenants;
  for (const std::size_t expected : {1U, 2U, 5U, 16U, 65U}) {
    const auto choices = ordered_choices(tenants);
    EXPECT_EQ(choices.size(), expected);
    EXPECT_EQ(std::set(choices.begin(), choices.end()).size(), expected);
    EXPECT_TRUE(choices.front().empty());
    tenants.push_back(static_cast<int>(tenants.size()) + 3);
  }
}

}  // namespace
}  // namespace septule::serve
