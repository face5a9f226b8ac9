#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/units.hpp"

namespace septule::serve {

/// Counts latencies in buckets of equal relative width, so that quantiles of any number of requests
/// take constant memory. A quantile is the middle of its bucket: off by less than 0.8 % of itself
/// (exact below 128 ns). Equal counts give equal quantiles, whatever the order. A value; one owner.
class LatencyHistogram {
 public:
  /// Negative latencies count as 0.
  void add(Duration latency);
  std::int64_t count() const { return count_; }
  /// Not exceeded by this part (0..1) of the latencies; nothing if there are none.
  std::optional<Duration> quantile(double part) const;
  std::optional<Duration> mean() const;

 private:
  static constexpr int kSubBits = 6;  ///< 64 buckets per power of two
  static constexpr std::size_t kBuckets = (64U - kSubBits) << kSubBits;
  static std::size_t bucket_of(std::uint64_t nanoseconds);
  static std::int64_t middle_of(std::size_t bucket);

  std::array<std::int64_t, kBuckets> counts_{};
  std::int64_t count_ = 0;
  double sum_ns_ = 0;
};

}  // namespace septule::serve
