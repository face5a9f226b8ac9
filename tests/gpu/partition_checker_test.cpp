#include "gpu/partition_checker.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
// clang-format off
#include <rapidcheck/gtest.h>  // needs gtest.h before it
// clang-format on

#include "gpu/builtin_catalogue.hpp"
#include "gpu/layout.hpp"

namespace septule::gpu {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Catalogue& catalogue() {
  static const Catalogue loaded = load_builtin_catalogue();
  return loaded;
}

const Geometry& geometry_of(std::string_view key) {
  const Result<const Geometry*> found = catalogue().find(key);
  SEPTULE_CHECK(found.has_value(), "tests name known GPUs");
  return **found;
}

PlacedProfile placed(const Geometry& geometry, std::string_view name, int start) {
  const auto profile = geometry.find_profile(name);
  SEPTULE_CHECK(profile.has_value(), "tests name known profiles");
  return {.profile = *profile, .start = MemorySlices(start)};
}

std::vector<Violation> judge(const Geometry& geometry, const Layout& layout) {
  Partition partition;
  for (const PlacedProfile& one : layout) {
    partition.instances.push_back({.placed = one, .compute_instances = {}});
  }
  return check_partition(geometry, partition);
}

std::vector<ViolationKind> kinds(const std::vector<Violation>& violations) {
  std::vector<ViolationKind> found;
  for (const Violation& violation : violations) {
    found.push_back(violation.kind);
  }
  return found;
}

ComputeInstance compute(int start, int size) {
  return {.placement = {.start = ComputeSlices(start), .size = ComputeSlices(size)}};
}

std::set<Layout> enumerated(const Geometry& geometry, ProfileSet set) {
  std::set<Layout> layouts;
  for_each_layout(geometry, geometry.profiles_in(set), {}, [&](const Layout& layout, bool) {
    layouts.insert(layout);
  });
  return layouts;
}

std::string text(const Geometry& geometry, const Layout& layout) {
  std::string joined = geometry.key() + ":";
  for (const PlacedProfile& one : layout) {
    joined += " " + placed_text(geometry, one);
  }
  return joined;
}

TEST(PartitionChecker_Enumeration, EveryLayoutOfEveryGpu_IsAccepted) {
  // Aim: the judge and the search agree on what is legal, for every layout there is.
  for (const Geometry& geometry : catalogue().geometries()) {
    if (!geometry.has_profile_table()) {
      continue;
    }
    for (const Layout& layout : enumerated(geometry, ProfileSet::kAll)) {
      const Partition partition = partition_with_full_instances(geometry, layout);
      EXPECT_THAT(check_partition(geometry, partition), IsEmpty()) << text(geometry, layout);
    }
  }
}

TEST(PartitionChecker_Enumeration, LayoutWithOneMoreInstance_IsLegalExactlyIfEnumerated) {
  // Aim: from every layout, adding any placement is accepted exactly if the result is enumerated;
  // so a maximal layout cannot be extended, and no legal layout is missing from the enumeration.
  for (const Geometry& geometry : catalogue().geometries()) {
    if (!geometry.has_profile_table()) {
      continue;
    }
    for (const ProfileSet set : {ProfileSet::kPlain, ProfileSet::kDouble, ProfileSet::kAll}) {
      const auto profiles = geometry.profiles_in(set);
      const std::set<Layout> legal = enumerated(geometry, set);
      const auto choices = possible_placements(geometry, profiles);
      for_each_layout(geometry, profiles, {}, [&](const Layout& layout, bool is_maximal) {
        bool is_extendable = false;
        for (const PlacedProfile& choice : choices) {
          Layout more = layout;
          more.push_back(choice);
          canonicalise(more);
          const bool is_accepted = judge(geometry, more).empty();
          is_extendable = is_extendable || is_accepted;
          ASSERT_EQ(is_accepted, legal.contains(more)) << text(geometry, more);
        }
        ASSERT_EQ(is_maximal, !is_extendable) << text(geometry, layout);
      });
    }
  }
}

TEST(PartitionChecker_Enumeration, EverySmallSubsetOfPlacements_IsLegalExactlyIfEnumerated) {
  // Aim: all subsets of up to four placements (also overlapping ones) of three different GPUs.
  for (const std::string_view key : {"A100-40GB", "A30-24GB", "RTX-PRO-5000-Blackwell-48GB"}) {
    const Geometry& geometry = geometry_of(key);
    const auto choices = possible_placements(geometry, geometry.profiles_in(ProfileSet::kAll));
    const std::set<Layout> legal = enumerated(geometry, ProfileSet::kAll);
    const std::size_t size_max = choices.size() > 20 ? 3 : 4;
    std::size_t accepted = 0;
    const auto walk = [&](const auto& self, std::size_t from, Layout& layout) -> void {
      const bool is_accepted = judge(geometry, layout).empty();
      accepted += is_accepted ? 1 : 0;
      ASSERT_EQ(is_accepted, legal.contains(layout)) << text(geometry, layout);
      for (std::size_t i = from; i < choices.size() && layout.size() < size_max; ++i) {
        layout.push_back(choices[i]);
        self(self, i + 1, layout);
        layout.pop_back();
      }
    };
    Layout layout;
    walk(walk, 0, layout);
    const auto small =
        std::ranges::count_if(legal, [&](const Layout& one) { return one.size() <= size_max; });
    EXPECT_EQ(accepted, static_cast<std::size_t>(small));
  }
}

RC_GTEST_PROP(PartitionChecker_Enumeration, RandomChange_IsAcceptedExactlyIfEnumerated, ()) {
  // Aim: moving, duplicating or exchanging one instance of a random layout is judged as the
  // enumeration says, on every GPU.
  std::vector<const Geometry*> gpus;
  for (const Geometry& geometry : catalogue().geometries()) {
    if (geometry.has_profile_table()) {
      gpus.push_back(&geometry);
    }
  }
  static std::vector<std::set<Layout>> legal_of(gpus.size());
  const auto at = *rc::gen::inRange<std::size_t>(0, gpus.size());
  const Geometry& geometry = *gpus[at];
  if (legal_of[at].empty()) {
    legal_of[at] = enumerated(geometry, ProfileSet::kAll);
  }
  const std::set<Layout>& legal = legal_of[at];
  Layout layout =
      *std::next(legal.begin(), *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(legal)));
  RC_PRE(!layout.empty());
  const auto victim = *rc::gen::inRange<std::size_t>(0, layout.size());
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      layout[victim].start = MemorySlices(*rc::gen::inRange(-2, 14));
      break;
    case 1:
      layout.push_back(layout[victim]);
      break;
    default:
      layout[victim].profile =
          ProfileIndex(*rc::gen::inRange(-1, static_cast<int>(geometry.profiles().size()) + 1));
      break;
  }
  canonicalise(layout);
  RC_ASSERT(judge(geometry, layout).empty() == legal.contains(layout));
}

