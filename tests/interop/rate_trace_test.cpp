#include "interop/rate_trace.hpp"

#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "interop/interop_support.hpp"
#include "support/shared_data.hpp"

namespace septule::interop {
namespace {

using test::refusal;
using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Duration seconds(std::int64_t count) {
  return Duration::milliseconds(1000 * count);
}

Result<serve::RateSeries> take(std::string_view text, const RateSelection& selection = {}) {
  const auto trace = parse_rate_trace({text, "t.csv"});
  if (!trace) {
    return trace.error();
  }
  return rate_series(*trace, selection);
}

std::vector<double> values(const Result<serve::RateSeries>& series) {
  EXPECT_TRUE(series) << series.error().message;
  return series ? series->values : std::vector<double>();
}

constexpr std::string_view kSix = "t_s,requests\n0,1\n1,2\n2,3\n3,4\n4,5\n5,6\n";

TEST(RateTrace, SecondsOfRequests_AreRates) {
  // One request in a step of a second is a rate of one.
  const auto series = take(kSix);
  EXPECT_THAT(values(series), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(series->step, seconds(1));
}

TEST(RateTrace, Units_FollowTheNamesOfColumns) {
  // Counts are divided by the step; rps and qps are rates; steps without a length are rates.
  EXPECT_THAT(values(take("bin_10min,M1,other\n0,600,60\n1,1200,0\n", {.column = "M1"})),
              ElementsAre(1, 2));
  EXPECT_THAT(values(take("minute,sum_qps\n0,5\n1,7\n")), ElementsAre(5, 7));
  EXPECT_THAT(values(take("hour,requests\n3,7200\n")), ElementsAre(2));
  const auto shape =
      take("step,bursty,flat\n0,5,1\n1,7,1\n", {.column = "bursty", .step = seconds(60)});
  EXPECT_THAT(values(shape), ElementsAre(5, 7));
  EXPECT_EQ(shape->step, seconds(60));
}

TEST(RateTrace, Part_IsCutFromTheFirstRow) {
  // From and length count from the first row, whatever its time.
  EXPECT_THAT(values(take(kSix, {.from = seconds(2), .length = seconds(3)})), ElementsAre(3, 4, 5));
  EXPECT_THAT(values(take("t_s,requests\n100,1\n101,2\n", {.from = seconds(1)})), ElementsAre(2));
  EXPECT_THAT(refusal(take(kSix, {.from = seconds(6)})),
              HasSubstr("from 6 s over 1 s is not in the trace, which has 6 s (from 0)"));
  EXPECT_THAT(refusal(take(kSix, {.from = seconds(4), .length = seconds(3)})),
              HasSubstr("from 4 s over 3 s is not in the trace"));
  EXPECT_THAT(refusal(take(kSix, {.from = Duration::milliseconds(500)})),
              HasSubstr("from 0.5 s is no whole number of the trace's steps of 1 s"));
  EXPECT_THAT(refusal(take(kSix, {.from = Duration::milliseconds(-500)})),
              HasSubstr("from before the begin"));
}

TEST(RateTrace, Steps_AreMeansOrRepeat) {
  // Longer steps hold means (the last over what is left), shorter ones repeat.
  const auto longer = take(kSix, {.step = seconds(4)});
  EXPECT_THAT(values(longer), ElementsAre(2.5, 5.5));
  EXPECT_EQ(longer->step, seconds(4));
  EXPECT_THAT(values(take(kSix, {.length = seconds(1), .step = Duration::milliseconds(500)})),
              ElementsAre(1, 1));
  EXPECT_THAT(refusal(take(kSix, {.step = Duration::milliseconds(1500)})),
              HasSubstr("neither a multiple nor a part of the trace's 1 s"));
}

TEST(RateTrace, Scaling_IsByOneFactor) {
  // By a factor, or to a mean or a peak of the part taken; only one of them.
  EXPECT_THAT(values(take(kSix, {.length = seconds(2), .scale = 10.0})), ElementsAre(10, 20));
  EXPECT_THAT(values(take(kSix, {.length = seconds(2), .mean_rps = 3.0})), ElementsAre(2, 4));
  EXPECT_THAT(values(take(kSix, {.length = seconds(2), .peak_rps = 3.0})), ElementsAre(1.5, 3));
  EXPECT_THAT(refusal(take(kSix, {.scale = 1.0, .mean_rps = 3.0})),
              HasSubstr("expected one of scale, mean_rps and peak_rps"));
  EXPECT_THAT(refusal(take(kSix, {.scale = 0.0})), HasSubstr("expected a number above 0"));
  EXPECT_THAT(refusal(take("t_s,requests\n0,0\n", {.mean_rps = 3.0})),
              HasSubstr("every rate of the part taken is 0"));
  EXPECT_THAT(refusal(take("t_s,requests\n0,5\n", {.scale = 1e9})), HasSubstr("above 1e9 rps"));
}

TEST(RateTrace, Gaps_AreRefusedWithTheFirstAndTheLongestPartWithout) {
  // A missing minute and an empty cell are not 0.
  constexpr std::string_view kGaps = "minute,qps\n0,1\n1,2\n3,3\n4,4\n5,5\n6,\n7,7\n";
  EXPECT_EQ(refusal(take(kGaps)),
            "t.csv:4: column qps: a gap: the rate 120 s after the begin is not known; expected a "
            "trace without gaps, or gaps: hold (the last rate goes on), or a part of it: the "
            "longest without a gap is from 180 s over 180 s");
  EXPECT_THAT(values(take(kGaps, {.from = seconds(180), .length = seconds(180)})),
              ElementsAre(3, 4, 5));
  EXPECT_THAT(values(take(kGaps, {.gaps = GapHandling::kHold})),
              ElementsAre(1, 2, 2, 3, 4, 5, 5, 7));
  EXPECT_THAT(refusal(take(kGaps, {.from = seconds(120), .gaps = GapHandling::kHold})),
              HasSubstr("a gap: the rate 120 s after the begin"));
  EXPECT_THAT(refusal(take("t_s,requests\n0,\n1,\n")), HasSubstr("a gap: the rate 0 s after"));
}

TEST(RateTrace, Columns_AreChosenOrNamed) {
  // "requests", or the only one; otherwise the columns are named.
  EXPECT_THAT(values(take("t_s,requests,tokens\n0,1,9\n")), ElementsAre(1));
  EXPECT_THAT(values(take("t_s,requests,tokens\n0,1,9\n", {.column = "tokens"})), ElementsAre(9));
  EXPECT_THAT(refusal(take("t_s,a,b\n0,1,9\n")), HasSubstr("has the series a and b; say which"));
  EXPECT_THAT(refusal(take("t_s,code,conv\n0,1,9\n", {.column = "cod"})),
              HasSubstr("unknown column of rates \"cod\"; did you mean code?"));
}

TEST(RateTrace, Pattern_RepeatsEverySecond) {
  // Arrivals of one second, by model; finer steps count the arrivals in them.
  constexpr std::string_view kPattern = "model,arrival_ms\nvgg,64\nvgg,929\nbert,3\nvgg,510\n";
  EXPECT_THAT(values(take(kPattern, {.column = "vgg"})), ElementsAre(3));
  EXPECT_THAT(values(take(kPattern, {.column = "vgg", .step = Duration::milliseconds(500)})),
              ElementsAre(2, 4));
  EXPECT_THAT(
      values(take(kPattern,
                  {.column = "vgg", .length = seconds(2), .step = Duration::milliseconds(500)})),
      ElementsAre(2, 4, 2, 4));
  EXPECT_THAT(values(take(kPattern, {.column = "vgg", .step = seconds(3)})), ElementsAre(3));
  EXPECT_THAT(refusal(take(kPattern, {.column = "vgg", .step = Duration::milliseconds(300)})),
              HasSubstr("neither a multiple nor a part of the pattern's 1 s"));
  EXPECT_THAT(refusal(take("model,arrival_ms\nvgg,1000\n")),
              HasSubstr("t.csv:2: column arrival_ms: \"1000\" is no time in the pattern"));
}

TEST(RateTrace, Faults_NameLineAndColumn) {
  // Every refusal of a text says where, what and what would be valid.
  struct Case {
    const char* text;
    const char* place;
    const char* what;
  };
  const std::vector<Case> cases = {
      {"time,requests\n0,1\n", "t.csv:1: ", "the first column is \"time\""},
      {"t_s\n0\n", "t.csv:1: ", "no column of rates"},
      {"t_s,a,a\n", "t.csv:1: ", "the column \"a\" is there twice"},
      {"t_s,requests\n", "t.csv: ", "holds no rows"},
      {"t_s,requests\n0,1\n0,1\n", "t.csv:3: column t_s", "expected ascending times"},
      {"t_s,requests\n0,-1\n", "t.csv:2: column requests", "\"-1\" is no rate"},
      {"t_s,requests\n0,x\n", "column requests", "expected a number from 0 to 1e9"},
      {"t_s,requests\nnow,1\n", "column t_s", "\"now\" is no time"},
      {"t_s,requests\n0,1\n2,1\n5,1\n", "t.csv:4: column t_s", "is no whole number of steps"},
      {"t_s,requests\n0,1,2\n", "t.csv:2: ", "has 3 cells; the heading has 2"},
      {"t_s,requests\n0,1\n0.00001,1\n1000,1\n", "t.csv:4: ", "more than 4000000 steps"},
      {"step,a\n0,1\n2,1\n", "t.csv:3: column step", "steps are counted one by one"},
      {"", "t.csv: ", "empty"},
  };
  for (const Case& one : cases) {
    EXPECT_THAT(refusal(take(one.text)), AllOf(HasSubstr(one.place), HasSubstr(one.what)))
        << one.text;
  }
}

RC_GTEST_PROP(RateTrace, Resampling_KeepsTheMean, ()) {
  // Whole groups: the mean over the part is that of the trace.
  const int group = *rc::gen::inRange(1, 6);
  const int groups = *rc::gen::inRange(1, 8);
  std::string text = "t_s,requests\n";
  double sum = 0;
  for (int i = 0; i < group * groups; ++i) {
    const int value = *rc::gen::inRange(0, 100);
    sum += value;
    text += std::to_string(i) + "," + std::to_string(value) + "\n";
  }
  const auto series = take(text, {.step = seconds(group)});
  RC_ASSERT(series.has_value());
  RC_ASSERT(series->values.size() == static_cast<std::size_t>(groups));
  const double mean = std::accumulate(series->values.begin(), series->values.end(), 0.0) / groups;
  RC_ASSERT(std::abs(mean - sum / (group * groups)) < 1e-9);
}

TEST(RateTrace, PublishedTraces_AreRead) {
  // Each published trace with the figures its index states.
  struct Case {
    const char* file;
    const char* column;
    std::size_t steps;
    double mean;
    double peak;
  };
  const std::vector<Case> cases = {
      {"trace_twitter_1day_1s.csv", "", 86400, 64.0, 338},
      {"trace_azure_llm_2023_code_1s.csv", "", 3436, 2.57, 67},
      {"trace_azure_llm_2023_conv_1s.csv", "", 3502, 5.53, 16},
      {"trace_alibaba_genai2026_requests_10min.csv", "M0002", 3316, -1, -1},
      {"trace_infless_azurefn_shapes.csv", "bursty", 1007, -1, -1},
      {"trace_apollo_reef_1s_pattern.csv", "vgg", 1, 17, 17},
  };
  for (const Case& one : cases) {
    SEPTULE_REQUIRE_SHARED(path, std::string("data/serving/") + one.file);
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    const auto series = take(text.str(), {.column = one.column});
    ASSERT_TRUE(series) << series.error().message;
    EXPECT_EQ(series->values.size(), one.steps) << one.file;
    if (one.mean > 0) {
      const double sum = std::accumulate(series->values.begin(), series->values.end(), 0.0);
      EXPECT_NEAR(sum / static_cast<double>(one.steps), one.mean, 0.05) << one.file;
      EXPECT_EQ(series->peak(), one.peak) << one.file;
    }
  }
}

TEST(RateTrace, PublishedTraceWithGaps_IsRefusedUntilHeld) {
  // The minutes that Alibaba's samples lack are no minutes without requests.
  SEPTULE_REQUIRE_SHARED(path, "data/serving/trace_alibaba_genai2026_qps_1min.csv");
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const std::string column = "sum_qps_samples_generative";
  EXPECT_THAT(refusal(take(text.str(), {.column = column})),
              AllOf(HasSubstr(":3: column sum_qps_samples_generative: a gap: the rate 60 s"),
                    HasSubstr("the longest without a gap is from")));
  EXPECT_TRUE(take(text.str(), {.column = column, .gaps = GapHandling::kHold}));
}

}  // namespace
}  // namespace septule::interop
