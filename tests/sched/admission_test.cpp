#include "sched/admission.hpp"

#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "gpu/layout.hpp"
#include "sched/admission_index.hpp"

namespace septule::sched {
namespace {

class AdmissionTest : public ::testing::Test {
 protected:
  const gpu::Geometry& a100() const { return **catalogue_.find("A100-40GB"); }
  int rank(const AdmissionTable& table, int slices) const {
    return table.rank_of(*a100().plain_profile(ComputeSlices(slices)));
  }
  static AdmissionState state_of(const std::vector<int>& ranks) {
    AdmissionState state;
    for (const int one : ranks) {
      state = AdmissionTable::with(state, one);
    }
    return state;
  }
  /// Tries every layout and every way to give the jobs distinct instances; `slices` = smallest
  /// fitting slice of each job on an A100. 3g and 4g are told apart by compute slices only.
  bool is_served_by_force(std::vector<int> slices, PartitionChoice choice) const {
    for (const gpu::Layout& layout : gpu::maximal_layouts(a100(), gpu::ProfileSet::kPlain)) {
      std::vector<int> have;
      for (const gpu::PlacedProfile& placed : layout) {
        have.push_back(a100().profile(placed.profile).slices.value());
      }
      const bool has_both = std::ranges::count(have, 4) > 0 && std::ranges::count(have, 3) > 0;
      if (choice == PartitionChoice::kPaperTable && (has_both || have.size() != slices.size())) {
        continue;
      }
      if (have.size() < slices.size()) {
        continue;
      }
      std::ranges::sort(have);
      do {
        if (std::equal(slices.begin(), slices.end(), have.begin(), std::less_equal<>())) {
          return true;
        }
      } while (std::ranges::next_permutation(have).found);
    }
    return false;
  }