TEST(PartitionChecker_ComputeInstances, EveryLayoutInsideA100Instances_MatchesThePublishedCounts) {
  // Aim: legal and maximal sets of compute instances in 1g, 2g, 3g, 4g and 7g, by the judge alone.
  const Geometry& geometry = geometry_of("A100-40GB");
  const std::vector<std::pair<std::string, std::pair<int, int>>> expected = {
      {"1g.5gb", {2, 1}},
      {"2g.10gb", {5, 2}},
      {"3g.20gb", {11, 3}},
      {"4g.20gb", {26, 5}},
      {"7g.40gb", {309, 19}}};
  for (const auto& [name, counts] : expected) {
    const PlacedProfile whole = placed(geometry, name, 0);
    const int slices = geometry.profile(whole.profile).slices.value();
    std::vector<ComputeInstance> choices;
    for (int start = 0; start < slices; ++start) {
      for (int size = 1; size <= slices; ++size) {
        choices.push_back(compute(start, size));
      }
    }
    const auto is_legal = [&](std::vector<ComputeInstance> inside) {
      const GpuInstance instance{.placed = whole, .compute_instances = std::move(inside)};
      return check_partition(geometry, Partition{.instances = {instance}}).empty();
    };
    int legal = 0;
    int maximal = 0;
    const auto walk = [&](const auto& self, std::size_t from, auto& inside) -> void {
      bool is_maximal = true;
      for (std::size_t i = 0; i < choices.size(); ++i) {
        inside.push_back(choices[i]);
        if (is_legal(inside)) {
          is_maximal = false;
          if (i >= from) {
            self(self, i + 1, inside);
          }
        }
        inside.pop_back();
      }
      legal += 1;
      maximal += is_maximal ? 1 : 0;
    };
    std::vector<ComputeInstance> inside;
    walk(walk, 0, inside);
    EXPECT_EQ(legal, counts.first) << name;
    EXPECT_EQ(maximal, counts.second) << name;
  }
}

