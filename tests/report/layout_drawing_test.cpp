#include "report/layout_drawing.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/catalogue_support.hpp"
#include "gpu/inventory.hpp"
#include "gpu/layout.hpp"

namespace septule::report {
namespace {

using gpu::test::model;

gpu::PlacedProfile placed(const gpu::Geometry& geometry, std::string_view name, int start) {
  const auto index = geometry.find_profile(name);
  SEPTULE_CHECK(index.has_value(), "tests name known profiles");
  return {*index, MemorySlices(start)};
}

TEST(SliceRuler, StandsOverTheSlices) {
  // Five characters per memory slice, also for two digits.
  EXPECT_EQ(slice_ruler(model("A30-24GB")), "  0    1    2    3");
  EXPECT_EQ(slice_ruler(model("RTX-PRO-6000-Blackwell")).substr(50), " 10   11");
  EXPECT_EQ(slice_ruler(model("Thor-iGPU")), "");
}

TEST(DrawLayout, BoxesAndFreeSlices_AreAsTheHeaderSays) {
  // Long names are cut to their shape; free slices are dots; nothing is drawn off the grid.
  const gpu::Geometry& a100 = model("A100-40GB");
  EXPECT_EQ(draw_layout(a100, {placed(a100, "4g.20gb", 0), placed(a100, "3g.20gb", 4)}),
            "[4g.20gb           ][3g.20gb           ]");
  EXPECT_EQ(draw_layout(a100, {placed(a100, "1g.5gb", 0), placed(a100, "2g.10gb", 2)}),
            "[1g ]  .  [2g.10gb ]  .    .    .    .");
  EXPECT_EQ(draw_layout(a100, {placed(a100, "1g.5gb+me", 6)}),
            "  .    .    .    .    .    .  [1g ]  .");
  EXPECT_EQ(draw_layout(a100, {placed(a100, "3g.20gb", 7)}), draw_layout(a100, {}));
}

TEST(DrawLayout, EveryLayout_FillsExactlyItsSlices) {
  // One bracket pair an instance, one dot a free slice, five characters a slice.
  for (const gpu::Geometry& geometry : gpu::test::builtin_catalogue().geometries()) {
    for (const gpu::Layout& layout : maximal_layouts(geometry, gpu::ProfileSet::kAll)) {
      int used = 0;
      for (const gpu::PlacedProfile& one : layout) {
        used += placement_of(geometry, one).size.value();
      }
      const std::string line = draw_layout(geometry, layout);
      EXPECT_LE(line.size(), static_cast<std::size_t>(geometry.memory_slices().value()) * 5);
      EXPECT_EQ(std::ranges::count(line, '['), std::ssize(layout)) << line;
      EXPECT_EQ(std::ranges::count(line, ']'), std::ssize(layout)) << line;
      int dots = 0;
      for (std::size_t i = 2; i < line.size(); i += 5) {
        dots += line.substr(i - 2, 5).starts_with("  .") ? 1 : 0;
      }
      EXPECT_EQ(dots, geometry.memory_slices().value() - used) << line;
    }
  }
}

TEST(DrawObserved, BusyAndForeign_AreMarkedInTheNarrowestBox) {
  // "1g" and its mark just fit into three characters.
  const gpu::Geometry& a30 = model("A30-24GB");
  gpu::ObservedGpu seen;
  seen.geometry = &a30;
  gpu::ObservedInstance busy;
  busy.placed = placed(a30, "1g.6gb", 0);
  busy.hold = gpu::Hold::kBusy;
  gpu::ObservedInstance foreign;
  foreign.placed = placed(a30, "2g.12gb", 2);
  foreign.hold = gpu::Hold::kForeign;
  seen.instances = {busy, foreign};
  EXPECT_EQ(draw_observed(seen), "[1g*]  .  [2g.12gb!]");
}

TEST(DrawObserved, NameAsWideAsItsBox_GivesWayToTheMark) {
  // A mark is never cut off: the name is.
  const auto toy = gpu::Geometry::parse(R"({"schema": "septule-gpu/1", "key": "Toy",
      "evidence": "inferred", "compute_slices": 2, "memory_slices": 2, "profiles": [
      {"name": "2g.100gb", "nvml_id": 0, "smi_id": 0, "slices": 2, "variant": "plain",
       "instances_max": 1, "placements": [[0, 2]], "evidence": "inferred"}]})",
                                        "toy.json");
  ASSERT_TRUE(toy.has_value());
  gpu::ObservedInstance one;
  one.placed = {ProfileIndex(0), MemorySlices(0)};
  gpu::ObservedGpu seen;
  seen.geometry = &*toy;
  seen.instances = {one};
  EXPECT_EQ(draw_observed(seen), "[2g.100gb]");
  seen.instances[0].hold = gpu::Hold::kForeign;
  EXPECT_EQ(draw_observed(seen), "[2g!     ]");
}

}  // namespace
}  // namespace septule::report
