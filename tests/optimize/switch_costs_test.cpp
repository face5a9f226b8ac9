#include "optimize/switch_costs.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/transition.hpp"
#include "gpu/transition_support.hpp"

namespace septule::optimize {
namespace {

using gpu::test::draw;
using gpu::test::geometry_of;
using gpu::test::latencies;
using gpu::test::placed;

constexpr Duration kToggle = Duration::milliseconds(4250);

gpu::Partition full(const gpu::Geometry& geometry, const gpu::Layout& layout) {
  return gpu::partition_with_full_instances(geometry, layout);
}

/// What gpu::plan_transition() estimates for a GPU whose instances are all idle.
Duration planned(const gpu::Geometry& geometry, const GpuCut& from, const GpuCut& to) {
  gpu::ObservedGpu seen = gpu::test::observed_gpu(geometry, {});
  seen.is_mig_enabled = from.has_value();
  if (from.has_value()) {
    for (const gpu::GpuInstance& instance : from->instances) {
      gpu::ObservedInstance one = gpu::test::observed(geometry, instance.placed);
      one.compute_instances.emplace();
      for (const gpu::ComputeInstance& inside : instance.compute_instances) {
        one.compute_instances->push_back(gpu::test::observed(inside));
      }
      seen.instances.push_back(one);
    }
  }
  gpu::Inventory inventory;
  inventory.gpus.push_back(seen);
  gpu::DesiredGpu goal;
  goal.index = seen.index;
  goal.is_mig_enabled = to.has_value();
  goal.partition = to.value_or(gpu::Partition{});
  const auto plan = gpu::plan_transition(inventory, std::vector{goal}, latencies());
  SEPTULE_CHECK(plan.has_value(), "legal cuts have a transition");
  return plan->gpus.front().estimate;
}

GpuCut random_cut(const gpu::Geometry& geometry, std::mt19937& rng) {
  static const auto layouts =
      gpu::test::legal_layouts(geometry_of("A100-80GB"), gpu::ProfileSet::kPlain);
  if (draw(rng, 6) == 0) {
    return std::nullopt;
  }
  return full(geometry, layouts[draw(rng, layouts.size())]);
}

TEST(SwitchCosts, A100_HasPublishedMedians) {
  // Aim: the published figures of instances with their compute instance come back unchanged.
  const gpu::Geometry& a100 = geometry_of("A100-80GB");
  const SwitchCosts costs = make_switch_costs(a100, latencies());
  const gpu::Partition cut = full(a100, {placed(a100, "4g.40gb", 0), placed(a100, "3g.40gb", 4)});
  EXPECT_EQ(create_time(&costs, cut.instances[0]), Duration::milliseconds(210));
  EXPECT_EQ(destroy_time(&costs, cut.instances[1]), Duration::milliseconds(210));
  EXPECT_EQ(switch_time(&costs, std::nullopt, cut), kToggle + Duration::milliseconds(410));
  EXPECT_EQ(switch_time(&costs, cut, std::nullopt), kToggle + Duration::milliseconds(420));
}

TEST(SwitchCosts, UnchangedInstance_Stays) {
  // Aim: only what differs is made anew; another cut into compute instances is a difference.
  const gpu::Geometry& a100 = geometry_of("A100-80GB");
  const SwitchCosts costs = make_switch_costs(a100, latencies());
  const gpu::Partition two = full(a100, {placed(a100, "3g.40gb", 0), placed(a100, "3g.40gb", 4)});
  gpu::Partition other = full(a100, {placed(a100, "4g.40gb", 0), placed(a100, "3g.40gb", 4)});
  EXPECT_EQ(switch_time(&costs, two, two), Duration());
  EXPECT_EQ(switch_time(&costs, two, other), Duration::milliseconds(210 + 210));
  gpu::Partition divided = other;
  divided.instances[0].compute_instances = {gpu::test::compute(0, 2), gpu::test::compute(2, 2)};
  EXPECT_EQ(switch_time(&costs, other, divided), Duration::milliseconds(210 + 210 + 50));
  EXPECT_EQ(switch_time(&costs, divided, other), Duration::milliseconds(210 + 50 + 210));
}

TEST(SwitchCosts, None_IsFree) {
  // Aim: without figures nothing takes time; with one figure it is not free.
  const gpu::Geometry& a100 = geometry_of("A100-80GB");
  const gpu::Partition cut = full(a100, {placed(a100, "7g.80gb", 0)});
  const SwitchCosts none;
  EXPECT_TRUE(is_free(nullptr));
  EXPECT_TRUE(is_free(&none));
  EXPECT_EQ(switch_time(nullptr, std::nullopt, cut), Duration());
  EXPECT_EQ(switch_time(&none, std::nullopt, cut), Duration());
  const SwitchCosts toggle{.create = {},
                           .destroy = {},
                           .compute_create = {},
                           .compute_destroy = {},
                           .mig_toggle = kToggle};
  EXPECT_FALSE(is_free(&toggle));
  EXPECT_EQ(switch_time(&toggle, cut, std::nullopt), kToggle);
}

TEST(SwitchCosts, WholeInstances_AgreeWithTransition) {
  // Aim: the estimate of the planner of transitions and ours are one figure, for random cuts.
  const gpu::Geometry& a100 = geometry_of("A100-80GB");
  const SwitchCosts costs = make_switch_costs(a100, latencies());
  std::mt19937 rng(11);
  for (int i = 0; i < 2000 / gpu::test::kStride; ++i) {
    const GpuCut from = random_cut(a100, rng);
    const GpuCut to = random_cut(a100, rng);
    ASSERT_EQ(switch_time(&costs, from, to), planned(a100, from, to)) << i;
  }
}

TEST(SwitchCosts, RandomCuts_NoDetourIsShorter) {
  // Aim: the triangle inequality, on which optimizers build.
  const gpu::Geometry& a100 = geometry_of("A100-80GB");
  const SwitchCosts costs = make_switch_costs(a100, latencies());
  std::mt19937 rng(12);
  for (int i = 0; i < 3000 / gpu::test::kStride; ++i) {
    const GpuCut a = random_cut(a100, rng);
    const GpuCut b = random_cut(a100, rng);
    const GpuCut c = random_cut(a100, rng);
    const Duration detour = switch_time(&costs, a, b) + switch_time(&costs, b, c);
    ASSERT_LE(switch_time(&costs, a, c), detour) << i;
  }
}

}  // namespace
}  // namespace septule::optimize
