#include "gpu/geometry.hpp"

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

namespace septule::gpu {
namespace {

using test::builtin_catalogue;
using test::model;
using testing::HasSubstr;

std::string name_of(const Geometry& geometry, std::string_view text) {
  const auto index = geometry.find_profile(text);
  return index ? geometry.profile(*index).name : "none";
}

TEST(ProfileSet, Names_RoundTrip) {
  // Exactly three words, in lower case.
  for (const ProfileSet set : test::profile_sets()) {
    EXPECT_EQ(parse_profile_set(profile_set_name(set)), set);
  }
  for (const std::string_view bad : {"", "Plain", "media", " all"}) {
    EXPECT_FALSE(parse_profile_set(bad).has_value()) << bad;
  }
}

TEST(ProfileSet, Members_Nest) {
  // plain < double < all, ascending, and all is the whole table.
  for (const Geometry& geometry : builtin_catalogue().geometries()) {
    const auto plain = geometry.profiles_in(ProfileSet::kPlain);
    const auto with_double = geometry.profiles_in(ProfileSet::kDouble);
    const auto all = geometry.profiles_in(ProfileSet::kAll);
    EXPECT_TRUE(std::ranges::is_sorted(all));
    EXPECT_TRUE(std::ranges::includes(with_double, plain));
    EXPECT_TRUE(std::ranges::includes(all, with_double));
    EXPECT_EQ(all.size(), geometry.profiles().size());
  }
  EXPECT_EQ(model("A100-40GB").profiles_in(ProfileSet::kPlain).size(), 5U);
  EXPECT_EQ(model("A100-40GB").profiles_in(ProfileSet::kDouble).size(), 6U);
}

TEST(FindProfile, OnlyListedNames_Resolve) {
  // Aliases are facts of one GPU; no name is made up from gigabytes.
  EXPECT_EQ(name_of(model("A100-80GB"), "3g.39gb"), "3g.40gb");
  EXPECT_EQ(name_of(model("A100-80GB"), "7g.79gb"), "7g.80gb");
  EXPECT_EQ(name_of(model("GB200-186GB"), "1g.24gb"), "1g.23gb");
  EXPECT_EQ(name_of(model("GB200-186GB"), "1g.24gb+me"), "1g.23gb+me");
  EXPECT_EQ(name_of(model("GB200-186GB"), "7g.189gb"), "7g.186gb");
  EXPECT_EQ(name_of(model("H100-80GB-SXM"), "3g.39gb"), "none");
  EXPECT_EQ(name_of(model("H100-80GB-SXM"), "7g.79gb"), "none");
  for (const Geometry& geometry : builtin_catalogue().geometries()) {
    EXPECT_EQ(name_of(geometry, "3g.41gb"), "none") << geometry.key();
    EXPECT_EQ(name_of(geometry, "1c.3g.20gb"), "none") << geometry.key();
    EXPECT_EQ(name_of(geometry, "3g"), "none") << geometry.key();
  }
  EXPECT_EQ(name_of(model("A100-40GB"), " MIG 3G.20GB "), "3g.20gb");
  EXPECT_EQ(name_of(model("A100-40GB"), "1g.5gb+ME"), "1g.5gb+me");
}

TEST(FindProfile, AnyGigabytes_ResolveOnlyIfListed) {
  // Every size of every number of slices, on every GPU.
  for (const Geometry& geometry : builtin_catalogue().geometries()) {
    const auto names = geometry.profile_names();
    for (int slices = 1; slices <= 8; ++slices) {
      for (int gigabytes = 0; gigabytes <= 300; ++gigabytes) {
        const std::string name = std::to_string(slices) + "g." + std::to_string(gigabytes) + "gb";
        EXPECT_EQ(geometry.find_profile(name).has_value(),
                  std::ranges::find(names, name) != names.end())
            << geometry.key() << " " << name;
      }
    }
  }
}

TEST(PlainProfile, EverySize_IsThePlainOne) {
  // Never a variant of the same number of slices.
  const Geometry& a100 = model("A100-40GB");
  EXPECT_EQ(a100.profile(*a100.plain_profile(ComputeSlices(1))).name, "1g.5gb");
  EXPECT_EQ(a100.profile(*a100.plain_profile(ComputeSlices(7))).name, "7g.40gb");
  EXPECT_FALSE(a100.plain_profile(ComputeSlices(5)).has_value());
  EXPECT_FALSE(a100.plain_profile(ComputeSlices(0)).has_value());
}

TEST(ComputeProfiles, SizeWithoutTable_IsEmpty) {
  // A board without tables has none; A100 has them for each of its sizes.
  const Geometry& a100 = model("A100-40GB");
  for (const ProfileIndex index : a100.profiles_in(ProfileSet::kAll)) {
    EXPECT_FALSE(a100.compute_profiles(index).empty());
  }
  EXPECT_TRUE(model("Thor-iGPU").compute_profile_table().by_gpu_instance_slices.empty());
}

TEST(GeometryDeathTest, ProfileIndexOfAnotherGpu_IsAProgrammerError) {
  // Indices belong to one geometry.
  EXPECT_DEATH((void)model("A30-24GB").profile(ProfileIndex(5)), "belongs to its geometry");
  EXPECT_DEATH((void)model("A30-24GB").profile(ProfileIndex(-1)), "not negative");
}

TEST(ParsePciDeviceId, EverySpelling_GivesFourDigits) {
  // With and without 0x, vendor in front or behind, any letter case, blanks around.
  for (const std::string_view good : {"20b0",
                                      "20B0",
                                      "0x20B0",
                                      "0X20b0",
                                      "10de:20b0",
                                      "10DE:20B0",
                                      "0x20B010DE",
                                      "20b010de",
                                      " 0x20b0\n"}) {
    EXPECT_EQ(parse_pci_device_id(good), "20b0") << good;
  }
}

TEST(ParsePciDeviceId, AnythingElse_IsNothing) {
  // Other vendors, other lengths, other characters, two spellings at once.
  for (const std::string_view bad : {"",
                                     "0x",
                                     "20b",
                                     "20b00",
                                     "20g0",
                                     "1002:20b0",
                                     "0x20b01002",
                                     "10de:",
                                     "10de:20b010de",
                                     "10de:0x20b0",
                                     "10de:10de:20b0",
                                     "20b0:10de",
                                     "0x0x20b0",
                                     "-20b",
                                     "20b0 x",
                                     "10de20b0"}) {
    EXPECT_FALSE(parse_pci_device_id(bad).has_value()) << bad;
  }
}

TEST(CatalogueFind, EverySpelling_FindsTheBoard) {
  // Key, board name with and without NVIDIA, PCI id; letter case and blanks do not matter.
  for (const std::string_view name : {"A100-40GB",
                                      "a100-40gb",
                                      " A100-40GB ",
                                      "NVIDIA A100-SXM4-40GB",
                                      "a100-sxm4-40gb",
                                      "nvidia a100-pcie-40gb",
                                      "0x20B0",
                                      "20b0",
                                      "10de:20f1",
                                      "0x20BD10DE"}) {
    EXPECT_EQ(model(name).key(), "A100-40GB") << name;
  }
  EXPECT_EQ(model("NVIDIA GH200 480GB").key(), "GH200-96GB");
  EXPECT_EQ(model("233d").key(), "H100-96GB");
}

TEST(CatalogueFind, UnknownName_ListsWhatThereIs) {
  // The nearest names first, then every key.
  const auto found = builtin_catalogue().find("A100-41GB");
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(found.error().message, HasSubstr("nearest: A100-40GB"));
  for (const std::string& key : builtin_catalogue().keys()) {
    EXPECT_THAT(found.error().message, HasSubstr(key));
  }
  for (const std::string_view bad :
       {"", "nvidia", "NVIDIA ", "0xFFFF", "A100", "\n\x1b[0m", "a/b"}) {
    const auto other = builtin_catalogue().find(bad);
    ASSERT_FALSE(other.has_value()) << bad;
    test::expect_one_line(other.error());
  }
}

TEST(CatalogueParse, KeyTwice_IsRefused) {
  // Also in another letter case.
  const std::string text = R"({"schema": "septule-gpu/1", "key": "X", "evidence": "partial"})";
  const std::string lower = R"({"schema": "septule-gpu/1", "key": "x", "evidence": "partial"})";
  const std::vector<std::pair<std::string_view, std::string_view>> files{{"1.json", text},
                                                                         {"2.json", lower}};
  const auto catalogue = Catalogue::parse(files);
  ASSERT_FALSE(catalogue.has_value());
  EXPECT_THAT(catalogue.error().message, HasSubstr("2.json: key x is defined twice"));
  EXPECT_TRUE(Catalogue::parse({}).has_value());
}

TEST(CatalogueMove, Addresses_StayValid) {
  // Geometries are handed around as pointers.
  Catalogue catalogue = load_builtin_catalogue();
  const Geometry* const before = *catalogue.find("A30-24GB");
  const Catalogue moved = std::move(catalogue);
  EXPECT_EQ(*moved.find("A30-24GB"), before);
}

RC_GTEST_PROP(CatalogueFind, AnyText_GivesABoardOrOneLine, (const std::string& text)) {
  // Nothing crashes, and a refusal stays on one line.
  const auto found = builtin_catalogue().find(text);
  const std::string message = found ? "" : found.error().message;
  RC_ASSERT(message.find_first_of("\r\n\x1b") == std::string::npos);
}

}  // namespace
}  // namespace septule::gpu
