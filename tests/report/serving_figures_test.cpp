#include "report/serving_figures.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace septule::report {
namespace {

using testing::HasSubstr;

job::ServingRecord made_up_run(double goodput) {
  job::ServingRecord run;
  run.span = Duration::milliseconds(10000);
  run.gpu_count = 1;
  run.weighted_goodput = goodput;
  run.moves = 4;
  run.moves_with_free_slot = 1;
  run.capacity_lost = 20;
  run.capacity_lost_in_place = 100;
  run.tenants.resize(2);
  for (job::ServingTenantRecord& tenant : run.tenants) {
    tenant.name = "t";
    tenant.arrived = 100;
    tenant.in_slo = 90;
    tenant.goodput = 81;
    tenant.series = {{.begin = {}, .arrived = 10, .in_slo = 9, .capacity = 14, .goodput = 8.1}};
  }
  return run;
}

TEST(ServingFigures, Values_FollowTheirFormulas) {
  // Aim: each figure is what its formula says, and what is not known is nothing.
  job::ServingRecord run = made_up_run(160);
  EXPECT_DOUBLE_EQ(*serving_figure("attainment").value(run), 0.9);
  EXPECT_DOUBLE_EQ(*serving_figure("accuracy").value(run), 0.9);
  EXPECT_DOUBLE_EQ(*serving_figure("goodput_rps").value(run), 16);
  EXPECT_DOUBLE_EQ(*serving_figure("overhead_hidden").value(run), 0.8);
  EXPECT_DOUBLE_EQ(*serving_figure("free_slot_share").value(run), 0.25);
  EXPECT_FALSE(serving_figure("gap").value(run).has_value());
  EXPECT_FALSE(serving_figure("planned_error").value(run).has_value());
  EXPECT_FALSE(serving_figure("p99_ms_max").value(run).has_value());
  run.bound = 200;
  run.planned_goodput = 200;
  run.tenants[1].p99_ms = 70;
  EXPECT_DOUBLE_EQ(*serving_figure("gap").value(run), 0.25);
  EXPECT_DOUBLE_EQ(*serving_figure("planned_error").value(run), -0.2);
  EXPECT_DOUBLE_EQ(*serving_figure("p99_ms_max").value(run), 70);
}

TEST(ServingFigures, Names_AreEachThereOnce) {
  // Aim: a field of the JSON form cannot hide another.
  std::set<std::string> names;
  for (const ServingFigure& figure : serving_figures()) {
    EXPECT_TRUE(names.insert(figure.name).second) << figure.name;
  }
}

TEST(ServingFigures, Empty_RunHasNoShares) {
  // Aim: nothing divided by nothing is not known, and N/A for people.
  const job::ServingRecord run;
  for (const char* name : {"attainment", "accuracy", "goodput_rps", "free_slot_share"}) {
    const ServingFigure& figure = serving_figure(name);
    EXPECT_FALSE(figure.value(run).has_value()) << name;
    EXPECT_EQ(figure_text(figure, figure.value(run)), "N/A");
  }
}

TEST(ServingFigures, Comparison_HasARowForEachPolicyAndItsRatio) {
  // Aim: the ratio is the first policy's goodput over the other's, run by run; a single run has no
  // interval.
  const std::vector<ServingPolicyRuns> one = {{"ours", {made_up_run(200)}},
                                              {"theirs", {made_up_run(160)}}};
  const std::string text = serving_comparison_text(one);
  EXPECT_THAT(text, HasSubstr("ours       90.00 %   90.00 %      20.00   N/A  1.000   N/A"));
  EXPECT_THAT(text, HasSubstr("theirs     90.00 %   90.00 %      16.00   N/A  1.250   N/A"));
  const ServingPolicyRuns ours{"ours", {made_up_run(200), made_up_run(300)}};
  const ServingPolicyRuns theirs{"theirs", {made_up_run(100), made_up_run(100)}};
  const auto ratio = goodput_ratio(ours, theirs);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_DOUBLE_EQ(ratio->mean, 2.5);
  EXPECT_TRUE(ratio->low.has_value());
}

TEST(ServingFigures, Ratio_LeavesOutRunsWithoutGoodput) {
  // Aim: a base of 0 has no ratio; without any there is none at all.
  const ServingPolicyRuns ours{"ours", {made_up_run(200), made_up_run(300)}};
  const ServingPolicyRuns theirs{"theirs", {made_up_run(0), made_up_run(100)}};
  EXPECT_DOUBLE_EQ(goodput_ratio(ours, theirs)->mean, 3);
  EXPECT_FALSE(goodput_ratio(ours, {"none", {made_up_run(0)}}).has_value());
}

TEST(ServingFigures, Csv_HasARowForEachTenantAndSecond) {
  // Aim: names are quoted where needed and every second is there.
  job::ServingRecord run = made_up_run(10);
  run.tenants[1].name = "a,b";
  const std::string csv = serving_csv(run);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  EXPECT_THAT(csv, HasSubstr("\"a,b\",0,10.000,9.000,14.000,8.100,0.000\n"));
}

}  // namespace
}  // namespace septule::report
