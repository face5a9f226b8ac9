#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/clock.hpp"
#include "job/csv_rows.hpp"
#include "job/workload.hpp"
#include "support/shared_data.hpp"

namespace septule::job {
namespace {

constexpr Duration kMinute = Duration::milliseconds(60000);

std::vector<Arrival> drawn(int count, const ArrivalOptions& options, std::uint64_t seed) {
  const Result<std::vector<Arrival>> arrivals = draw_arrivals(count, options, seed);
  EXPECT_TRUE(arrivals.has_value());
  return *arrivals;
}

/// Gaps in seconds of the k-th arrivals from `from` on.
std::vector<double> gaps_s(const std::vector<Arrival>& arrivals, std::size_t from, std::size_t to) {
  std::vector<double> gaps;
  for (std::size_t k = from; k < to; ++k) {
    const SimTime before = k == 0 ? SimTime() : arrivals[k - 1].submit;
    gaps.push_back((arrivals[k].submit - before).to_seconds());
  }
  return gaps;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Squared coefficient of variation.
double variation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  return squares / static_cast<double>(values.size()) / (mean * mean);
}

TEST(ArtifactArrivals_AllSeeds, EqualThePublishedRecipe) {
  // Order and times of 20 runs of 100 jobs and 3 of 1,000.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/arrivals.csv");
  int rows = 0;
  std::vector<Arrival> arrivals;
  for (const auto& row : test::csv_rows(path)) {
    const auto k = static_cast<std::size_t>(test::number_of(row, "k"));
    if (k == 0) {
      arrivals = *artifact_arrivals(row.at("set") == "100jobs_60s" ? 100 : 1000,
                                    static_cast<std::uint64_t>(test::number_of(row, "seed")));
    }
    ++rows;
    ASSERT_LT(k, arrivals.size());
    ASSERT_EQ(arrivals[k].job, test::number_of(row, "job"));
    ASSERT_EQ(arrivals[k].submit - SimTime(),
              seconds_to_duration(test::number_of(row, "arrival_s")));
  }
  EXPECT_EQ(rows, 5000);
}

TEST(ArtifactArrivals_OtherCountsAndSeeds, AreRefused) {
  // The message names what there is.
  for (const auto& [count, seed] : std::vector<std::pair<int, std::uint64_t>>{
           {100, 0}, {100, 21}, {1000, 4}, {99, 1}, {0, 1}, {-100, 1}}) {
    const auto refused = artifact_arrivals(count, seed);
    ASSERT_FALSE(refused.has_value()) << count << " " << seed;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(refused.error().message.find("seeds 1 to 20"), std::string::npos);
    EXPECT_NE(refused.error().message.find(fmt::format("{} jobs with seed {}", count, seed)),
              std::string::npos);
  }
  EXPECT_TRUE(draw_arrivals(100, {.kind = ArrivalKind::kArtifact}, 1).has_value());
}

RC_GTEST_PROP(DrawArrivals_AnySeed, AreAPermutationInOrderOfTime, ()) {
  // Every job arrives once; times ascend from 0 on; the same seed gives the same.
  const int count = *rc::gen::inRange(1, 200);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto kind =
      *rc::gen::element(ArrivalKind::kPoisson, ArrivalKind::kNearPeriodic, ArrivalKind::kBursty);
  const ArrivalOptions options{.kind = kind, .gap = kMinute};
  const std::vector<Arrival> arrivals = drawn(count, options, seed);
  const std::vector<Arrival> again = drawn(count, options, seed);
  std::set<int> jobs;
  SimTime before;
  for (std::size_t k = 0; k < arrivals.size(); ++k) {
    RC_ASSERT(arrivals[k].submit >= before);
    RC_ASSERT(arrivals[k].submit == again[k].submit && arrivals[k].job == again[k].job);
    before = arrivals[k].submit;
    jobs.insert(arrivals[k].job);
  }
  RC_ASSERT(jobs.size() == static_cast<std::size_t>(count));
  RC_ASSERT(*jobs.begin() == 0 && *jobs.rbegin() == count - 1);
}

TEST(DrawArrivals_KindAndGap, DoNotChangeTheOrder) {
  // Order and gaps are streams of their own.
  const auto order = [](const ArrivalOptions& options) {
    std::vector<int> jobs;
    for (const Arrival& arrival : drawn(100, options, 7)) {
      jobs.push_back(arrival.job);
    }
    return jobs;
  };
  const std::vector<int> first = order({.kind = ArrivalKind::kPoisson, .gap = kMinute});
  EXPECT_EQ(first, order({.kind = ArrivalKind::kBursty, .gap = kMinute}));
  EXPECT_EQ(first, order({.kind = ArrivalKind::kNearPeriodic, .gap = Duration::milliseconds(500)}));
}

TEST(DrawArrivals_FirstThird, ArrivesTwiceAsFast) {
  // int(n/3) + 1 jobs at half the gap, then the gap; at a constant rate the gap throughout.
  for (const ArrivalKind kind :
       {ArrivalKind::kPoisson, ArrivalKind::kNearPeriodic, ArrivalKind::kBursty}) {
    ArrivalOptions options{.kind = kind, .gap = kMinute, .burstiness = 4};
    const auto arrivals = drawn(60000, options, 5);
    EXPECT_NEAR(mean_of(gaps_s(arrivals, 0, 20001)), 30, 1.3);
    EXPECT_NEAR(mean_of(gaps_s(arrivals, 20001, 60000)), 60, 2);
    options.is_rate_constant = true;
    EXPECT_NEAR(mean_of(gaps_s(drawn(60000, options, 5), 0, 20001)), 60, 2.6);
  }
  // The boundary itself, where gaps hardly vary: job 34 of 100 is fast, job 35 is not.
  const auto hundred =
      drawn(100, {.kind = ArrivalKind::kNearPeriodic, .gap = Duration::milliseconds(500000)}, 1);
  EXPECT_LT(gaps_s(hundred, 33, 34)[0], 375);
  EXPECT_GT(gaps_s(hundred, 34, 35)[0], 375);
}

TEST(DrawArrivals_Kinds, HaveTheirVariation) {
  // Squared coefficient of variation: Poisson 1, near-periodic 1/60, bursty as asked for.
  ArrivalOptions options{.gap = kMinute, .is_rate_constant = true};
  EXPECT_NEAR(variation_of(gaps_s(drawn(60000, options, 1), 0, 60000)), 1, 0.04);
  options.kind = ArrivalKind::kNearPeriodic;
  const std::vector<double> periodic = gaps_s(drawn(60000, options, 1), 0, 60000);
  EXPECT_NEAR(variation_of(periodic), 1.0 / 60, 0.001);
  for (const double gap : periodic) {
    ASSERT_EQ(gap, std::floor(gap));
  }
  options.kind = ArrivalKind::kBursty;
  for (const double burstiness : {2.0, 14.0, 40.0}) {
    options.burstiness = burstiness;
    const std::vector<double> gaps = gaps_s(drawn(200000, options, 1), 0, 200000);
    EXPECT_NEAR(variation_of(gaps) / burstiness, 1, 0.1) << burstiness;
    EXPECT_NEAR(mean_of(gaps), 60, 3);
  }
}

TEST(DrawArrivals_WrongOptions, AreRefused) {
  // Each message gives the value and the limit.
  struct Fault {
    int count;
    ArrivalOptions options;
    std::string part;
  };
  const std::vector<Fault> faults = {
      {0, {.gap = kMinute}, "arrivals of 0 jobs"},
      {-3, {.gap = kMinute}, "arrivals of -3 jobs"},
      {10, {.gap = Duration()}, "a mean gap of 0 s"},
      {10, {.gap = Duration::milliseconds(-1000)}, "a mean gap of -1 s"},
      {1000000, {.gap = Duration::milliseconds(2000000)}, "a mean gap of 2000 s"},
      {10,
       {.kind = ArrivalKind::kNearPeriodic, .gap = Duration::milliseconds(501000)},
       "at most 500 s"},
      {10, {.kind = ArrivalKind::kBursty, .gap = kMinute, .burstiness = 1}, "a burstiness of 1"},
      {10,
       {.kind = ArrivalKind::kBursty,
        .gap = kMinute,
        .burstiness = std::numeric_limits<double>::quiet_NaN()},
       "a burstiness"},
  };
  for (const Fault& fault : faults) {
    const auto refused = draw_arrivals(fault.count, fault.options, 1);
    ASSERT_FALSE(refused.has_value()) << fault.part;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(refused.error().message.find(fault.part), std::string::npos)
        << refused.error().message;
  }
}

TEST(ArrivalKind_Names, GoBothWays) {
  // What the command line says.
  for (const char* name : {"poisson", "near-periodic", "bursty", "trace", "artifact"}) {
    const auto kind = parse_arrival_kind(name);
    ASSERT_TRUE(kind.has_value()) << name;
    EXPECT_EQ(arrival_kind_name(*kind), name);
  }
  EXPECT_FALSE(parse_arrival_kind("Poisson").has_value());
}

TEST(DrawArrivalsDeathTest_Trace, StopsTheProgram) {
  // A trace brings its own times; asking for drawn ones is a programmer error.
  EXPECT_DEATH(draw_arrivals(10, {.kind = ArrivalKind::kTrace}, 1).has_value(), "own submit times");
}

}  // namespace
}  // namespace septule::job
