#include "base/units.hpp"

#include <concepts>
#include <limits>
#include <type_traits>
#include <unordered_set>

#include <gtest/gtest.h>

namespace septule {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };
template <class A, class B>
concept Comparable = requires(A a, B b) { a < b; };

// What must not compile: meanings never mix, and ids have no sums.
static_assert(!std::is_convertible_v<int, MemorySlices>);
static_assert(!std::is_convertible_v<MemorySlices, int>);
static_assert(!std::is_convertible_v<ComputeSlices, MemorySlices>);
static_assert(!std::is_constructible_v<MemorySlices, ComputeSlices>);
static_assert(!Addable<MemorySlices, ComputeSlices>);
static_assert(!Addable<MemorySlices, int>);
static_assert(!Addable<GpuIndex, GpuIndex>);
static_assert(!Comparable<GpuInstanceId, ComputeInstanceId>);
static_assert(!Comparable<NvmlProfileId, SmiProfileId>);
static_assert(!Addable<Bytes, Bytes>);
static_assert(Addable<MemorySlices, MemorySlices>);
static_assert(!std::is_convertible_v<std::int64_t, Duration>);
static_assert(std::is_trivially_copyable_v<MemorySlices> && std::is_trivially_copyable_v<Duration>);

TEST(StrongCount_Arithmetic, IsThatOfIntegers) {
  // Sums and differences, in place too.
  MemorySlices count(3);
  count += MemorySlices(4);
  EXPECT_EQ(count, MemorySlices(7));
  count -= MemorySlices(9);
  EXPECT_EQ(count.value(), -2);
  EXPECT_EQ((MemorySlices(2) + MemorySlices(3)).value(), 5);
  EXPECT_EQ((MemorySlices(2) - MemorySlices(3)).value(), -1);
  EXPECT_EQ(MemorySlices(), MemorySlices(0));
}

TEST(StrongInteger_OrderAndHash, FollowTheNumber) {
  // Ordered and usable as a key.
  EXPECT_LT(GpuIndex(1), GpuIndex(2));
  const std::unordered_set<GpuIndex> set{GpuIndex(1), GpuIndex(2), GpuIndex(1)};
  EXPECT_EQ(set.size(), 2U);
}

TEST(Bytes_Mebibytes, RoundTripAndRoundDown) {
  // 1 MiB = 2^20 bytes; a part of one is not counted.
  EXPECT_EQ(Bytes::mebibytes(5).value(), 5242880U);
  EXPECT_EQ(Bytes::mebibytes(5952).whole_mebibytes(), 5952U);
  EXPECT_EQ(Bytes((1U << 20U) - 1U).whole_mebibytes(), 0U);
  EXPECT_DOUBLE_EQ(Bytes::mebibytes(1536).to_gibibytes(), 1.5);
  EXPECT_GT(Bytes::mebibytes(10'000'000).value(), std::numeric_limits<std::uint32_t>::max());
}

TEST(Duration_Arithmetic, IsInNanoseconds) {
  // Milliseconds are a way to write nanoseconds.
  EXPECT_EQ(Duration::milliseconds(3).to_nanoseconds(), 3'000'000);
  EXPECT_DOUBLE_EQ(Duration::milliseconds(1500).to_seconds(), 1.5);
  Duration sum = Duration::milliseconds(1) + Duration::nanoseconds(5);
  sum += Duration::nanoseconds(1);
  EXPECT_EQ(sum.to_nanoseconds(), 1'000'006);
  EXPECT_EQ((Duration::nanoseconds(2) - Duration::nanoseconds(5)).to_nanoseconds(), -3);
  EXPECT_LT(Duration(), Duration::nanoseconds(1));
}

}  // namespace
}  // namespace septule
