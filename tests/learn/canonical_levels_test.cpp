// learn::canonical_times: from the percentages that were measured to those of the training.
#include "learn/canonical_levels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "learn/learn_support.hpp"

namespace septule::learn {
namespace {

struct Point {
  int percentage = 0;
  double time = 0;
};

CanonicalTimes times_of(const std::vector<Point>& points) {
  predict::MpsMatrix matrix;
  for (const Point& point : points) {
    matrix.levels.push_back({.atp = ActiveThreadPercentage(point.percentage), .step = {}});
    matrix.levels.back().step[2] = point.time;
  }
  return canonical_times(matrix, 2);
}

TEST(CanonicalLevels_Measured, AreTakenAsTheyAre) {
  // Levels 100, 50 and 14 give exactly their times, in any order and beside other levels.
  const CanonicalTimes expected = {0.1, 0.3, 0.7};
  EXPECT_EQ(times_of({{100, 0.1}, {50, 0.3}, {14, 0.7}}), expected);
  EXPECT_EQ(times_of({{14, 0.7}, {60, 9}, {100, 0.1}, {1, 5}, {50, 0.3}}), expected);
}

TEST(CanonicalLevels_BeyondTheRange, AreNotKnown) {
  // Nothing is extrapolated or read off neighbours that are far; one level says nothing of others.
  EXPECT_EQ(times_of({{100, 2}}), (CanonicalTimes{2, std::nullopt, std::nullopt}));
  EXPECT_EQ(times_of({{14, 2}}), (CanonicalTimes{std::nullopt, std::nullopt, 2}));
  EXPECT_EQ(times_of({{30, 2}}), CanonicalTimes{});
  EXPECT_EQ(times_of({{99, 2}, {51, 2}}), CanonicalTimes{});
  EXPECT_EQ(times_of({{49, 2}, {15, 2}}), CanonicalTimes{});
  EXPECT_EQ(times_of({{100, 1}, {14, 2}}), (CanonicalTimes{1, std::nullopt, 2}));
  EXPECT_EQ(times_of({{100, 1}, {25, 2}}), (CanonicalTimes{1, std::nullopt, std::nullopt}));
}

TEST(CanonicalLevels_Use, TellsWhatIsMadeAndWhatIsLeftOver) {
  // Whatever was measured is used for one of the three levels or named as unused.
  using Levels = std::vector<int>;
  const auto ours = [](const Levels& measured) {
    predict::MpsMatrix matrix;
    for (const int percentage : measured) {
      matrix.levels.push_back({.atp = ActiveThreadPercentage(percentage), .step = {}});
      matrix.levels.back().step[4] = 1;
    }
    const LevelUse use = level_use(matrix, 4);
    return std::array{use.made, use.unused};
  };
  EXPECT_EQ(ours({100, 50, 14}), (std::array{Levels{100, 50, 14}, Levels{}}));
  EXPECT_EQ(ours({90, 70, 30}), (std::array{Levels{50}, Levels{90}}));
  EXPECT_EQ(ours({30, 80, 100, 14}), (std::array{Levels{100, 50, 14}, Levels{}}));
  EXPECT_EQ(ours({80, 14, 50, 100}), (std::array{Levels{100, 50, 14}, Levels{80}}));
  EXPECT_EQ(ours({90, 60}), (std::array{Levels{}, Levels{90, 60}}));
  EXPECT_EQ(ours({100, 20}), (std::array{Levels{100}, Levels{20}}));
}

TEST(CanonicalLevels_Between, LieOnAStraightLineOfLogarithms) {
  // t = 3 x p^-0.8 is a straight line in the logarithms: it is met wherever it is measured.
  const auto line = [](int percentage) { return 3 * std::pow(percentage, -0.8); };
  for (int low = 1; low <= 100; ++low) {
    for (int high = low + 1; high <= 100; ++high) {
      const CanonicalTimes times = times_of({{high, line(high)}, {low, line(low)}});
      for (std::size_t index = 0; index < kCanonicalLevels; ++index) {
        const int percentage = kCanonicalPercentages[index];
        const bool is_near = percentage < 2 * low || high < 2 * percentage;
        ASSERT_EQ(times[index].has_value(), low <= percentage && percentage <= high && is_near);
        if (times[index].has_value()) {
          EXPECT_NEAR(*times[index], line(percentage), 1e-12);
        }
      }
    }
  }
}

TEST(CanonicalLevels_ExtremeTimes, StayNumbers) {
  // Whatever a double holds may stand in a file; nothing of it stops the program.
  for (const double low : {5e-324, 1e-310, 1.0, 1.7e308}) {
    for (const double high : {5e-324, 1e-310, 1.0, 1.7e308}) {
      const double time = times_of({{60, low}, {40, high}})[1].value_or(0);
      EXPECT_TRUE(std::isfinite(time) && time > 0) << low << ' ' << high;
    }
  }
}

TEST(CanonicalLevels_NearestNeighbours, AreUsed) {
  // The measured levels next to the wanted one count, not the ends; holes of a column are skipped.
  const CanonicalTimes times = times_of({{100, 1}, {60, 2}, {40, 2}, {10, 9}});
  EXPECT_NEAR(times[1].value_or(0), 2, 1e-12);
  predict::MpsMatrix matrix;
  matrix.levels = {{.atp = ActiveThreadPercentage(100), .step = {}},
                   {.atp = ActiveThreadPercentage(50), .step = {}},
                   {.atp = ActiveThreadPercentage(25), .step = {}}};
  matrix.levels[0].step[0] = 4;
  matrix.levels[1].step[1] = 7;
  matrix.levels[2].step[0] = 4;
  EXPECT_FALSE(canonical_times(matrix, 0)[1].has_value());
  matrix.levels[2].atp = ActiveThreadPercentage(26);
  EXPECT_NEAR(canonical_times(matrix, 0)[1].value_or(0), 4, 1e-12);
  EXPECT_EQ(canonical_times(matrix, 1), (CanonicalTimes{std::nullopt, 7, std::nullopt}));
  EXPECT_EQ(canonical_times(matrix, 2), CanonicalTimes{});
}

}  // namespace
}  // namespace septule::learn
