// What one GPU's transition does in the cases that the rules of transition.hpp name.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/toy_device.hpp"
#include "gpu/transition_gpu.hpp"
#include "gpu/transition_support.hpp"

namespace septule::gpu {
namespace {

using test::compute;
using test::expect_executable;
using test::geometry_of;
using test::latencies;
using test::observed;
using test::observed_gpu;
using test::placed;
using test::steps_text;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

GpuTransition plan_for(const ObservedGpu& gpu, Partition goal) {
  canonicalise(goal);
  return plan_gpu_transition(gpu, {.index = gpu.index, .partition = std::move(goal)}, latencies());
}

TEST(TransitionGpu_Rules, IdleInstanceThatMakesRoomOnlyForTheBlocked_Stays) {
  // Aim: 3g@4 is blocked by a busy 1g@5, so the idle 1g@4 under it is not destroyed for nothing.
  const Geometry& geometry = geometry_of("A100-40GB");
  const ObservedGpu gpu =
      observed_gpu(geometry,
                   {observed(geometry, placed(geometry, "2g.10gb", 0)),
                    observed(geometry, placed(geometry, "1g.5gb", 4)),
                    observed(geometry, placed(geometry, "1g.5gb", 5), Hold::kBusy, "job 17")});
  const GpuTransition plan =
      plan_for(gpu,
               partition_with_full_instances(
                   geometry, {placed(geometry, "4g.20gb", 0), placed(geometry, "3g.20gb", 4)}));
  EXPECT_EQ(steps_text(plan),
            "destroy-compute-instance 2g.10gb@0/2c@0; destroy-gpu-instance 2g.10gb@0; "
            "create-gpu-instance 4g.20gb@0; create-compute-instance 4g.20gb@0/4c@0");
  EXPECT_THAT(plan.kept_unwanted, ElementsAre("1g.5gb@5 (job 17)", "1g.5gb@4"));
  ASSERT_THAT(plan.undone, SizeIs(1));
  EXPECT_EQ(plan.undone[0].wanted, "3g.20gb@4");
  EXPECT_THAT(plan.undone[0].blockers, ElementsAre("1g.5gb@5 (job 17)"));
  EXPECT_FALSE(plan.is_exact());
}

TEST(TransitionGpu_Rules, EngineHeldElsewhere_BlocksAndNamesTheHolder) {
  // Aim: a +me instance that overlaps nothing is blocked by the one +me in use.
  const Geometry& geometry = geometry_of("A100-40GB");
  const ObservedGpu gpu = observed_gpu(
      geometry, {observed(geometry, placed(geometry, "1g.5gb+me", 6), Hold::kForeign, "bob")});
  const GpuTransition plan =
      plan_for(gpu, partition_with_full_instances(geometry, {placed(geometry, "1g.5gb+me", 0)}));
  ASSERT_THAT(plan.undone, SizeIs(1));
  EXPECT_THAT(plan.undone[0].blockers, ElementsAre("1g.5gb+me@6 (foreign: bob)"));
  EXPECT_THAT(plan.undone[0].reason, HasSubstr("at most 1"));
  EXPECT_THAT(plan.steps, IsEmpty());
}

TEST(TransitionGpu_Rules, BudgetHeldByAnotherProfile_NamesTheEngine) {
  // Aim: on RTX PRO 6000 a busy 2g uses two of four decoders; +me.all needs all four.
  const Geometry& geometry = geometry_of("RTX-PRO-6000-Blackwell");
  const ObservedGpu gpu = observed_gpu(
      geometry, {observed(geometry, placed(geometry, "2g.48gb", 0), Hold::kBusy, "job 1")});
  const GpuTransition plan = plan_for(
      gpu, partition_with_full_instances(geometry, {placed(geometry, "1g.24gb+me.all", 6)}));
  ASSERT_THAT(plan.undone, SizeIs(1));
  EXPECT_THAT(plan.undone[0].reason, HasSubstr("engines: 6 needed, 4 there"));
  EXPECT_THAT(plan.undone[0].blockers, ElementsAre("2g.48gb@0 (job 1)"));
}

TEST(TransitionGpu_Rules, ForeignInstanceThatIsWanted_IsSatisfiedAndUntouched) {
  // Aim: an idle foreign instance equal to a wanted one counts.
  const Geometry& geometry = geometry_of("A100-40GB");
  const PlacedProfile whole = placed(geometry, "7g.40gb", 0);
  const GpuTransition plan =
      plan_for(observed_gpu(geometry, {observed(geometry, whole, Hold::kForeign)}),
               partition_with_full_instances(geometry, {whole}));
  EXPECT_TRUE(plan.is_exact());
  EXPECT_THAT(plan.steps, IsEmpty());
  EXPECT_THAT(plan.kept, ElementsAre(whole));
  EXPECT_EQ(plan.estimate, Duration());
  EXPECT_EQ(plan.estimate_evidence, Evidence::kVerified);
}

TEST(TransitionGpu_Rules, UnlistedComputeInstances_GoAsOneStep) {
  // Aim: what was not listed is destroyed whole, before its GPU instance.
  const Geometry& geometry = geometry_of("A100-40GB");
  ObservedGpu gpu = observed_gpu(geometry, {observed(geometry, placed(geometry, "7g.40gb", 0))});
  gpu.instances[0].compute_instances.reset();
  gpu.instances[0].id = GpuInstanceId(9);
  const GpuTransition plan = plan_for(gpu, {});
  ASSERT_EQ(steps_text(plan),
            "destroy-compute-instance 7g.40gb@0/*; destroy-gpu-instance 7g.40gb@0");
  EXPECT_EQ(plan.steps[0].gpu_instance_id, GpuInstanceId(9));
  EXPECT_TRUE(plan.is_exact());
  expect_executable(gpu,
                    plan,
                    {{.start = ComputeSlices(0), .size = ComputeSlices(1)},
                     {.start = ComputeSlices(1), .size = ComputeSlices(1)}});
}

TEST(TransitionGpu_Rules, UnlistedComputeInstancesUnderAnotherGoal_AreRecutWhole) {
  // Aim: a kept GPU instance whose compute instances are unknown is re-cut from nothing; a held one
  // is left, and the goal is undone.
  const Geometry& geometry = geometry_of("A100-40GB");
  ObservedGpu gpu = observed_gpu(geometry, {observed(geometry, placed(geometry, "3g.20gb", 4))});
  gpu.instances[0].compute_instances.reset();
  const Partition goal{.instances = {{.placed = placed(geometry, "3g.20gb", 4),
                                      .compute_instances = {compute(0, 1), compute(1, 1)}}}};
  EXPECT_EQ(steps_text(plan_for(gpu, goal)),
            "destroy-compute-instance 3g.20gb@4/*; create-compute-instance 3g.20gb@4/1c@0; "
            "create-compute-instance 3g.20gb@4/1c@1");
  gpu.instances[0].hold = Hold::kBusy;
  const GpuTransition blocked = plan_for(gpu, goal);
  EXPECT_THAT(blocked.steps, IsEmpty());
  ASSERT_THAT(blocked.undone, SizeIs(1));
  EXPECT_EQ(blocked.undone[0].wanted, "3g.20gb@4[1c@0,1c@1]");
  EXPECT_THAT(blocked.undone[0].blockers, ElementsAre("3g.20gb@4 (unknown holder)"));
}

TEST(TransitionGpu_Rules, BusyComputeInstance_LeavesItsSiblingsToBeRecut) {
  // Aim: inside 3g, 1c@0 is busy: 1c@1 and 1c@2 may go, but 2c@0 is undone and so nothing goes;
  // a wanted 1c@1 stays.
  const Geometry& geometry = geometry_of("A100-40GB");
  const PlacedProfile place = placed(geometry, "3g.20gb", 4);
  ObservedInstance instance = observed(geometry, place);
  instance.compute_instances = {observed(compute(0, 1), Hold::kBusy, "job 3"),
                                observed(compute(1, 1)),
                                observed(compute(2, 1))};
  const ObservedGpu gpu = observed_gpu(geometry, {instance});
  const GpuTransition blocked =
      plan_for(gpu, {.instances = {{.placed = place, .compute_instances = {compute(0, 2)}}}});
  EXPECT_EQ(steps_text(blocked), "destroy-compute-instance 3g.20gb@4/1c@2");
  ASSERT_THAT(blocked.undone, SizeIs(1));
  EXPECT_EQ(blocked.undone[0].wanted, "2c.3g.20gb@4/0");
  EXPECT_THAT(blocked.undone[0].blockers, ElementsAre("1c.3g.20gb@4/0 (job 3)"));
  EXPECT_THAT(blocked.kept_unwanted, ElementsAre("1c.3g.20gb@4/0 (job 3)", "1c.3g.20gb@4/1"));
  const GpuTransition possible =
      plan_for(gpu, {.instances = {{.placed = place, .compute_instances = {compute(1, 1)}}}});
  EXPECT_EQ(steps_text(possible), "destroy-compute-instance 3g.20gb@4/1c@2");
  EXPECT_TRUE(possible.is_complete());
  EXPECT_FALSE(possible.is_exact());
}

TEST(TransitionGpu_Rules, BusyGpuInstance_IsNotRecutEvenWhereItsComputeInstancesAreIdle) {
  // Aim: who holds the whole GPU instance may use any part of it.
  const Geometry& geometry = geometry_of("A100-40GB");
  const PlacedProfile place = placed(geometry, "2g.10gb", 0);
  ObservedInstance instance = observed(geometry, place, Hold::kBusy, "job 4");
  const GpuTransition plan =
      plan_for(observed_gpu(geometry, {instance}),
               {.instances = {{.placed = place, .compute_instances = {compute(0, 1)}}}});
  EXPECT_THAT(plan.steps, IsEmpty());
  ASSERT_THAT(plan.undone, SizeIs(1));
  EXPECT_EQ(plan.undone[0].wanted, "1c.2g.10gb@0/0");
  EXPECT_THAT(plan.undone[0].blockers, ElementsAre("2g.10gb@0 (job 4)"));
  EXPECT_THAT(plan.kept_unwanted, ElementsAre("2g.10gb@0/0"));
}

TEST(TransitionGpu_Mode, MigIsSwitchedOnFirstAndOffLast) {
  // Aim: mode steps stand at the right end, and cost what the table says.
  const Geometry& geometry = geometry_of("A100-40GB");
  ObservedGpu off = observed_gpu(geometry, {});
  off.is_mig_enabled = false;
  const Layout whole = {placed(geometry, "7g.40gb", 0)};
  const GpuTransition on = plan_for(off, partition_with_full_instances(geometry, whole));
  EXPECT_EQ(steps_text(on),
            "enable-mig; create-gpu-instance 7g.40gb@0; create-compute-instance 7g.40gb@0/7c@0");
  EXPECT_EQ(on.estimate, Duration::milliseconds(4250 + 240));
  EXPECT_EQ(on.estimate_evidence, Evidence::kInferred);

  const ObservedGpu used = observed_gpu(geometry, {observed(geometry, whole[0])});
  const GpuTransition down = plan_gpu_transition(
      used, {.index = GpuIndex(0), .is_mig_enabled = false, .partition = {}}, latencies());
  EXPECT_EQ(steps_text(down),
            "destroy-compute-instance 7g.40gb@0/7c@0; destroy-gpu-instance 7g.40gb@0; disable-mig");
  EXPECT_FALSE(down.is_mig_enabled_after);
  expect_executable(used, down, {});

  const GpuTransition nothing = plan_gpu_transition(
      off, {.index = GpuIndex(0), .is_mig_enabled = false, .partition = {}}, latencies());
  EXPECT_THAT(nothing.steps, IsEmpty());
}

TEST(TransitionGpu_Mode, MigOffWithABusyInstance_IsBlockedAndTouchesNothing) {
  // Aim: no instance is destroyed for a switch that cannot follow.
  const Geometry& geometry = geometry_of("A100-40GB");
  const ObservedGpu gpu =
      observed_gpu(geometry,
                   {observed(geometry, placed(geometry, "3g.20gb", 0)),
                    observed(geometry, placed(geometry, "3g.20gb", 4), Hold::kBusy, "job 5")});
  const GpuTransition plan = plan_gpu_transition(
      gpu, {.index = GpuIndex(0), .is_mig_enabled = false, .partition = {}}, latencies());
  EXPECT_THAT(plan.steps, IsEmpty());
  EXPECT_TRUE(plan.is_mig_enabled_after);
  ASSERT_THAT(plan.undone, SizeIs(1));
  EXPECT_EQ(plan.undone[0].wanted, "MIG off");
  EXPECT_THAT(plan.undone[0].blockers, ElementsAre("3g.20gb@4 (job 5)"));
  EXPECT_THAT(plan.kept, SizeIs(2));
}

TEST(TransitionGpu_Order, LargestInstanceIsCreatedFirst) {
  // Aim: creation order does not depend on the order of the goal.
  const Geometry& geometry = geometry_of("A100-40GB");
  const GpuTransition plan =
      plan_for(observed_gpu(geometry, {}),
               partition_with_full_instances(geometry,
                                             {placed(geometry, "1g.5gb", 0),
                                              placed(geometry, "2g.10gb", 2),
                                              placed(geometry, "3g.20gb", 4)}));
  EXPECT_THAT(steps_text(plan),
              testing::StartsWith("create-gpu-instance 3g.20gb@4; create-gpu-instance 2g.10gb@2; "
                                  "create-gpu-instance 1g.5gb@0; create-compute-instance 3g.20gb"));
}

}  // namespace
}  // namespace septule::gpu
