#include "gpu/partition.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/catalogue_support.hpp"

namespace septule::gpu {
namespace {

using test::model;

ComputeInstance compute(int start, int size) {
  return {{ComputeSlices(start), ComputeSlices(size)}};
}

ProfileIndex profile(const Geometry& geometry, std::string_view name) {
  const auto index = geometry.find_profile(name);
  SEPTULE_CHECK(index.has_value(), "tests name known profiles");
  return *index;
}

TEST(ForEachComputeLayout, A100_HasTheKnownCounts) {
  // Maximal and legal sets inside 1g, 2g, 3g, 4g and 7g; the empty one is legal.
  const Geometry& a100 = model("A100-40GB");
  const std::vector<std::tuple<std::string, int, int>> known{{"1g.5gb", 1, 2},
                                                             {"2g.10gb", 2, 5},
                                                             {"3g.20gb", 3, 11},
                                                             {"4g.20gb", 5, 26},
                                                             {"7g.40gb", 19, 309}};
  for (const auto& [name, maximal, legal] : known) {
    int maximal_seen = 0;
    std::set<std::vector<ComputeInstance>> sets;
    for_each_compute_layout(a100,
                            profile(a100, name),
                            [&](std::span<const ComputeInstance> instances, bool is_maximal) {
                              EXPECT_TRUE(std::ranges::is_sorted(instances));
                              sets.emplace(instances.begin(), instances.end());
                              maximal_seen += is_maximal ? 1 : 0;
                            });
    EXPECT_EQ(maximal_seen, maximal) << name;
    EXPECT_EQ(static_cast<int>(sets.size()), legal) << name;
  }
}

TEST(CanAddComputeInstance, EachRule_IsHeld) {
  // Possible placement, no overlap, the profile's maximum; nothing without a table.
  const Geometry& a100 = model("A100-40GB");
  GpuInstance three{{profile(a100, "3g.20gb"), MemorySlices(4)}, {}};
  EXPECT_TRUE(can_add_compute_instance(a100, three, compute(0, 2)));
  EXPECT_FALSE(can_add_compute_instance(a100, three, compute(1, 2)));
  EXPECT_FALSE(can_add_compute_instance(a100, three, compute(0, 4)));
  EXPECT_FALSE(can_add_compute_instance(a100, three, compute(0, 0)));
  EXPECT_FALSE(can_add_compute_instance(a100, three, compute(-1, 1)));
  EXPECT_FALSE(can_add_compute_instance(a100, three, compute(3, 1)));
  three.compute_instances = {compute(0, 2)};
  EXPECT_FALSE(can_add_compute_instance(a100, three, compute(1, 1)));
  EXPECT_FALSE(can_add_compute_instance(a100, three, compute(0, 3)));
  EXPECT_TRUE(can_add_compute_instance(a100, three, compute(2, 1)));
  const auto no_table = Geometry::parse(R"({"schema": "septule-gpu/1", "key": "Toy",
      "evidence": "inferred", "compute_slices": 1, "memory_slices": 1, "profiles": [
      {"name": "1g.1gb", "nvml_id": 0, "smi_id": 0, "slices": 1, "variant": "plain",
       "instances_max": 1, "placements": [[0, 1]], "evidence": "inferred"}]})",
                                        "toy.json");
  ASSERT_TRUE(no_table.has_value());
  EXPECT_FALSE(can_add_compute_instance(
      *no_table, GpuInstance{{ProfileIndex(0), MemorySlices(0)}, {}}, compute(0, 1)));
}

TEST(Canonicalise_Partition, SortsByStartAndInside) {
  // GPU instances by start, compute instances by start; layout_of agrees.
  const Geometry& a100 = model("A100-40GB");
  const ProfileIndex three = profile(a100, "3g.20gb");
  Partition partition{
      {{{three, MemorySlices(4)}, {compute(2, 1), compute(0, 2)}}, {{three, MemorySlices(0)}, {}}}};
  canonicalise(partition);
  EXPECT_EQ(partition.instances[0].placed.start, MemorySlices(0));
  EXPECT_EQ(partition.instances[1].compute_instances[0], compute(0, 2));
  EXPECT_EQ(layout_of(partition), (Layout{{three, MemorySlices(0)}, {three, MemorySlices(4)}}));
}

TEST(PartitionWithFullInstances, EveryLayout_GetsOneFullComputeInstanceEach) {
  // The layout stays what it was.
  for (const Geometry& geometry : test::builtin_catalogue().geometries()) {
    for (const Layout& layout : maximal_layouts(geometry, ProfileSet::kAll)) {
      const Partition partition = partition_with_full_instances(geometry, layout);
      EXPECT_EQ(layout_of(partition), layout);
      for (const GpuInstance& instance : partition.instances) {
        ASSERT_EQ(instance.compute_instances.size(), 1U);
        EXPECT_TRUE(is_full(geometry, instance.placed.profile, instance.compute_instances[0]));
      }
    }
  }
}

TEST(PartitionText, Forms_AreThoseOfTheHeader) {
  // Full, several, none; nothing at all is "empty"; names as nvidia-smi has them.
  const Geometry& a100 = model("A100-40GB");
  const ProfileIndex three = profile(a100, "3g.20gb");
  const PlacedProfile placed{three, MemorySlices(4)};
  EXPECT_EQ(placed_text(a100, placed), "3g.20gb@4");
  EXPECT_EQ(instance_text(a100, {placed, {compute(0, 3)}}), "3g.20gb@4");
  EXPECT_EQ(instance_text(a100, {placed, {compute(0, 1), compute(1, 1)}}), "3g.20gb@4[1c@0,1c@1]");
  EXPECT_EQ(instance_text(a100, {placed, {}}), "3g.20gb@4[]");
  EXPECT_EQ(partition_text(a100, {}), "empty");
  EXPECT_EQ(partition_text(a100, {{{{three, MemorySlices(0)}, {}}, {placed, {compute(0, 3)}}}}),
            "3g.20gb@0[],3g.20gb@4");
  EXPECT_EQ(compute_instance_name(a100, three, compute(0, 3)), "3g.20gb");
  EXPECT_EQ(compute_instance_name(a100, three, compute(1, 1)), "1c.3g.20gb");
}

}  // namespace
}  // namespace septule::gpu
