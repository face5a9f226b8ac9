// Counts every heap allocation of this test program through the replaced global operator new.
#include <array>

#include <gtest/gtest.h>

#include "learn/learn_support.hpp"
#include "learn/slice_net.hpp"
#include "support/counted_heap.hpp"

namespace septule::learn {
namespace {

TEST(Allocations_Counter, CountsAtAll) {
  // Aim: the test below can fail.
  const long before = allocation_count.load();
  const std::vector<int> some(100, 1);
  EXPECT_GT(allocation_count.load(), before) << some.size();
}

TEST(Allocations_SliceNet, AnswersWithoutHeap) {
  // Once made, our network answers any co-run without allocating: policies ask it at every arrival.
  const auto net = SliceNet::make(
      test::drawn_slice_net(1, {.members = 3, .counters = SliceNetForm::Counters::kUsed}));
  ASSERT_TRUE(net.has_value());
  Rng rng(2);
  for (std::size_t jobs = 1; jobs <= 7; ++jobs) {
    for (const std::array<int, 3>& levels : {std::array{100, 50, 14}, std::array{90, 30, 10}}) {
      const predict::MpsMatrix matrix = test::drawn_matrix(levels, jobs, &rng);
      const long before = allocation_count.load();
      const bool is_answered = (*net)->predict(matrix).has_value();
      EXPECT_EQ(allocation_count.load(), before);
      EXPECT_TRUE(is_answered);
    }
  }
}

}  // namespace
}  // namespace septule::learn