TEST(PartitionChecker_ComputeInstances, EveryEnumeratedSet_IsAcceptedOnEveryGpu) {
  // Aim: the judge agrees with the enumeration of compute instances.
  for (const Geometry& geometry : catalogue().geometries()) {
    for (int p = 0; p < static_cast<int>(geometry.profiles().size()); ++p) {
      const ProfileIndex profile(p);
      const MemorySlices start = geometry.profile(profile).placements.front().start;
      for_each_compute_layout(
          geometry, profile, [&](std::span<const ComputeInstance> inside, bool) {
            const GpuInstance instance{.placed = {.profile = profile, .start = start},
                                       .compute_instances = {inside.begin(), inside.end()}};
            EXPECT_THAT(check_partition(geometry, Partition{.instances = {instance}}), IsEmpty())
                << geometry.key() << " " << instance_text(geometry, instance);
          });
    }
  }
}

TEST(PartitionChecker_Messages, OverlapNamesBothAndTheSlices) {
  // Aim: the message says who, where and which memory slices.
  const Geometry& geometry = geometry_of("A100-40GB");
  const auto found =
      judge(geometry, {placed(geometry, "3g.20gb", 4), placed(geometry, "2g.10gb", 4)});
  ASSERT_THAT(kinds(found), ElementsAre(ViolationKind::kMemorySlices));
  EXPECT_EQ(found[0].message, "3g.20gb@4 and 2g.10gb@4 both need memory slices 4-5");
  EXPECT_THAT(found[0].instances, ElementsAre(0U, 1U));
}

TEST(PartitionChecker_Messages, TooManyComputeSlices_SaysBothFigures) {
  // Aim: 4g + 4g breaks placement, maximum, memory and compute slices; each is said with figures.
  const Geometry& geometry = geometry_of("A100-40GB");
  const auto found =
      judge(geometry, {placed(geometry, "4g.20gb", 0), placed(geometry, "4g.20gb", 4)});
  ASSERT_THAT(kinds(found),
              ElementsAre(ViolationKind::kPlacement,
                          ViolationKind::kComputeSlices,
                          ViolationKind::kProfileMaximum,
                          ViolationKind::kStreamingMultiprocessors));
  EXPECT_EQ(
      found[0].message,
      "4g.20gb@4 is not a possible placement: on A100-40GB a 4g.20gb can start only at memory "
      "slice 0");
  EXPECT_THAT(found[1].message, HasSubstr("A100-40GB has 7 compute slices; the layout needs 8"));
  EXPECT_THAT(found[2].message, HasSubstr("A100-40GB allows at most 1"));
  EXPECT_THAT(found[3].message, HasSubstr("112 needed, 98 there"));
}

TEST(PartitionChecker_Messages, TwoMediaInstances_NameTheEngines) {
  // Aim: an engine budget is named with its users.
  const Geometry& geometry = geometry_of("A100-40GB");
  const auto found =
      judge(geometry, {placed(geometry, "1g.5gb+me", 0), placed(geometry, "1g.5gb+me", 1)});
  EXPECT_THAT(kinds(found),
              ElementsAre(ViolationKind::kProfileMaximum,
                          ViolationKind::kEngineBudget,
                          ViolationKind::kEngineBudget));
  EXPECT_THAT(found[1].message, HasSubstr("engines: 2 needed, 1 there (1g.5gb+me@0, 1g.5gb+me@1)"));
}

TEST(PartitionChecker_Messages, ManyInstances_ReportsTheInstanceMaximumAndMemory) {
  // Aim: whole-GPU limits are reported, and long lists are cut.
  const Geometry& geometry = geometry_of("A100-40GB");
  Layout layout(12, placed(geometry, "1g.5gb", 0));
  const auto found = judge(geometry, layout);
  EXPECT_THAT(kinds(found), Contains(ViolationKind::kInstanceMaximum));
  EXPECT_THAT(kinds(found), Contains(ViolationKind::kMemoryAmount));
  EXPECT_THAT(found.front().message, HasSubstr("and 4 more all need memory slice 0"));
}

