#include "serve/mps_share_model.hpp"

#include <gtest/gtest.h>

namespace septule::serve {
namespace {

ModelProfile profile_of_two_rows() {
  ModelProfile profile;
  profile.model = "m";
  profile.rows.push_back({.slices = ComputeSlices(7),
                          .batch = 8,
                          .throughput_rps = 1000,
                          .latency = Duration::milliseconds(8)});
  profile.rows.push_back({.slices = ComputeSlices(7),
                          .batch = 8,
                          .share = ActiveThreadPercentage(30),
                          .throughput_rps = 400,
                          .latency = Duration::milliseconds(20)});
  return profile;
}

TEST(MpsShareModel, Kept_AtPublishedPoints_IsPublishedFigure) {
  // Aim: the table of serving.md 2.1 is reproduced.
  const struct {
    int batch;
    int share;
    double kept;
  } rows[] = {{1, 20, 0.80},
              {1, 50, 0.92},
              {8, 20, 0.53},
              {8, 50, 0.87},
              {32, 20, 0.30},
              {32, 50, 0.66},
              {1, 100, 1},
              {256, 100, 1}};
  for (const auto& row : rows) {
    EXPECT_NEAR(MpsShareModel::kept(ActiveThreadPercentage(row.share), row.batch), row.kept, 1e-12);
  }
}

TEST(MpsShareModel, Kept_Anywhere_RisesWithShareAndFallsWithBatch) {
  // Aim: monotone in both directions, within (0, 1].
  for (int batch = 1; batch <= 256; batch *= 2) {
    for (int share = 1; share <= 100; ++share) {
      const double kept = MpsShareModel::kept(ActiveThreadPercentage(share), batch);
      EXPECT_GT(kept, 0);
      EXPECT_LE(kept, 1);
      EXPECT_GT(kept + 1e-15, MpsShareModel::kept(ActiveThreadPercentage(share), 2 * batch));
      if (share > 1) {
        EXPECT_GT(kept, MpsShareModel::kept(ActiveThreadPercentage(share - 1), batch));
      }
    }
  }
}

TEST(MpsShareModel, Yield_InCompany_IsThinnedByPhi) {
  // Aim: throughput x kept x phi, latency divided by the same.
  const MpsShareModel model;
  MpsUse use{.slices = ComputeSlices(7), .batch = 8, .share = ActiveThreadPercentage(50)};
  const auto alone = model.yield(profile_of_two_rows(), use);
  use.company = MpsCompany::kShared;
  const auto shared = model.yield(profile_of_two_rows(), use);
  ASSERT_TRUE(alone && shared);
  EXPECT_NEAR(alone->throughput_rps, 870, 1e-9);
  EXPECT_NEAR(shared->throughput_rps, 870 * 0.76, 1e-9);
  EXPECT_NEAR(shared->latency.to_seconds(), 0.008 / (0.87 * 0.76), 1e-8);
}

TEST(MpsShareModel, Yield_OfAFullInstance_IsNotCountedTwice) {
  // Aim: shares of a row that fills the GPU add up to the best measured throughput and little more,
  // whatever the batch of the row; 0.76 x 2 x 0.66 and 0.76 x 5 x 0.30 of it at most.
  ModelProfile profile = profile_of_two_rows();
  profile.rows.resize(1);
  profile.rows.push_back({.slices = ComputeSlices(7),
                          .batch = 8,
                          .processes = 4,
                          .throughput_rps = 2000,
                          .latency = Duration::milliseconds(16)});
  const MpsShareModel model;
  for (const int processes : {1, 4}) {
    for (const auto& [share, most] : {std::pair{50, 0.66}, std::pair{20, 0.30}}) {
      const auto yield = model.yield(profile,
                                     {.slices = ComputeSlices(7),
                                      .batch = 8,
                                      .processes = processes,
                                      .share = ActiveThreadPercentage(share),
                                      .company = MpsCompany::kShared});
      ASSERT_TRUE(yield);
      EXPECT_LE(yield->throughput_rps, 2000 * most * 0.76 + 1e-9);
      if (processes == 4) {
        EXPECT_NEAR(yield->throughput_rps, 2000 * most * 0.76, 1e-9);
        EXPECT_NEAR(yield->latency.to_seconds(), 0.016 / (most * 0.76), 1e-8);
      }
    }
  }
}

TEST(MpsShareModel, RetrainingFactor_IsThinnedInCompany) {
  // Aim: phi on top of what the share keeps, as for serving.
  const MpsShareModel model(0.5);
  const ActiveThreadPercentage half(50);
  EXPECT_EQ(model.retraining_factor(half, MpsCompany::kAlone),
            MpsShareModel::retraining_kept(half));
  EXPECT_EQ(model.retraining_factor(half, MpsCompany::kShared),
            0.5 * MpsShareModel::retraining_kept(half));
}

TEST(MpsShareModel, Yield_WhereShareWasMeasured_TakesTheRow) {
  // Aim: a measured share is not estimated again.
  const MpsShareModel model(0.5);
  MpsUse use{.slices = ComputeSlices(7), .batch = 8, .share = ActiveThreadPercentage(30)};
  EXPECT_DOUBLE_EQ(model.yield(profile_of_two_rows(), use)->throughput_rps, 400);
  use.company = MpsCompany::kShared;
  EXPECT_DOUBLE_EQ(model.yield(profile_of_two_rows(), use)->throughput_rps, 200);
  EXPECT_EQ(model.yield(profile_of_two_rows(), use)->latency, Duration::milliseconds(40));
}

TEST(MpsShareModel, Yield_WithoutRow_IsNothing) {
  // Aim: unknown is nothing, for slices, batch and processes alike.
  const MpsShareModel model;
  const MpsUse known{.slices = ComputeSlices(7), .batch = 8};
  MpsUse use = known;
  use.slices = ComputeSlices(4);
  EXPECT_FALSE(model.yield(profile_of_two_rows(), use));
  use = known;
  use.batch = 4;
  EXPECT_FALSE(model.yield(profile_of_two_rows(), use));
  use = known;
  use.processes = 2;
  EXPECT_FALSE(model.yield(profile_of_two_rows(), use));
}

TEST(MpsShareModel, RetrainingKept_AtSevenths_IsMisosRatio) {
  // Aim: the published ratios, and the whole at 100 %.
  EXPECT_DOUBLE_EQ(MpsShareModel::retraining_kept(ActiveThreadPercentage(100)), 1);
  EXPECT_NEAR(MpsShareModel::retraining_kept(ActiveThreadPercentage(14)), 0.36 * 0.98, 1e-12);
  EXPECT_NEAR(MpsShareModel::retraining_kept(ActiveThreadPercentage(43)), 0.69, 0.001);
  for (int share = 2; share <= 100; ++share) {
    EXPECT_GT(MpsShareModel::retraining_kept(ActiveThreadPercentage(share)),
              MpsShareModel::retraining_kept(ActiveThreadPercentage(share - 1)));
  }
}

}  // namespace
}  // namespace septule::serve
