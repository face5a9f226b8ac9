// The exact choice of places for up to seven jobs where moves cost something.
#include "optimize/placed_assignment.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "gpu/partition_checker.hpp"
#include "optimize/random_cases.hpp"

namespace septule {
namespace {

using optimize::PlacedAnswer;
using optimize::PlacedAssigner;
using optimize::PlacedProblem;

constexpr double kNone = -std::numeric_limits<double>::infinity();

double worth(const PlacedProblem::Job& job, const gpu::PlacedProfile& place) {
  const double value = job.value[static_cast<std::size_t>(place.profile.value())];
  if (value <= 0) {
    return kNone;
  }
  return job.current == place ? value : value - job.move_cost;
}

/// Tries every place of every job, one job after the other.
class BruteForce {
 public:
  explicit BruteForce(const gpu::Geometry& geometry)
      : places_(gpu::possible_placements(geometry, geometry.profiles_in(gpu::ProfileSet::kPlain))),
        builder_(geometry) {}

  double best(const PlacedProblem& problem) {
    best_ = kNone;
    go(problem, 0, 0);
    return best_;
  }

 private:
  void go(const PlacedProblem& problem, std::size_t job, double value) {
    if (job == problem.jobs.size()) {
      best_ = std::max(best_, value);
      return;
    }
    for (const gpu::PlacedProfile& place : places_) {
      const double here = worth(problem.jobs[job], place);
      if (here != kNone && builder_.can_add(place)) {
        builder_.add(place);
        go(problem, job + 1, value + here);
        builder_.remove(place);
      }
    }
  }

  std::vector<gpu::PlacedProfile> places_;
  gpu::LayoutBuilder builder_;
  double best_ = kNone;
};

class PlacedAssignmentTest : public ::testing::Test {
 protected:
  const gpu::Geometry& geometry(std::string_view key) const { return **catalogue_.find(key); }

  /// Values are quarters, so that sums are exact and ties frequent. Some jobs run somewhere.
  static PlacedProblem draw(const gpu::Geometry& geometry,
                            int job_count,
                            test::RandomCases& cases) {
    PlacedProblem problem;
    gpu::LayoutBuilder builder(geometry);
    const std::vector<ProfileIndex> plain = geometry.profiles_in(gpu::ProfileSet::kPlain);
    const std::vector<gpu::PlacedProfile> places = gpu::possible_placements(geometry, plain);
    for (int j = 0; j < job_count; ++j) {
      PlacedProblem::Job job;
      for (const ProfileIndex profile : plain) {
        job.value[static_cast<std::size_t>(profile.value())] =
            cases.number(6) == 0 ? 0 : 0.25 * cases.number(20);
      }
      job.move_cost = 0.25 * cases.number(6);
      const gpu::PlacedProfile place =
          places[static_cast<std::size_t>(cases.number(static_cast<int>(places.size())))];
      if (cases.number(3) != 0 && builder.can_add(place)) {
        builder.add(place);
        job.current = place;
      }
      problem.jobs.push_back(job);
    }
    return problem;
  }

  /// What the answer claims is what its places are worth, and they can stand beside each other.
  static void expect_sound(const gpu::Geometry& geometry,
                           const PlacedProblem& problem,
                           const PlacedAnswer& answer) {
    ASSERT_EQ(answer.places.size(), problem.jobs.size());
    double value = 0;
    std::uint32_t moved = 0;
    gpu::Layout layout;
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
      const PlacedProblem::Job& job = problem.jobs[j];
      value += worth(job, answer.places[j]);
      const bool is_moved = job.current.has_value() && *job.current != answer.places[j];
      moved |= (is_moved ? 1U : 0U) << j;
      layout.push_back(answer.places[j]);
    }
    EXPECT_NEAR(value, answer.value, 1e-9);
    EXPECT_EQ(moved, answer.moved);
    gpu::canonicalise(layout);
    EXPECT_TRUE(gpu::check_partition(geometry, gpu::partition_with_full_instances(geometry, layout))
                    .empty());
  }

