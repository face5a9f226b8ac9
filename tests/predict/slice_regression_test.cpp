// predict::SliceRegression: 2g and 1g from 4g and 3g, and where its constants come from.
#include "predict/slice_regression.hpp"

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "base/text.hpp"
#include "job/csv_rows.hpp"
#include "support/shared_data.hpp"

namespace septule::predict {
namespace {

/// Speeds relative to 7g of the jobs of MISO's profiles.
std::vector<RegressionRow> measured_rows(const std::filesystem::path& path) {
  std::map<std::pair<std::string, std::string>, std::map<char, double>> steps;
  for (const auto& row : test::csv_rows(path)) {
    if (row.at("fits") == "1") {
      steps[{row.at("model"), row.at("batch")}][row.at("slice")[0]] =
          parse_number(row.at("mean_step_s_artifact")).value();
    }
  }
  std::vector<RegressionRow> rows;
  for (const auto& entry : steps) {
    const std::map<char, double>& step = entry.second;
    const auto speed = [&step](char slice) -> std::optional<double> {
      const auto found = step.find(slice);
      return found == step.end() ? std::nullopt : std::optional(step.at('7') / found->second);
    };
    rows.push_back({.speed_4g = speed('4').value(),
                    .speed_3g = speed('3').value(),
                    .speed_2g = speed('2'),
                    .speed_1g = speed('1')});
  }
  return rows;
}

TEST(SliceRegression_MisoProfiles, GiveTheConstants) {
  // The constants of the program are what our own fit makes of the published profiles, and agree
  // with the rounded ones of miso.md 3.5.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/profiles.csv");
  const std::vector<RegressionRow> rows = measured_rows(path);
  ASSERT_EQ(rows.size(), 32U);
  const Result<SliceRegression> fit = fit_slice_regression(rows);
  ASSERT_TRUE(fit.has_value());
  const auto expect_near = [](const LinearSpeed& a, const LinearSpeed& b, double tolerance) {
    EXPECT_NEAR(a.on_4g, b.on_4g, tolerance);
    EXPECT_NEAR(a.on_3g, b.on_3g, tolerance);
    EXPECT_NEAR(a.offset, b.offset, tolerance);
  };
  expect_near(fit->to_2g, kMisoRegression.to_2g, 1e-9);
  expect_near(fit->to_1g, kMisoRegression.to_1g, 1e-9);
  expect_near(fit->to_2g, {.on_4g = -0.544, .on_3g = 1.644, .offset = -0.235}, 5.1e-4);
  expect_near(fit->to_1g, {.on_4g = -0.876, .on_3g = 1.821, .offset = -0.312}, 5.1e-4);
}

TEST(SliceRegression_MisoProfiles, HaveThePublishedErrors) {
  // Mean absolute errors in sample: 0.031 for 2g (28 jobs), 0.052 for 1g (21 jobs).
  SEPTULE_REQUIRE_SHARED(path, "data/miso/profiles.csv");
  double sum_2g = 0;
  double sum_1g = 0;
  int count_2g = 0;
  int count_1g = 0;
  for (const RegressionRow& row : measured_rows(path)) {
    if (row.speed_2g.has_value()) {
      sum_2g += std::fabs(kMisoRegression.speed_2g(row.speed_4g, row.speed_3g) - *row.speed_2g);
      ++count_2g;
    }
    if (row.speed_1g.has_value()) {
      sum_1g += std::fabs(kMisoRegression.speed_1g(row.speed_4g, row.speed_3g) - *row.speed_1g);
      ++count_1g;
    }
  }
  EXPECT_EQ(count_2g, 28);
  EXPECT_EQ(count_1g, 21);
  EXPECT_NEAR(sum_2g / count_2g, 0.031, 5e-4);
  EXPECT_NEAR(sum_1g / count_1g, 0.052, 5e-4);
}

TEST(SliceRegression_ExactLine, IsFound) {
  // Points drawn from a known line give that line back; jobs without a speed do not count.
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const LinearSpeed line_2g{
        .on_4g = rng.normal(0, 1), .on_3g = rng.normal(0, 1), .offset = rng.normal(0, 1)};
    const LinearSpeed line_1g{
        .on_4g = rng.normal(0, 1), .on_3g = rng.normal(0, 1), .offset = rng.normal(0, 1)};
    std::vector<RegressionRow> rows(4 + rng.below(20));
    for (std::size_t index = 0; index < rows.size(); ++index) {
      RegressionRow& row = rows[index];
      row.speed_4g = rng.uniform();
      row.speed_3g = rng.uniform();
      row.speed_2g = line_2g.on_4g * row.speed_4g + line_2g.on_3g * row.speed_3g + line_2g.offset;
      if (index != 0) {
        row.speed_1g = line_1g.on_4g * row.speed_4g + line_1g.on_3g * row.speed_3g + line_1g.offset;
      }
    }
    const Result<SliceRegression> fit = fit_slice_regression(rows);
    ASSERT_TRUE(fit.has_value()) << fit.error().message;
    EXPECT_NEAR(fit->to_2g.on_4g, line_2g.on_4g, 1e-6) << seed;
    EXPECT_NEAR(fit->to_2g.offset, line_2g.offset, 1e-6) << seed;
    EXPECT_NEAR(fit->to_1g.on_3g, line_1g.on_3g, 1e-6) << seed;
  }
}

TEST(SliceRegression_TooLittle, IsRefused) {
  // Two jobs, or jobs on one line, leave the answer open: nothing is made up.
  std::vector<RegressionRow> rows(
      2, {.speed_4g = 0.5, .speed_3g = 0.4, .speed_2g = 0.3, .speed_1g = 0.2});
  rows[1].speed_4g = 0.9;
  const Result<SliceRegression> two = fit_slice_regression(rows);
  ASSERT_FALSE(two.has_value());
  EXPECT_NE(two.error().message.find("the 2 jobs measured on 2g"), std::string::npos);
  rows.clear();
  for (const double speed : {0.3, 0.5, 0.6, 0.8, 0.9}) {
    rows.push_back(
        {.speed_4g = speed, .speed_3g = speed / 2, .speed_2g = speed / 3, .speed_1g = speed / 4});
  }
  EXPECT_FALSE(fit_slice_regression(rows).has_value());
  EXPECT_FALSE(fit_slice_regression({}).has_value());
}

TEST(SliceRegression_Speeds, StayPositiveAndBelow3g) {
  // Clipped to (0, s3], whatever the network says.
  for (double speed_4g = 0.02; speed_4g <= 1.2; speed_4g += 0.02) {
    for (double speed_3g = 0.001; speed_3g <= 1.2; speed_3g += 0.02) {
      for (const double speed : {kMisoRegression.speed_2g(speed_4g, speed_3g),
                                 kMisoRegression.speed_1g(speed_4g, speed_3g)}) {
        EXPECT_GT(speed, 0);
        EXPECT_LE(speed, speed_3g);
      }
    }
  }
}

}  // namespace
}  // namespace septule::predict
