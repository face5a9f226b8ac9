#include "gpu/transition_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/transition_support.hpp"

namespace septule::gpu {
namespace {

using test::compute;
using test::geometry_of;
using test::latencies;
using test::observed;
using test::observed_gpu;
using test::placed;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(TransitionSteps_Order, StepsAddedBackwards_ComeOutInDriverOrder) {
  // Aim: the order does not depend on the order of the calls, and estimates are summed.
  const Geometry& geometry = geometry_of("A100-40GB");
  const ObservedInstance old = observed(geometry, placed(geometry, "3g.20gb", 0));
  const ObservedGpu gpu = observed_gpu(geometry, {old}, 5);
  StepList steps(gpu, latencies());
  steps.disable_mig();
  steps.create_compute(placed(geometry, "7g.40gb", 0), std::nullopt, compute(0, 7));
  steps.create(placed(geometry, "7g.40gb", 0));
  steps.destroy(old);
  steps.enable_mig();
  GpuTransition transition;
  steps.move_into(transition);
  std::vector<StepKind> kinds;
  for (const Step& step : transition.steps) {
    kinds.push_back(step.kind);
    EXPECT_EQ(step.gpu, GpuIndex(5));
    EXPECT_EQ(step.geometry, &geometry);
  }
  EXPECT_THAT(kinds,
              ElementsAre(StepKind::kEnableMig,
                          StepKind::kDestroyComputeInstance,
                          StepKind::kDestroyGpuInstance,
                          StepKind::kCreateGpuInstance,
                          StepKind::kCreateComputeInstance,
                          StepKind::kDisableMig));
  EXPECT_EQ(transition.estimate, Duration::milliseconds(2 * 4250 + 210 + 240));
  EXPECT_EQ(transition.estimate_evidence, Evidence::kInferred);
  GpuTransition second;
  steps.move_into(second);
  EXPECT_THAT(second.steps, IsEmpty());
}

TEST(TransitionSteps_Ids, KnownIds_AreCarried) {
  // Aim: steps on existing instances carry the driver's ids; unlisted compute instances go at once.
  const Geometry& geometry = geometry_of("A100-40GB");
  ObservedInstance old = observed(geometry, placed(geometry, "3g.20gb", 0));
  old.id = GpuInstanceId(2);
  (*old.compute_instances)[0].id = ComputeInstanceId(1);
  const ObservedGpu gpu = observed_gpu(geometry, {old});
  StepList steps(gpu, latencies());
  steps.destroy(old);
  old.compute_instances.reset();
  steps.destroy_every_compute(old);
  GpuTransition transition;
  steps.move_into(transition);
  ASSERT_EQ(transition.steps.size(), 3U);
  EXPECT_EQ(transition.steps[0].compute_instance_id, ComputeInstanceId(1));
  EXPECT_EQ(transition.steps[0].gpu_instance_id, GpuInstanceId(2));
  EXPECT_TRUE(transition.steps[1].is_every_compute_instance);
  EXPECT_FALSE(transition.steps[1].compute_instance.has_value());
  EXPECT_EQ(transition.steps[2].gpu_instance_id, GpuInstanceId(2));
}

TEST(TransitionSteps_Safety, DestroyingWhatIsHeld_StopsTheProgram) {
  // Aim: the last line of defence for running jobs.
  const Geometry& geometry = geometry_of("A100-40GB");
  ObservedInstance busy = observed(geometry, placed(geometry, "3g.20gb", 0));
  (*busy.compute_instances)[0].hold = Hold::kBusy;
  const ObservedGpu gpu = observed_gpu(geometry, {busy});
  StepList steps(gpu, latencies());
  EXPECT_DEATH(steps.destroy(busy), "only idle instances are destroyed");
  EXPECT_DEATH(steps.destroy_compute(busy, (*busy.compute_instances)[0]), "only idle");
}

}  // namespace
}  // namespace septule::gpu
