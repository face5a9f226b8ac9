#include "job/metrics.hpp"

#include <array>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/clock.hpp"
#include "base/rng.hpp"
#include "job/student_t.hpp"
#include "support/read_file.hpp"

namespace septule::job {
namespace {

Duration seconds(double value) {
  return seconds_to_duration(value);
}
SimTime at(double value) {
  return SimTime() + seconds_to_duration(value);
}

/// A job alone: waits, starts 10 s, runs `run` s, of which its work is all.
JobOutcome outcome(int id, double submit, double wait, double run) {
  JobOutcome job;
  job.id = JobId(id);
  job.submit = at(submit);
  job.first_start = at(submit + wait);
  job.finish = at(submit + wait + 10 + run);
  job.times = {seconds(wait), seconds(0), seconds(10), seconds(run)};
  job.ideal = seconds(10 + run);
  job.work = seconds(run);
  return job;
}

RunRecord two_jobs() {
  RunRecord run;
  run.gpu_count = 2;
  run.jobs = {outcome(0, 0, 0, 90), outcome(1, 50, 100, 40)};
  run.makespan = at(200);
  run.reconfigurations = 3;
  run.characterisations = 2;
  run.checkpoints = 5;
  run.busy_slice_s = 1400;
  run.total_slice_s = 2800;
  run.fragmented_slice_s = 280;
  run.energy_j = 7.2e6;
  return run;
}

TEST(FiguresOf_TwoJobs, AreWorkedOutByHand) {
  // JCT 100 and 150; work 90 + 40 on 2 GPUs for 200 s; slowdowns 1 and 3.
  const RunFigures figures = figures_of(two_jobs());
  EXPECT_DOUBLE_EQ(figures.mean_jct_s, 125);
  EXPECT_DOUBLE_EQ(figures.median_jct_s, 125);
  EXPECT_DOUBLE_EQ(figures.p95_jct_s, 147.5);
  EXPECT_DOUBLE_EQ(figures.makespan_s, 200);
  EXPECT_DOUBLE_EQ(figures.stp_per_gpu, 130.0 / 400);
  EXPECT_DOUBLE_EQ(figures.mean_wait_s, 50);
  EXPECT_DOUBLE_EQ(figures.mean_characterisation_s, 0);
  EXPECT_DOUBLE_EQ(figures.mean_reconfiguration_s, 10);
  EXPECT_DOUBLE_EQ(figures.mean_running_s, 65);
  EXPECT_DOUBLE_EQ(figures.slowdown_median, 2);
  EXPECT_DOUBLE_EQ(figures.slowdown_p90, 2.8);
  EXPECT_DOUBLE_EQ(figures.slowdown_p99, 2.98);
  EXPECT_DOUBLE_EQ(figures.slowdown_max, 3);
  EXPECT_DOUBLE_EQ(figures.share_within_1_5, 0.5);
  EXPECT_DOUBLE_EQ(figures.share_within_2, 0.5);
  EXPECT_DOUBLE_EQ(figures.utilisation, 0.5);
  EXPECT_DOUBLE_EQ(figures.fragmentation, 0.1);
  EXPECT_EQ(figures.reconfigurations, 3);
  EXPECT_EQ(figures.characterisations, 2);
  EXPECT_EQ(figures.checkpoints, 5);
  EXPECT_DOUBLE_EQ(figures.energy_kwh, 2);
  EXPECT_EQ(figures.jobs_done, 2);
  EXPECT_EQ(figures.jobs_rejected, 0);
}

TEST(FiguresOf_RejectedJob, IsCountedAndNotAveraged) {
  // The other figures stay as they were.
  RunRecord run = two_jobs();
  const RunFigures before = figures_of(run);
  JobOutcome rejected;
  rejected.id = JobId(2);
  rejected.state = JobState::kRejected;
  rejected.submit = at(10);
  run.jobs.push_back(rejected);
  const RunFigures after = figures_of(run);
  EXPECT_EQ(after.jobs_rejected, 1);
  for (const FigureColumn& column : figure_columns()) {
    if (std::string_view(column.name) != "jobs_rejected") {
      EXPECT_EQ(after.*column.member, before.*column.member) << column.name;
    }
  }
}

TEST(FiguresOf_NoFinishedJob, AreAllZero) {
  // Nothing is divided by nothing.
  const RunFigures figures = figures_of(RunRecord());
  for (const FigureColumn& column : figure_columns()) {
    EXPECT_EQ(figures.*column.member, 0) << column.name;
  }
}

RC_GTEST_PROP(FiguresOf_AnyRun, FourTimesAddUpToTheJct, ()) {
  // JCT = wait + characterisation + reconfiguration + running, also of the means.
  RunRecord run;
  run.gpu_count = 1;
  const int count = *rc::gen::inRange(1, 30);
  for (int i = 0; i < count; ++i) {
    run.jobs.push_back(outcome(
        i, *rc::gen::inRange(0, 1000), *rc::gen::inRange(0, 1000), *rc::gen::inRange(1, 1000)));
    run.makespan = std::max(run.makespan, *run.jobs.back().finish);
  }
  const RunFigures figures = figures_of(run);
  RC_ASSERT(std::abs(figures.mean_wait_s + figures.mean_characterisation_s +
                     figures.mean_reconfiguration_s + figures.mean_running_s - figures.mean_jct_s) <
            1e-6);
  RC_ASSERT(figures.median_jct_s <= figures.p95_jct_s);
  RC_ASSERT(figures.slowdown_median <= figures.slowdown_p90 &&
            figures.slowdown_p90 <= figures.slowdown_p99 &&
            figures.slowdown_p99 <= figures.slowdown_max);
  RC_ASSERT(figures.share_within_1_5 <= figures.share_within_2);
}

TEST(FigureColumns_Members, AreEachOnce) {
  // Every figure has a column: 23 doubles make the whole of RunFigures.
  std::set<std::string> names;
  RunFigures figures;
  double value = 1;
  for (const FigureColumn& column : figure_columns()) {
    names.insert(column.name);
    figures.*column.member = value;
    value += 1;
  }
  EXPECT_EQ(names.size(), figure_columns().size());
  EXPECT_EQ(sizeof(RunFigures), figure_columns().size() * sizeof(double));
  value = 1;
  for (const FigureColumn& column : figure_columns()) {
    EXPECT_EQ(figures.*column.member, value) << column.name;
    value += 1;
  }
}

TEST(FigureColumns_Document, SaysTheSame) {
  // docs/formats.md has a row for each column, in order, with unit and formula.
  const std::string document =
      test::read_file(std::string(SEPTULE_SOURCE_DIR) + "/docs/formats.md");
  std::string rows;
  for (const FigureColumn& column : figure_columns()) {
    rows += fmt::format("| `{}` | {} | {} |\n", column.name, column.unit, column.formula);
  }
  EXPECT_NE(document.find(rows + "\n"), std::string::npos) << rows;
}

TEST(Quantile_SmallLists, IsLinearBetweenOrderStatistics) {
  // Unsorted input; ends are the smallest and the largest.
  const std::vector<double> values{4, 1, 3, 2};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 1), 4);
  EXPECT_EQ(quantile(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 3.7);
  EXPECT_EQ(quantile(std::vector<double>{7}, 0.3), 7);
}

TEST(StudentTQuantile_KnownDegrees, GivesTheTable) {
  // Two-sided 95 %, from printed tables; the normal value far out.
  const std::vector<std::pair<int, double>> known = {{1, 12.706},
                                                     {2, 4.303},
                                                     {3, 3.182},
                                                     {4, 2.776},
                                                     {5, 2.571},
                                                     {9, 2.262},
                                                     {19, 2.093},
                                                     {30, 2.042},
                                                     {99, 1.984}};
  for (const auto& [degrees, value] : known) {
    EXPECT_NEAR(student_t_quantile({.probability = 0.975, .degrees = degrees}), value, 0.0006)
        << degrees;
  }
  EXPECT_NEAR(student_t_quantile({.probability = 0.975, .degrees = 100000}), 1.95996, 0.0001);
  EXPECT_NEAR(student_t_quantile({.probability = 0.995, .degrees = 10}), 3.169, 0.0006);
  EXPECT_NEAR(student_t_quantile({.probability = 0.9, .degrees = 7}), 1.415, 0.0006);
}

TEST(StudentTQuantile_MoreDegrees, IsSmaller) {
  // Odd and even degrees have different sums; together they fall strictly.
  double before = 1e9;
  for (int degrees = 1; degrees <= 300; ++degrees) {
    const double value = student_t_quantile({.probability = 0.975, .degrees = degrees});
    ASSERT_LT(value, before) << degrees;
    before = value;
  }
}

TEST(ConfidenceInterval_OneValue, HasNoLimits) {
  // One seed says nothing about spread.
  const Interval interval = confidence_interval(std::vector<double>{5});
  EXPECT_EQ(interval.mean, 5);
  EXPECT_FALSE(interval.low.has_value());
  EXPECT_FALSE(interval.high.has_value());
}

TEST(ConfidenceInterval_FiveValues, IsWorkedOutByHand) {
  // 1..5: mean 3, sd sqrt(2.5), t(4) = 2.776.
  const Interval interval = confidence_interval(std::vector<double>{1, 2, 3, 4, 5});
  EXPECT_EQ(interval.mean, 3);
  EXPECT_NEAR(*interval.low, 3 - 2.7764 * 0.70711, 1e-3);
  EXPECT_NEAR(*interval.high, 3 + 2.7764 * 0.70711, 1e-3);
  const Interval flat = confidence_interval(std::vector<double>{2, 2, 2});
  EXPECT_EQ(*flat.low, 2);
  EXPECT_EQ(*flat.high, 2);
}

TEST(ConfidenceInterval_ManySamples, CoversTheMeanInNineteenOfTwenty) {
  // 4,000 samples of five normal values around 10.
  Rng rng(1);
  int covered = 0;
  for (int i = 0; i < 4000; ++i) {
    std::array<double, 5> values{};
    for (double& value : values) {
      value = rng.normal(10, 3);
    }
    const Interval interval = confidence_interval(values);
    covered += *interval.low <= 10 && 10 <= *interval.high ? 1 : 0;
  }
  EXPECT_NEAR(covered, 3800, 60);
}

TEST(MetricsDeathTest_NoValues, StopTheProgram) {
  // Programmer errors.
  EXPECT_DEATH(confidence_interval({}), "at least one");
  EXPECT_DEATH(quantile({}, 0.5), "at least one");
  EXPECT_DEATH(student_t_quantile({.probability = 0.5}), "upper quantile");
}

}  // namespace
}  // namespace septule::job
