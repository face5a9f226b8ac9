#include "gpu/transition_gpu.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/partition_checker.hpp"
#include "gpu/toy_device.hpp"
#include "gpu/transition_support.hpp"

namespace septule::gpu {
namespace {

using test::draw;
using test::draw_hold;
using test::expect_executable;
using test::geometry_of;
using test::kStride;
using test::latencies;
using test::legal_layouts;
using test::observed;
using test::observed_gpu;
using test::steps_text;
using test::ToyDevice;
using testing::HasSubstr;
using testing::SizeIs;

bool is_in(const Layout& layout, const PlacedProfile& one) {
  return std::ranges::find(layout, one) != layout.end();
}

bool is_legal(const Geometry& geometry, Layout layout, const Layout& more = {}) {
  layout.insert(layout.end(), more.begin(), more.end());
  Partition partition;
  for (const PlacedProfile& one : layout) {
    partition.instances.push_back({.placed = one, .compute_instances = {}});
  }
  return check_partition(geometry, partition).empty();
}

std::string case_text(const ObservedGpu& gpu, const Partition& goal) {
  std::string text = gpu.geometry->key() + ":";
  for (const ObservedInstance& instance : gpu.instances) {
    text += " " + observed_text(gpu, instance);
  }
  return text + " -> " + partition_text(*gpu.geometry, goal);
}

/// What must hold of any plan between GPU instances, said without the planner's own rules.
void expect_sound(const ObservedGpu& gpu, const Partition& goal, const GpuTransition& plan) {
  const Geometry& geometry = *gpu.geometry;
  const Layout wanted = layout_of(goal);
  const Layout reached = layout_of(plan.reached);
  Layout held_unwanted;
  Layout stayed;
  for (const ObservedInstance& instance : gpu.instances) {
    const bool is_wanted = is_in(wanted, instance.placed);
    const bool is_held = instance.effective_hold() != Hold::kIdle;
    ASSERT_EQ(is_in(plan.kept, instance.placed), is_in(reached, instance.placed));
    if (is_wanted || is_held) {
      ASSERT_TRUE(is_in(plan.kept, instance.placed));
    } else if (is_in(plan.kept, instance.placed)) {
      stayed.push_back(instance.placed);
    }
    if (!is_wanted && is_held) {
      held_unwanted.push_back(instance.placed);
    }
  }
  // All that is wanted is reached exactly if it is legal beside what must stay.
  ASSERT_EQ(plan.is_complete(), is_legal(geometry, wanted, held_unwanted));
  Layout undone;
  Layout fixed;  // reached, without idle instances that merely stayed
  for (const PlacedProfile& one : reached) {
    ASSERT_TRUE(is_in(wanted, one) || is_in(held_unwanted, one) || is_in(stayed, one));
    if (!is_in(stayed, one)) {
      fixed.push_back(one);
    }
  }
  for (const PlacedProfile& one : wanted) {
    if (!is_in(reached, one)) {
      undone.push_back(one);
      ASSERT_FALSE(is_legal(geometry, fixed, {one})) << "undone for no reason";
    }
  }
  ASSERT_EQ(undone.size(), plan.undone.size());
  for (const UndoneGoal& goal_text : plan.undone) {
    ASSERT_FALSE(goal_text.blockers.empty());
    ASSERT_FALSE(goal_text.reason.empty());
    for (const std::string& blocker : goal_text.blockers) {
      ASSERT_THAT(plan.kept_unwanted, testing::Contains(blocker));
      ASSERT_THAT(blocker, HasSubstr("("));
    }
  }
  ASSERT_EQ(plan.kept_unwanted.size(), held_unwanted.size() + stayed.size());
  const auto overlaps_undone = [&](const PlacedProfile& one) {
    return std::ranges::any_of(undone, [&](const PlacedProfile& other) {
      return placement_of(geometry, one).overlaps(placement_of(geometry, other));
    });
  };
  const auto contends_with_undone = [&](const PlacedProfile& one) {
    return std::ranges::any_of(undone, [&](const PlacedProfile& other) {
      bool shares_engine = false;
      for (std::size_t e = 0; e < kEngineCount; ++e) {
        shares_engine = shares_engine || (geometry.engine_budget()[e].has_value() &&
                                          geometry.profile(one.profile).engines[e] > 0 &&
                                          geometry.profile(other.profile).engines[e] > 0);
      }
      return one.profile == other.profile || shares_engine;
    });
  };
  for (const PlacedProfile& one : stayed) {
    ASSERT_TRUE(overlaps_undone(one) || contends_with_undone(one))
        << "stays for nothing: " << placed_text(geometry, one);
  }
  for (const ObservedInstance& instance : gpu.instances) {
    if (!is_in(reached, instance.placed)) {
      ASSERT_FALSE(overlaps_undone(instance.placed) &&
                   is_legal(geometry, reached, {instance.placed}))
          << "destroyed for nothing: " << placed_text(geometry, instance.placed);
    }
  }
}

ObservedGpu with_random_holds(const Geometry& geometry,
                              const Layout& layout,
                              unsigned held_percent,
                              std::mt19937& rng) {
  ObservedGpu gpu = observed_gpu(geometry, {});
  int number = 0;
  for (const PlacedProfile& one : layout) {
    const Hold hold = draw_hold(rng, held_percent);
    gpu.instances.push_back(
        observed(geometry, one, hold, hold == Hold::kIdle ? "" : fmt::format("job {}", number++)));
  }
  return gpu;
}

void expect_good_plan(const ObservedGpu& gpu, const Layout& wanted) {
  const Partition goal = partition_with_full_instances(*gpu.geometry, wanted);
  const GpuTransition plan =
      plan_gpu_transition(gpu, {.index = gpu.index, .partition = goal}, latencies());
  SCOPED_TRACE(case_text(gpu, goal));
  expect_executable(gpu, plan, {});
  expect_sound(gpu, goal, plan);
}

TEST(TransitionGpu_Exhaustive, EveryA100LayoutToEveryMaximalOne_IsSoundAndExecutable) {
  // Aim: all 298 x 19 pairs of plain layouts, nothing held and three draws of random holds.
  const Geometry& geometry = geometry_of("A100-40GB");
  std::mt19937 rng(1);
  const auto from = legal_layouts(geometry, ProfileSet::kPlain);
  const auto to = maximal_layouts(geometry, ProfileSet::kPlain);
  ASSERT_THAT(from, SizeIs(298));
  ASSERT_THAT(to, SizeIs(19));
  for (std::size_t i = 0; i < from.size(); i += kStride) {
    const Layout& now = from[i];
    for (const Layout& wanted : to) {
      for (const unsigned held_percent : {0U, 20U, 50U, 80U}) {
        expect_good_plan(with_random_holds(geometry, now, held_percent, rng), wanted);
        if (testing::Test::HasFatalFailure()) {
          return;
        }
      }
    }
  }
}

TEST(TransitionGpu_Exhaustive, EveryA30LayoutToEveryOther_IsSoundAndExecutable) {
  // Aim: all pairs of all 76 layouts with +me, where maxima and engine budgets bind.
  const Geometry& geometry = geometry_of("A30-24GB");
  std::mt19937 rng(2);
  const auto layouts = legal_layouts(geometry, ProfileSet::kAll);
  ASSERT_THAT(layouts, SizeIs(76));
  for (std::size_t i = 0; i < layouts.size(); i += kStride) {
    const Layout& now = layouts[i];
    for (const Layout& wanted : layouts) {
      for (const unsigned held_percent : {0U, 40U}) {
        expect_good_plan(with_random_holds(geometry, now, held_percent, rng), wanted);
        if (testing::Test::HasFatalFailure()) {
          return;
        }
      }
    }
  }
}

TEST(TransitionGpu_Sampled, LayoutsWithEngineBudgets_AreSoundAndExecutable) {
  // Aim: the GPUs with many variants, where budgets couple instances that do not overlap.
  std::mt19937 rng(3);
  for (const std::string_view key :
       {"RTX-PRO-6000-Blackwell", "RTX-PRO-5000-Blackwell-48GB", "A100-80GB", "H100-80GB-SXM"}) {
    const Geometry& geometry = geometry_of(key);
    const auto layouts = legal_layouts(geometry, ProfileSet::kAll);
    for (int i = 0; i < 4000 / kStride; ++i) {
      const Layout& now = layouts[draw(rng, layouts.size())];
      const Layout& wanted = layouts[draw(rng, layouts.size())];
      expect_good_plan(with_random_holds(geometry, now, 40, rng), wanted);
      if (testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }
}

std::vector<ComputeInstance> draw_inside(const Geometry& geometry,
                                         ProfileIndex profile,
                                         std::mt19937& rng) {
  std::vector<std::vector<ComputeInstance>> sets;
  for_each_compute_layout(geometry, profile, [&](std::span<const ComputeInstance> inside, bool) {
    sets.emplace_back(inside.begin(), inside.end());
  });
  return sets[draw(rng, sets.size())];
}

TEST(TransitionGpu_Sampled, ComputeInstancesWithRandomHolds_AreNeverTouchedWhenHeld) {
  // Aim: random compute instances, listed or not, held at either level; the toy device refuses any
  // touch of what is held, and the end is what the plan says.
  const Geometry& geometry = geometry_of("A100-40GB");
  const auto layouts = legal_layouts(geometry, ProfileSet::kAll);
  std::mt19937 rng(4);
  int complete = 0;
  int undone = 0;
  for (int i = 0; i < 20000 / kStride; ++i) {
    const Layout& now = layouts[draw(rng, layouts.size())];
    ObservedGpu gpu = with_random_holds(geometry, now, 15, rng);
    for (ObservedInstance& instance : gpu.instances) {
      instance.compute_instances.reset();
      if (draw(rng, 5) > 0) {
        instance.compute_instances.emplace();
        for (const ComputeInstance& inside : draw_inside(geometry, instance.placed.profile, rng)) {
          instance.compute_instances->push_back(
              observed(inside, draw_hold(rng, 25), fmt::format("user {}", draw(rng, 9))));
        }
      }
    }
    // Half of the goals keep the layout, so that re-cuts are frequent.
    const Layout& wanted = draw(rng, 2) == 0 ? now : layouts[draw(rng, layouts.size())];
    Partition goal = partition_with_full_instances(geometry, wanted);
    for (GpuInstance& instance : goal.instances) {
      if (draw(rng, 3) > 0) {
        instance.compute_instances = draw_inside(geometry, instance.placed.profile, rng);
      }
    }
    const GpuTransition plan =
        plan_gpu_transition(gpu, {.index = gpu.index, .partition = goal}, latencies());
    SCOPED_TRACE(case_text(gpu, goal) + ": " + steps_text(plan));
    // The plan takes unlisted compute instances for one full one; only there may reality differ.
    ToyDevice device(gpu, {});
    for (const Step& step : plan.steps) {
      ASSERT_EQ(device.execute(step), "");
    }
    for (const GpuInstance& end : device.partition().instances) {
      const auto seen = std::ranges::find(gpu.instances, end.placed, &ObservedInstance::placed);
      const auto said = std::ranges::find(plan.reached.instances, end.placed, &GpuInstance::placed);
      ASSERT_NE(said, plan.reached.instances.end());
      const bool is_listed = seen == gpu.instances.end() || seen->compute_instances.has_value();
      ASSERT_TRUE(end == *said || (!is_listed && end.compute_instances.empty()));
    }
    ASSERT_EQ(device.partition().instances.size(), plan.reached.instances.size());
    ASSERT_EQ(plan.is_exact(), plan.reached == goal);
    for (const GpuInstance& instance : goal.instances) {
      const auto end =
          std::ranges::find(plan.reached.instances, instance.placed, &GpuInstance::placed);
      const bool is_there =
          end != plan.reached.instances.end() &&
          std::ranges::includes(end->compute_instances, instance.compute_instances);
      ASSERT_TRUE(is_there || !plan.is_complete());
    }
    complete += plan.is_complete() ? 1 : 0;
    undone += plan.is_complete() ? 0 : 1;
  }
  EXPECT_GT(complete, 2000 / kStride);
  EXPECT_GT(undone, 2000 / kStride);
}

}  // namespace
}  // namespace septule::gpu
