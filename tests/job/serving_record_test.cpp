#include "job/serving_record.hpp"

#include <gtest/gtest.h>

namespace septule::job {
namespace {

TEST(ServingRecord, DerivedFigures_AreRatiosOfSums) {
  // Aim: over all tenants together, without weights.
  ServingRecord run;
  run.tenants = {{.name = "a", .weight = 3, .arrived = 100, .in_slo = 80, .goodput = 40},
                 {.name = "b", .weight = 1, .arrived = 300, .in_slo = 120, .goodput = 120}};
  run.capacity_lost = 10;
  run.capacity_lost_in_place = 40;
  run.needed_lost = 1;
  run.needed_lost_in_place = 2;
  EXPECT_DOUBLE_EQ(attainment(run).value_or(-1), 0.5);
  EXPECT_DOUBLE_EQ(mean_accuracy(run).value_or(-1), 0.8);
  EXPECT_DOUBLE_EQ(overhead_hidden(run).value_or(-1), 0.75);
  EXPECT_DOUBLE_EQ(needed_hidden(run).value_or(-1), 0.5);
}

TEST(ServingRecord, NothingToDivideBy_GivesNothing) {
  // Aim: unknown is nothing, never 0.
  const ServingRecord run;
  EXPECT_FALSE(attainment(run));
  EXPECT_FALSE(mean_accuracy(run));
  EXPECT_FALSE(overhead_hidden(run));
  EXPECT_FALSE(needed_hidden(run));
}

}  // namespace
}  // namespace septule::job
