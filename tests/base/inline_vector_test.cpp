#include "base/inline_vector.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace septule {
namespace {

using List = InlineVector<int, 4>;

List list_of(std::initializer_list<int> values) {
  List list;
  for (const int value : values) {
    list.push_back(value);
  }
  return list;
}

std::vector<int> values_of(const List& list) {
  return {list.begin(), list.end()};
}

TEST(InlineVector, Default_IsEmpty) {
  // Aim: nothing in it, room for N.
  const List list;
  EXPECT_TRUE(list.empty());
  EXPECT_FALSE(list.is_full());
  EXPECT_EQ(list.size(), 0);
  EXPECT_EQ(List::capacity(), 4);
  EXPECT_EQ(list.begin(), list.end());
}

TEST(InlineVector, Filled_KeepsTheOrder) {
  // Aim: up to the limit, read by index, from the back and as a range.
  List list = list_of({5, 3, 8, 1});
  EXPECT_TRUE(list.is_full());
  EXPECT_EQ(list[1], 3);
  EXPECT_EQ(list.back(), 1);
  list.back() = 2;
  list[0] = 9;
  EXPECT_EQ(values_of(list), (std::vector<int>{9, 3, 8, 2}));
  std::ranges::reverse(list);
  EXPECT_EQ(values_of(list), (std::vector<int>{2, 8, 3, 9}));
}

TEST(InlineVector, Copy_IsIndependent) {
  // Aim: a value, not a view.
  const List list = list_of({1, 2});
  List copy = list;
  copy.push_back(3);
  EXPECT_EQ(values_of(list), (std::vector<int>{1, 2}));
  EXPECT_EQ(values_of(copy), (std::vector<int>{1, 2, 3}));
}

TEST(InlineVector, EraseAt_EveryPlaceOfEveryLength_KeepsTheOthersInOrder) {
  // Aim: exhaustive.
  for (std::size_t length = 1; length <= List::capacity(); ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      List list;
      std::vector<int> expected;
      for (std::size_t i = 0; i < length; ++i) {
        list.push_back(static_cast<int>(i));
        if (i != at) {
          expected.push_back(static_cast<int>(i));
        }
      }
      list.erase_at(at);
      EXPECT_EQ(values_of(list), expected);
    }
  }
}

TEST(InlineVector, Equality_IsOfTheMembersOnly) {
  // Aim: what once stood behind the end does not count; the length does.
  List shrunk = list_of({1, 2, 3});
  shrunk.pop_back();
  EXPECT_EQ(shrunk, list_of({1, 2}));
  EXPECT_FALSE(shrunk == list_of({1, 2, 3}));
  EXPECT_FALSE(shrunk == list_of({1, 4}));
  shrunk.clear();
  EXPECT_EQ(shrunk, List());
}

TEST(InlineVectorDeathTest, BeyondTheLimit_Stops) {
  // Aim: the written limit holds in every build.
  List list = list_of({1, 2, 3, 4});
  EXPECT_DEATH(list.push_back(5), "within its limit");
}

RC_GTEST_PROP(InlineVectorProperty, RandomChanges_AreThoseOfAVector, ()) {
  // Aim: any sequence of changes within the limit.
  List list;
  std::vector<int> expected;
  for (const int value : *rc::gen::arbitrary<std::vector<int>>()) {
    if (!list.is_full() && value % 3 != 0) {
      list.push_back(value);
      expected.push_back(value);
    } else if (!list.empty() && value % 2 == 0) {
      list.pop_back();
      expected.pop_back();
    } else if (!list.empty()) {
      list.erase_at(0);
      expected.erase(expected.begin());
    }
    RC_ASSERT(values_of(list) == expected);
  }
}

}  // namespace
}  // namespace septule
