#include "gpu/profile.hpp"

#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
// clang-format off
#include <rapidcheck/gtest.h>  // needs gtest.h before it
// clang-format on

#include "base/text.hpp"
#include "gpu/catalogue_support.hpp"

namespace septule::gpu {
namespace {

Placement place(int start, int size) {
  return {MemorySlices(start), MemorySlices(size)};
}

TEST(Placement, Overlaps_ExactlyIfASliceIsShared) {
  // All pairs on a small grid, against the sets of slices.
  for (int a = 0; a < 6; ++a) {
    for (int a_size = 1; a_size < 5; ++a_size) {
      for (int b = 0; b < 6; ++b) {
        for (int b_size = 1; b_size < 5; ++b_size) {
          bool is_shared = false;
          for (int slice = 0; slice < 12; ++slice) {
            is_shared =
                is_shared || (slice >= a && slice < a + a_size && slice >= b && slice < b + b_size);
          }
          EXPECT_EQ(place(a, a_size).overlaps(place(b, b_size)), is_shared);
          EXPECT_EQ((ComputePlacement{ComputeSlices(a), ComputeSlices(a_size)}.overlaps(
                        {ComputeSlices(b), ComputeSlices(b_size)})),
                    is_shared);
        }
      }
    }
  }
  EXPECT_EQ(place(4, 4).end(), MemorySlices(8));
}

TEST(ParseProfileName, EveryNameOfTheCatalogue_IsTakenApart) {
  // Names and aliases, plain, in capitals, with "MIG" and with a compute part in front.
  for (const Geometry& geometry : test::builtin_catalogue().geometries()) {
    for (const GpuInstanceProfile& profile : geometry.profiles()) {
      const auto parts = parse_profile_name(profile.name);
      ASSERT_TRUE(parts.has_value()) << profile.name;
      EXPECT_EQ(parts->gpu, profile.slices);
      EXPECT_FALSE(parts->compute.has_value());
      EXPECT_EQ(parts->gpu_instance_name, profile.name);
      std::string capitals = " MIG 2c." + profile.name + " \t";
      for (char& c : capitals) {
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      }
      const auto with_compute = parse_profile_name(capitals);
      ASSERT_TRUE(with_compute.has_value()) << capitals;
      EXPECT_EQ(with_compute->compute, ComputeSlices(2));
      EXPECT_EQ(with_compute->gpu_instance_name, profile.name);
    }
  }
}

TEST(ParseProfileName, Malformed_IsNothing) {
  // Each lacks one part of the form or has one too much.
  for (const std::string_view bad : {"",
                                     "g.5gb",
                                     "1g",
                                     "1g.",
                                     "1g.gb",
                                     "1g.5",
                                     "1g.5g",
                                     "1g.5gbx",
                                     "1g.5gb me",
                                     "0g.5gb",
                                     "100g.5gb",
                                     "1g.123456gb",
                                     "1c.",
                                     "1c3g.5gb",
                                     "0c.3g.5gb",
                                     "1c.1c.3g.5gb",
                                     "-1g.5gb",
                                     "1g.-5gb",
                                     "1 g.5gb",
                                     "1g.5 gb",
                                     "1g5gb",
                                     "c.3g.20gb",
                                     "3g.20gb@4",
                                     "3g.20gb+\n",
                                     "mig",
                                     "1g.5gb+me,",
                                     "1g.5gb+0123456789abcdefg",
                                     "MIG1g.5gb"}) {
    EXPECT_FALSE(parse_profile_name(bad).has_value()) << bad;
  }
  EXPECT_FALSE(parse_profile_name(std::string_view("1g.5gb\0", 7)).has_value());
}

RC_GTEST_PROP(ParseProfileName, AnyText_GivesPartsThatReadBack, ()) {
  // Random bytes and random texts of the alphabet of names: parts, if any, parse to the same.
  const bool is_alphabet = *rc::gen::arbitrary<bool>();
  const std::string text =
      is_alphabet
          ? *rc::gen::container<std::string>(rc::gen::elementOf(std::string("137gcb.+-me ")))
          : *rc::gen::arbitrary<std::string>();
  if (const auto parts = parse_profile_name(text)) {
    const auto again = parse_profile_name(parts->gpu_instance_name);
    RC_ASSERT(again.has_value());
    RC_ASSERT(again->gpu == parts->gpu);
    RC_ASSERT(again->gpu_instance_name == parts->gpu_instance_name);
    RC_ASSERT(!again->compute.has_value());
  }
}

TEST(ProfileNames, EveryEnumerator_HasItsOwnName) {
  // Names of evidence, engines and variants are all different.
  std::set<std::string_view> names;
  for (const Evidence evidence : {Evidence::kVerified, Evidence::kPartial, Evidence::kInferred}) {
    names.insert(evidence_name(evidence));
  }
  for (int i = 0; i < kEngineCount; ++i) {
    names.insert(engine_name(static_cast<Engine>(i)));
  }
  for (int i = 0; i <= static_cast<int>(ProfileVariant::kNoMedia); ++i) {
    names.insert(variant_name(static_cast<ProfileVariant>(i)));
  }
  EXPECT_EQ(names.size(), 3U + 4U + 6U);
}

TEST(GpuInstanceProfile, IsVerified_FollowsEvidenceAndList) {
  // Verified and partial: all but the listed fields; inferred: none.
  GpuInstanceProfile profile;
  profile.unverified = {"sm"};
  profile.evidence = Evidence::kPartial;
  EXPECT_TRUE(profile.is_verified("memory_mib"));
  EXPECT_FALSE(profile.is_verified("sm"));
  profile.evidence = Evidence::kInferred;
  EXPECT_FALSE(profile.is_verified("memory_mib"));
  profile.evidence = Evidence::kVerified;
  EXPECT_TRUE(profile.is_verified("memory_mib"));
  EXPECT_FALSE(profile.is_verified("sm"));
}

}  // namespace
}  // namespace septule::gpu
