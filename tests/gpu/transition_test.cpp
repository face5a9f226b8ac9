#include "gpu/transition.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/transition_support.hpp"

namespace septule::gpu {
namespace {

using test::geometry_of;
using test::latencies;
using test::observed;
using test::observed_gpu;
using test::placed;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Geometry& a100() {
  return geometry_of("A100-40GB");
}

DesiredGpu goal(int index, const Layout& layout) {
  return {.index = GpuIndex(index),
          .is_mig_enabled = true,
          .partition = partition_with_full_instances(a100(), layout)};
}

Inventory two_gpus() {
  Inventory node;
  node.node = "n1";
  node.gpus = {
      observed_gpu(
          a100(), {observed(a100(), placed(a100(), "1g.5gb", 0), Hold::kBusy, "job 17")}, 0),
      observed_gpu(a100(), {}, 3)};
  return node;
}

TEST(Transition_Node, BlockedGpu_DoesNotHoldUpTheOthers) {
  // Aim: GPU 0 is blocked, GPU 3 goes ahead; results are by index whatever the order of the goals.
  const Layout whole = {placed(a100(), "7g.40gb", 0)};
  const std::vector<DesiredGpu> goals = {goal(3, whole), goal(0, whole)};
  const auto plan = plan_transition(two_gpus(), goals, latencies());
  ASSERT_TRUE(plan.has_value());
  ASSERT_THAT(plan->gpus, SizeIs(2));
  EXPECT_EQ(plan->gpus[0].gpu, GpuIndex(0));
  EXPECT_FALSE(plan->gpus[0].is_complete());
  EXPECT_THAT(plan->gpus[0].steps, IsEmpty());
  EXPECT_TRUE(plan->gpus[1].is_complete());
  EXPECT_THAT(plan->gpus[1].steps, SizeIs(2));
  EXPECT_FALSE(plan->is_complete());
  EXPECT_FALSE(plan->is_empty());
  EXPECT_EQ(plan->step_count(), 2U);
}

TEST(Transition_Node, GpusNotNamed_AreNotListed) {
  // Aim: a goal for no GPU is an empty transition; a goal that is met is listed and empty.
  const auto nothing = plan_transition(two_gpus(), {}, latencies());
  ASSERT_TRUE(nothing.has_value());
  EXPECT_TRUE(nothing->is_empty());
  EXPECT_THAT(nothing->gpus, IsEmpty());
  const std::vector<DesiredGpu> same = {goal(3, {})};
  const auto met = plan_transition(two_gpus(), same, latencies());
  ASSERT_TRUE(met.has_value());
  EXPECT_TRUE(met->is_empty());
  EXPECT_THAT(met->gpus, SizeIs(1));
}

void expect_error(const Inventory& from,
                  const std::vector<DesiredGpu>& to,
                  ErrorCode code,
                  const std::string& text) {
  const auto plan = plan_transition(from, to, latencies());
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, code);
  EXPECT_THAT(plan.error().message, HasSubstr(text));
}

TEST(Transition_Errors, GoalsThatCannotBeMeant_AreRefusedWithTheReason) {
  // Aim: unknown GPU, a GPU twice, an illegal layout, instances without MIG.
  const PlacedProfile one = placed(a100(), "1g.5gb", 0);
  expect_error(two_gpus(),
               {goal(7, {})},
               ErrorCode::kNotFound,
               "GPU 7 does not exist on node n1; there are 0 and 3");
  expect_error(Inventory(), {goal(0, {})}, ErrorCode::kNotFound, "the inventory holds no GPU");
  expect_error(
      two_gpus(), {goal(3, {}), goal(3, {})}, ErrorCode::kInvalidInput, "GPU 3: the goal names it");
  expect_error(two_gpus(),
               {goal(3, {placed(a100(), "3g.20gb", 4), placed(a100(), "2g.10gb", 4)})},
               ErrorCode::kInvalidInput,
               "GPU 3: the goal is not a legal layout of A100-40GB: 2g.10gb@4 and 3g.20gb@4 both "
               "need memory slices 4-5");
  DesiredGpu off = goal(3, {one});
  off.is_mig_enabled = false;
  expect_error(two_gpus(), {off}, ErrorCode::kInvalidInput, "the goal has MIG off and 1 GPU");
}

TEST(Transition_Errors, StatesThatCannotBe_AreRefusedNotTrusted) {
  // Aim: input is never a reason to stop the program.
  const PlacedProfile one = placed(a100(), "1g.5gb", 0);
  Inventory node = two_gpus();
  node.gpus[1].instances = {observed(a100(), one), observed(a100(), one)};
  expect_error(node, {goal(3, {})}, ErrorCode::kInvalidInput, "the current state is not a legal");
  node.gpus[1].instances = {observed(a100(), one)};
  node.gpus[1].instances[0].placed.profile = ProfileIndex(77);
  node.gpus[1].instances[0].compute_instances.reset();
  expect_error(node, {goal(3, {})}, ErrorCode::kInvalidInput, "names profile #77");
  node.gpus[1].instances = {observed(a100(), one)};
  node.gpus[1].is_mig_enabled = false;
  expect_error(node, {goal(3, {})}, ErrorCode::kInvalidInput, "the current state has MIG off");
  node = two_gpus();
  node.gpus[1].index = GpuIndex(0);
  expect_error(node, {goal(0, {})}, ErrorCode::kInvalidInput, "lists it twice");
}

TEST(Transition_Names, EveryStep_HasItsOwnName) {
  // Aim: names are distinct, since files carry them.
  std::set<std::string_view> names;
  for (int k = 0; k <= static_cast<int>(StepKind::kCreateComputeInstance); ++k) {
    names.insert(step_name(static_cast<StepKind>(k)));
  }
  EXPECT_EQ(names.size(), 6U);
}

}  // namespace
}  // namespace septule::gpu
