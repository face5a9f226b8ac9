#include "optimize/moldable_gpu.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "gpu/layout.hpp"
#include "optimize/moldable_cases.hpp"

namespace septule::optimize {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// "4@0" for each child of a node.
std::vector<std::string> children(const MoldableGpu& gpu, std::size_t node) {
  std::vector<std::string> texts;
  for (const std::size_t child : gpu.node(node).children) {
    texts.push_back(fmt::format(
        "{}@{}", gpu.size_of(child).slices.value(), gpu.node(child).placed.start.value()));
  }
  return texts;
}

TEST(MoldableGpu, Make_A100_IsFarsTree) {
  // The tree derived from the geometry is the one that FAR's authors wrote down.
  const test::MoldableBench bench("A100-40GB");
  const MoldableGpu& gpu = bench.gpu();
  EXPECT_THAT(children(gpu, bench.node(7, 0)), ElementsAre("4@0", "3@4"));
  EXPECT_THAT(children(gpu, bench.node(4, 0)), ElementsAre("3@0"));
  EXPECT_THAT(children(gpu, bench.node(3, 0)), ElementsAre("2@0", "2@2"));
  EXPECT_THAT(children(gpu, bench.node(2, 0)), ElementsAre("1@0", "1@1"));
  EXPECT_THAT(children(gpu, bench.node(2, 2)), ElementsAre("1@2", "1@3"));
  EXPECT_THAT(children(gpu, bench.node(3, 4)), ElementsAre("2@4", "1@6"));
  EXPECT_THAT(children(gpu, bench.node(2, 4)), ElementsAre("1@4", "1@5"));
  EXPECT_THAT(children(gpu, bench.node(1, 6)), IsEmpty());
  EXPECT_EQ(gpu.nodes().size(), 14U);
  EXPECT_EQ(gpu.leaves().size(), 7U);
  EXPECT_EQ(gpu.layouts().size(), 19U);
  EXPECT_EQ(gpu.sizes()[2].create, Duration::milliseconds(200));
  EXPECT_EQ(gpu.sizes()[2].destroy, Duration::milliseconds(210));
}

TEST(MoldableGpu, Make_A30_HalvesTwice) {
  // 4 -> 2 x 2 -> 4 x 1.
  const test::MoldableBench bench("A30-24GB");
  EXPECT_THAT(children(bench.gpu(), bench.node(4, 0)), ElementsAre("2@0", "2@2"));
  EXPECT_THAT(children(bench.gpu(), bench.node(2, 2)), ElementsAre("1@2", "1@3"));
  EXPECT_EQ(bench.gpu().nodes().size(), 7U);
  EXPECT_EQ(bench.gpu().layouts().size(), 5U);
}

TEST(MoldableGpu, Layouts_EveryKnownGpu_AreItsMaximalLayouts) {
  // The cuts of the tree are exactly the maximal layouts of plain profiles: no layout is lost
  // because the tree is thought too simple.
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  int seen = 0;
  for (const gpu::Geometry& geometry : catalogue.geometries()) {
    const Result<MoldableGpu> made = MoldableGpu::make(geometry, {});
    if (!made.has_value()) {
      EXPECT_EQ(made.error().code, ErrorCode::kBlocked);
      EXPECT_NE(made.error().message.find(geometry.key()), std::string::npos);
      continue;
    }
    ++seen;
    std::vector<gpu::Layout> cuts;
    for (const std::vector<std::size_t>& layout : made->layouts()) {
      gpu::Layout& cut = cuts.emplace_back();
      for (const std::size_t node : layout) {
        cut.push_back(made->node(node).placed);
      }
      gpu::canonicalise(cut);
    }
    std::sort(cuts.begin(), cuts.end());
    for (const gpu::Layout& maximal : gpu::maximal_layouts(geometry, gpu::ProfileSet::kPlain)) {
      EXPECT_TRUE(std::binary_search(cuts.begin(), cuts.end(), maximal)) << geometry.key();
    }
  }
  EXPECT_GE(seen, 18);
}

TEST(MoldableGpu, Make_NoProfileTable_IsBlocked) {
  // A board whose profiles nobody published cannot be cut.
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  for (const gpu::Geometry& geometry : catalogue.geometries()) {
    if (!geometry.has_profile_table()) {
      EXPECT_EQ(MoldableGpu::make(geometry, {}).error().code, ErrorCode::kBlocked);
    }
  }
}

}  // namespace
}  // namespace septule::optimize
