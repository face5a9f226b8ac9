#include "optimize/fit_explanation.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/partition_checker.hpp"
#include "support/node_builder.hpp"

namespace septule::optimize {
namespace {

using gpu::Hold;
using test::geometry;
using test::gpu_with;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RequestList one_of(const gpu::Geometry& model, ProfileIndex profile) {
  RequestList list;
  list.items.push_back(request_for(model, profile));
  return list;
}

FitExplanation explain(const gpu::Inventory& node, const RequestList& request) {
  WorkBudget budget(kPackingUnitsMax);
  auto explanation = explain_fit(node, request, budget);
  SEPTULE_CHECK(explanation.has_value(), "tests ask questions that can be answered");
  return *explanation;
}

FitExplanation explain(const gpu::Inventory& node, std::string_view text) {
  auto request = read_request(geometries_of(node), text);
  SEPTULE_CHECK(request.has_value(), "tests ask for profiles that exist");
  return explain(node, *request);
}

// The starts at which a profile is legal beside `layout`, by the checker alone.
std::vector<int> legal_starts(const gpu::Geometry& model,
                              const gpu::Layout& layout,
                              ProfileIndex profile) {
  std::vector<int> starts;
  for (const gpu::Placement& place : model.profile(profile).placements) {
    gpu::Layout with = layout;
    with.push_back({profile, place.start});
    if (gpu::check_partition(model, gpu::partition_with_full_instances(model, with)).empty()) {
      starts.push_back(place.start.value());
    }
  }
  return starts;
}

// What stays if the instances of `ended` (bits) and `gone` (bits) go.
gpu::Layout layout_without(const gpu::ObservedGpu& gpu, unsigned gone) {
  gpu::Layout layout;
  for (std::size_t i = 0; i < gpu.instances.size(); ++i) {
    if ((gone >> i & 1U) == 0) {
      layout.push_back(gpu.instances[i].placed);
    }
  }
  return layout;
}

struct Expected {
  std::optional<int> idle;  // fewest idle instances whose end is enough
  std::optional<int> busy;  // fewest busy instances
  int singles = 0;          // how many single instances are enough
};

// Tries every subset of the instances of one GPU.
Expected by_force(const gpu::ObservedGpu& gpu, ProfileIndex wanted) {
  unsigned idle = 0;
  unsigned busy = 0;
  for (std::size_t i = 0; i < gpu.instances.size(); ++i) {
    const Hold hold = gpu.instances[i].effective_hold();
    idle |= hold == Hold::kIdle ? 1U << i : 0U;
    busy |= hold == Hold::kBusy ? 1U << i : 0U;
  }
  const auto fits = [&](unsigned gone) {
    return !legal_starts(*gpu.geometry, layout_without(gpu, gone), wanted).empty();
  };
  const auto count = [](unsigned mask) { return __builtin_popcount(mask); };
  Expected expected;
  for (unsigned gone = 0; gone < (1U << gpu.instances.size()); ++gone) {
    if ((gone & ~idle) == 0 && fits(gone)) {
      expected.idle = std::min(expected.idle.value_or(99), count(gone));
    }
  }
  const unsigned along = expected.idle ? 0 : idle;
  for (unsigned gone = 0; gone < (1U << gpu.instances.size()); ++gone) {
    if ((gone & ~busy) == 0 && gone != 0 && fits(gone | along)) {
      expected.busy = std::min(expected.busy.value_or(99), count(gone));
      expected.singles += count(gone) == 1 ? 1 : 0;
    }
  }
  return expected;
}

void compare_with_force(const gpu::ObservedGpu& gpu, ProfileIndex wanted) {
  const gpu::Geometry& model = *gpu.geometry;
  gpu::Inventory node;
  node.gpus = {gpu};
  const FitExplanation explanation = explain(node, one_of(model, wanted));
  ASSERT_EQ(explanation.gpus.size(), 1U);
  const GpuFit& fit = explanation.gpus.front();
  std::vector<int> starts = legal_starts(model, gpu.layout(), wanted);
  for (const gpu::ObservedInstance& instance : gpu.instances) {
    if (instance.hold == Hold::kIdle && instance.placed.profile == wanted) {
      starts.push_back(instance.placed.start.value());
    }
  }
  std::ranges::sort(starts);
  std::vector<int> found;
  for (const FitPlace& place : fit.places) {
    found.push_back(place.placed.start.value());
  }
  EXPECT_EQ(found, starts);
  EXPECT_EQ(explanation.is_fitting, !starts.empty());
  EXPECT_EQ(fit.limit == FitLimit::kNone, !starts.empty());
  if (!starts.empty()) {
    return;
  }
  EXPECT_FALSE(fit.reason.empty());
  EXPECT_EQ(fit.blocked.empty(), fit.limit != FitLimit::kFragmentation);
  const Expected expected = by_force(gpu, wanted);
  ASSERT_EQ(explanation.idle_enough.has_value(), expected.idle.has_value());
  if (expected.idle) {
    EXPECT_EQ(static_cast<int>(explanation.idle_enough->size()), *expected.idle);
  }
  ASSERT_EQ(explanation.freeing.empty(), !expected.busy.has_value());
  EXPECT_TRUE(explanation.is_freeing_complete);
  if (expected.busy) {
    EXPECT_EQ(static_cast<int>(explanation.freeing.front().instances.size()), *expected.busy);
    EXPECT_EQ(static_cast<int>(explanation.freeing.size()), std::max(1, expected.singles));
  }
}

void compare_every_layout(const gpu::Geometry& model, gpu::ProfileSet set, int masks) {
  std::mt19937 random(3);
  const std::vector<ProfileIndex> profiles = model.profiles_in(set);
  gpu::for_each_layout(model, profiles, {}, [&](const gpu::Layout& layout, bool) {
    for (const ProfileIndex wanted : profiles) {
      for (int mask = 0; mask < masks; ++mask) {
        gpu::ObservedGpu gpu = gpu_with(model, 0);
        for (const gpu::PlacedProfile& placed : layout) {
          const auto draw = random() % 7;
          gpu::ObservedInstance instance;
          instance.placed = placed;
          instance.hold = draw < 4 ? Hold::kBusy : draw < 6 ? Hold::kIdle : Hold::kForeign;
          gpu.instances.push_back(instance);
        }
        SCOPED_TRACE(gpu::partition_text(model, gpu.partition()) + " + " +
                     model.profile(wanted).name);
        compare_with_force(gpu, wanted);
      }
    }
  });
}

TEST(FitExplanation, EveryPlainA100Layout_EqualsForce) {
  // Aim: places, idle instances and jobs' ends agree with trying every subset.
  compare_every_layout(geometry("A100-40GB"), gpu::ProfileSet::kPlain, 3);
}

TEST(FitExplanation, EveryA30AndRtxLayout_EqualsForce) {
  // Aim: the same with engine budgets and profile maxima.
  compare_every_layout(geometry("A30-24GB"), gpu::ProfileSet::kAll, 4);
  compare_every_layout(geometry("RTX-PRO-6000-Blackwell"), gpu::ProfileSet::kAll, 1);
}

TEST(FitExplanation, ScatteredOneGs_NamesBlockersMovesAndJobs) {
  // Aim: fragmentation names who blocks which placement, and what would help.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  gpu::Inventory node;
  node.gpus = {gpu_with(
      a100,
      2,
      {{"1g.5gb", 1, Hold::kBusy, true, "job 17"}, {"1g.5gb", 5, Hold::kBusy, true, "job 18"}})};
  const FitExplanation explanation = explain(node, "3g.20gb");
  EXPECT_FALSE(explanation.is_fitting);
  const GpuFit& fit = explanation.gpus.front();
  EXPECT_EQ(fit.limit, FitLimit::kFragmentation);
  ASSERT_EQ(fit.blocked.size(), 2U);
  EXPECT_EQ(fit.blocked[0].text, "3g.20gb@0 is blocked by 1g.5gb@1 (job 17)");
  ASSERT_TRUE(explanation.moves.has_value());
  EXPECT_EQ(explanation.moves->moves.size(), 1U);
  ASSERT_EQ(explanation.freeing.size(), 2U);
  EXPECT_THAT(explanation.freeing[0].names, ElementsAre("1g.5gb@1 (job 17)"));
  EXPECT_EQ(explanation.freeing[0].places[0].instance.placed.start, MemorySlices(0));
  EXPECT_FALSE(explanation.idle_enough.has_value());
}

TEST(FitExplanation, SeveralPlaces_RecommendsTheOneThatLeavesMost) {
  // Aim: a 1g beside another goes where a 4g still fits, not to the first free place.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  gpu::Inventory node;
  node.gpus = {gpu_with(a100, 0, {{"1g.5gb", 6, Hold::kBusy, false, "job 1"}})};
  const FitExplanation explanation = explain(node, "1g.5gb");
  ASSERT_TRUE(explanation.is_fitting);
  EXPECT_EQ(explanation.gpus.front().places.size(), 6U);
  const int start = explanation.recommended.front().instance.placed.start.value();
  EXPECT_GE(start, 4);
}

TEST(FitExplanation, EachLimit_IsToldWithFigures) {
  // Aim: capacity, budgets, MIG off, unknown profile and odd states are told apart.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  const gpu::Geometry& rtx = geometry("RTX-PRO-6000-Blackwell");
  const auto on = [](const gpu::ObservedGpu& gpu, std::string_view name) {
    return explain_fit_on(gpu, request_for(*gpu.geometry, test::profile(*gpu.geometry, name)));
  };
  GpuFit fit = on(gpu_with(a100, 0, {{"4g.20gb", 0, Hold::kBusy, false, "job 1"}}), "4g.20gb");
  EXPECT_EQ(fit.limit, FitLimit::kComputeSlices);
  EXPECT_THAT(fit.reason, HasSubstr("needs 4 compute slices, 3 of 7 are free"));
  fit = on(gpu_with(a100, 0, {{"3g.20gb", 0, Hold::kBusy}, {"1g.5gb", 4}}), "3g.20gb");
  EXPECT_EQ(fit.limit, FitLimit::kMemorySlices);
  EXPECT_THAT(fit.reason, HasSubstr("needs 4 memory slices, 3 of 8 are free"));
  fit = on(gpu_with(a100, 0, {{"1g.5gb+me", 0, Hold::kBusy, false, "job 5"}}), "1g.5gb+me");
  EXPECT_EQ(fit.limit, FitLimit::kProfileMaximum);
  EXPECT_THAT(fit.reason, HasSubstr("at most 1 of 1g.5gb+me"));
  EXPECT_THAT(fit.reason, HasSubstr("job 5"));
  fit = on(gpu_with(rtx, 0, {{"1g.24gb+me.all", 0, Hold::kBusy, false, "job 6"}}), "1g.24gb");
  EXPECT_EQ(fit.limit, FitLimit::kEngineBudget);
  EXPECT_THAT(fit.reason, HasSubstr("job 6"));
  gpu::ObservedGpu off = gpu_with(a100, 0);
  off.is_mig_enabled = false;
  EXPECT_EQ(on(off, "1g.5gb").limit, FitLimit::kMigOff);
  EXPECT_EQ(on(gpu_with(a100, 0, {{"3g.20gb", 2}}), "1g.5gb").limit, FitLimit::kStateNotLegal);
  fit = explain_fit_on(gpu_with(rtx, 0), request_for(a100, test::profile(a100, "3g.20gb")));
  EXPECT_EQ(fit.limit, FitLimit::kUnknownProfile);
  EXPECT_THAT(fit.reason, HasSubstr("RTX-PRO-6000-Blackwell has no 3g.20gb"));
}

TEST(FitExplanation, SeveralInstancesOverTwoGpus_UsesBoth) {
  // Aim: a request of several instances is judged on the node as a whole.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  gpu::Inventory node;
  node.gpus = {gpu_with(a100, 0, {{"4g.20gb", 0, Hold::kBusy, false, "job 1"}}),
               gpu_with(a100, 1, {{"4g.20gb", 0, Hold::kBusy, false, "job 2"}})};
  EXPECT_TRUE(explain(node, "2x3g.20gb").is_fitting);
  const FitExplanation explanation = explain(node, "2x3g.20gb,1g.5gb");
  EXPECT_FALSE(explanation.is_fitting);
  EXPECT_EQ(explanation.freeing.size(), 2U);
  EXPECT_FALSE(explanation.moves.has_value());
  EXPECT_FALSE(explanation.moves_refused.empty());
}

}  // namespace
}  // namespace septule::optimize
