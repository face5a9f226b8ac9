#include "serve/tenant.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "serve/warm_up.hpp"

namespace septule::serve {
namespace {

TEST(LatencyMeaning, EveryName_ReadsBackAsItself) {
  // What is written in a file is what was meant.
  for (const LatencyMeaning meaning : {LatencyMeaning::kMean,
                                       LatencyMeaning::kP50,
                                       LatencyMeaning::kP90,
                                       LatencyMeaning::kP95,
                                       LatencyMeaning::kP99,
                                       LatencyMeaning::kUnstated}) {
    EXPECT_EQ(parse_latency_meaning(latency_meaning_name(meaning)), meaning);
  }
  EXPECT_EQ(parse_latency_meaning("average"), std::nullopt);
}

TEST(RateSeries, At_HoldsEachValueForAStepAndTheLastForEver) {
  // Values hold to the end of their step; past the end the last one goes on.
  const RateSeries rate{Duration::milliseconds(500), {1, 5, 3}};
  EXPECT_EQ(rate.at(SimTime::nanoseconds(0)), 1);
  EXPECT_EQ(rate.at(SimTime::nanoseconds(499999999)), 1);
  EXPECT_EQ(rate.at(SimTime::nanoseconds(500000000)), 5);
  EXPECT_EQ(rate.at(SimTime::nanoseconds(1499999999)), 3);
  EXPECT_EQ(rate.at(SimTime::never()), 3);
  EXPECT_EQ(rate.peak(), 5);
}

TEST(RetrainingSpeed, WithoutFigures_HasMisosRatios) {
  // On a seven-slice GPU each size has the published ratio exactly.
  const RetrainingJob job;
  const ComputeSlices gpu(7);
  EXPECT_EQ(retraining_speed(job, ComputeSlices(1), gpu), 0.36);
  EXPECT_EQ(retraining_speed(job, ComputeSlices(2), gpu), 0.51);
  EXPECT_EQ(retraining_speed(job, ComputeSlices(3), gpu), 0.69);
  EXPECT_EQ(retraining_speed(job, ComputeSlices(4), gpu), 0.75);
  EXPECT_EQ(retraining_speed(job, ComputeSlices(7), gpu), 1);
}

TEST(RetrainingSpeed, OtherGpus_InterpolateInTheShareOfSlices) {
  // A quarter and a half of an A30 lie between the sevenths they lie between.
  const RetrainingJob job;
  const ComputeSlices gpu(4);
  EXPECT_NEAR(retraining_speed(job, ComputeSlices(1), gpu), 0.36 + 0.15 * 0.75, 1e-12);
  EXPECT_NEAR(retraining_speed(job, ComputeSlices(2), gpu), 0.69 + 0.06 * 0.5, 1e-12);
  EXPECT_EQ(retraining_speed(job, ComputeSlices(4), gpu), 1);
}

TEST(RetrainingSpeed, OwnFigures_AreTakenAndInterpolated) {
  // What a job states holds; between two figures lies the line, below the least one through 0.
  RetrainingJob job;
  job.speeds = {{ComputeSlices(2), 0.4}, {ComputeSlices(4), 0.6}};
  const ComputeSlices gpu(7);
  EXPECT_EQ(retraining_speed(job, ComputeSlices(2), gpu), 0.4);
  EXPECT_EQ(retraining_speed(job, ComputeSlices(4), gpu), 0.6);
  EXPECT_NEAR(retraining_speed(job, ComputeSlices(3), gpu), 0.5, 1e-12);
  EXPECT_NEAR(retraining_speed(job, ComputeSlices(1), gpu), 0.2, 1e-12);
  EXPECT_EQ(retraining_speed(job, ComputeSlices(7), gpu), 1);
  job.speeds.emplace_back(ComputeSlices(7), 0.9);
  EXPECT_EQ(retraining_speed(job, ComputeSlices(7), gpu), 0.9);
}

RC_GTEST_PROP(RetrainingSpeed, MoreSlices_NeverSlower, ()) {
  // Whatever the GPU, another slice does no harm by the measured ratios.
  const int gpu = *rc::gen::inRange(2, 17);
  const int slices = *rc::gen::inRange(1, gpu);
  const RetrainingJob job;
  const double less = retraining_speed(job, ComputeSlices(slices), ComputeSlices(gpu));
  RC_ASSERT(less > 0);
  RC_ASSERT(less < retraining_speed(job, ComputeSlices(slices + 1), ComputeSlices(gpu)));
}

TEST(WarmUpKinds, Table_HasUniqueNamesAndQuantilesThatAscend) {
  // The table is data: every row must make sense.
  std::vector<std::string> names = warm_up_kind_names();
  ASSERT_EQ(names.size(), warm_up_kinds().size());
  for (const WarmUpKind& kind : warm_up_kinds()) {
    EXPECT_GT(kind.warm_up.p50, Duration()) << kind.name;
    EXPECT_LE(kind.warm_up.p50, kind.warm_up.p90) << kind.name;
    EXPECT_LE(kind.warm_up.p90, kind.warm_up.p99) << kind.name;
    EXPECT_FALSE(kind.source.empty());
    const auto found = find_warm_up(kind.name);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(warm_up_of(found.value_or(WarmUp{}), WarmUpQuantile::kP90), kind.warm_up.p90);
  }
  EXPECT_EQ(std::ranges::count(names, "default"), 1);
  EXPECT_FALSE(find_warm_up("bert").has_value());
  EXPECT_EQ(default_warm_up().p99, Duration::milliseconds(6000));
}

}  // namespace
}  // namespace septule::serve
