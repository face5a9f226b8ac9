#include "sim/recorder.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/recorder_sweep.hpp"
#include "sim/sim_support.hpp"
#include "sim/study.hpp"
#include "sim/study_text.hpp"

namespace septule::sim {
namespace {

using test::at_s;
using test::model;
using ::testing::HasSubstr;

/// One run of a policy on the measured mix, recorded.
RunRecording recorded(std::string_view policy, int job) {
  static const job::Workload workload = job::miso_workload("miso-100").value();
  StudySpec spec;
  spec.clusters = {{&model("A100-40GB"), 4}};
  spec.workload = &workload;
  spec.gaps = {test::seconds(120)};
  spec.policies = parse_policies(policy).value();
  spec.seeds = {5};
  spec.layout_seeds = {5};
  spec.layout = gpu::Layout{{*model("A100-40GB").find_profile("3g.20gb"), MemorySlices(0)},
                            {*model("A100-40GB").find_profile("3g.20gb"), MemorySlices(4)}};
  spec.common = common_setup(sched::Setting::kPaper);
  spec.common.latencies = &test::latencies();
  spec.checks = RunChecks::kOn;
  Study study = Study::make(spec).value();
  study.choose_layouts({});
  RunRecording recording;
  recording.story_of = job::JobId(job);
  SEPTULE_CHECK(study.run_trial(study.trials().front(), &recording).has_value(), "the run ends");
  return recording;
}

double integral(const job::RunRecord& run, double job::SeriesPoint::* member) {
  double sum = 0;
  for (std::size_t i = 0; i < run.series.size(); ++i) {
    const SimTime next = i + 1 < run.series.size() ? run.series[i + 1].time : run.makespan;
    sum += run.series[i].*member * (next - run.series[i].time).to_seconds();
  }
  return sum;
}

TEST(RunRecorder, Timeline_IsOrderedAndSlicesHaveOneUser) {
  // Spans of a GPU ascend without overlap; two uses overlap only in the same place (MPS).
  for (const char* policy : {"nopart", "optsta", "mps-only", "miso", "oracle", "septule"}) {
    const RunRecording recording = recorded(policy, 0);
    std::map<int, SimTime> ends;
    for (const job::TimelineSpan& span : recording.run.timeline) {
      EXPECT_LT(span.begin, span.end);
      EXPECT_LE(ends[span.gpu], span.begin) << policy;
      ends[span.gpu] = span.end;
      for (std::size_t i = 1; i < span.uses.size(); ++i) {
        const auto& a = span.uses[i - 1];
        const auto& b = span.uses[i];
        EXPECT_TRUE((a.start == b.start && a.size == b.size) || a.start + a.size <= b.start)
            << policy;
        EXPECT_LE(b.start + b.size, 8);
      }
    }
    EXPECT_EQ(ends.size(), 4U) << policy;
  }
}

TEST(RunRecorder, Series_AgreesWithTheRunsOwnTotals) {
  // Queue x time = the jobs' waiting; busy slices x time = the simulator's own account of them, but
  // for starts that are given up, which hold their slices there until their GPU is still.
  for (const char* policy : {"nopart", "optsta", "mps-only", "miso", "oracle", "septule"}) {
    const job::RunRecord run = recorded(policy, 0).run;
    for (const auto& point : run.series) {
      ASSERT_LE(point.busy_slices, 28) << policy << point.time.to_seconds();
      ASSERT_GE(point.busy_slices, 0);
    }
    double waiting_s = 0;
    for (const job::JobOutcome& outcome : run.jobs) {
      waiting_s += outcome.times[static_cast<std::size_t>(job::TimeKind::kWaiting)].to_seconds();
    }
    EXPECT_NEAR(integral(run, &job::SeriesPoint::queue), waiting_s, 1e-6 * (waiting_s + 1))
        << policy;
    EXPECT_NEAR(
        integral(run, &job::SeriesPoint::busy_slices), run.busy_slice_s, 1e-3 * run.busy_slice_s)
        << policy;
  }
}

TEST(RunRecorder, Story_IsOrderedAndEndsWithTheJob) {
  // Every segment and decision of the job, in time order; the last line is its end.
  const RunRecording recording = recorded("miso", 17);
  ASSERT_GT(recording.story.size(), 4U);
  EXPECT_TRUE(std::ranges::is_sorted(recording.story, {}, &StoryEvent::time));
  EXPECT_EQ(recording.story.front().time, recording.run.jobs[17].submit);
  EXPECT_EQ(recording.story.back().text, "done");
  EXPECT_EQ(recording.story.back().time, recording.run.jobs[17].finish);
  const auto decision = std::ranges::find_if(
      recording.story, [](const auto& event) { return event.text.starts_with("decision"); });
  ASSERT_NE(decision, recording.story.end());
  EXPECT_THAT(decision->text, HasSubstr("17"));
}

TEST(RunRecorder, LongSeries_BecomesMeansOfEqualArea) {
  // Means over parts keep the integral.
  const gpu::Geometry& geometry = model("A100-40GB");
  job::Workload workload;
  workload.jobs.resize(1);
  RunRecorder::Options options;
  options.series_points_max = 7;
  RunRecorder thinned(geometry, workload, options);
  options.series_points_max = 1000;
  RunRecorder whole(geometry, workload, options);
  for (int i = 0; i < 50; ++i) {
    const JobSegment segment{job::JobId(0),
                             job::JobState::kWaiting,
                             std::nullopt,
                             at_s(i * 3),
                             at_s(i * 3 + 1 + i % 2),
                             0};
    thinned.on_segment(segment);
    whole.on_segment(segment);
  }
  job::RunRecord few;
  job::RunRecord many;
  few.makespan = at_s(149);
  many.makespan = at_s(149);
  thinned.finish(few);
  whole.finish(many);
  ASSERT_EQ(few.series.size(), 7U);
  EXPECT_EQ(integral(many, &job::SeriesPoint::queue), 75);
  EXPECT_NEAR(integral(few, &job::SeriesPoint::queue), 75, 1e-6);
}

TEST(GpuSweep, ReCutAroundARunningJob_ShowsIdleAndKeptInstances) {
  // A job in 3g@4 stays while 3g@0 is cut into 2g@0: idle places are drawn, the cut is marked.
  const gpu::Geometry& geometry = model("A100-40GB");
  const gpu::PlacedProfile right{*geometry.find_profile("3g.20gb"), MemorySlices(4)};
  const gpu::PlacedProfile left{*geometry.find_profile("3g.20gb"), MemorySlices(0)};
  const gpu::PlacedProfile smaller{*geometry.find_profile("2g.10gb"), MemorySlices(0)};
  const JobSegment segment{job::JobId(3),
                           job::JobState::kRunning,
                           port::JobPlace{GpuId(1), right, ActiveThreadPercentage(100)},
                           at_s(10),
                           at_s(40),
                           0.5};
  GpuSweep sweep(geometry, GpuId(1));
  sweep.add(segment);
  sweep.add({at_s(5), {left, right}, false});
  sweep.add({at_s(20), {right}, true});
  sweep.add({at_s(21), {smaller, right}, false});
  const GpuHistory history = sweep.run(at_s(50));
  ASSERT_EQ(history.spans.size(), 5U);
  EXPECT_EQ(history.spans[0].begin, at_s(5));
  EXPECT_FALSE(history.spans[0].uses[0].job.has_value());
  EXPECT_EQ(history.spans[1].uses.size(), 2U);
  EXPECT_EQ(history.spans[1].uses[1].job, job::JobId(3));
  EXPECT_TRUE(history.spans[2].is_reconfiguring);
  EXPECT_EQ(history.spans[2].uses.size(), 1U);
  EXPECT_EQ(history.spans[3].uses[0].size, 2);
  EXPECT_EQ(history.spans[4].end, at_s(50));
  ASSERT_EQ(history.busy.size(), 2U);
  EXPECT_EQ(history.busy[0].slices, 3);
  EXPECT_EQ(history.busy[1].time, at_s(40));
}

TEST(GpuSweep, SegmentWithoutLength_IsPassedOver) {
  // A job may change its state twice in an instant; nothing of that is drawn.
  const JobSegment segment{job::JobId(3),
                           job::JobState::kRunning,
                           port::JobPlace{GpuId(0), std::nullopt, ActiveThreadPercentage(100)},
                           at_s(10),
                           at_s(10),
                           0.5};
  GpuSweep sweep(model("A100-40GB"), GpuId(0));
  sweep.add(segment);
  const GpuHistory history = sweep.run(at_s(50));
  EXPECT_TRUE(history.spans.empty());
  EXPECT_TRUE(history.busy.empty());
}

}  // namespace
}  // namespace septule::sim
