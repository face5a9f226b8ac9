// SliceAssigner against the exhaustive optimizer, on every GPU of the catalogue.
#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "gpu/partition_checker.hpp"
#include "optimize/exhaustive_optimizer.hpp"
#include "optimize/random_cases.hpp"
#include "optimize/slice_assignment.hpp"

namespace septule::optimize {
namespace {

using gpu::ProfileSet;
using plan::ObjectiveKind;

constexpr std::array kSets{ProfileSet::kPlain, ProfileSet::kDouble, ProfileSet::kAll};
constexpr std::array kObjectives{ObjectiveKind::kSumOfSpeeds,
                                 ObjectiveKind::kMeanSlowdown,
                                 ObjectiveKind::kWeightedSum,
                                 ObjectiveKind::kMaxMin};

/// Everything in the final layout: what is kept and what is created.
gpu::Layout whole_layout(const SliceAssignment& answer, std::span<const CurrentInstance> current) {
  gpu::Layout layout;
  for (std::size_t i = 0; i < current.size(); ++i) {
    if ((answer.kept >> i & 1U) != 0) {
      layout.push_back(current[i].placed);
    }
  }
  for (int job = 0; job < answer.job_count; ++job) {
    if (const auto& slot = answer.slots[static_cast<std::size_t>(job)]; !slot.current) {
      layout.push_back(slot.placed);
    }
  }
  gpu::canonicalise(layout);
  return layout;
}

/// What the independent checker says against a layout; empty = legal.
std::string violations(const gpu::Geometry& geometry, const gpu::Layout& layout) {
  std::string text;
  for (const gpu::Violation& violation :
       gpu::check_partition(geometry, gpu::partition_with_full_instances(geometry, layout))) {
    text += violation.message + "\n";
  }
  return text;
}

/// Compares one answer with the truth; returns false (with failures recorded) if they differ.
void expect_equal(const gpu::Geometry& geometry,
                  const SliceAssigner::Options& options,
                  const SpeedMatrix& matrix,
                  ObjectiveKind objective,
                  const SliceAssigner& assigner) {
  const ExhaustiveAnswer truth = find_best_exhaustively(geometry, options, matrix, objective);
  SliceAssignment answer;
  assigner.solve(matrix, objective, answer);
  ASSERT_EQ(answer.is_feasible(), truth.is_feasible);
  if (!truth.is_feasible) {
    return;
  }
  EXPECT_NEAR(answer.objective, truth.objective, 1e-7 * std::max(1.0, truth.objective));
  EXPECT_EQ(answer.created + answer.destroyed + answer.moved, truth.changes);
  for (int job = 0; job < matrix.job_count(); ++job) {
    const auto j = static_cast<std::size_t>(job);
    EXPECT_EQ(answer.slots[j].placed.profile, truth.slots[j].placed.profile) << "job " << job;
    EXPECT_EQ(answer.slots[j].current, truth.slots[j].current) << "job " << job;
  }
  const gpu::Layout layout = whole_layout(answer, options.current);
  EXPECT_EQ(violations(geometry, layout), "");
  gpu::Layout with_room = layout;
  for (int i = 0; i < answer.idle_room_count; ++i) {
    with_room.push_back(answer.idle_room[static_cast<std::size_t>(i)]);
  }
  gpu::canonicalise(with_room);
  EXPECT_EQ(violations(geometry, with_room), "");
}

/// Fewer jobs where looking at all assignments would take long.
int jobs_max(ProfileSet set) {
  return set == ProfileSet::kPlain ? 7 : 5;
}

TEST(SliceAssignerExhaustive, EmptyGpu_EqualsBruteForce) {
  // Aim: value, ties and legality are right on every GPU, profile set, objective and rule.
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  int case_count = 0;
  for (const gpu::Geometry& geometry : catalogue.geometries()) {
    for (const ProfileSet set : kSets) {
      if (!geometry.has_profile_table()) {
        continue;
      }
      for (const LayoutRule rule : {LayoutRule::kEveryLayout, LayoutRule::kForbidFourPlusThree}) {
        const SliceAssigner::Options options{
            .profiles = set, .rule = rule, .current = {}, .costs = {}};
        const Result<SliceAssigner> assigner = SliceAssigner::make(geometry, options);
        ASSERT_TRUE(assigner.has_value()) << assigner.error().message;
        test::RandomCases random(static_cast<std::uint64_t>(case_count));
        const int repeats = set == ProfileSet::kPlain ? 112 : set == ProfileSet::kDouble ? 35 : 20;
        for (int i = 0; i < repeats; ++i) {
          const int job_count = 1 + i % jobs_max(set);
          SCOPED_TRACE(testing::Message() << geometry.key() << " " << gpu::profile_set_name(set)
                                          << " case " << i << " jobs " << job_count);
          const SpeedMatrix matrix = random.matrix(geometry, job_count);
          const ObjectiveKind objective = kObjectives[static_cast<std::size_t>(random.number(4))];
          expect_equal(geometry, options, matrix, objective, *assigner);
          ++case_count;
          if (testing::Test::HasFailure()) {
            return;
          }
        }
      }
    }
  }
  RecordProperty("cases", case_count);
  EXPECT_GE(case_count, 4000);
}

TEST(SliceAssignerExhaustive, CurrentLayout_EqualsBruteForce) {
  // Aim: frozen, hosting, pinned and reusable instances with every kind of cost are handled right.
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  int case_count = 0;
  for (const gpu::Geometry& geometry : catalogue.geometries()) {
    if (!geometry.has_profile_table()) {
      continue;
    }
    // The current layout may hold profiles outside the set asked about.
    const std::vector<gpu::Layout> plain = test::legal_layouts(geometry, ProfileSet::kPlain);
    const std::vector<gpu::Layout> all = test::legal_layouts(geometry, ProfileSet::kAll);
    test::RandomCases random(1000U + static_cast<std::uint64_t>(case_count));
    for (int i = 0; i < 600; ++i) {
      const ProfileSet set = i % 12 == 0 ? ProfileSet::kAll : ProfileSet::kPlain;
      const int job_count = 1 + random.number(set == ProfileSet::kAll ? 3 : 7);
      const std::vector<CurrentInstance> current =
          random.current(i % 3 == 0 ? all : plain, job_count);
      const SliceAssigner::Options options{.profiles = set,
                                           .rule = random.number(4) == 0
                                                       ? LayoutRule::kForbidFourPlusThree
                                                       : LayoutRule::kEveryLayout,
                                           .current = current,
                                           .costs = random.costs()};
      const Result<SliceAssigner> assigner = SliceAssigner::make(geometry, options);
      ASSERT_TRUE(assigner.has_value()) << assigner.error().message;
      const SpeedMatrix matrix = random.matrix(geometry, job_count);
      const ObjectiveKind objective = kObjectives[static_cast<std::size_t>(random.number(4))];
      SCOPED_TRACE(testing::Message()
                   << geometry.key() << " " << gpu::profile_set_name(set) << " case " << i
                   << " jobs " << job_count << " objective " << plan::objective_name(objective));
      expect_equal(geometry, options, matrix, objective, *assigner);
      ++case_count;
      if (testing::Test::HasFailure()) {
        return;
      }
    }
  }
  RecordProperty("cases", case_count);
  EXPECT_GE(case_count, 5000);
}

}  // namespace
}  // namespace septule::optimize
