#include "optimize/slice_assignment.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimize/random_cases.hpp"
#include "plan/plan_support.hpp"

namespace septule::optimize {
namespace {

using gpu::ProfileSet;
using plan::ObjectiveKind;
using ::testing::HasSubstr;

class SliceAssignerTest : public test::CatalogueTest {
 protected:
  SliceAssigner make(const SliceAssigner::Options& options, std::string_view key = "A100-40GB") {
    Result<SliceAssigner> assigner = SliceAssigner::make(geometry(key), options);
    EXPECT_TRUE(assigner.has_value());
    return std::move(assigner).value();
  }
  /// Rows of speeds on 7g, 4g, 3g, 2g, 1g (plain profiles of the A100).
  SpeedMatrix matrix(const std::vector<std::array<double, 5>>& rows) {
    SpeedMatrix matrix(static_cast<int>(rows.size()));
    constexpr std::array kSlices{7, 4, 3, 2, 1};
    for (std::size_t j = 0; j < rows.size(); ++j) {
      for (std::size_t i = 0; i < kSlices.size(); ++i) {
        const auto profile = geometry("A100-40GB").plain_profile(ComputeSlices(kSlices[i]));
        EXPECT_TRUE(matrix.set_speed(static_cast<int>(j), profile.value(), rows[j][i]));
      }
    }
    return matrix;
  }
  SliceAssignment solve(const SliceAssigner& assigner,
                        const SpeedMatrix& matrix,
                        ObjectiveKind objective = ObjectiveKind::kSumOfSpeeds) {
    SliceAssignment answer;
    assigner.solve(matrix, objective, answer);
    return answer;
  }
  gpu::PlacedProfile at(std::string_view name, int start) const {
    return {.profile = profile(name), .start = MemorySlices(start)};
  }
  Error refusal(const SliceAssigner::Options& options) {
    const Result<SliceAssigner> made = SliceAssigner::make(geometry("A100-40GB"), options);
    EXPECT_FALSE(made.has_value());
    return made.has_value() ? Error{} : made.error();
  }
};

constexpr std::array<double, 5> kTypical{1.0, 0.8, 0.7, 0.5, 0.3};

TEST_F(SliceAssignerTest, Multisets_A100Counts) {
  // Aim: the program works on the number of multisets that the reference counts.
  EXPECT_EQ(make({.profiles = ProfileSet::kPlain}).multiset_count(), 38U);
  EXPECT_EQ(make({.profiles = ProfileSet::kAll}).multiset_count(), 128U);
}

TEST_F(SliceAssignerTest, Multisets_EqualTheLayoutCountOnEveryGpu) {
  // Aim: the table has a node for each legal multiset, on every GPU and set.
  for (const gpu::Geometry& geometry : catalogue_.geometries()) {
    for (const ProfileSet set : {ProfileSet::kPlain, ProfileSet::kDouble, ProfileSet::kAll}) {
      const auto counts = gpu::count_layouts(geometry, set);
      const Result<SliceAssigner> assigner = SliceAssigner::make(geometry, {.profiles = set});
      ASSERT_EQ(assigner.has_value(), counts.has_value()) << geometry.key();
      if (counts.has_value()) {
        EXPECT_EQ(static_cast<std::int64_t>(assigner->multiset_count()), counts->legal_multisets);
      } else {
        EXPECT_EQ(assigner.error().code, ErrorCode::kNotFound);
      }
    }
  }
}

TEST_F(SliceAssignerTest, OneJob_GetsTheWholeGpu) {
  // Aim: the simplest case, with nothing left beside it.
  const SliceAssignment answer = solve(make({}), matrix({kTypical}));
  ASSERT_TRUE(answer.is_feasible());
  EXPECT_EQ(answer.slots[0].placed, at("7g.40gb", 0));
  EXPECT_EQ(answer.objective, 1.0);
  EXPECT_EQ(answer.created, 1);
  EXPECT_EQ(answer.idle_room_count, 0);
}

TEST_F(SliceAssignerTest, TwoJobs_FourPlusThreeOnlyWhereAllowed) {
  // Aim: 4g+3g is used by default and avoided under the rule for old drivers.
  const SpeedMatrix two = matrix({kTypical, kTypical});
  const SliceAssignment free = solve(make({}), two);
  EXPECT_DOUBLE_EQ(free.objective, 1.5);
  const SliceAssignment old = solve(make({.rule = LayoutRule::kForbidFourPlusThree}), two);
  EXPECT_DOUBLE_EQ(old.objective, 1.4);
  EXPECT_EQ(old.slots[0].placed, at("3g.20gb", 0));
  EXPECT_EQ(old.slots[1].placed, at("3g.20gb", 4));
}

TEST_F(SliceAssignerTest, Ties_FirstJobGetsTheLowerProfileIndex) {
  // Aim: equal jobs are told apart by their order, as documented.
  const SliceAssignment answer = solve(make({}), matrix({kTypical, kTypical}));
  EXPECT_LT(answer.slots[0].placed.profile, answer.slots[1].placed.profile);
  const SliceAssignment all_equal =
      solve(make({}), matrix({{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}}));
  for (std::size_t j = 0; j < 3; ++j) {
    EXPECT_EQ(all_equal.slots[j].placed.profile, profile("1g.5gb"));
  }
  EXPECT_LT(all_equal.slots[0].placed.start, all_equal.slots[1].placed.start);
  EXPECT_LT(all_equal.slots[1].placed.start, all_equal.slots[2].placed.start);
}

TEST_F(SliceAssignerTest, Placement_LeavesTheLargestProfilePlaceable) {
  // Aim: a lone 1g goes where a 4g (and a 3g) still fits, not to slice 0.
  const SliceAssignment answer = solve(make({}), matrix({{0, 0, 0, 0, 1}}));
  EXPECT_GE(answer.slots[0].placed.start.value(), 4);
  ASSERT_GE(answer.idle_room_count, 1);
  EXPECT_EQ(answer.idle_room[0], at("4g.20gb", 0));
}

TEST_F(SliceAssignerTest, IdleRoom_IsMaximal) {
  // Aim: nothing can be added to layout and room together, over random questions.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  const SliceAssigner assigner = make({.profiles = ProfileSet::kAll});
  const auto places = gpu::possible_placements(a100, a100.profiles_in(ProfileSet::kAll));
  test::RandomCases random(5);
  for (int i = 0; i < 300; ++i) {
    const SpeedMatrix jobs = random.matrix(a100, 1 + i % 7);
    const SliceAssignment answer = solve(assigner, jobs);
    if (!answer.is_feasible()) {
      continue;
    }
    gpu::LayoutBuilder builder(a100);
    for (int j = 0; j < answer.job_count; ++j) {
      builder.add(answer.slots[static_cast<std::size_t>(j)].placed);
    }
    for (int r = 0; r < answer.idle_room_count; ++r) {
      ASSERT_TRUE(builder.can_add(answer.idle_room[static_cast<std::size_t>(r)]));
      builder.add(answer.idle_room[static_cast<std::size_t>(r)]);
    }
    EXPECT_TRUE(std::ranges::none_of(
        places, [&](const gpu::PlacedProfile& placed) { return builder.can_add(placed); }));
  }
}

TEST_F(SliceAssignerTest, Objectives_DisagreeWhereTheyShould) {
  // Aim: each objective optimises its own figure. Job 0 gains much from the large instance, job 1
  // starves on small ones.
  const SpeedMatrix jobs = matrix({{1, 1.0, 0.3, 0.2, 0.2}, {1, 0.5, 0.25, 0.1, 0.05}});
  const SliceAssigner assigner = make({});
  EXPECT_DOUBLE_EQ(solve(assigner, jobs).objective, 1.25);
  EXPECT_DOUBLE_EQ(solve(assigner, jobs, ObjectiveKind::kMaxMin).objective, 0.3);
  EXPECT_DOUBLE_EQ(solve(assigner, jobs, ObjectiveKind::kMeanSlowdown).objective, (1.0 + 4.0) / 2);
  SpeedMatrix weighted = jobs;
  ASSERT_TRUE(weighted.set_weight(1, 10));
  EXPECT_DOUBLE_EQ(solve(assigner, weighted, ObjectiveKind::kWeightedSum).objective, 5.3);
}

TEST_F(SliceAssignerTest, MaxMin_SecondKeyIsTheSum) {
  // Aim: among equal lowest speeds the larger sum wins.
  const SpeedMatrix jobs = matrix({{0.1, 0.1, 0.1, 0.1, 0.1}, {0.9, 0.8, 0.7, 0.5, 0.3}});
  const SliceAssignment answer = solve(make({}), jobs, ObjectiveKind::kMaxMin);
  EXPECT_DOUBLE_EQ(answer.objective, 0.1);
  EXPECT_EQ(answer.slots[1].placed.profile, profile("4g.20gb"));
}

TEST_F(SliceAssignerTest, Infeasible_SaysWhy) {
  // Aim: the three reasons are told apart.
  const SliceAssigner a100 = make({});
  const SliceAssignment nowhere = solve(a100, matrix({kTypical, {0, 0, 0, 0, 0}}));
  EXPECT_EQ(nowhere.infeasibility, Infeasibility::kJobFitsNowhere);
  EXPECT_EQ(nowhere.infeasible_job, 1);
  const SliceAssignment clash = solve(a100, matrix({{1, 0, 0, 0, 0}, {1, 0, 0, 0, 0}}));
  EXPECT_EQ(clash.infeasibility, Infeasibility::kNoLayout);
  const SliceAssigner a30 = make({}, "A30");
  SpeedMatrix five(5);
  for (int j = 0; j < 5; ++j) {
    for (const ProfileIndex p : geometry("A30").profiles_in(ProfileSet::kPlain)) {
      ASSERT_TRUE(five.set_speed(j, p, 1.0));
    }
  }
  EXPECT_EQ(solve(a30, five).infeasibility, Infeasibility::kTooManyJobs);
}

TEST_F(SliceAssignerTest, ZeroOnlyProfiles_NeverUsed) {
  // Aim: 0 means "does not fit", also where another job's gain would pay for it.
  const SliceAssignment answer =
      solve(make({}), matrix({{1000, 1000, 1000, 1000, 0}, {1, 1, 1, 1, 0}}));
  ASSERT_TRUE(answer.is_feasible());
  for (std::size_t j = 0; j < 2; ++j) {
    EXPECT_NE(answer.slots[j].placed.profile, profile("1g.5gb"));
  }
}

TEST_F(SliceAssignerTest, ExtremeFigures_StayExact) {
  // Aim: the ends of the allowed range neither overflow nor look impossible.
  const std::array<double, 5> slow{1e-6, 1e-6, 1e-6, 1e-6, 1e-6};
  const std::array<double, 5> fast{1000, 1000, 1000, 1000, 1000};
  const SliceAssigner assigner = make({});
  for (const ObjectiveKind objective : {ObjectiveKind::kSumOfSpeeds,
                                        ObjectiveKind::kMeanSlowdown,
                                        ObjectiveKind::kWeightedSum,
                                        ObjectiveKind::kMaxMin}) {
    SpeedMatrix all_slow = matrix(std::vector<std::array<double, 5>>(7, slow));
    SpeedMatrix all_fast = matrix(std::vector<std::array<double, 5>>(7, fast));
    SpeedMatrix broken = all_fast;
    for (int j = 0; j < 7; ++j) {
      ASSERT_TRUE(all_slow.set_weight(j, 1e-6) && all_fast.set_weight(j, 1000) &&
                  broken.set_weight(j, 1000));
    }
    for (const ProfileIndex p : geometry("A100-40GB").profiles_in(ProfileSet::kPlain)) {
      ASSERT_TRUE(p == profile("7g.40gb") || broken.set_speed(3, p, 0));
    }
    EXPECT_TRUE(solve(assigner, all_slow, objective).is_feasible());
    EXPECT_TRUE(solve(assigner, all_fast, objective).is_feasible());
    EXPECT_EQ(solve(assigner, broken, objective).infeasibility, Infeasibility::kNoLayout);
  }
}

TEST_F(SliceAssignerTest, ReusedMemory_CarriesNothingOver) {
  // Aim: an answer does not depend on what `out` held before.
  const SliceAssigner assigner = make({.profiles = ProfileSet::kAll});
  const SpeedMatrix one = matrix({kTypical});
  SliceAssignment used;
  assigner.solve(matrix({{1, 0, 0, 0, 0}, {1, 0, 0, 0, 0}}), ObjectiveKind::kMaxMin, used);
  assigner.solve(
      matrix(std::vector<std::array<double, 5>>(7, kTypical)), ObjectiveKind::kMeanSlowdown, used);
  assigner.solve(one, ObjectiveKind::kSumOfSpeeds, used);
  const SliceAssignment fresh = solve(assigner, one);
  EXPECT_EQ(used.slots[0].placed, fresh.slots[0].placed);
  EXPECT_EQ(used.objective, fresh.objective);
  EXPECT_EQ(used.created, fresh.created);
  EXPECT_EQ(used.idle_room_count, fresh.idle_room_count);
  EXPECT_EQ(used.job_count, 1);
}

TEST_F(SliceAssignerTest, FrozenInstances_StayAndStandInTheWay) {
  // Aim: a frozen 1g at slice 0 rules out 7g and 4g; a pinned job keeps its place.
  const std::vector<CurrentInstance> current{
      {.placed = at("1g.5gb", 0), .use = InstanceUse::kFrozen},
      {.placed = at("1g.5gb", 1), .use = InstanceUse::kPinned, .job = 1}};
  const SliceAssignment answer = solve(make({.current = current}), matrix({kTypical, kTypical}));
  ASSERT_TRUE(answer.is_feasible());
  EXPECT_EQ(answer.kept, 3U);
  EXPECT_EQ(answer.slots[0].placed, at("3g.20gb", 4));
  EXPECT_EQ(answer.slots[1].current, 1);
  EXPECT_DOUBLE_EQ(answer.objective, 1.0);
}

TEST_F(SliceAssignerTest, PinnedJobThatDoesNotFit_IsInfeasible) {
  // Aim: a pin is never traded for a better place.
  const std::vector<CurrentInstance> current{
      {.placed = at("1g.5gb", 0), .use = InstanceUse::kPinned, .job = 0}};
  const SliceAssignment answer = solve(make({.current = current}), matrix({{1, 1, 1, 1, 0}}));
  EXPECT_EQ(answer.infeasibility, Infeasibility::kJobFitsNowhere);
}

TEST_F(SliceAssignerTest, Costs_DecideWhetherToChange) {
  // Aim: the current layout stays while the gain is below the cost, and goes when it is above.
  const std::vector<CurrentInstance> current{
      {.placed = at("3g.20gb", 0), .use = InstanceUse::kReusable, .job = 0}};
  const SpeedMatrix job = matrix({{1.0, 0.8, 0.7, 0.5, 0.3}});
  const SliceAssignment stays = solve(
      make({.current = current, .costs = {.create = 0.1, .destroy = 0.1, .move = 0.11}}), job);
  EXPECT_EQ(stays.slots[0].current, 0);
  EXPECT_EQ(stays.change_cost, 0.0);
  const SliceAssignment goes = solve(
      make({.current = current, .costs = {.create = 0.1, .destroy = 0.1, .move = 0.09}}), job);
  EXPECT_EQ(goes.slots[0].placed, at("7g.40gb", 0));
  EXPECT_EQ(goes.kept, 0U);
  EXPECT_DOUBLE_EQ(goes.change_cost, 0.29);
  EXPECT_DOUBLE_EQ(goes.objective, 1.0);
  EXPECT_EQ(goes.created + goes.destroyed + goes.moved, 3);
}

TEST_F(SliceAssignerTest, MaxMinWithCosts_TieTakesTheSum) {
  // Aim: a lower floor without costs that equals a higher one less its costs is still looked at.
  const std::vector<CurrentInstance> current{
      {.placed = at("4g.20gb", 0), .use = InstanceUse::kReusable, .job = 1},
      {.placed = at("3g.20gb", 4), .use = InstanceUse::kReusable, .job = 0}};
  // Swapping the jobs: lowest 1.0, cost 0.25, sum 2. Staying: lowest 0.75, no cost, sum 5.75.
  const SliceAssignment answer =
      solve(make({.current = current, .costs = {.create = 1, .destroy = 1, .move = 0.125}}),
            matrix({{0.1, 1, 0.75, 0.1, 0.1}, {0.1, 5, 1, 0.1, 0.1}}),
            ObjectiveKind::kMaxMin);
  EXPECT_EQ(answer.slots[0].current, 1);
  EXPECT_EQ(answer.slots[1].current, 0);
  EXPECT_EQ(answer.objective, 0.75);
}

TEST_F(SliceAssignerTest, EqualObjective_ChangesLeast) {
  // Aim: without costs the current layout still wins a tie.
  const std::vector<CurrentInstance> current{
      {.placed = at("2g.10gb", 2), .use = InstanceUse::kReusable, .job = 1},
      {.placed = at("1g.5gb", 0), .use = InstanceUse::kReusable}};
  const SliceAssignment answer =
      solve(make({.current = current}), matrix({{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}}));
  EXPECT_EQ(answer.created + answer.destroyed + answer.moved, 0);
  EXPECT_EQ(answer.slots[0].current, 1);
  EXPECT_EQ(answer.slots[1].current, 0);
}

TEST_F(SliceAssignerTest, BadOptions_AreRefused) {
  // Aim: each way to hand over a wrong current layout or cost is named.
  std::vector<CurrentInstance> current{{.placed = at("3g.20gb", 1)}};
  EXPECT_THAT(refusal({.current = current}).message, HasSubstr("not legal on this GPU"));
  current = {{.placed = at("7g.40gb", 0)}, {.placed = at("1g.5gb", 0)}};
  EXPECT_THAT(refusal({.current = current}).message, HasSubstr("beside those before it"));
  current = {{.placed = {.profile = ProfileIndex(99), .start = MemorySlices(0)}}};
  EXPECT_THAT(refusal({.current = current}).message, HasSubstr("99"));
  current = {{.placed = at("1g.5gb", 0), .use = InstanceUse::kPinned}};
  EXPECT_THAT(refusal({.current = current}).message, HasSubstr("names no job"));
  current = {{.placed = at("1g.5gb", 0), .use = InstanceUse::kFrozen, .job = 0}};
  EXPECT_THAT(refusal({.current = current}).message, HasSubstr("pin it"));
  current = {{.placed = at("1g.5gb", 0), .use = InstanceUse::kHost, .job = 0},
             {.placed = at("1g.5gb", 1), .use = InstanceUse::kHost, .job = 0}};
  EXPECT_THAT(refusal({.current = current}).message, HasSubstr("two current instances"));
  current = {{.placed = at("1g.5gb", 0), .use = InstanceUse::kHost, .job = 7}};
  EXPECT_THAT(refusal({.current = current}).message, HasSubstr("job 7"));
  for (const double bad : {-0.1, 1000.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(refusal({.costs = {.create = 0, .destroy = bad, .move = 0}}).code,
              ErrorCode::kInvalidInput);
  }
}

TEST_F(SliceAssignerTest, Placements_AreBestOfTheirMultiset) {
  // Aim: no other placement of the same profiles leaves larger profiles placeable (own count).
  const gpu::Geometry& a100 = geometry("A100-40GB");
  const auto profiles = a100.profiles_in(ProfileSet::kPlain);
  const auto places = gpu::possible_placements(a100, profiles);
  const auto room_of = [&](const gpu::Layout& layout) {
    gpu::LayoutBuilder builder(a100);
    for (const gpu::PlacedProfile& placed : layout) {
      builder.add(placed);
    }
    std::map<ProfileIndex, int> fits;
    for (const gpu::PlacedProfile& placed : places) {
      if (builder.can_add(placed)) {
        const gpu::GpuInstanceProfile& row = a100.profile(placed.profile);
        fits[placed.profile] = row.size().value() * 100 + row.slices.value();
      }
    }
    std::vector<int> sizes;
    for (const auto& [index, size] : fits) {
      sizes.push_back(size);
    }
    std::ranges::sort(sizes, std::greater<>());
    return sizes;
  };
  std::map<std::vector<ProfileIndex>, std::vector<int>> best;
  gpu::for_each_layout(a100, profiles, {}, [&](const gpu::Layout& layout, bool) {
    std::vector<ProfileIndex> key;
    for (const gpu::PlacedProfile& placed : layout) {
      key.push_back(placed.profile);
    }
    std::ranges::sort(key);
    auto& entry = best[key];
    entry = std::max(entry, room_of(layout));
  });
  const SliceAssigner assigner = make({});
  std::size_t seen = 0;
  for (const auto& [key, room] : best) {
    if (key.empty()) {
      continue;
    }
    SpeedMatrix jobs(static_cast<int>(key.size()));  // each job fits one profile only
    for (std::size_t j = 0; j < key.size(); ++j) {
      ASSERT_TRUE(jobs.set_speed(static_cast<int>(j), key[j], 1.0));
    }
    const SliceAssignment answer = solve(assigner, jobs);
    ASSERT_TRUE(answer.is_feasible());
    gpu::Layout layout;
    for (std::size_t j = 0; j < key.size(); ++j) {
      layout.push_back(answer.slots[j].placed);
    }
    EXPECT_EQ(room_of(layout), room);
    ++seen;
  }
  EXPECT_EQ(seen, 37U);
}

}  // namespace
}  // namespace septule::optimize
