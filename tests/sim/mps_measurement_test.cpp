#include "sim/mps_measurement.hpp"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/sim_support.hpp"

namespace septule::sim {
namespace {

using job::SignatureIndex;
using predict::MeasuredColumn;
using predict::MeasuredColumns;
using predict::MpsSample;

const job::Workload& miso() {
  static const job::Workload workload = job::miso_workload("miso-100").value();
  return workload;
}

const predict::SpeedBook& book() {
  static const predict::SpeedBook made =
      predict::SpeedBook::make(test::model("A100-40GB"), miso().signatures).value();
  return made;
}

SignatureIndex signature(std::string_view name) {
  for (std::size_t i = 0; i < miso().signatures.size(); ++i) {
    if (miso().signatures[i].name == name) {
      return SignatureIndex(static_cast<int>(i));
    }
  }
  ADD_FAILURE() << "no signature " << name;
  return SignatureIndex(0);
}

MpsSample sample(int id, std::string_view name, const std::vector<int>& levels = {100, 50, 14}) {
  MpsSample made{.job = job::JobId(id), .levels = {}, .signature = signature(name)};
  for (const int atp : levels) {
    made.levels.push_back({ActiveThreadPercentage(atp), Duration::milliseconds(100)});
  }
  return made;
}

Measurement at(std::uint64_t index, std::uint64_t seed = 1) {
  return {book(), seed, index};
}

std::vector<double> times_of(const MpsSample& sample) {
  std::vector<double> times;
  for (const MpsSample::Level& level : sample.levels) {
    times.push_back(level.step ? level.step->to_seconds() : -1);
  }
  return times;
}

/// resnet:64 at 1 and 3 co-runners, two columns each; gnn:64 at 3.
MeasuredColumns columns() {
  MeasuredColumns made;
  for (const int atp : {100, 50, 14}) {
    made.levels.push_back(ActiveThreadPercentage(atp));
  }
  made.columns = {{"gnn:64", 3, {0.2, 0.4, 1}},
                  {"resnet:64", 1, {0.1, 0.5, 1}},
                  {"resnet:64", 1, {0.15, 0.5, 1}},
                  {"resnet:64", 3, {0.3, 0.6, 1}},
                  {"resnet:64", 3, {0.35, 0.6, 1}}};
  made.text = "two of each";
  return made;
}

TEST(NoisyTruth, NoNoise_IsWhatTheAgentSaw) {
  // Aim: sd 0 changes nothing at all.
  const NoisyTruth source(0);
  std::vector<MpsSample> run = {sample(0, "resnet:64")};
  predict::SliceObservation seen{job::JobId(0), {}, Duration::milliseconds(7), {}};
  const job::MeasurementCounts counts = source.measure(at(1), run);
  source.observe(at(1), seen);
  EXPECT_EQ(times_of(run[0]), (std::vector{0.1, 0.1, 0.1}));
  EXPECT_EQ(seen.step, Duration::milliseconds(7));
  EXPECT_EQ(counts, (job::MeasurementCounts{.modelled = 1}));
}

TEST(NoisyTruth, ManyMeasurements_AreLogNormalWithTheSdGiven) {
  // Aim: mean 0 and sd 0.05 of the logarithm over 3,000 times, of runs and of jobs alone.
  const NoisyTruth source(0.05);
  double sum = 0;
  double squares = 0;
  double alone = 0;
  for (std::uint64_t index = 0; index < 1000; ++index) {
    std::vector<MpsSample> run = {sample(0, "resnet:64")};
    source.measure(at(index), run);
    for (const double time : times_of(run[0])) {
      sum += std::log(time / 0.1);
      squares += std::pow(std::log(time / 0.1), 2);
    }
    predict::SliceObservation seen{job::JobId(0), {}, Duration::milliseconds(100), {}};
    source.observe(at(index), seen);
    alone += std::pow(std::log(seen.step.to_seconds() / 0.1), 2);
  }
  EXPECT_NEAR(sum / 3000, 0, 0.004);
  EXPECT_NEAR(std::sqrt(squares / 3000), 0.05, 0.003);
  EXPECT_NEAR(std::sqrt(alone / 1000), 0.05, 0.005);
}

TEST(NoisyTruth, EmptyLevel_StaysEmpty_AndNoTimeBecomesZero) {
  // Aim: a job that made no step was not measured; a step of 1 ns stays a step.
  const NoisyTruth source(1);
  for (std::uint64_t index = 0; index < 200; ++index) {
    std::vector<MpsSample> run = {sample(0, "resnet:64")};
    run[0].levels[0].step.reset();
    run[0].levels[1].step = Duration::nanoseconds(1);
    source.measure(at(index), run);
    EXPECT_FALSE(run[0].levels[0].step.has_value());
    EXPECT_GE(*run[0].levels[1].step, Duration::nanoseconds(1));
  }
}

TEST(DrawnColumns, SameJobAndCoRunners_EveryColumnIsDrawnInTime) {
  // Aim: three co-runners draw from columns of three; both come up; equal asks get equal answers.
  const DrawnColumns source(columns(), 0.02);
  std::map<double, int> seen;
  for (std::uint64_t index = 0; index < 400; ++index) {
    std::vector<MpsSample> run = {
        sample(0, "resnet:64"), sample(1, "gnn:64"), sample(2, "resnet:64")};
    std::vector<MpsSample> again = run;
    const job::MeasurementCounts counts = source.measure(at(index), run);
    EXPECT_EQ(counts, (job::MeasurementCounts{.drawn = 3}));
    source.measure(at(index), again);
    EXPECT_EQ(times_of(run[2]), times_of(again[2]));
    EXPECT_EQ(times_of(run[1]), (std::vector{0.2, 0.4, 1.0}));
    ++seen[times_of(run[0])[0]];
  }
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_NEAR(seen[0.3], 200, 60);
  EXPECT_NEAR(seen[0.35], 200, 60);
}

TEST(DrawnColumns, NumberNotMeasured_TakesTheNearest_OtherJobsTheTruth) {
  // Aim: each case is counted, and what is measured of one job does not shift another's draw.
  const DrawnColumns source(columns(), 0);
  std::vector<MpsSample> run = {sample(0, "resnet:64"), sample(1, "bert:2")};
  const job::MeasurementCounts counts = source.measure(at(5), run);
  EXPECT_EQ(counts, (job::MeasurementCounts{.nearest = 1, .modelled = 1}));
  EXPECT_EQ(times_of(run[1]), (std::vector{0.1, 0.1, 0.1}));
  EXPECT_LT(times_of(run[0])[0], 0.2);  // of a run alone
  std::vector<MpsSample> other = {sample(0, "resnet:64"), sample(1, "gnn:64")};
  source.measure(at(5), other);
  EXPECT_EQ(times_of(other[0]), times_of(run[0]));
}

TEST(DrawnColumns, LevelNotMeasured_TakesTheTruth) {
  // Aim: a column of other levels is not mixed with the truth's times.
  const DrawnColumns source(columns(), 0);
  std::vector<MpsSample> run = {sample(0, "resnet:64", {100, 30})};
  EXPECT_EQ(source.measure(at(1), run), (job::MeasurementCounts{.modelled = 1}));
  EXPECT_EQ(times_of(run[0]), (std::vector{0.1, 0.1}));
  std::vector<MpsSample> fewer = {sample(0, "resnet:64", {50})};
  EXPECT_EQ(source.measure(at(1), fewer), (job::MeasurementCounts{.drawn = 1}));
  EXPECT_EQ(times_of(fewer[0]), (std::vector{0.5}));
  fewer[0].levels[0].step.reset();
  source.measure(at(1), fewer);
  EXPECT_FALSE(fewer[0].levels[0].step.has_value());
}

}  // namespace
}  // namespace septule::sim
