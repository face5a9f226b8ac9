#include "gpu/layout_request.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
// clang-format off
#include <rapidcheck/gtest.h>  // needs gtest.h before it
// clang-format on

#include "gpu/catalogue_support.hpp"
#include "gpu/partition_checker.hpp"

namespace septule::gpu {
namespace {

using test::model;
using testing::ElementsAre;
using testing::HasSubstr;

/// The partition a text leads to, as text; or the message of the refusal.
std::string placed(std::string_view text, std::string_view key = "A100-40GB") {
  const Geometry& geometry = model(key);
  const auto request = parse_layout_request(geometry, text);
  if (!request) {
    test::expect_one_line(request.error());
    EXPECT_EQ(request.error().code, ErrorCode::kInvalidInput) << text;
    return "invalid: " + request.error().message;
  }
  const auto partition = place_layout_request(geometry, *request);
  if (!partition) {
    test::expect_one_line(partition.error());
    EXPECT_EQ(partition.error().code, ErrorCode::kBlocked) << text;
    return "blocked: " + partition.error().message;
  }
  EXPECT_THAT(check_partition(geometry, *partition), testing::IsEmpty()) << text;
  return partition_text(geometry, *partition);
}

std::string seven(std::string_view name) {
  std::string text;
  for (int i = 0; i < 7; ++i) {
    text += (i > 0 ? "," : "") + std::string(name) + "@" + std::to_string(i);
  }
  return text;
}

TEST(ParseLayoutRequest, EveryForm_IsUnderstood) {
  // Names, places, repeats, shapes, extremes, compute instances; blanks and letter case.
  EXPECT_EQ(placed("4g.20gb@0,3g.20gb@4"), "4g.20gb@0,3g.20gb@4");
  EXPECT_EQ(placed(" 3G.20GB @ 4 , MIG 4g.20gb "), "4g.20gb@0,3g.20gb@4");
  for (const std::string_view text : {"7 x smallest", "7xsmallest", "7*1g", "7 X 1g.5gb", "7x1g"}) {
    EXPECT_EQ(placed(text), seven("1g.5gb")) << text;
  }
  EXPECT_EQ(placed("2*3g"), "3g.20gb@0,3g.20gb@4");
  EXPECT_EQ(placed("largest"), "7g.40gb@0");
  EXPECT_THAT(placed("1g+me"), HasSubstr("1g.5gb+me@"));
  EXPECT_EQ(placed("empty"), "empty");
  EXPECT_EQ(placed(" EMPTY\n"), "empty");
  EXPECT_EQ(placed("4g.20gb@0[1c@0,2c]"), "4g.20gb@0[1c@0,2c@2]");
  EXPECT_EQ(placed("3g.20gb@4[2c,1c]"), "3g.20gb@4[2c@0,1c@2]");
  EXPECT_EQ(placed("3g.20gb@4[]"), "3g.20gb@4[]");
  EXPECT_EQ(placed("3g.20gb@4[3c]"), "3g.20gb@4");
  EXPECT_EQ(placed("1c.3g.20gb@4/1"), "3g.20gb@4[1c@1]");
  EXPECT_EQ(placed("3c.3g.20gb@4"), "3g.20gb@4");
  EXPECT_EQ(placed("MIG 1c.3g.20gb@4"), "3g.20gb@4[1c@0]");
  EXPECT_EQ(placed("1c.3g@0"), "3g.20gb@0[1c@0]");
  EXPECT_EQ(placed("1g.24gb+me@0", "GB200-186GB"), "1g.23gb+me@0");
}

TEST(ParseLayoutRequest, EqualComputeItems_ShareGpuInstances) {
  // As far as they fit; then a new GPU instance is opened; other places are other instances.
  EXPECT_EQ(placed("3 x 1c.3g.20gb@4"), "3g.20gb@4[1c@0,1c@1,1c@2]");
  EXPECT_EQ(placed("4 x 1c.3g.20gb"), "3g.20gb@0[1c@0,1c@1,1c@2],3g.20gb@4[1c@0]");
  EXPECT_EQ(placed("1c.3g.20gb@0,1c.3g.20gb@4"), "3g.20gb@0[1c@0],3g.20gb@4[1c@0]");
  EXPECT_EQ(placed("1c.3g.20gb@4,2c.3g.20gb@4"), "3g.20gb@4[2c@0,1c@2]");
}

TEST(ParseLayoutRequest, Alias_IsNotedOnce) {
  // However often it is written.
  const auto request = parse_layout_request(model("A100-80GB"), "3g.39gb@0,2 x 3g.39gb,7g.79gb");
  ASSERT_TRUE(request.has_value());
  EXPECT_THAT(request->notes,
              ElementsAre("3g.39gb is 3g.40gb on A100-80GB", "7g.79gb is 7g.80gb on A100-80GB"));
  EXPECT_TRUE(parse_layout_request(model("A100-80GB"), "3g.40gb")->notes.empty());
}

TEST(ParseLayoutRequest, EveryError_NamesTheItemAndWhatWouldBeValid) {
  // One text per way to be wrong, and words of its message.
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "an item is empty"},
      {",", "an item is empty"},
      {"3g.20gb,", "an item is empty"},
      {"3g.20gb,empty", "no profile \"empty\""},
      {"0 x 3g", "from 1 to 448"},
      {"449x1g", "from 1 to 448"},
      {"99999999999999999999 x 1g", "from 1 to 448"},
      {"448x1g,1g", "more than 448 instances"},
      {"2 x", "a profile name is missing"},
      {"@4", "a profile name is missing"},
      {"3g.20gb@", "a number from 0"},
      {"3g.20gb@x", "a number from 0"},
      {"3g.20gb@-1", "a number from 0"},
      {"3g.20gb@100", "a number from 0"},
      {"3g.20gb@1@2", "a number from 0"},
      {"3g.20gb@4/0", "1c.3g.20gb@4/1"},
      {"1c.3g.20gb@4/", "a number from 0"},
      {"1c.3g.20gb@4/3", "do not fit into one 3g.20gb"},
      {"3c.3g.20gb@4/1", "only at compute slice 0"},
      {"4c.3g.20gb", "do not fit into one 3g.20gb"},
      {"3g.20gb[1c", "must be closed"},
      {"2 x 3g.20gb[1c]@4", "must be closed"},
      {"3g.20gb[1c]]", "not a compute instance"},
      {"3g.20gb[1]", "not a compute instance"},
      {"3g.20gb[0c]", "not a compute instance"},
      {"3g.20gb[1c,]", "not a compute instance"},
      {"3g.20gb[1c@]", "a number from 0"},
      {"3g.20gb[2c,2c]", "do not fit into one 3g.20gb (3 compute slices)"},
      {"3g.20gb[2c@1]", "do not fit"},
      {"3g.20gb[1c@0,2c]", "do not fit"},
      {"1c.3g.20gb[1c]", "not both"},
      {"2 x 3g.20gb@4", "one place cannot hold several"},
      {"2 x 3g.20gb@4[1c]", "one place cannot hold several"},
      {"3g.40gb", "A100-40GB has no profile \"3g.40gb\"; nearest: 3g.20gb"},
      {"3g.41gb", "no profile"},
      {"5g", "no profile"},
      {"1g-me", "no profile"},
      {"~~~~~", "it has: 1g.5gb"},
      {"1c.", "no profile"},
      {"3g.20gb;4g.20gb", "no profile"},
      {std::string(201, '3'), "longer than 200"},
  };
  for (const auto& [text, words] : cases) {
    const std::string answer = placed(text);
    EXPECT_THAT(answer, testing::StartsWith("invalid: \"")) << text;
    EXPECT_THAT(answer, HasSubstr(words)) << text;
  }
  EXPECT_THAT(placed("3g.39gb", "H100-80GB-SXM"), HasSubstr("nearest: 3g.40gb"));
}

