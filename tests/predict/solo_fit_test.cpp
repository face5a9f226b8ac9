#include "predict/solo_fit.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "predict/measured_jobs.hpp"

namespace septule::predict {
namespace {

using test::a100_slice;
using ::testing::HasSubstr;

constexpr const char* kSlices[] = {"full", "7g", "4g", "3g", "2g", "1g"};

std::vector<SoloPoint> points_of(const SoloLaw& law, const std::vector<const char*>& slices) {
  std::vector<SoloPoint> points;
  for (const char* const slice : slices) {
    const Resources at = a100_slice(slice);
    points.push_back({.at = at, .step = law.step(at)});
  }
  return points;
}

std::vector<SoloPoint> all_points_of(const SoloLaw& law) {
  return points_of(law, {std::begin(kSlices), std::end(kSlices)});
}

SoloFit made(const std::vector<SoloPoint>& points, const SoloFitOptions& options = {}) {
  Result<SoloFit> fit = SoloFit::make(points, options);
  SEPTULE_CHECK(fit.has_value(), "tests make valid points unless they say otherwise");
  return std::move(fit).value();
}

std::string message_of(const std::vector<SoloPoint>& points, const SoloFitOptions& options = {}) {
  const Result<SoloFit> fit = SoloFit::make(points, options);
  EXPECT_FALSE(fit.has_value());
  if (fit) {
    return "";
  }
  EXPECT_EQ(fit.error().code, ErrorCode::kInvalidInput);
  return fit.error().message;
}

/// A law whose parts six slices tell apart: compute matters and 3g is not limited.
SoloLaw any_law() {
  const auto in = [](int low, int high) { return *rc::gen::inRange(low, high) / 1000.0; };
  return {
      .serial = in(0, 900), .compute = in(50, 1000), .memory = in(0, 600), .usable = in(420, 1001)};
}

Resources any_resources() {
  return {.compute = *rc::gen::inRange(1, 2001) / 1000.0,
          .bandwidth = *rc::gen::inRange(1, 17) / 8.0,
          .sm_speed = *rc::gen::inRange(5, 20) / 10.0};
}

RC_GTEST_PROP(SoloFit, PointsOfALaw_FourOrMore_GiveItBack, ()) {
  // Aim: noise-free points determine all parameters; six slices, an MPS sweep beside them.
  const SoloLaw law = any_law();
  std::vector<SoloPoint> points = all_points_of(law);
  if (*rc::gen::arbitrary<bool>()) {
    for (const double part : {0.25, 0.75}) {
      const Resources at{.compute = part};
      points.push_back({.at = at, .step = law.step(at)});
    }
  }
  const SoloFit fit = made(points);
  const double whole = law.step({});
  RC_ASSERT(std::abs(fit.law().serial - law.serial) < 1e-4 * whole);
  RC_ASSERT(std::abs(fit.law().compute - law.compute) < 1e-4 * whole);
  RC_ASSERT(std::abs(fit.law().memory - law.memory) < 1e-4 * whole);
  // Above 98 of 108 SMs only the whole GPU tells, hardly so if compute is little.
  if (law.compute > 0.2 && law.usable < 0.9) {
    RC_ASSERT(std::abs(fit.law().usable - law.usable) < 1e-3);
  }
  RC_ASSERT(fit.law_error() < 1e-6);
}

RC_GTEST_PROP(SoloFit, FewerPoints_OfALaw_AreAnsweredWithinTheError, ()) {
  // Aim: whatever the number of points, beliefs at measured places lie near the measurements.
  const SoloLaw law = any_law();
  const int count = *rc::gen::inRange(1, 7);
  const std::vector<SoloPoint> points = points_of(law, {kSlices, kSlices + count});
  const SoloFit fit = made(points, {.kind = JobKind::kInference, .counters = {}, .usable = {}});
  RC_ASSERT(fit.point_count() == points.size());
  for (const SoloPoint& point : points) {
    const StepBelief belief = fit.predict(point.at);
    RC_ASSERT(std::abs(std::log(belief.step / point.step)) < 3 * belief.log_sd + 0.02);
  }
}

RC_GTEST_PROP(SoloFit, MoreResources_AnyPoints_AreNeverSlower, ()) {
  // Aim: law and belief are monotone in each resource, also for measurements that make no sense.
  std::vector<SoloPoint> points;
  const int count = *rc::gen::inRange(1, 7);
  for (int i = 0; i < count; ++i) {
    points.push_back({.at = a100_slice(kSlices[i]), .step = *rc::gen::inRange(1, 5000) / 100.0});
  }
  const JobKind kind =
      *rc::gen::element(JobKind::kUnknown, JobKind::kInference, JobKind::kTraining, JobKind::kHpc);
  const SoloFit fit = made(points, {.kind = kind, .counters = {}, .usable = {}});
  const Resources little = any_resources();
  Resources more = little;
  more.compute *= *rc::gen::inRange(100, 300) / 100.0;
  more.bandwidth *= *rc::gen::inRange(100, 300) / 100.0;
  more.sm_speed *= *rc::gen::inRange(100, 300) / 100.0;
  RC_ASSERT(fit.law().step(more) <= fit.law().step(little) * (1 + 1e-12));
  RC_ASSERT(fit.predict(more).step <= fit.predict(little).step * (1 + 1e-12));
  RC_ASSERT(fit.speed(more, little).speed >= 1 - 1e-12);
  const StepBelief belief = fit.predict(little);
  RC_ASSERT(std::abs(belief.terms.step() / belief.step - 1) < 1e-9);
  RC_ASSERT(belief.terms.used > 0 && belief.terms.used <= 1 + 1e-12);
  RC_ASSERT(belief.log_sd > 0);
}

RC_GTEST_PROP(SoloFit, AnotherUnit_OfTime_ScalesEverything, ()) {
  // Aim: only ratios of steps count; milliseconds and seconds give one model.
  const std::vector<SoloPoint> points = all_points_of(any_law());
  std::vector<SoloPoint> scaled = points;
  for (SoloPoint& point : scaled) {
    point.step *= 1000;
  }
  const Resources at = any_resources();
  const SoloFit fit = made(points);
  const SoloFit other = made(scaled);
  RC_ASSERT(std::abs(other.predict(at).step / fit.predict(at).step / 1000 - 1) < 1e-9);
  RC_ASSERT(std::abs(other.predict(at).log_sd - fit.predict(at).log_sd) < 1e-9);
  RC_ASSERT(std::abs(other.speed(at, {}).speed - fit.speed(at, {}).speed) < 1e-9);
}

TEST(SoloFit, OrderOfPoints_DoesNotMatter) {
  // Aim: the same points backwards give the same belief.
  const SoloLaw law{.serial = 0.2, .compute = 0.5, .memory = 0.3, .usable = 0.8};
  std::vector<SoloPoint> points = all_points_of(law);
  const SoloFit fit = made(points);
  std::ranges::reverse(points);
  EXPECT_NEAR(
      made(points).predict(a100_slice("2g")).step / fit.predict(a100_slice("2g")).step, 1, 1e-9);
}

TEST(SoloFit, MorePoints_OfOneLaw_MakeTheErrorSmaller) {
  // Aim: one point leaves the slices open, three nearly close them; measured places are closest.
  const SoloLaw law{.serial = 0.15, .compute = 0.6, .memory = 0.25, .usable = 0.9};
  const SoloFitOptions options{.kind = JobKind::kInference, .counters = {}, .usable = {}};
  const Resources two = a100_slice("2g");
  const double one = made(points_of(law, {"full"}), options).predict(two).log_sd;
  const double pair = made(points_of(law, {"full", "3g"}), options).predict(two).log_sd;
  const double three = made(points_of(law, {"full", "3g", "1g"}), options).predict(two).log_sd;
  EXPECT_GT(one, 2 * pair);
  EXPECT_GT(pair, 1.2 * three);
  EXPECT_LT(three, 0.04);
  EXPECT_GT(made(points_of(law, {"full"})).predict(two).log_sd, one);  // kind not known
}

TEST(SoloFit, ThreePoints_GiveAmdahlsLaw) {
  // Aim: with three points the law has no memory part and no limit, as the method recommends.
  const SoloLaw law{.serial = 0.3, .compute = 0.7, .memory = 0, .usable = 1};
  const SoloFit fit = made(points_of(law, {"full", "3g", "1g"}));
  EXPECT_NEAR(fit.law().serial, 0.3, 1e-9);
  EXPECT_NEAR(fit.law().compute, 0.7, 1e-9);
  EXPECT_EQ(fit.law().memory, 0);
  EXPECT_EQ(fit.law().usable, 1);
}

TEST(SoloFit, OnePoint_IsPriorsAndCounters) {
  // Aim: one point says the scale, priors by kind the shape, counters correct it.
  const std::vector<SoloPoint> point = {{.at = {}, .step = 4}};
  const auto slice = [&](const SoloFitOptions& options) {
    return made(point, options).predict(a100_slice("1g")).step / 4;
  };
  const SoloFitOptions training{.kind = JobKind::kTraining, .counters = {}, .usable = {}};
  EXPECT_NEAR(made(point, training).predict({}).step, 4, 1e-9);
  const double plain = slice(training);
  EXPECT_GT(slice({.kind = JobKind::kInference, .counters = {}, .usable = {}}), plain);
  SoloFitOptions idle = training;
  idle.counters.sm_percent = 10;
  EXPECT_LT(slice(idle), 0.6 * plain);
  SoloFitOptions busy = training;
  busy.counters.sm_percent = 99;
  busy.counters.memory_percent = 80;
  EXPECT_GT(slice(busy), 1.3 * plain);
  SoloFitOptions narrow = training;
  narrow.usable = 0.1;
  EXPECT_LT(slice(narrow), plain);
}

TEST(SoloFit, SmallestSlice_ThatThrashes_KeepsItsExcess) {
  // Aim: a 1g three times as slow as the rest of the slices says stays so; the others are not
  // spoiled by it, and 2g is not slowed.
  const SoloLaw law{.serial = 0.15, .compute = 0.6, .memory = 0.25, .usable = 0.9};
  std::vector<SoloPoint> points = all_points_of(law);
  const SoloFit plain = made(points);
  points.back().step *= 3;
  const SoloFit fit = made(points);
  const auto ratio = [&](const char* slice) {
    return fit.predict(a100_slice(slice)).step / law.step(a100_slice(slice));
  };
  EXPECT_NEAR(ratio("1g"), 3, 0.1);
  EXPECT_NEAR(ratio("2g"), 1, 0.07);
  EXPECT_NEAR(ratio("4g"), 1, 0.05);
  Resources half = a100_slice("1g");
  half.compute /= 2;
  EXPECT_GT(fit.predict(half).step, fit.predict(a100_slice("1g")).step);
  EXPECT_NEAR(fit.speed(a100_slice("1g"), a100_slice("full")).speed,
              fit.predict({}).step / fit.predict(a100_slice("1g")).step,
              1e-3);
  EXPECT_GT(fit.predict(a100_slice("1g")).terms.memory,
            plain.predict(a100_slice("1g")).terms.memory * 2);
}

TEST(SoloFit, ScatteredPoints_GiveALargerError) {
  // Aim: the error comes from what the points show where they scatter more than the kind's do.
  const SoloLaw law{.serial = 0.15, .compute = 0.6, .memory = 0.25, .usable = 0.9};
  std::vector<SoloPoint> points = all_points_of(law);
  const double quiet = made(points).predict(a100_slice("3g")).log_sd;
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].step *= i % 2 == 0 ? 1.12 : 0.88;
  }
  EXPECT_GT(made(points).predict(a100_slice("3g")).log_sd, 2 * quiet);
}

