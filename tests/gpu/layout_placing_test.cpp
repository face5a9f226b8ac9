// Placing a layout request on one empty GPU (src/gpu/layout_placing.cpp).
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/catalogue_support.hpp"
#include "gpu/layout_request.hpp"
#include "gpu/partition_checker.hpp"

namespace septule::gpu {
namespace {

using test::model;
using testing::HasSubstr;

std::string refusal(std::string_view text, std::string_view key = "A100-40GB") {
  const auto request = parse_layout_request(model(key), text);
  SEPTULE_CHECK(request.has_value(), "tests place what parses");
  const auto partition = place_layout_request(model(key), *request);
  if (partition) {
    return "placed";
  }
  EXPECT_EQ(partition.error().code, ErrorCode::kBlocked);
  test::expect_one_line(partition.error());
  EXPECT_THAT(partition.error().message, HasSubstr(model(key).key()));
  return partition.error().message;
}

TEST(PlaceLayoutRequest, EveryLayoutOfEveryGpu_RoundTripsThroughText) {
  // Text, parsed and placed, gives the same partition, and the independent checker accepts it.
  for (const Geometry& geometry : test::builtin_catalogue().geometries()) {
    const auto profiles = geometry.profiles_in(ProfileSet::kAll);
    if (profiles.empty()) {
      continue;
    }
    for_each_layout(geometry, profiles, {}, [&](const Layout& layout, bool) {
      const Partition partition = partition_with_full_instances(geometry, layout);
      const std::string text = partition_text(geometry, partition);
      const auto request = parse_layout_request(geometry, text);
      ASSERT_TRUE(request.has_value()) << text;
      const auto written = partition_as_written(geometry, *request);
      ASSERT_TRUE(written.has_value()) << text;
      ASSERT_EQ(*written, partition) << geometry.key() << " " << text;
    });
    for (const Layout& layout : maximal_layouts(geometry, ProfileSet::kPlain)) {
      const Partition partition = partition_with_full_instances(geometry, layout);
      const auto request = parse_layout_request(geometry, partition_text(geometry, partition));
      const auto found = place_layout_request(geometry, *request);
      ASSERT_TRUE(found.has_value());
      EXPECT_EQ(*found, partition);
    }
  }
}

/// Places the names of a layout without their starts; the answer holds the same profiles, is legal
/// and leaves as much room as any layout of these profiles.
void expect_multiset_placed(const Geometry& geometry, const Layout& layout) {
  LayoutRequest request;
  std::vector<ProfileIndex> wanted;
  for (const PlacedProfile& placed : layout) {
    request.instances.push_back({.profile = placed.profile});
    wanted.push_back(placed.profile);
  }
  const auto partition = place_layout_request(geometry, request);
  ASSERT_TRUE(partition.has_value()) << test::layout_name(geometry, layout);
  std::vector<ProfileIndex> got;
  for (const PlacedProfile& placed : layout_of(*partition)) {
    got.push_back(placed.profile);
  }
  std::ranges::sort(wanted);
  std::ranges::sort(got);
  EXPECT_EQ(got, wanted);
  EXPECT_TRUE(check_partition(geometry, *partition).empty());
}

TEST(PlaceLayoutRequest, EveryMultiset_FindsALegalLayout) {
  // Plain profiles of every GPU; all profiles of A30.
  for (const Geometry& geometry : test::builtin_catalogue().geometries()) {
    const bool is_small = geometry.key() == "A30-24GB";
    const auto set = is_small ? ProfileSet::kAll : ProfileSet::kPlain;
    for_each_layout(geometry, geometry.profiles_in(set), {}, [&](const Layout& layout, bool) {
      expect_multiset_placed(geometry, layout);
    });
  }
}

TEST(PlaceLayoutRequest, EveryMultisetOfAllProfiles_FindsALegalLayout) {
  // The maximal layouts with +me, +gfx and double memory on one GPU of each family.
  for (const std::string_view key : {"A100-40GB", "RTX-PRO-6000-Blackwell"}) {
    for (const Layout& layout : maximal_layouts(model(key), ProfileSet::kAll)) {
      expect_multiset_placed(model(key), layout);
    }
  }
}

TEST(PlaceLayoutRequest, FreePlaces_LeaveRoomForTheLargestProfile) {
  // One 1g goes where a 4g stays possible; of equal places the first.
  const Geometry& a100 = model("A100-40GB");
  const auto place = [&](std::string_view text) {
    return partition_text(a100, *place_layout_request(a100, *parse_layout_request(a100, text)));
  };
  EXPECT_EQ(place("1g"), "1g.5gb@4");
  EXPECT_EQ(place("3g"), "3g.20gb@4");
  EXPECT_EQ(place("2g,1g@4"), "2g.10gb@0,1g.5gb@4");
}

TEST(PlaceLayoutRequest, WhatDoesNotFit_SaysWhichLimitIsHit) {
  // Profile maximum, compute slices, memory slices, engines, placements, overlap, arrangement.
  EXPECT_THAT(refusal("2x4g"),
              HasSubstr("2 instances of 4g.20gb are asked for, the GPU can hold 1"));
  EXPECT_THAT(refusal("448x1g"), HasSubstr("the GPU can hold 7"));
  EXPECT_THAT(refusal("4g,3g,1g"), HasSubstr("8 compute slices are needed, the GPU has 7"));
  EXPECT_THAT(refusal("3g,3g,1g"), HasSubstr("9 memory slices are needed, the GPU has 8"));
  EXPECT_THAT(refusal("3g.20gb@1"), HasSubstr("3g.20gb"));
  EXPECT_THAT(refusal("3g.20gb@0,4g.20gb@0"), HasSubstr("memory slice"));
  EXPECT_THAT(refusal("3g.20gb@4,3g.20gb@4"), HasSubstr("memory slice"));
  EXPECT_THAT(refusal("1g@0,1g@4,3g"), HasSubstr("3g.20gb"));
  EXPECT_EQ(refusal("empty"), "placed");
}

}  // namespace
}  // namespace septule::gpu
