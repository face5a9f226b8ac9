#include "serve/latency_histogram.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace septule::serve {
namespace {

std::int64_t quantile_ns(const LatencyHistogram& histogram, double part) {
  const auto found = histogram.quantile(part);
  return found ? found->to_nanoseconds() : -1;
}

TEST(LatencyHistogram, Empty_KnowsNothing) {
  // Aim: no latency has no quantile and no mean, not 0.
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0);
  EXPECT_FALSE(histogram.quantile(0.5));
  EXPECT_FALSE(histogram.mean());
}

TEST(LatencyHistogram, ShortLatencies_Exact) {
  // Aim: below 128 ns every value has a bucket of its own; negative ones count as 0.
  for (std::int64_t value = 0; value < 128; ++value) {
    LatencyHistogram histogram;
    histogram.add(Duration::nanoseconds(value));
    EXPECT_EQ(quantile_ns(histogram, 0.99), value);
  }
  LatencyHistogram negative;
  negative.add(Duration::nanoseconds(-5));
  EXPECT_EQ(quantile_ns(negative, 1), 0);
}

TEST(LatencyHistogram, RandomLatencies_QuantilesWithinTheErrorPromised) {
  // Aim: over eleven orders of magnitude every quantile is that of the sorted values to 0.8 %,
  // whatever the order in which they came.
  Rng rng(7);
  std::vector<std::int64_t> values;
  LatencyHistogram histogram;
  LatencyHistogram backwards;
  for (int i = 0; i < 5000; ++i) {
    values.push_back(std::llround(std::pow(10.0, 1 + 11 * rng.uniform())));
    histogram.add(Duration::nanoseconds(values.back()));
  }
  for (auto value = values.rbegin(); value != values.rend(); ++value) {
    backwards.add(Duration::nanoseconds(*value));
  }
  std::ranges::sort(values);
  for (const double part : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(
        std::max(1.0, std::ceil(part * static_cast<double>(values.size()))));
    const auto exact = static_cast<double>(values[rank - 1]);
    EXPECT_NEAR(static_cast<double>(quantile_ns(histogram, part)), exact, 0.008 * exact) << part;
    EXPECT_EQ(quantile_ns(histogram, part), quantile_ns(backwards, part)) << part;
  }
}

}  // namespace
}  // namespace septule::serve
