#include "base/index_set.hpp"

#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace septule {
namespace {

/// The same answers as an ordered set, for every member and every question.
void expect_equal(const IndexSet& got, const std::set<std::size_t>& expected, std::size_t upto) {
  EXPECT_EQ(got.size(), expected.size());
  EXPECT_EQ(got.empty(), expected.empty());
  for (std::size_t i = 0; i <= upto; ++i) {
    EXPECT_EQ(got.contains(i), expected.contains(i)) << i;
    const auto next = expected.lower_bound(i);
    EXPECT_EQ(got.first_from(i), next == expected.end() ? std::nullopt : std::optional(*next)) << i;
  }
}

TEST(IndexSet, Default_IsEmptyAndAnswers) {
  // Aim: a set without capacity can be asked, and be told to erase.
  IndexSet set;
  set.erase(0);
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.contains(0));
  EXPECT_EQ(set.first(), std::nullopt);
  EXPECT_EQ(set.first_from(12345), std::nullopt);
}

TEST(IndexSet, EverySubset_OfASmallCapacity_IsKept) {
  // Aim: all sets of six numbers, exhaustively.
  for (unsigned mask = 0; mask < 64; ++mask) {
    IndexSet set(6);
    std::set<std::size_t> expected;
    for (std::size_t i = 0; i < 6; ++i) {
      if ((mask >> i & 1U) != 0) {
        set.insert(i);
        expected.insert(i);
      }
    }
    expect_equal(set, expected, 70);
  }
}

TEST(IndexSet, EverySingleMember_AcrossLevels_IsFoundFromEverywhere) {
  // Aim: one member alone, at and around the borders of words and levels.
  for (const std::size_t capacity : {1U, 63U, 64U, 65U, 4095U, 4096U, 4097U, 262145U}) {
    for (const std::size_t member : {std::size_t{0},
                                     std::size_t{63},
                                     std::size_t{64},
                                     std::size_t{4095},
                                     std::size_t{4096},
                                     capacity - 1}) {
      if (member >= capacity) {
        continue;
      }
      IndexSet set(capacity);
      set.insert(member);
      EXPECT_EQ(set.first(), member);
      EXPECT_EQ(set.first_from(member), member);
      EXPECT_EQ(set.first_from(member + 1), std::nullopt);
      EXPECT_EQ(set.first_from(member == 0 ? 0 : member - 1), member);
      set.erase(member);
      EXPECT_EQ(set.first(), std::nullopt);
      EXPECT_TRUE(set.empty());
    }
  }
}

TEST(IndexSet, Twice_IsOnce) {
  // Aim: inserting a member again or erasing a stranger changes nothing.
  IndexSet set(100);
  set.insert(70);
  set.insert(70);
  EXPECT_EQ(set.size(), 1);
  set.erase(71);
  set.erase(5000);
  EXPECT_EQ(set.size(), 1);
  set.erase(70);
  set.erase(70);
  EXPECT_EQ(set.size(), 0);
}

TEST(IndexSet, OutOfRangeQuestions_FindNothing) {
  // Aim: questions beyond the capacity, up to the largest number, are answered.
  IndexSet set(100);
  set.insert(99);
  EXPECT_FALSE(set.contains(SIZE_MAX));
  EXPECT_EQ(set.first_from(SIZE_MAX), std::nullopt);
  EXPECT_EQ(set.first_from(128), std::nullopt);
}

TEST(IndexSetDeathTest, InsertBeyondCapacity_Stops) {
  // Aim: a number that the set cannot hold is a programmer error.
  EXPECT_DEATH(IndexSet(64).insert(64), "below the capacity");
  EXPECT_DEATH(IndexSet().insert(0), "below the capacity");
}

RC_GTEST_PROP(IndexSetProperty, RandomChanges_AreThoseOfAnOrderedSet, ()) {
  // Aim: any sequence of changes, on capacities of one to three levels.
  const auto capacity = *rc::gen::element<std::size_t>(1, 40, 64, 65, 300, 4096, 5000);
  IndexSet set(capacity);
  std::set<std::size_t> expected;
  const auto changes = *rc::gen::container<std::vector<std::pair<bool, std::size_t>>>(
      rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::inRange<std::size_t>(0, capacity)));
  for (const auto& [is_insert, index] : changes) {
    if (is_insert) {
      set.insert(index);
      expected.insert(index);
    } else {
      set.erase(index);
      expected.erase(index);
    }
  }
  RC_ASSERT(set.size() == expected.size());
  for (std::size_t i = 0; i < capacity + 2; ++i) {
    const auto next = expected.lower_bound(i);
    RC_ASSERT(set.contains(i) == expected.contains(i));
    RC_ASSERT(set.first_from(i) == (next == expected.end() ? std::nullopt : std::optional(*next)));
  }
}

}  // namespace
}  // namespace septule
