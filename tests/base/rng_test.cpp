#include "base/rng.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace septule {
namespace {

TEST(RngNext_KnownSeeds, GiveTheWordsOfTheReference) {
  // xoshiro256** after splitmix64, worked out by another program.
  struct Known {
    std::uint64_t seed;
    std::array<std::uint64_t, 4> words;
  };
  const std::vector<Known> known = {
      {0, {0x99ec5f36cb75f2b4, 0xbf6e1f784956452a, 0x1a5f849d4933e6e0, 0x6aa594f1262d2d2c}},
      {1, {0xb3f2af6d0fc710c5, 0x853b559647364cea, 0x92f89756082a4514, 0x642e1c7bc266a3a7}},
      {42, {0x15780b2e0c2ec716, 0x6104d9866d113a7e, 0xae17533239e499a1, 0xecb8ad4703b360a1}}};
  for (const Known& row : known) {
    Rng rng(row.seed);
    for (const std::uint64_t word : row.words) {
      EXPECT_EQ(rng.next(), word) << row.seed;
    }
  }
}

TEST(RngStream_KnownNames, GiveTheWordsOfTheReference) {
  // The seed of a stream is the digest of seed, name and index.
  EXPECT_EQ(Rng(1).stream("gaps").next(), 0x8f084e1e1f9546cbU);
  EXPECT_EQ(Rng(1).stream("gaps", 0).next(), 0x8f084e1e1f9546cbU);
  EXPECT_EQ(Rng(1).stream("gaps", 7).next(), 0xc4b5a816951a3015U);
}

TEST(RngDistributions_SeedOne, GiveTheRecordedValues) {
  // Recorded bits: g++ and clang++, -O0 and -O2 must give them again.
  Rng rng(1);
  EXPECT_EQ(rng.below(10), 7U);
  EXPECT_EQ(rng.below(1000), 522U);
  EXPECT_EQ(rng.below(3), 2U);
  EXPECT_EQ(rng.uniform(), 0x1.90b871ef099a8p-2);
  EXPECT_EQ(rng.exponential(60), 0x1.1eb4edea66336p+6);
  EXPECT_EQ(rng.normal(0, 1), -0x1.40ed5a05a1452p-2);
  EXPECT_EQ(rng.normal(5, 2), 0x1.bbf659dc3b3a2p+2);
  EXPECT_EQ(rng.poisson(60), 61);
  EXPECT_EQ(rng.poisson(0.5), 2);
  EXPECT_EQ(rng.poisson(500), 539);
  EXPECT_FALSE(rng.chance(1, 2));
  std::array<int, 10> items{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  rng.shuffle(std::span<int>(items));
  EXPECT_EQ(items, (std::array<int, 10>{2, 6, 4, 9, 8, 7, 1, 5, 0, 3}));
}

TEST(RngStream_DrawsBefore, ChangeNothing) {
  // A stream depends on seed and name only, not on what was drawn from its parent.
  Rng drawn(5);
  for (int i = 0; i < 100; ++i) {
    drawn.next();
    drawn.normal(0, 1);
  }
  Rng a = drawn.stream("a");
  Rng b = Rng(5).stream("a");
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(a.next(), b.next());
  }
}

TEST(RngStream_OtherNamesSeedsAndIndices, AreOtherStreams) {
  // First words of many streams are all different, and neighbours do not correlate.
  std::set<std::uint64_t> words;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const char* name : {"order", "gaps", "orde", "rgaps", ""}) {
      for (std::uint64_t index = 0; index < 20; ++index) {
        words.insert(Rng(seed).stream(name, index).next());
      }
    }
  }
  EXPECT_EQ(words.size(), 20U * 5U * 20U);
  double products = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    products += (Rng(i).stream("a").uniform() - 0.5) * (Rng(i).stream("b").uniform() - 0.5);
  }
  EXPECT_NEAR(products / 4000 * 12, 0, 0.07);
}

TEST(RngBelow_SmallBounds, IsEven) {
  // Chi-square against the uniform distribution, each bound 1 to 12.
  Rng rng(11);
  for (std::uint64_t bound = 1; bound <= 12; ++bound) {
    std::vector<int> counts(bound);
    constexpr int kDraws = 12000;
    for (int i = 0; i < kDraws; ++i) {
      ++counts.at(rng.below(bound));
    }
    double chi_square = 0;
    const double expected = kDraws / static_cast<double>(bound);
    for (const int count : counts) {
      chi_square += (count - expected) * (count - expected) / expected;
    }
    EXPECT_LT(chi_square, 35) << bound;  // 11 degrees of freedom: 0.02 %
  }
}

