// Counts every heap allocation of this test program through the replaced global operator new.
#include <array>
#include <bit>

#include <gtest/gtest.h>

#include "learn/learn_support.hpp"
#include "learn/q_network.hpp"
#include "learn/slice_net.hpp"
#include "learn/window_features.hpp"
#include "learn/window_support.hpp"
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

TEST(Allocations_QNetwork, StepsWithoutHeap) {
  // Aim: once a window's times are known, an episode of the window agent allocates nothing: neither
  // steps nor what is seen nor the network's pass.
  const test::WindowGpu gpu;
  const test::GeneratedWindow window(gpu, 1, 12);
  test::EpisodeBench bench(gpu, window.problem);
  const auto network = QNetwork::make(test::drawn_window_net(1));
  ASSERT_TRUE(network.has_value());
  QNetwork::Scratch scratch;
  Observation seen;
  std::array<float, kActions> values{};
  const auto play = [&] {
    PartitionEnv env(bench.times);
    network->begin(bench.rows, scratch);
    while (!env.is_over()) {
      observe(env, seen);
      network->values(seen, scratch, values);
      if (seen.is_choosing) {
        (void)env.choose(seen.choices[0]);
      } else {
        (void)env.take(static_cast<std::size_t>(std::countr_zero(seen.may_take)));
      }
    }
  };
  play();
  const long before = allocation_count.load();
  play();
  EXPECT_EQ(allocation_count.load(), before);
}

}  // namespace
}  // namespace septule::learn
