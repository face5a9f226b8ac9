#include "gpu/layout.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gpu/catalogue_support.hpp"
#include "gpu/partition_checker.hpp"
#include "support/read_file.hpp"
#include "support/shared_data.hpp"

namespace septule::gpu {
namespace {

using test::builtin_catalogue;
using test::model;

struct Counts {
  std::int64_t maximal;
  std::int64_t legal;
  std::int64_t legal_multisets;
  std::int64_t maximal_multisets;
};

void expect_counts(std::string_view key, ProfileSet set, const Counts& expected) {
  const auto counts = count_layouts(model(key), set);
  ASSERT_TRUE(counts.has_value()) << key;
  EXPECT_EQ(counts->maximal, expected.maximal) << key << " " << profile_set_name(set);
  EXPECT_EQ(counts->legal, expected.legal) << key << " " << profile_set_name(set);
  EXPECT_EQ(counts->legal_multisets, expected.legal_multisets) << key;
  EXPECT_EQ(counts->maximal_multisets, expected.maximal_multisets) << key;
}

TEST(CountLayouts, SevenSliceGpus_HaveTheKnownCounts) {
  // 19 of 298 plain, 78 of 723 with double memory, 239 of 2319 with +me, on every such GPU.
  int gpus = 0;
  for (const Geometry& geometry : builtin_catalogue().geometries()) {
    if (geometry.compute_slices() != ComputeSlices(7)) {
      continue;
    }
    ++gpus;
    expect_counts(geometry.key(), ProfileSet::kPlain, {19, 298, 38, 14});
    expect_counts(geometry.key(), ProfileSet::kDouble, {78, 723, 78, 38});
    expect_counts(geometry.key(), ProfileSet::kAll, {239, 2319, 128, 64});
  }
  EXPECT_EQ(gpus, 16);
}

TEST(CountLayouts, FourSliceGpus_HaveTheKnownCounts) {
  // A30 and RTX PRO 6000; neither has a double-memory profile.
  expect_counts("A30-24GB", ProfileSet::kPlain, {5, 26, 10, 4});
  expect_counts("A30-24GB", ProfileSet::kDouble, {5, 26, 10, 4});
  expect_counts("A30-24GB", ProfileSet::kAll, {17, 76, 20, 8});
  expect_counts("RTX-PRO-6000-Blackwell", ProfileSet::kPlain, {5, 26, 10, 4});
  expect_counts("RTX-PRO-6000-Blackwell", ProfileSet::kAll, {302, 717, 115, 64});
}

TEST(CountLayouts, BoardWithoutProfileTable_HasNoCounts) {
  // Unknown is nothing, not 0 or 1.
  for (const std::string_view key : {"RTX-PRO-4500-Blackwell", "RTX-6000D", "Thor-iGPU"}) {
    EXPECT_FALSE(model(key).has_profile_table()) << key;
    EXPECT_FALSE(count_layouts(model(key), ProfileSet::kPlain).has_value()) << key;
  }
}

TEST(MaximalLayouts, A100WithoutFourBesideThree_Are18) {
  // Drivers before R510 refused 4g beside 3g: one maximal layout fewer.
  const Geometry& a100 = model("A100-40GB");
  const auto layouts = maximal_layouts(a100, ProfileSet::kPlain);
  const auto has_slices = [&](const Layout& layout, int slices) {
    return std::ranges::any_of(layout, [&](const PlacedProfile& placed) {
      return a100.profile(placed.profile).slices == ComputeSlices(slices);
    });
  };
  EXPECT_EQ(layouts.size(), 19U);
  EXPECT_EQ(std::ranges::count_if(layouts,
                                  [&](const Layout& layout) {
                                    return !has_slices(layout, 4) || !has_slices(layout, 3);
                                  }),
            18);
}

TEST(CountLayouts, EveryGpu_MatchesTheReferenceMaterial) {
  // Counts and, where given, the maximal layouts themselves, counted by another program.
  SEPTULE_REQUIRE_SHARED(path, "hardware/configs.json");
  const auto document = nlohmann::json::parse(::septule::test::read_file(path));
  const std::map<std::string, std::vector<std::string>> split{
      {"H100-96GB/GH200-96GB", {"H100-96GB", "GH200-96GB"}}};
  std::set<std::string> seen;
  for (const auto& [joined, sets] : document.at("gpus").items()) {
    const auto found = split.find(joined);
    for (const std::string& key :
         found == split.end() ? std::vector<std::string>{joined} : found->second) {
      seen.insert(key);
      for (const ProfileSet set : test::profile_sets()) {
        const std::string name(profile_set_name(set));
        if (!sets.contains(name)) {
          EXPECT_EQ(set, ProfileSet::kDouble) << key;
          continue;
        }
        const auto& row = sets.at(name);
        expect_counts(key,
                      set,
                      {row.at("maximal_sets"),
                       row.at("legal_sets_incl_empty"),
                       row.at("legal_multisets_incl_empty"),
                       row.at("maximal_multisets")});
        if (row.contains("maximal_list")) {
          std::set<std::multiset<std::string>> expected;
          for (const std::string text : row.at("maximal_list")) {
            std::multiset<std::string> parts;
            std::size_t from = 0;
            while (from <= text.size()) {
              // "+me" is no separator: parts end in "@" and digits.
              const std::size_t end = std::min(text.find('+', text.find('@', from)), text.size());
              parts.insert(text.substr(from, end - from));
              from = end + 1;
            }
            expected.insert(parts);
          }
          std::set<std::multiset<std::string>> actual;
          for (const Layout& layout : maximal_layouts(model(key), set)) {
            std::multiset<std::string> parts;
            for (const PlacedProfile& placed : layout) {
              parts.insert(test::layout_name(model(key), {placed}));
            }
            actual.insert(parts);
          }
          EXPECT_EQ(actual, expected) << key << " " << name;
        }
      }
    }
  }
  for (const Geometry& geometry : builtin_catalogue().geometries()) {
    EXPECT_EQ(seen.contains(geometry.key()), geometry.has_profile_table()) << geometry.key();
  }
}

TEST(ForEachLayout, EveryGpuAndSet_IsCanonicalUniqueAndInOrder) {
  // Lexicographic order implies that each is visited once; "maximal" is checked by trying to add.
  for (const Geometry& geometry : builtin_catalogue().geometries()) {
    for (const ProfileSet set : test::profile_sets()) {
      const auto profiles = geometry.profiles_in(set);
      const auto choices = possible_placements(geometry, profiles);
      Layout previous;
      bool is_first = true;
      const auto comes_before = [](const PlacedProfile& a, const PlacedProfile& b) {
        return std::pair(a.start, a.profile) < std::pair(b.start, b.profile);
      };
      ASSERT_TRUE(std::ranges::is_sorted(choices, comes_before));
      for_each_layout(geometry, profiles, {}, [&](const Layout& layout, bool is_maximal) {
        Layout sorted = layout;
        canonicalise(sorted);
        ASSERT_EQ(layout, sorted) << test::layout_name(geometry, layout);
        ASSERT_TRUE(is_first ||
                    std::ranges::lexicographical_compare(previous, layout, comes_before));
        LayoutBuilder builder(geometry);
        for (const PlacedProfile& placed : layout) {
          ASSERT_TRUE(builder.can_add(placed));
          builder.add(placed);
        }
        ASSERT_EQ(is_maximal, std::ranges::none_of(choices, [&](const PlacedProfile& placed) {
                    return builder.can_add(placed);
                  }));
        previous = layout;
        is_first = false;
      });
      EXPECT_FALSE(is_first) << "the empty layout is legal";
    }
  }
}

TEST(ForEachLayout, FixedInstances_ArePartOfEveryLayout) {
  // The same layouts as those of the whole enumeration that contain them.
  const Geometry& a100 = model("A100-40GB");
  const auto profiles = a100.profiles_in(ProfileSet::kAll);
  std::vector<Layout> all;
  for_each_layout(a100, profiles, {}, [&](const Layout& layout, bool) { all.push_back(layout); });
  for (const PlacedProfile& fixed : possible_placements(a100, profiles)) {
    std::vector<Layout> expected;
    std::ranges::copy_if(all, std::back_inserter(expected), [&](const Layout& layout) {
      return std::ranges::find(layout, fixed) != layout.end();
    });
    std::vector<Layout> actual;
    for_each_layout(
        a100, profiles, {fixed}, [&](const Layout& layout, bool) { actual.push_back(layout); });
    std::ranges::sort(expected);
    std::ranges::sort(actual);
    EXPECT_EQ(actual, expected) << test::layout_name(a100, {fixed});
  }
}

TEST(LayoutBuilder, AddAndRemove_GoBackToTheSameState) {
  // Counts, mask and engines: +me uses up the only media engines.
  const Geometry& a100 = model("A100-40GB");
  const ProfileIndex media = a100.find_profile("1g.5gb+me").value();
  const ProfileIndex plain = a100.find_profile("1g.5gb").value();
  LayoutBuilder builder(a100);
  builder.add({media, MemorySlices(2)});
  EXPECT_EQ(builder.memory_slice_mask(), 0b100U);
  EXPECT_EQ(builder.count_of(media), 1);
  EXPECT_FALSE(builder.can_add({media, MemorySlices(3)}));
  EXPECT_FALSE(builder.can_add({plain, MemorySlices(2)}));
  EXPECT_TRUE(builder.can_add({plain, MemorySlices(3)}));
  builder.remove({media, MemorySlices(2)});
  EXPECT_EQ(builder.memory_slice_mask(), 0U);
  EXPECT_TRUE(builder.can_add({media, MemorySlices(3)}));
}

TEST(LayoutBuilder, WidestGrid_IsHandled) {
  // A profile of 32 memory slices fills a grid of 32.
  const auto geometry = Geometry::parse(R"({"schema": "septule-gpu/1", "key": "Wide",
      "evidence": "inferred", "compute_slices": 1, "memory_slices": 32, "profiles": [
      {"name": "1g.32gb", "nvml_id": 0, "smi_id": 0, "slices": 1, "variant": "plain",
       "instances_max": 2, "placements": [[0, 32]], "evidence": "inferred"}]})",
                                        "wide.json");
  ASSERT_TRUE(geometry.has_value());
  LayoutBuilder builder(*geometry);
  builder.add({ProfileIndex(0), MemorySlices(0)});
  EXPECT_EQ(builder.memory_slice_mask(), 0xFFFFFFFFU);
  EXPECT_FALSE(builder.can_add({ProfileIndex(0), MemorySlices(0)}));
}

TEST(LayoutDeathTest, FixedInstancesThatClash_AreAProgrammerError) {
  // The caller has to hand over legal ones.
  const Geometry& a30 = model("A30-24GB");
  const PlacedProfile whole{a30.find_profile("4g.24gb").value(), MemorySlices(0)};
  const auto ignore = [](const Layout&, bool) {};
  EXPECT_DEATH(for_each_layout(a30, {}, {whole, whole}, ignore), "fixed instances are legal");
}

TEST(Layout_Evidence, InferredPlacements_MarkTheCounts) {
  // Aim: counts that rest on inferred placements say so.
  EXPECT_EQ(layouts_evidence(**builtin_catalogue().find("A100-40GB"), ProfileSet::kAll),
            Evidence::kVerified);
  EXPECT_EQ(layouts_evidence(**builtin_catalogue().find("RTX-PRO-5000-Blackwell-48GB"),
                             ProfileSet::kPlain),
            Evidence::kInferred);
}

}  // namespace
}  // namespace septule::gpu