TEST(ParseLayoutRequest, BoardWithoutProfileTable_IsNotFound) {
  // Exit code 4, also for the empty layout.
  for (const std::string_view text : {"1g", "empty", ""}) {
    const auto request = parse_layout_request(model("Thor-iGPU"), text);
    ASSERT_FALSE(request.has_value());
    EXPECT_EQ(request.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(request.error().message, HasSubstr("Thor-iGPU"));
  }
}

TEST(ParseLayoutRequest, AsManyComputeInstancesAsPossible_AreReadQuickly) {
  // 448 GPU instances full of compute instances: without a search per instance that must fail.
  const std::string seven_items =
      "448x1c.7g,448x1c.7g,448x1c.7g,448x1c.7g,448x1c.7g,448x1c.7g,448x1c.7g";
  const auto request = parse_layout_request(model("A100-40GB"), seven_items);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->instances.size(), 448U);
  EXPECT_THAT(placed(seven_items + ",1c.7g"), HasSubstr("more than 448"));
}

RC_GTEST_PROP(ParseLayoutRequest, AnyText_IsReadOrRefusedInOneLine, ()) {
  // Random bytes, and random pieces of the grammar, which get further.
  std::string text;
  if (*rc::gen::arbitrary<bool>()) {
    text = *rc::gen::arbitrary<std::string>();
  } else {
    const std::vector<std::string> pieces{"3g.20gb",  "1c.", "2c",    "@",   "4", "[", "]", ",",
                                          "/",        " ",   "x",     "*",   "7", "0", "g", "+me",
                                          "smallest", "\n",  "empty", "448", "-", "{", "}", "\xff"};
    for (const std::string& piece :
         *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces))) {
      text += piece;
    }
  }
  const Geometry& a100 = model("A100-40GB");
  const auto request = parse_layout_request(a100, text);
  if (!request) {
    RC_ASSERT(request.error().message.find_first_of("\r\n\x1b") == std::string::npos);
    return;
  }
  RC_ASSERT(request->instances.size() <= static_cast<std::size_t>(kRequestedInstancesMax));
  const auto partition = place_layout_request(a100, *request);
  if (partition) {
    RC_ASSERT(check_partition(a100, *partition).empty());
  } else {
    RC_ASSERT(partition.error().message.find_first_of("\r\n\x1b") == std::string::npos);
  }
}

TEST(PartitionAsWritten, IllegalRequests_AreKeptForTheChecker) {
  // Starts beyond the grid, impossible starts and overlaps come out as they were written.
  const Geometry& a100 = model("A100-40GB");
  for (const std::string_view text :
       {"3g.20gb@99", "3g.20gb@1", "3g.20gb@0,4g.20gb@0", "7g.40gb@31", "7g.40gb@0,1g.5gb@0"}) {
    const auto request = parse_layout_request(a100, text);
    ASSERT_TRUE(request.has_value()) << text;
    const auto partition = partition_as_written(a100, *request);
    ASSERT_TRUE(partition.has_value()) << text;
    EXPECT_EQ(partition->instances.size(), request->instances.size());
    EXPECT_FALSE(check_partition(a100, *partition).empty()) << text;
    for (const InstanceRequest& wanted : request->instances) {
      EXPECT_TRUE(std::ranges::any_of(partition->instances, [&](const GpuInstance& instance) {
        return instance.placed == PlacedProfile{wanted.profile, *wanted.start};
      })) << text;
    }
  }
}

}  // namespace
}  // namespace septule::gpu
