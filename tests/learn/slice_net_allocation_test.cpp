// Counts every heap allocation of this test program through the replaced global operator new.
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "learn/learn_support.hpp"
#include "learn/slice_net.hpp"

namespace {

// The one mutable global: a replaced operator new has no other place to count.
std::atomic<long> allocation_count{0};  // NOLINT(*-naming)

void* counted(std::size_t size) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) {
    return memory;
  }
  std::abort();
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(size);
}
void* operator new[](std::size_t size) {
  return counted(size);
}
// The standard library's temporary buffers come from this form and go through the ones below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return counted(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

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
