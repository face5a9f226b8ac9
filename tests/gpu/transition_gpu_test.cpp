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

using test::compute;
using test::draw;
using test::draw_hold;
using test::geometry_of;
using test::kStride;
using test::latencies;
using test::legal_layouts;
using test::observed;
using test::observed_gpu;
using test::placed;
using test::ToyDevice;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
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

std::string steps_text(const GpuTransition& plan) {
  std::string text;
  for (const Step& step : plan.steps) {
    text += fmt::format("{}{}", text.empty() ? "" : "; ", step_name(step.kind));
    if (step.kind != StepKind::kEnableMig && step.kind != StepKind::kDisableMig) {
      text += " " + placed_text(*step.geometry, step.placed);
    }
    if (step.compute_instance.has_value()) {
      text += fmt::format("/{}c@{}",
                          step.compute_instance->placement.size.value(),
                          step.compute_instance->placement.start.value());
    }
    text += step.is_every_compute_instance ? "/*" : "";
  }
  return text;
}

std::string case_text(const ObservedGpu& gpu, const Partition& goal) {
  std::string text = gpu.geometry->key() + ":";
  for (const ObservedInstance& instance : gpu.instances) {
    text += " " + observed_text(gpu, instance);
  }
  return text + " -> " + partition_text(*gpu.geometry, goal);
}

/// Runs the steps on the toy device and compares the end with what the plan says.
void expect_executable(const ObservedGpu& gpu,
                       const GpuTransition& plan,
                       const std::vector<ComputePlacement>& hidden) {
  ToyDevice device(gpu, hidden);
  Duration sum;
  for (const Step& step : plan.steps) {
    ASSERT_EQ(device.execute(step), "") << steps_text(plan);
    sum += step.estimate;
  }
  ASSERT_EQ(device.is_mig_enabled(), plan.is_mig_enabled_after);
  ASSERT_EQ(plan.estimate, sum);
  const Partition end = device.partition();
  ASSERT_EQ(layout_of(end), layout_of(plan.reached));
  ASSERT_EQ(end, plan.reached) << steps_text(plan);
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
