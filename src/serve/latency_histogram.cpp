#include "serve/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.hpp"

namespace septule::serve {

std::size_t LatencyHistogram::bucket_of(std::uint64_t nanoseconds) {
  constexpr std::uint64_t kSub = 1U << kSubBits;
  if (nanoseconds < 2 * kSub) {
    return nanoseconds;
  }
  // The leading bit and the six below it; each power of two has 64 buckets.
  const int shift = static_cast<int>(std::bit_width(nanoseconds)) - 1 - kSubBits;
  return static_cast<std::size_t>(shift) * kSub + (nanoseconds >> static_cast<unsigned>(shift));
}

std::int64_t LatencyHistogram::middle_of(std::size_t bucket) {
  constexpr std::size_t kSub = 1U << kSubBits;
  if (bucket < 2 * kSub) {
    return static_cast<std::int64_t>(bucket);
  }
  const std::size_t shift = bucket / kSub - 1;
  const std::uint64_t low = static_cast<std::uint64_t>(bucket - shift * kSub) << shift;
  return static_cast<std::int64_t>(low + ((1ULL << shift) >> 1U));
}

void LatencyHistogram::add(Duration latency) {
  const std::int64_t nanoseconds = std::max<std::int64_t>(0, latency.to_nanoseconds());
  ++counts_[bucket_of(static_cast<std::uint64_t>(nanoseconds))];
  ++count_;
  sum_ns_ += static_cast<double>(nanoseconds);
}

std::optional<Duration> LatencyHistogram::quantile(double part) const {
  SEPTULE_CHECK(part >= 0 && part <= 1, "a quantile lies between 0 and 1");
  if (count_ == 0) {
    return std::nullopt;
  }
  const auto wanted = static_cast<std::int64_t>(std::ceil(part * static_cast<double>(count_)));
  std::int64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += counts_[bucket];
    if (seen >= std::max<std::int64_t>(1, wanted)) {
      return Duration::nanoseconds(middle_of(bucket));
    }
  }
  return std::nullopt;
}

std::optional<Duration> LatencyHistogram::mean() const {
  if (count_ == 0) {
    return std::nullopt;
  }
  return Duration::nanoseconds(std::llround(sum_ns_ / static_cast<double>(count_)));
}

}  // namespace septule::serve
