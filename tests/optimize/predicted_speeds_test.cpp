#include "optimize/predicted_speeds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/plan_support.hpp"

namespace septule::optimize {
namespace {

using predict::Slice;
using ::testing::HasSubstr;

class PredictedSpeedsTest : public test::CatalogueTest {
 protected:
  PredictedSpeedsTest() : profiles_(slice_profiles(geometry("A100-40GB")).value()) {}

  SliceFits fits(const PredictedJob& job) const {
    return slice_fits(geometry("A100-40GB"), profiles_, job);
  }

  SliceProfiles profiles_;
};

TEST_F(PredictedSpeedsTest, SevenSliceModels_HaveTheirPlainProfiles) {
  // Aim: slices map on every model with seven compute slices, and on no other one.
  int mapped = 0;
  for (const gpu::Geometry& geometry : catalogue_.geometries()) {
    const Result<SliceProfiles> profiles = slice_profiles(geometry);
    const bool is_expected =
        geometry.has_profile_table() && geometry.compute_slices() == ComputeSlices(7);
    ASSERT_EQ(profiles.has_value(), is_expected) << geometry.key();
    if (!profiles) {
      EXPECT_EQ(profiles.error().code,
                geometry.has_profile_table() ? ErrorCode::kInvalidInput : ErrorCode::kNotFound);
      continue;
    }
    ++mapped;
    for (std::size_t i = 0; i < predict::kSlices; ++i) {
      EXPECT_EQ(geometry.profile((*profiles)[i]).slices.value(), predict::kSliceComputeSlices[i]);
      EXPECT_EQ(geometry.profile((*profiles)[i]).variant, gpu::ProfileVariant::kPlain);
    }
  }
  EXPECT_GT(mapped, 10);
  EXPECT_THAT(slice_profiles(geometry("A30-24GB")).error().message,
              HasSubstr("A30-24GB has 4 compute slices"));
}

TEST_F(PredictedSpeedsTest, DeclaredMemory_DecidesTheFit) {
  // Aim: a slice is open to a job exactly if its memory holds what is declared.
  using enum MemoryFit;
  EXPECT_EQ(fits({.memory = Bytes::mebibytes(4864)}),
            (SliceFits{kFits, kFits, kFits, kFits, kFits}));
  EXPECT_EQ(fits({.memory = Bytes(Bytes::mebibytes(4864).value() + 1)}),
            (SliceFits{kFits, kFits, kFits, kFits, kTooSmall}));
  EXPECT_EQ(fits({.memory = Bytes::mebibytes(15000)}),
            (SliceFits{kFits, kFits, kFits, kTooSmall, kTooSmall}));
  EXPECT_EQ(fits({.memory = Bytes::mebibytes(50000)}),
            (SliceFits{kTooSmall, kTooSmall, kTooSmall, kTooSmall, kTooSmall}));
}

TEST_F(PredictedSpeedsTest, SmallestSlice_AndMemoryMustBothAllow) {
  // Aim: either declaration may forbid a slice; without any, nothing is known of the fit.
  using enum MemoryFit;
  EXPECT_EQ(fits({}),
            (SliceFits{kNotDeclared, kNotDeclared, kNotDeclared, kNotDeclared, kNotDeclared}));
  EXPECT_EQ(fits({.smallest = Slice::k1g}), (SliceFits{kFits, kFits, kFits, kFits, kFits}));
  EXPECT_EQ(fits({.smallest = Slice::k3g}), (SliceFits{kFits, kFits, kFits, kTooSmall, kTooSmall}));
  EXPECT_EQ(fits({.smallest = Slice::k7g}),
            (SliceFits{kFits, kTooSmall, kTooSmall, kTooSmall, kTooSmall}));
  EXPECT_EQ(fits({.memory = Bytes::mebibytes(15000), .smallest = Slice::k1g}),
            (SliceFits{kFits, kFits, kFits, kTooSmall, kTooSmall}));
  EXPECT_EQ(fits({.memory = Bytes::mebibytes(10), .smallest = Slice::k2g}),
            (SliceFits{kFits, kFits, kFits, kFits, kTooSmall}));
}

TEST_F(PredictedSpeedsTest, UnpublishedMemory_FollowsFromWhatIsKnownOfOtherSlices) {
  // Aim: what fits a slice fits those with more memory; smallest decides where nothing is
  // published.
  using enum MemoryFit;
  const gpu::Geometry& b200 = geometry("B200-180GB");
  const SliceProfiles b200_profiles = slice_profiles(b200).value();
  const auto on_b200 = [&](const PredictedJob& job) {
    return slice_fits(b200, b200_profiles, job);
  };
  EXPECT_EQ(on_b200({.memory = Bytes::mebibytes(30000)}),
            (SliceFits{kFits, kFits, kFits, kFits, kTooSmall}));
  EXPECT_EQ(on_b200({.memory = Bytes::mebibytes(60000)}),
            (SliceFits{kNotPublished, kNotPublished, kNotPublished, kTooSmall, kTooSmall}));
  EXPECT_EQ(on_b200({.memory = Bytes::mebibytes(60000), .smallest = Slice::k3g}),
            (SliceFits{kFits, kFits, kFits, kTooSmall, kTooSmall}));
  const gpu::Geometry& b300 = geometry("B300-269GB");
  const SliceProfiles b300_profiles = slice_profiles(b300).value();
  EXPECT_EQ(slice_fits(b300, b300_profiles, {.memory = Bytes::mebibytes(18432)}),
            (SliceFits{kNotPublished, kNotPublished, kNotPublished, kNotPublished, kNotPublished}));
  EXPECT_EQ(
      slice_fits(b300, b300_profiles, {.memory = Bytes::mebibytes(18432), .smallest = Slice::k2g}),
      (SliceFits{kFits, kFits, kFits, kFits, kTooSmall}));
}

TEST_F(PredictedSpeedsTest, Fits_GrowWithMemorySlicesOnEveryModel) {
  // Aim: for any memory, a slice with more memory slices than one that fits fits as well.
  for (const gpu::Geometry& geometry : catalogue_.geometries()) {
    const Result<SliceProfiles> profiles = slice_profiles(geometry);
    for (std::uint64_t mib = 1000; profiles && mib < 300000; mib += 1000) {
      const SliceFits found = slice_fits(geometry, *profiles, {.memory = Bytes::mebibytes(mib)});
      for (std::size_t i = 0; i < predict::kSlices; ++i) {
        for (std::size_t j = 0; j < predict::kSlices; ++j) {
          const bool is_larger =
              geometry.profile((*profiles)[j]).size() > geometry.profile((*profiles)[i]).size();
          if (is_larger && found[i] == MemoryFit::kFits) {
            EXPECT_EQ(found[j], MemoryFit::kFits) << geometry.key() << " " << mib;
          }
          if (is_larger && found[j] == MemoryFit::kTooSmall) {
            EXPECT_EQ(found[i], MemoryFit::kTooSmall) << geometry.key() << " " << mib;
          }
        }
      }
    }
  }
}

TEST_F(PredictedSpeedsTest, ExpectedSpeeds_UnpublishedMemory_IsLeftToTheFitsAlone) {
  // Aim: a checker that cannot know the profile's memory is not given the job's.
  const gpu::Geometry& b200 = geometry("B200-180GB");
  PredictedJob job{.name = "a", .memory = Bytes::mebibytes(30000)};
  job.prediction.speed = {1, 0.8, 0.7, 0.5, 0.2};
  const SliceProfiles profiles = slice_profiles(b200).value();
  const plan::JobSpeeds speeds = expected_speeds(b200, profiles, job);
  EXPECT_EQ(speeds.memory, std::nullopt);
  EXPECT_EQ(speeds.speed[static_cast<std::size_t>(profiles[0].value())], 1);
  EXPECT_EQ(speeds.speed[static_cast<std::size_t>(profiles[4].value())], 0);
}

TEST_F(PredictedSpeedsTest, ExpectedSpeeds_StandOnThePlainProfilesThatFit) {
  // Aim: the optimizer sees predictions where the job fits, 0 elsewhere, and figures in range.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  PredictedJob job{.name = "a", .memory = Bytes::mebibytes(9000)};
  job.prediction.speed = {1, 0.8, 0.7, -0.1, 0.2};
  const plan::JobSpeeds speeds = expected_speeds(a100, profiles_, job);
  const auto on = [&](std::string_view name) {
    return speeds.speed[static_cast<std::size_t>(profile(name).value())];
  };
  EXPECT_EQ(on("7g.40gb"), 1);
  EXPECT_EQ(on("4g.20gb"), 0.8);
  EXPECT_EQ(on("2g.10gb"), plan::kSpeedMin) << "a slice that fits has a speed above 0";
  EXPECT_EQ(on("1g.5gb"), 0);
  EXPECT_EQ(on("1g.10gb"), 0) << "not a plain profile";
  EXPECT_EQ(speeds.memory, job.memory);
  EXPECT_TRUE(plan::check_job_speeds(a100, {&speeds, 1}).is_ok());
}

}  // namespace
}  // namespace septule::optimize