  gpu::Catalogue catalogue_ = gpu::load_builtin_catalogue();
};

TEST_F(PlacedAssignmentTest, RandomProblems_ThreeGeometries_EqualBruteForce) {
  // Aim: the answer is the exact optimum over all layouts and assignments, for 1 to 4 jobs.
  for (const std::string_view key : {"A30-24GB", "A100-40GB", "H100-80GB-SXM"}) {
    const PlacedAssigner assigner(geometry(key));
    BruteForce brute(geometry(key));
    test::RandomCases cases(1);
    int feasible_count = 0;
    for (int i = 0; i < 400; ++i) {
      const PlacedProblem problem = draw(geometry(key), 1 + i % 4, cases);
      PlacedAnswer answer;
      assigner.solve(problem, answer);
      const double best = brute.best(problem);
      ASSERT_EQ(answer.is_feasible, best != kNone) << key << " case " << i;
      if (answer.is_feasible) {
        ASSERT_NEAR(answer.value, best, 1e-9) << key << " case " << i;
        expect_sound(geometry(key), problem, answer);
        ++feasible_count;
      }
    }
    EXPECT_GT(feasible_count, 100) << key;
  }
}

TEST_F(PlacedAssignmentTest, FiveToSevenJobs_A100_EqualBruteForce) {
  // Aim: the same for crowded GPUs.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  const PlacedAssigner assigner(a100);
  BruteForce brute(a100);
  test::RandomCases cases(2);
  for (int i = 0; i < 12; ++i) {
    const PlacedProblem problem = draw(a100, 5 + i % 3, cases);
    PlacedAnswer answer;
    assigner.solve(problem, answer);
    const double best = brute.best(problem);
    ASSERT_EQ(answer.is_feasible, best != kNone) << i;
    if (answer.is_feasible) {
      ASSERT_NEAR(answer.value, best, 1e-9) << i;
      expect_sound(a100, problem, answer);
    }
  }
}

TEST_F(PlacedAssignmentTest, NoJobs_IsFeasibleAndWorthNothing) {
  // Aim: the empty problem has the empty answer.
  PlacedAnswer answer;
  PlacedAssigner(geometry("A100-40GB")).solve({}, answer);
  EXPECT_TRUE(answer.is_feasible);
  EXPECT_EQ(answer.value, 0);
  EXPECT_TRUE(answer.places.empty());
}

TEST_F(PlacedAssignmentTest, JobThatFitsNowhere_IsInfeasible) {
  // Aim: no value anywhere means no answer, and nothing is left over from the call before.
  const PlacedAssigner assigner(geometry("A30-24GB"));
  test::RandomCases cases(3);
  PlacedAnswer answer;
  PlacedProblem problem = draw(geometry("A30-24GB"), 1, cases);
  problem.jobs[0].value.fill(1);
  assigner.solve(problem, answer);
  ASSERT_TRUE(answer.is_feasible);
  problem.jobs[0].value.fill(0);
  assigner.solve(problem, answer);
  EXPECT_FALSE(answer.is_feasible);
  EXPECT_TRUE(answer.places.empty());
  EXPECT_EQ(answer.moved, 0U);
}

TEST_F(PlacedAssignmentTest, MoreJobsThanInstances_IsInfeasible) {
  // Aim: an A30 has four instances at most; five jobs have no answer.
  const gpu::Geometry& a30 = geometry("A30-24GB");
  const PlacedAssigner assigner(a30);
  PlacedProblem problem;
  for (int j = 0; j < 5; ++j) {
    PlacedAnswer answer;
    assigner.solve(problem, answer);
    EXPECT_TRUE(answer.is_feasible) << j;
    PlacedProblem::Job job;
    job.value.fill(1);
    problem.jobs.push_back(job);
  }
  PlacedAnswer answer;
  assigner.solve(problem, answer);
  EXPECT_FALSE(answer.is_feasible);
}

TEST_F(PlacedAssignmentTest, MoveCost_DecidesBetweenStayingAndGoing) {
  // Aim: a job leaves its 1g for the whole GPU exactly if the gain exceeds the cost.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  const PlacedAssigner assigner(a100);
  const ProfileIndex small = a100.find_profile("1g.5gb").value();
  const ProfileIndex whole = a100.find_profile("7g.40gb").value();
  for (const double cost : {0.25, 0.49, 0.51, 2.0}) {
    PlacedProblem problem;
    PlacedProblem::Job job;
    job.value[static_cast<std::size_t>(small.value())] = 0.5;
    job.value[static_cast<std::size_t>(whole.value())] = 1.0;
    job.current = gpu::PlacedProfile{.profile = small, .start = MemorySlices(3)};
    job.move_cost = cost;
    problem.jobs.push_back(job);
    PlacedAnswer answer;
    assigner.solve(problem, answer);
    ASSERT_TRUE(answer.is_feasible);
    EXPECT_EQ(answer.places[0].profile, cost < 0.5 ? whole : small) << cost;
    EXPECT_EQ(answer.moved, cost < 0.5 ? 1U : 0U) << cost;
  }
}

TEST_F(PlacedAssignmentTest, Ties_EqualCallsGiveEqualAnswers) {
  // Aim: among equal optima the choice depends on the problem alone, and without a price nobody
  // needs a reason to differ between two objects.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  const PlacedAssigner first(a100);
  const PlacedAssigner second(a100);
  PlacedProblem problem;
  for (int j = 0; j < 3; ++j) {
    PlacedProblem::Job job;
    job.value.fill(1);
    problem.jobs.push_back(job);
  }
  PlacedAnswer left;
  PlacedAnswer right;
  first.solve(problem, left);
  second.solve(problem, right);
  first.solve(problem, left);
  EXPECT_EQ(left.places, right.places);
  EXPECT_EQ(left.value, right.value);
}

TEST_F(PlacedAssignmentTest, EveryGeometry_HasLayoutsAndServesOneJob) {
  // Aim: no model breaks the construction; one job that fits everywhere gets its best profile.
  for (const gpu::Geometry& its : catalogue_.geometries()) {
    if (its.profiles_in(gpu::ProfileSet::kPlain).empty()) {
      continue;
    }
    const PlacedAssigner assigner(its);
    EXPECT_GT(assigner.layout_count(), 0U) << its.key();
    PlacedProblem problem;
    PlacedProblem::Job job;
    job.value.fill(1);
    problem.jobs.push_back(job);
    PlacedAnswer answer;
    assigner.solve(problem, answer);
    ASSERT_TRUE(answer.is_feasible) << its.key();
    expect_sound(its, problem, answer);
  }
}

}  // namespace
}  // namespace septule
