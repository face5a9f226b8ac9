#include "serve/service_times.hpp"

#include <array>

#include <gtest/gtest.h>

namespace septule::serve {
namespace {

constexpr Duration ms(std::int64_t count) {
  return Duration::milliseconds(count);
}

TEST(ServiceTimes, Between_MeasuredBatchesAreLinear) {
  // Aim: interpolation, the floor below the smallest, exact figures at measured sizes.
  const std::array<std::pair<int, Duration>, 3> measured = {
      {{2, ms(10)}, {4, ms(14)}, {8, ms(30)}}};
  const ServiceTimes times(measured);
  EXPECT_EQ(times.batch_max(), 8);
  EXPECT_EQ(times.of(1), ms(10));
  EXPECT_EQ(times.of(2), ms(10));
  EXPECT_EQ(times.of(3), ms(12));
  EXPECT_EQ(times.of(4), ms(14));
  EXPECT_EQ(times.of(6), ms(22));
  EXPECT_EQ(times.of(8), ms(30));
}

TEST(ServiceTimes, OfProfile_TakesRowsOfTheSameProcesses) {
  // Aim: k b / throughput; other slices, processes and larger batches do not count.
  ModelProfile profile;
  const auto add = [&](int slices, int batch, int processes, double rps) {
    profile.rows.push_back({.slices = ComputeSlices(slices),
                            .batch = batch,
                            .processes = processes,
                            .throughput_rps = rps,
                            .latency = ms(1)});
  };
  add(1, 1, 1, 50);
  add(2, 1, 1, 100);
  add(2, 4, 1, 200);
  add(2, 4, 2, 400);
  add(2, 8, 1, 250);
  const auto times =
      ServiceTimes::of_profile(profile, {.slices = ComputeSlices(2), .batch = 4}, MpsShareModel());
  ASSERT_TRUE(times);
  EXPECT_EQ(times->batch_max(), 4);
  EXPECT_EQ(times->of(1), ms(10));
  EXPECT_EQ(times->of(4), ms(20));
  const auto two = ServiceTimes::of_profile(
      profile, {.slices = ComputeSlices(2), .batch = 4, .processes = 2}, MpsShareModel());
  ASSERT_TRUE(two);
  EXPECT_EQ(two->of(4), ms(20));
  EXPECT_FALSE(
      ServiceTimes::of_profile(profile, {.slices = ComputeSlices(2), .batch = 2}, MpsShareModel()));
  EXPECT_FALSE(
      ServiceTimes::of_profile(profile, {.slices = ComputeSlices(3), .batch = 4}, MpsShareModel()));
}

TEST(ServiceTimes, OneRowOnly_HoldsForEveryFill) {
  // Aim: with nothing else known a part-filled batch takes as long as a full one; company slows.
  ModelProfile profile;
  profile.rows.push_back(
      {.slices = ComputeSlices(7), .batch = 8, .throughput_rps = 100, .latency = ms(80)});
  MpsUse use{.slices = ComputeSlices(7), .batch = 8};
  const auto alone = ServiceTimes::of_profile(profile, use, MpsShareModel());
  ASSERT_TRUE(alone);
  for (int batch = 1; batch <= 8; ++batch) {
    EXPECT_EQ(alone->of(batch), ms(80));
  }
  use.company = MpsCompany::kShared;
  EXPECT_EQ(ServiceTimes::of_profile(profile, use, MpsShareModel(0.5))->of(8), ms(160));
}

}  // namespace
}  // namespace septule::serve