  gpu::Catalogue catalogue_ = gpu::load_builtin_catalogue();
};

TEST_F(AdmissionTest, Bound_All87Combinations_EqualBruteForce) {
  // Aim: every feasible GPU of 1 to 7 jobs with smallest slices 1, 2 or 3, and every new job of
  // these (miso.md section 5): admitted exactly if some partition of the table serves all.
  const AdmissionTable table(a100(), PartitionChoice::kPaperTable);
  int combination_count = 0;
  for (int ones = 0; ones <= 7; ++ones) {
    for (int twos = 0; ones + twos <= 7; ++twos) {
      for (int threes = 0; ones + twos + threes <= 7; ++threes) {
        std::vector<int> slices(static_cast<std::size_t>(ones), 1);
        slices.insert(slices.end(), static_cast<std::size_t>(twos), 2);
        slices.insert(slices.end(), static_cast<std::size_t>(threes), 3);
        if (slices.empty() || !is_served_by_force(slices, PartitionChoice::kPaperTable)) {
          continue;
        }
        std::vector<int> ranks;
        for (const int one : slices) {
          ranks.push_back(rank(table, one));
        }
        for (const int job : {1, 2, 3}) {
          ++combination_count;
          std::vector<int> more = slices;
          more.push_back(job);
          EXPECT_EQ(table.bound(state_of(ranks)) >= rank(table, job),
                    is_served_by_force(more, PartitionChoice::kPaperTable))
              << ones << " " << twos << " " << threes << " + " << job;
        }
      }
    }
  }
  EXPECT_EQ(combination_count, 87);
}

TEST_F(AdmissionTest, Bound_AllSizes_EqualsBruteForce) {
  // Aim: up to four jobs of all five sizes, both choices, against every layout and permutation.
  for (const PartitionChoice choice :
       {PartitionChoice::kPaperTable, PartitionChoice::kEverything}) {
    const AdmissionTable table(a100(), choice);
    constexpr std::array kSizes{1, 2, 3, 4, 7};
    std::vector<std::vector<int>> sets{{}};
    for (std::size_t at = 0; at < sets.size(); ++at) {
      const std::vector<int> slices = sets[at];
      std::vector<int> ranks;
      for (const int one : slices) {
        ranks.push_back(rank(table, one));
      }
      for (const int job : kSizes) {
        std::vector<int> more = slices;
        more.push_back(job);
        const bool is_served = is_served_by_force(more, choice);
        EXPECT_EQ(table.bound(state_of(ranks)) >= rank(table, job), is_served)
            << ::testing::PrintToString(slices) << " + " << job;
        if (is_served && more.size() <= 4 && (slices.empty() || slices.back() <= job)) {
          sets.push_back(more);
        }
      }
    }
    EXPECT_GT(sets.size(), 20U);
  }
}

TEST_F(AdmissionTest, Bound_KnownStates_AreAsDocumented) {
  // Aim: spot values, the wide choice's gain, and states beyond any partition.
  const AdmissionTable paper(a100(), PartitionChoice::kPaperTable);
  const AdmissionTable wide(a100(), PartitionChoice::kEverything);
  const int three = rank(paper, 3);
  EXPECT_EQ(paper.whole_profile(), *a100().plain_profile(ComputeSlices(7)));
  EXPECT_EQ(paper.bound({}), rank(paper, 7));
  EXPECT_EQ(paper.bound(state_of({three})), three);
  EXPECT_EQ(wide.bound(state_of({three})), rank(wide, 4)) << "4g+3g";
  EXPECT_EQ(paper.bound(state_of({three, three})), AdmissionTable::kFull);
  EXPECT_EQ(paper.bound(state_of({0, 0, 0, 0, 0, 0})), 0);
  EXPECT_EQ(paper.bound(state_of({0, 0, 0, 0, 0, 0, 0})), AdmissionTable::kFull);
  EXPECT_EQ(paper.bound(state_of(std::vector<int>(16, 0))), AdmissionTable::kFull);
  EXPECT_EQ(paper.rank_of(ProfileIndex(99)), rank(paper, 7)) << "unknown = the whole GPU";
}

TEST_F(AdmissionTest, Table_EveryModel_CanBeMade) {
  // Aim: every model with a profile table; an empty GPU takes anything, jobs of the smallest kind
  // fill it in the end, and with all layouts one more job never makes room (with exactly one
  // instance per job it can: 4+2+1 serves a 4g job only from three jobs on).
  for (const gpu::Geometry& model : catalogue_.geometries()) {
    if (!model.has_profile_table()) {
      continue;
    }
    SCOPED_TRACE(model.key());
    for (const PartitionChoice choice :
         {PartitionChoice::kPaperTable, PartitionChoice::kEverything}) {
      const AdmissionTable table(model, choice);
      EXPECT_EQ(table.bound({}), table.rank_count() - 1);
      std::vector<int> ranks;
      int bound = table.bound({});
      while (bound >= 0 && ranks.size() < 7) {
        ranks.push_back(0);
        const int next = table.bound(state_of(ranks));
        if (choice == PartitionChoice::kEverything) {
          EXPECT_LE(next, bound);
        }
        bound = next;
      }
      EXPECT_EQ(bound, AdmissionTable::kFull);
    }
  }
}

TEST(AdmissionIndexTest, Find_RandomChanges_EqualsALinearSearch) {
  // Aim: fewest jobs, bound at least the rank, lowest number; and the empty GPUs in order.
  constexpr int kGpus = 150;
  constexpr int kRanks = 5;
  AdmissionIndex index(kGpus, kRanks);
  struct Plain {
    int jobs = 0;
    int bound = -1;
  };
  std::vector<Plain> plain(kGpus);
  std::mt19937_64 engine(5);
  const auto number = [&](int below) {
    return static_cast<int>(engine() % static_cast<std::uint64_t>(below));
  };
  for (int step = 0; step < 5000; ++step) {
    const int gpu = number(kGpus);
    Plain& its = plain[static_cast<std::size_t>(gpu)];
    its = {.jobs = number(9), .bound = number(kRanks + 1) - 1};
    if (number(4) == 0) {
      its.bound = -1;
      index.erase(GpuId(gpu));
    } else {
      index.set(GpuId(gpu), its.jobs, its.bound);
    }
    const bool is_in = its.bound >= 0 && its.jobs <= AdmissionIndex::kJobCountMax;
    ASSERT_EQ(index.contains(GpuId(gpu)), is_in);
    const int rank = number(kRanks);
    std::optional<GpuId> truth;
    std::size_t empty_count = 0;
    const int from = number(kGpus);
    std::optional<GpuId> first_empty;
    for (int id = 0; id < kGpus; ++id) {
      const Plain& one = plain[static_cast<std::size_t>(id)];
      if (one.bound >= rank && one.jobs <= AdmissionIndex::kJobCountMax &&
          (!truth.has_value() || one.jobs < plain[static_cast<std::size_t>(truth->value())].jobs)) {
        truth = GpuId(id);
      }
      const bool is_empty = one.bound >= 0 && one.jobs == 0;
      empty_count += is_empty ? 1 : 0;
      if (is_empty && id >= from && !first_empty.has_value()) {
        first_empty = GpuId(id);
      }
    }
    ASSERT_EQ(index.find(rank), truth);
    ASSERT_EQ(index.empty_count(), empty_count);
    ASSERT_EQ(index.first_empty(from), first_empty);
  }
}

}  // namespace
}  // namespace septule::sched