TEST(RngBelow_HugeBound, RefusesWhatWouldBias) {
  // Above 2^63 about a third of the words are refused; the rest stay below.
  Rng rng(3);
  const std::uint64_t bound = (1ULL << 63U) + (1ULL << 62U);
  int upper_half = 0;
  for (int i = 0; i < 6000; ++i) {
    const std::uint64_t drawn = rng.below(bound);
    ASSERT_LT(drawn, bound);
    upper_half += drawn >= bound / 2 ? 1 : 0;
  }
  EXPECT_NEAR(upper_half, 3000, 160);
}

struct Moments {
  double mean = 0;
  double variance = 0;
};

template <class Draw>
Moments moments(int count, Draw draw) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(draw());
  }
  Moments result;
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  for (const double value : values) {
    result.variance += (value - result.mean) * (value - result.mean) / (count - 1);
  }
  return result;
}

TEST(RngDistributions_ManyDraws, HaveTheirMeanAndVariance) {
  // 40,000 draws each: mean and variance within four standard errors or so.
  Rng rng(2026);
  const Moments uniform = moments(40000, [&] { return rng.uniform(); });
  EXPECT_NEAR(uniform.mean, 0.5, 0.006);
  EXPECT_NEAR(uniform.variance, 1.0 / 12, 0.002);
  const Moments exponential = moments(40000, [&] { return rng.exponential(60); });
  EXPECT_NEAR(exponential.mean, 60, 1.2);
  EXPECT_NEAR(exponential.variance, 3600, 220);
  const Moments normal = moments(40000, [&] { return rng.normal(10, 3); });
  EXPECT_NEAR(normal.mean, 10, 0.06);
  EXPECT_NEAR(normal.variance, 9, 0.27);
  for (const double mean : {0.1, 1.0, 30.0, 60.0, 500.0}) {
    const Moments poisson = moments(40000, [&] { return static_cast<double>(rng.poisson(mean)); });
    EXPECT_NEAR(poisson.mean, mean, 4 * std::sqrt(mean / 40000)) << mean;
    EXPECT_NEAR(poisson.variance, mean, mean * 0.04 + 0.01) << mean;
  }
}

TEST(RngUniform_ManyDraws, StayInTheHalfOpenInterval) {
  // 0 may come, 1 never: exponential() takes the logarithm of 1 - u.
  Rng rng(9);
  for (int i = 0; i < 100000; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
  }
}

TEST(RngShuffle_ThreeItems, GivesEachPermutationEquallyOften) {
  // All six permutations, 1,000 expected each.
  Rng rng(4);
  std::array<int, 27> counts{};
  for (int i = 0; i < 6000; ++i) {
    std::array<int, 3> items{0, 1, 2};
    rng.shuffle(std::span<int>(items));
    const int code = items[0] * 9 + items[1] * 3 + items[2];
    ++counts.at(static_cast<std::size_t>(code));
  }
  int seen = 0;
  for (const int count : counts) {
    if (count > 0) {
      ++seen;
      EXPECT_NEAR(count, 1000, 130);
    }
  }
  EXPECT_EQ(seen, 6);
}

TEST(RngShuffle_NoneOrOne, DrawsNothing) {
  // An empty or single list leaves the stream where it was.
  Rng rng(4);
  std::array<int, 1> one{5};
  rng.shuffle(std::span<int>(one));
  rng.shuffle(std::span<int>());
  EXPECT_EQ(rng.next(), Rng(4).next());
}

TEST(RngChance_Edges, AreCertain) {
  // 0 of n never, n of n always.
  Rng rng(8);
  for (int i = 0; i < 100; ++i) {
    ASSERT_FALSE(rng.chance(0, 7));
    ASSERT_TRUE(rng.chance(7, 7));
  }
}

TEST(RngDeathTest_ArgumentsOutOfRange, StopTheProgram) {
  // Programmer errors.
  Rng rng(1);
  EXPECT_DEATH(rng.below(0), "positive bound");
  EXPECT_DEATH(rng.exponential(0), "positive mean");
  EXPECT_DEATH(rng.poisson(501), "mean in");
}

}  // namespace
}  // namespace septule