TEST(PartitionChecker_Input, ForeignIndicesAndHugePlaces_AreReportedNotRead) {
  // Aim: nothing in a partition can make the judge read outside its tables.
  const Geometry& geometry = geometry_of("A100-40GB");
  const Partition odd{
      .instances = {
          {.placed = {.profile = ProfileIndex(-1), .start = MemorySlices(0)},
           .compute_instances = {}},
          {.placed = {.profile = ProfileIndex(99), .start = MemorySlices(0)},
           .compute_instances = {compute(0, 1)}},
          {.placed = {.profile = ProfileIndex(0), .start = MemorySlices(2147483647)},
           .compute_instances = {compute(2147483647, 2147483647), compute(-5, 1), compute(0, 0)}},
          {.placed = {.profile = ProfileIndex(0), .start = MemorySlices(-2147483647)},
           .compute_instances = {}}}};
  const auto found = check_partition(geometry, odd);
  EXPECT_THAT(kinds(found),
              ElementsAre(ViolationKind::kUnknownProfile,
                          ViolationKind::kUnknownProfile,
                          ViolationKind::kPlacement,
                          ViolationKind::kPlacement,
                          ViolationKind::kMemorySlices,
                          ViolationKind::kMemorySlices,
                          ViolationKind::kComputeSlices,
                          ViolationKind::kComputeInstance,
                          ViolationKind::kComputeInstance,
                          ViolationKind::kComputeInstance));
}

TEST(PartitionChecker_Input, BoardWithoutProfileTable_JudgesNothingButTheEmptyLayout) {
  // Aim: unknown is not legal.
  const Geometry& geometry = geometry_of("Thor-iGPU");
  EXPECT_THAT(judge(geometry, {}), IsEmpty());
  const auto found = judge(geometry, {{.profile = ProfileIndex(0), .start = MemorySlices(0)}});
  ASSERT_THAT(kinds(found), ElementsAre(ViolationKind::kUnknownProfile));
  EXPECT_THAT(found[0].message, HasSubstr("no published profile table"));
}

TEST(PartitionChecker_Messages, ComputeInstances_AreNamedWithTheirGpuInstance) {
  // Aim: overlap, wrong size and wrong start inside a GPU instance are told apart.
  const Geometry& geometry = geometry_of("A100-40GB");
  const GpuInstance instance{
      .placed = placed(geometry, "3g.20gb", 4),
      .compute_instances = {compute(0, 1), compute(0, 2), compute(1, 2), compute(0, 4)}};
  const auto found = check_partition(geometry, Partition{.instances = {instance}});
  std::vector<std::string> messages;
  for (const Violation& violation : found) {
    messages.push_back(violation.message);
  }
  EXPECT_THAT(messages,
              Contains("4c@0 in 3g.20gb@4 is not a compute-instance profile; possible "
                       "are 1c, 2c and 3c"));
  EXPECT_THAT(messages,
              Contains("2c@1 in 3g.20gb@4 is not a possible placement: a 2c can start at "
                       "compute slice 0"));
  EXPECT_THAT(messages, Contains("1c@0, 2c@0 and 4c@0 in 3g.20gb@4 all need compute slice 0"));
  EXPECT_THAT(messages, Contains("3g.20gb@4 has 3 compute slices; its compute instances need 9"));
  EXPECT_THAT(messages,
              Contains("3g.20gb@4 holds 2 compute instances of 2 compute slices; it "
                       "allows at most 1"));
}

TEST(PartitionChecker_Names, EveryKind_HasItsOwnName) {
  // Aim: names are distinct, since files carry them.
  std::set<std::string_view> names;
  for (int k = 0; k <= static_cast<int>(ViolationKind::kComputeInstance); ++k) {
    names.insert(violation_name(static_cast<ViolationKind>(k)));
  }
  EXPECT_EQ(names.size(), 10U);
}

}  // namespace
}  // namespace septule::gpu
