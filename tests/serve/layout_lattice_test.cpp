#include "serve/layout_lattice.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include <gtest/gtest.h>

#include "gpu/partition_checker.hpp"
#include "serve/lattice_support.hpp"

namespace septule::serve {
namespace {

using test::a100;
using test::a30;
using test::lattice_of;

struct Counts {
  std::ptrdiff_t sets = 0;
  std::ptrdiff_t maximal = 0;
  std::ptrdiff_t multisets = 0;
  std::ptrdiff_t undominated = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

Counts counts_of(const LayoutLattice& lattice) {
  return {std::ssize(lattice.placed_sets()),
          std::ranges::count_if(lattice.placed_sets(), &LayoutLattice::PlacedSet::is_maximal),
          std::ssize(lattice.multisets()),
          std::ranges::count_if(lattice.multisets(), &LayoutLattice::Multiset::is_undominated)};
}

TEST(LayoutLattice_Counts, SevenSliceGpus_HaveTheKnownCounts) {
  // Oracle (a) of serving.md section 5: 298 / 19 / 38 / 12 from 14 placements.
  for (const char* key : {"A100-80GB", "A100-40GB", "H100-80GB-SXM", "H200-141GB"}) {
    const LayoutLattice lattice = lattice_of(key);
    EXPECT_EQ(counts_of(lattice), (Counts{298, 19, 38, 12})) << key;
    EXPECT_EQ(lattice.placements().size(), 14U);
    EXPECT_EQ(lattice.sizes().size(), 5U);
  }
}

TEST(LayoutLattice_Counts, FourSliceGpu_HasTheKnownCounts) {
  // A30: 26 legal, 5 maximal, 10 multisets, 4 undominated.
  EXPECT_EQ(counts_of(a30()), (Counts{26, 5, 10, 4}));
}

TEST(LayoutLattice_Counts, DoubleMemory_HasTheKnownCounts) {
  // With the double-memory 1g profile 723 legal sets, 78 maximal, 28 undominated multisets.
  const LayoutLattice lattice = lattice_of("A100-80GB", gpu::ProfileSet::kDouble);
  EXPECT_EQ(counts_of(lattice), (Counts{723, 78, 78, 28}));
  EXPECT_EQ(lattice.sizes().size(), 6U);
}

TEST(LayoutLattice_Counts, LabelledStates_AreThoseOfTheMethodSpec) {
  // State counts of serving.md 2.4, placed and as multisets.
  EXPECT_EQ(a100().labelled_set_count(1), 298);
  EXPECT_EQ(a100().labelled_set_count(2), 4377);
  EXPECT_EQ(a100().labelled_set_count(3), 28996);
  EXPECT_EQ(a100().labelled_set_count(4), 126505);
  EXPECT_EQ(a100().labelled_set_count(6), 1187473);
  EXPECT_EQ(a100().labelled_set_count(8), 6421041);
  EXPECT_EQ(a100().labelled_multiset_count(1), 38);
  EXPECT_EQ(a100().labelled_multiset_count(2), 221);
  EXPECT_EQ(a100().labelled_multiset_count(3), 775);
  EXPECT_EQ(a100().labelled_multiset_count(4), 2094);
}

TEST(LayoutLattice_Legality, EverySetOfPlacements_AsThePartitionCheckerSays) {
  // All 2^14 sets of placements of the A100, judged by code that knows no enumeration.
  const LayoutLattice& lattice = a100();
  const std::uint32_t all = std::uint32_t{1} << lattice.placements().size();
  for (std::uint32_t placements = 0; placements < all; ++placements) {
    gpu::Layout layout;
    for (std::size_t p = 0; p < lattice.placements().size(); ++p) {
      if ((placements >> p & 1U) != 0) {
        layout.push_back(lattice.placements()[p].placed);
      }
    }
    gpu::canonicalise(layout);
    const auto partition = gpu::partition_with_full_instances(lattice.geometry(), layout);
    const bool is_expected = gpu::check_partition(lattice.geometry(), partition).empty();
    ASSERT_EQ(lattice.is_legal(placements), is_expected) << placements;
  }
  EXPECT_FALSE(lattice.is_legal(all));
}

TEST(LayoutLattice_Sets, Order_IsByCountThenBitsAndIndicesAgree) {
  // The order is promised, find_set() inverts it, and each set is listed under its multiset.
  for (const LayoutLattice* lattice : {&a100(), &a30()}) {
    const auto sets = lattice->placed_sets();
    EXPECT_EQ(sets.front().placements, 0U);
    std::size_t listed = 0;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      EXPECT_EQ(sets[i].size_count, std::popcount(sets[i].placements));
      EXPECT_EQ(lattice->find_set(sets[i].placements), static_cast<int>(i));
      const auto members = lattice->sets_of(sets[i].multiset);
      EXPECT_EQ(std::ranges::count(members, sets[i].placements), 1);
      if (i > 0) {
        EXPECT_LE(sets[i - 1].size_count, sets[i].size_count);
      }
    }
    for (std::size_t m = 0; m < lattice->multisets().size(); ++m) {
      listed += lattice->sets_of(static_cast<int>(m)).size();
    }
    EXPECT_EQ(listed, sets.size());
  }
}

TEST(LayoutLattice_Sizes, LookUp_FindsSizesAndPlacements) {
  // Sizes ascend by compute slices, then memory; the plain 1g comes before the double-memory one.
  const LayoutLattice lattice = lattice_of("A100-80GB", gpu::ProfileSet::kDouble);
  EXPECT_EQ(lattice.size_of(ComputeSlices(1)), 0);
  EXPECT_EQ(lattice.size_of(ComputeSlices(2)), 2);
  EXPECT_EQ(lattice.size_of(ComputeSlices(7)), 5);
  EXPECT_EQ(lattice.size_of(ComputeSlices(5)), std::nullopt);
  EXPECT_LT(*lattice.sizes()[0].memory, *lattice.sizes()[1].memory);
  for (std::size_t p = 0; p < lattice.placements().size(); ++p) {
    EXPECT_EQ(lattice.find_placement(lattice.placements()[p].placed), static_cast<int>(p));
  }
  EXPECT_EQ(lattice.find_placement({ProfileIndex(0), MemorySlices(7)}), std::nullopt);
}

TEST(LayoutLattice_Make, BoardsThatDoNotFit_AreErrorsThatNameTheBoard) {
  // A board without a profile table, and a set of more sizes than fit where one exists.
  int without_table = 0;
  for (const gpu::Geometry& geometry : gpu::test::builtin_catalogue().geometries()) {
    for (const gpu::ProfileSet set : gpu::test::profile_sets()) {
      const auto made = LayoutLattice::make(geometry, set);
      if (!geometry.has_profile_table()) {
        ++without_table;
        ASSERT_FALSE(made.has_value());
        EXPECT_EQ(made.error().code, ErrorCode::kNotFound);
      }
      if (!made.has_value()) {
        gpu::test::expect_one_line(made.error());
        EXPECT_NE(made.error().message.find(geometry.key()), std::string::npos);
      } else {
        EXPECT_EQ(std::ssize(made->placed_sets()), gpu::count_layouts(geometry, set)->legal);
      }
    }
  }
  EXPECT_GT(without_table, 0);
}

}  // namespace
}  // namespace septule::serve
