#include "predict/measured_columns.hpp"

#include <map>

#include <gtest/gtest.h>

namespace septule::predict {
namespace {

/// resnet:64 at 1 and 3 co-runners, two columns each; gnn:64 at 3.
MeasuredColumns columns() {
  MeasuredColumns made;
  made.columns = {{"gnn:64", 3, {0.2, 0.4, 1}},
                  {"resnet:64", 1, {0.1, 0.5, 1}},
                  {"resnet:64", 1, {0.15, 0.5, 1}},
                  {"resnet:64", 3, {0.3, 0.6, 1}},
                  {"resnet:64", 3, {0.35, 0.6, 1}}};
  return made;
}

TEST(MeasuredColumns, Find_ByJobAndCoRunners_AndTheNearestNumber) {
  // Aim: exact finds, nothing for others, nearest with the smaller of two equally near.
  const MeasuredColumns made = columns();
  EXPECT_EQ(made.find("resnet:64", 3).size(), 2U);
  EXPECT_EQ(made.find("resnet:64", 3)[1].step[0], 0.35);
  EXPECT_TRUE(made.find("resnet:64", 2).empty());
  EXPECT_TRUE(made.find("resnet:6", 3).empty());
  const std::map<int, int> nearest = {{1, 1}, {2, 1}, {3, 3}, {4, 3}, {7, 3}};
  for (const auto& [wanted, found] : nearest) {
    EXPECT_EQ(made.nearest_co_runners("resnet:64", wanted), found) << wanted;
  }
  EXPECT_EQ(made.nearest_co_runners("bert:2", 3), 0);
  EXPECT_EQ(MeasuredColumns().nearest_co_runners("bert:2", 3), 0);
}

}  // namespace
}  // namespace septule::predict