TEST(SoloFit, BadInput_SaysWhichPointAndWhatWouldBeValid) {
  // Aim: no, too many, non-positive, NaN and duplicate points, resources and counters out of range.
  const SoloPoint good{.at = {}, .step = 1};
  EXPECT_THAT(message_of({}), HasSubstr("at least one"));
  EXPECT_THAT(message_of(std::vector<SoloPoint>(kSoloPointsMax + 1, good)),
              HasSubstr("17 step times"));
  for (const double step : {0.0,
                            -1.0,
                            std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(message_of({good, {.at = a100_slice("1g"), .step = step}}),
                HasSubstr("step time 2 is"));
  }
  for (const double part : {0.0, -0.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(message_of({{.at = {.compute = part}, .step = 1}}), HasSubstr("of the compute"));
    EXPECT_THAT(message_of({{.at = {.bandwidth = part}, .step = 1}}), HasSubstr("bandwidth"));
    EXPECT_THAT(message_of({{.at = {.sm_speed = part}, .step = 1}}), HasSubstr("as fast"));
  }
  EXPECT_THAT(message_of({good, {.at = a100_slice("1g"), .step = 2}, good}),
              HasSubstr("step times 1 and 3 are of the same part"));
  SoloFitOptions options;
  options.counters.sm_percent = 101;
  EXPECT_THAT(message_of({good}, options), HasSubstr("sm_percent is 101; valid: 0 to 100"));
  options.counters.sm_percent = 50;
  options.counters.memory_percent = -1;
  EXPECT_THAT(message_of({good}, options), HasSubstr("memory_percent is -1"));
  options.counters.memory_percent.reset();
  for (const double usable : {0.0, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    options.usable = usable;
    EXPECT_THAT(message_of({good}, options), HasSubstr("usable part"));
  }
}

TEST(SoloFit, ExtremeSteps_OfAnySize_GiveFiniteBeliefs) {
  // Aim: nanoseconds in years and ratios of a million neither overflow nor divide by nothing.
  for (const double ratio : {1e-6, 1.0, 1e6}) {
    for (const double unit : {1e-12, 1e12}) {
      const SoloFit fit = made({{.at = {}, .step = unit},
                                {.at = a100_slice("1g"), .step = unit * ratio},
                                {.at = a100_slice("3g"), .step = unit}});
      const StepBelief belief = fit.predict(a100_slice("2g"));
      EXPECT_TRUE(std::isfinite(belief.step) && belief.step > 0);
      EXPECT_TRUE(std::isfinite(belief.log_sd));
      EXPECT_TRUE(std::isfinite(fit.law_error()));
    }
  }
}

TEST(FitLaw, PointsThatTellNothingApart_GiveASensibleLaw) {
  // Aim: equal bandwidth makes serial and memory one; no division by nothing, an exact fit.
  const SoloLaw law{.serial = 0.4, .compute = 0.6, .memory = 0, .usable = 0.7};
  std::vector<SoloPoint> points;
  for (const double part : {0.1, 0.2, 0.4, 0.6, 0.8, 1.0}) {
    points.push_back({.at = {.compute = part}, .step = law.step({.compute = part})});
  }
  const SoloLaw found = fit_law(points, LawForm::kWhole);
  EXPECT_NEAR(found.serial + found.memory, 0.4, 1e-6);
  EXPECT_NEAR(found.compute, 0.6, 1e-6);
  EXPECT_NEAR(found.usable, 0.7, 1e-6);
}

TEST(JobKind, Names_AreWords) {
  // Aim: each kind has its own.
  EXPECT_EQ(job_kind_name(JobKind::kUnknown), "unknown");
  EXPECT_EQ(job_kind_name(JobKind::kInference), "inference");
  EXPECT_EQ(job_kind_name(JobKind::kTraining), "training");
  EXPECT_EQ(job_kind_name(JobKind::kHpc), "hpc");
}

}  // namespace
}  // namespace septule::predict
