#include "gpu/inventory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/transition_support.hpp"

namespace septule::gpu {
namespace {

using test::compute;
using test::geometry_of;
using test::observed;
using test::observed_gpu;
using test::placed;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Inventory_Hold, StrongestOfInstanceAndComputeInstances_Counts) {
  // Aim: all nine pairs of holds; foreign beats busy beats idle.
  const Geometry& geometry = geometry_of("A100-40GB");
  for (const Hold outer : {Hold::kIdle, Hold::kBusy, Hold::kForeign}) {
    for (const Hold inner : {Hold::kIdle, Hold::kBusy, Hold::kForeign}) {
      ObservedInstance instance = observed(geometry, placed(geometry, "1g.5gb", 0), outer);
      instance.compute_instances = {observed(compute(0, 1), inner)};
      const bool is_foreign = outer == Hold::kForeign || inner == Hold::kForeign;
      const bool is_idle = outer == Hold::kIdle && inner == Hold::kIdle;
      const Hold expected = is_foreign ? Hold::kForeign : is_idle ? Hold::kIdle : Hold::kBusy;
      EXPECT_EQ(instance.effective_hold(), expected);
      EXPECT_EQ(instance.holders().empty(), is_idle);
    }
  }
}

TEST(Inventory_Hold, Holders_AreNamedOnceAndOnlyWhereHeld) {
  // Aim: order, no repetition, no names of idle parts, and the unknown holder.
  const Geometry& geometry = geometry_of("A100-40GB");
  ObservedInstance instance =
      observed(geometry, placed(geometry, "3g.20gb", 4), Hold::kBusy, "job 2");
  instance.compute_instances = {observed(compute(0, 1), Hold::kBusy, "job 1"),
                                observed(compute(1, 1), Hold::kBusy, "job 2"),
                                observed(compute(2, 1), Hold::kIdle, "job 9")};
  EXPECT_THAT(instance.holders(), ElementsAre("job 2", "job 1"));
  const ObservedGpu gpu = observed_gpu(geometry, {instance});
  EXPECT_EQ(observed_text(gpu, instance), "3g.20gb@4 (job 2, job 1)");
  instance.compute_instances.reset();
  instance.holder.clear();
  EXPECT_EQ(observed_text(gpu, instance), "3g.20gb@4 (unknown holder)");
  instance.hold = Hold::kForeign;
  EXPECT_EQ(observed_text(gpu, instance), "3g.20gb@4 (foreign: unknown holder)");
  instance.hold = Hold::kIdle;
  EXPECT_EQ(observed_text(gpu, instance), "3g.20gb@4");
  EXPECT_THAT(instance.holders(), IsEmpty());
}

TEST(Inventory_Partition, UnlistedComputeInstances_PassForOneFullOneAndListedNoneForNone) {
  // Aim: "not listed" is not "none", and both views are in canonical order.
  const Geometry& geometry = geometry_of("A100-40GB");
  ObservedInstance unlisted = observed(geometry, placed(geometry, "3g.20gb", 4));
  unlisted.compute_instances.reset();
  ObservedInstance none = observed(geometry, placed(geometry, "1g.5gb", 0));
  none.compute_instances = std::vector<ObservedComputeInstance>();
  const ObservedGpu gpu = observed_gpu(geometry, {unlisted, none});
  EXPECT_EQ(partition_text(geometry, gpu.partition()), "1g.5gb@0[],3g.20gb@4");
  EXPECT_THAT(gpu.layout(), ElementsAre(none.placed, unlisted.placed));
}

TEST(Inventory_Names, Holds_HaveTheirNames) {
  // Aim: the words that files carry.
  EXPECT_EQ(hold_name(Hold::kIdle), "idle");
  EXPECT_EQ(hold_name(Hold::kBusy), "busy");
  EXPECT_EQ(hold_name(Hold::kForeign), "foreign");
}

}  // namespace
}  // namespace septule::gpu
