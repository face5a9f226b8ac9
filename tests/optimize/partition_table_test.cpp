#include "optimize/partition_table.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gpu/partition_checker.hpp"
#include "optimize/random_cases.hpp"
#include "optimize/slice_assignment.hpp"
#include "plan/plan_support.hpp"
#include "support/shared_data.hpp"

namespace septule::optimize {
namespace {

using plan::ObjectiveKind;
using predict::SpeedRow;
using Rows = std::vector<SpeedRow>;
using Places = std::vector<std::optional<gpu::PlacedProfile>>;

class PartitionTableTest : public test::CatalogueTest {
 protected:
  const gpu::Geometry& a100() const { return geometry("A100-40GB"); }
  ProfileIndex plain(int slices) const { return *a100().plain_profile(ComputeSlices(slices)); }
  /// Speeds on 7g, 4g, 3g, 2g, 1g.
  SpeedRow row(const std::array<double, 5>& speeds) const {
    constexpr std::array kSlices{7, 4, 3, 2, 1};
    SpeedRow row;
    for (std::size_t i = 0; i < kSlices.size(); ++i) {
      row.speed[static_cast<std::size_t>(plain(kSlices[i]).value())] = speeds[i];
    }
    return row;
  }
  static PartitionAnswer solve(const PartitionTable& table,
                               const Rows& rows,
                               ObjectiveKind objective,
                               const Places& current = {}) {
    std::vector<const SpeedRow*> pointers;
    for (const SpeedRow& row : rows) {
      pointers.push_back(&row);
    }
    PartitionAnswer answer;
    table.solve({.jobs = pointers, .objective = objective, .current = current}, answer);
    return answer;
  }
  std::vector<int> slices_of(const PartitionAnswer& answer, std::size_t job_count) const {
    std::vector<int> slices;
    for (std::size_t job = 0; job < job_count; ++job) {
      const auto at = static_cast<std::size_t>(answer.instance_of[job]);
      slices.push_back(a100().profile(answer.instances[at].profile).slices.value());
    }
    return slices;
  }
  /// The best value over all layouts of exactly n instances without 4g+3g, all permutations tried:
  /// shares no code with the table. Nothing if infeasible.
  static std::optional<double> best_by_force(const gpu::Geometry& geometry,
                                             const Rows& rows,
                                             ObjectiveKind objective) {
    std::optional<double> best;
    for (const gpu::Layout& layout : gpu::maximal_layouts(geometry, gpu::ProfileSet::kPlain)) {
      std::set<int> sizes;
      std::vector<ProfileIndex> profiles;
      for (const gpu::PlacedProfile& placed : layout) {
        profiles.push_back(placed.profile);
        sizes.insert(geometry.profile(placed.profile).slices.value());
      }
      if (layout.size() != rows.size() || (sizes.contains(4) && sizes.contains(3))) {
        continue;
      }
      std::ranges::sort(profiles);
      do {
        const std::optional<double> value = value_of(rows, profiles, objective);
        const bool is_better =
            value.has_value() &&
            (!best.has_value() ||
             (objective == ObjectiveKind::kMeanSlowdown ? *value < *best : *value > *best));
        best = is_better ? value : best;
      } while (std::ranges::next_permutation(profiles).found);
    }
    return best;
  }
  static std::optional<double> value_of(const Rows& rows,
                                        const std::vector<ProfileIndex>& profiles,
                                        ObjectiveKind objective) {
    double sum = 0;
    double least = 1e9;
    for (std::size_t job = 0; job < rows.size(); ++job) {
      const double speed = rows[job].on(profiles[job]);
      if (speed == 0) {
        return std::nullopt;
      }
      sum += objective == ObjectiveKind::kMeanSlowdown ? 1 / speed : speed;
      least = std::min(least, speed);
    }
    switch (objective) {
      case ObjectiveKind::kMeanSlowdown:
        return sum / static_cast<double>(rows.size());
      case ObjectiveKind::kMaxMin:
        return least;
      default:
        return sum;
    }
  }
};

TEST_F(PartitionTableTest, Paper_OnA100_EqualsThePublishedCodes) {
  // Aim: 13 multisets in the order of their first published code, 18 layouts as 18 entries.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/partition_codes.csv");
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::vector<std::string> multisets;
  int entry_count = 0;
  while (std::getline(file, line)) {
    ++entry_count;
    std::string multiset = line.substr(line.rfind(',') + 1);
    while (!multiset.empty() && (multiset.back() == '\r' || multiset.back() == ' ')) {
      multiset.pop_back();
    }
    if (std::ranges::find(multisets, multiset) == multisets.end()) {
      multisets.push_back(multiset);
    }
  }
  const PartitionTable table = PartitionTable::paper(a100());
  ASSERT_EQ(table.code_count(), multisets.size());
  EXPECT_EQ(table.layout_count(), static_cast<std::size_t>(entry_count));
  for (std::size_t code = 0; code < multisets.size(); ++code) {
    std::string text;
    for (const ProfileIndex profile : table.profiles(static_cast<int>(code))) {
      text += (text.empty() ? "" : "+") + std::to_string(a100().profile(profile).slices.value());
    }
    EXPECT_EQ(text, multisets[code]) << code;
  }
}

TEST_F(PartitionTableTest, Assignments_OnA100_AreMerged) {
  // Aim: 1, 1, 15, 24, 15, 6, 1 ways for 1 to 7 jobs (miso.md section 4), none beyond.
  const PartitionTable table = PartitionTable::paper(a100());
  std::vector<std::size_t> counts;
  for (int jobs = 0; jobs <= 8; ++jobs) {
    counts.push_back(table.assignment_count(jobs));
  }
  EXPECT_EQ(counts, (std::vector<std::size_t>{0, 1, 1, 15, 24, 15, 6, 1, 0}));
}

TEST_F(PartitionTableTest, Solve_PublishedCases_EqualTheExactOptima) {
  // Aim: all 70 cases under the sum of speeds: totals to 1e-6, the three infeasible ones reported.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/optimizer_cases.jsonl");
  const PartitionTable table = PartitionTable::paper(a100());
  std::ifstream file(path);
  std::string line;
  int case_count = 0;
  int infeasible_count = 0;
  while (std::getline(file, line)) {
    const nlohmann::json record = nlohmann::json::parse(line);
    SCOPED_TRACE(record["id"].dump());
    Rows rows;
    for (const nlohmann::json& job : record["jobs"]) {
      rows.push_back(row(job.get<std::array<double, 5>>()));
    }
    const PartitionAnswer answer = solve(table, rows, ObjectiveKind::kSumOfSpeeds);
    ++case_count;
    ASSERT_EQ(answer.is_feasible, record["feasible"].get<bool>());
    if (!answer.is_feasible) {
      ++infeasible_count;
      continue;
    }
    EXPECT_NEAR(answer.objective, record["opt_exact"]["total"].get<double>(), 1e-6);
    const PartitionAnswer slow = solve(table, rows, ObjectiveKind::kMeanSlowdown);
    EXPECT_NEAR(slow.objective, record["artifact"]["mean_slowdown"].get<double>(), 1e-6);
  }
  EXPECT_EQ(case_count, 70);
  EXPECT_EQ(infeasible_count, 3);
}

TEST_F(PartitionTableTest, Solve_RandomTables_IsTheBestAndLegal) {
  // Aim: on every model and objective the value is that of brute force, and the layout is legal,
  // has exactly one instance per job and gives each job one of its own.
  test::RandomCases random(11);
  int feasible_count = 0;
  for (const gpu::Geometry& model : catalogue_.geometries()) {
    if (!model.has_profile_table()) {
      EXPECT_FALSE(
          solve(PartitionTable::paper(model), Rows(1), ObjectiveKind::kMaxMin).is_feasible);
      continue;
    }
    SCOPED_TRACE(model.key());
    const PartitionTable table = PartitionTable::paper(model);
    for (int i = 0; i < 60; ++i) {
      const SpeedMatrix matrix = random.matrix(model, 1 + i % 7);
      Rows rows(static_cast<std::size_t>(matrix.job_count()));
      for (int job = 0; job < matrix.job_count(); ++job) {
        for (std::size_t p = 0; p < model.profiles().size(); ++p) {
          rows[static_cast<std::size_t>(job)].speed[p] =
              matrix.speed(job, ProfileIndex(static_cast<int>(p)));
        }
      }
      constexpr std::array kObjectives{
          ObjectiveKind::kSumOfSpeeds, ObjectiveKind::kMeanSlowdown, ObjectiveKind::kMaxMin};
      const ObjectiveKind objective = kObjectives[static_cast<std::size_t>(i / 7) % 3];
      const PartitionAnswer answer = solve(table, rows, objective);
      const std::optional<double> truth = best_by_force(model, rows, objective);
      ASSERT_EQ(answer.is_feasible, truth.has_value());
      if (!answer.is_feasible) {
        continue;
      }
      ++feasible_count;
      EXPECT_NEAR(answer.objective, *truth, 1e-8 * std::max(1.0, *truth));
      ASSERT_EQ(answer.instances.size(), rows.size());
      std::set<int> used(answer.instance_of.begin(),
                         answer.instance_of.begin() + static_cast<long>(rows.size()));
      EXPECT_EQ(used.size(), rows.size());
      const gpu::Layout layout(answer.instances.begin(), answer.instances.end());
      EXPECT_TRUE(
          gpu::check_partition(model, gpu::partition_with_full_instances(model, layout)).empty());
    }
  }
  EXPECT_GT(feasible_count, 300);
}

TEST_F(PartitionTableTest, Solve_EqualWorth_MovesFewestJobs) {
  // Aim: among equals the present places win, then the lowest code, then larger for early jobs.
  const PartitionTable table = PartitionTable::paper(a100());
  const Rows even(3, row({1, 1, 1, 1, 1}));
  const PartitionAnswer fresh = solve(table, even, ObjectiveKind::kSumOfSpeeds);
  EXPECT_EQ(fresh.code, 1) << "4+2+1";
  EXPECT_EQ(slices_of(fresh, 3), (std::vector<int>{4, 2, 1}));
  EXPECT_EQ(fresh.moved, 0);
  const auto at = [&](int slices, int start) {
    return gpu::PlacedProfile{.profile = plain(slices), .start = MemorySlices(start)};
  };
  const Places now{at(2, 2), at(3, 4), at(2, 0)};
  const PartitionAnswer kept = solve(table, even, ObjectiveKind::kSumOfSpeeds, now);
  EXPECT_EQ(slices_of(kept, 3), (std::vector<int>{2, 3, 2}));
  EXPECT_EQ(kept.moved, 0);
  for (std::size_t job = 0; job < 3; ++job) {
    EXPECT_EQ(kept.instances[static_cast<std::size_t>(kept.instance_of[job])], *now[job]) << job;
  }
  const Places split{at(1, 6), std::nullopt, at(7, 0)};
  const PartitionAnswer some = solve(table, even, ObjectiveKind::kSumOfSpeeds, split);
  EXPECT_EQ(some.moved, 1) << "only the one from 7g has to move";
  EXPECT_EQ(some.instances[static_cast<std::size_t>(some.instance_of[0])], at(1, 6));
}

TEST_F(PartitionTableTest, Solve_OddInput_IsAnswered) {
  // Aim: no jobs, too many, no fit, and figures that are no speeds never throw or overflow.
  const PartitionTable table = PartitionTable::paper(a100());
  EXPECT_FALSE(solve(table, {}, ObjectiveKind::kSumOfSpeeds).is_feasible);
  EXPECT_FALSE(solve(table, Rows(8, row({1, 1, 1, 1, 1})), ObjectiveKind::kMaxMin).is_feasible);
  EXPECT_FALSE(solve(table, Rows(2), ObjectiveKind::kMeanSlowdown).is_feasible);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(
      solve(table, {row({nan, -1, 0, -infinity, 1e-9})}, ObjectiveKind::kSumOfSpeeds).is_feasible);
  const Rows wild(7, row({infinity, infinity, infinity, infinity, infinity}));
  const PartitionAnswer answer = solve(table, wild, ObjectiveKind::kSumOfSpeeds);
  EXPECT_TRUE(answer.is_feasible);
  EXPECT_DOUBLE_EQ(answer.objective, 7000);
  const Rows slow(7, row({1e-6, 1e-6, 1e-6, 1e-6, 1e-6}));
  EXPECT_NEAR(solve(table, slow, ObjectiveKind::kMeanSlowdown).objective, 1e6, 1e-3);
  const Rows one_misfit{row({1, 1, 1, 1, 1000}), row({1, 0, 0, 0, 0})};
  EXPECT_FALSE(solve(table, one_misfit, ObjectiveKind::kSumOfSpeeds).is_feasible);
}

}  // namespace
}  // namespace septule::optimize
