#include "interop/trace_builder.hpp"

#include <iterator>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
// clang-format off: needs the names of GoogleTest
#include <rapidcheck/gtest.h>
// clang-format on

namespace septule::interop {
namespace {

Duration seconds(std::int64_t count) {
  return Duration::milliseconds(count * 1000);
}

TraceRow row(int line, std::int64_t submit_s) {
  TraceRow result;
  result.job.line = line;
  result.job.id = fmt::format("j{}", line);
  result.job.duration = seconds(60);
  result.job.gpus = GpuMilli(1000);
  result.submit = seconds(submit_s);
  return result;
}

TEST(TraceBuilder, EqualSubmissions_KeepTheOrderOfTheSource) {
  // Ties are not broken by anything but the order given.
  TraceBuilder builder("t");
  builder.add(row(1, 20));
  builder.add(row(2, 10));
  builder.add(row(3, 10));
  builder.add(row(4, 20));
  const TraceImport import = builder.finish();
  ASSERT_EQ(import.trace.jobs.size(), 4U);
  EXPECT_EQ(import.trace.jobs[0].id, "j2");
  EXPECT_EQ(import.trace.jobs[1].id, "j3");
  EXPECT_EQ(import.trace.jobs[2].id, "j1");
  EXPECT_EQ(import.trace.jobs[3].id, "j4");
  EXPECT_EQ(import.trace.jobs[0].submit, SimTime());
  EXPECT_EQ(import.trace.jobs[2].submit, SimTime() + seconds(10));
}

TEST(TraceBuilder, InstantsAtBothEndsOfTime_AreTold) {
  // The widest span that a reader can hand over: no reader would take it back once written.
  TraceBuilder builder("t");
  TraceRow first = row(1, -4000000000);
  first.start = seconds(4000000000);
  builder.add(first);
  builder.add(row(2, 0));
  builder.add(row(3, 4000000000));
  const TraceImport import = builder.finish();
  EXPECT_EQ(import.rows, 3);
  EXPECT_EQ(import.dropped, 1);
  ASSERT_EQ(import.trace.jobs.size(), 2U);
  EXPECT_EQ(import.trace.jobs.at(1).submit, SimTime() + seconds(4000000000));
  EXPECT_EQ(import.trace.jobs.at(0).queue, std::nullopt);
  ASSERT_EQ(import.findings.size(), 2U);
  EXPECT_EQ(import.findings.at(0).kind, TraceFindingKind::kAbsurdSubmission);
  EXPECT_EQ(import.findings.at(1).kind, TraceFindingKind::kAbsurdWait);
}

TEST(TraceBuilder, DroppedRow_DoesNotClaimItsId) {
  // A later row of the same id is the first one that is kept.
  TraceBuilder builder("t");
  TraceRow bad = row(1, 0);
  bad.job.duration = seconds(-1);
  builder.add(bad);
  TraceRow good = row(2, 0);
  good.job.id = "j1";
  builder.add(good);
  const TraceImport import = builder.finish();
  EXPECT_EQ(import.trace.jobs.size(), 1U);
  EXPECT_EQ(import.findings.size(), 1U);
}

RC_GTEST_PROP(TraceBuilder, AnyRows_AreKeptOrDroppedAndSorted, ()) {
  // rows = kept + dropped, dropped = the findings that drop, times ascend from 0, ids are unique.
  TraceBuilder builder("t");
  const int count = *rc::gen::inRange(0, 60);
  for (int line = 1; line <= count; ++line) {
    TraceRow one = row(line, *rc::gen::inRange(-50, 50));
    const std::string ids[] = {"", "a", "b", "c", "d\n", one.job.id};
    one.job.id = ids[*rc::gen::inRange<std::size_t>(0, std::size(ids))];
    one.job.duration = seconds(*rc::gen::inRange(-3, 8));
    one.job.gpus = GpuMilli(*rc::gen::inRange(-500, 5000));
    if (*rc::gen::arbitrary<bool>()) {
      one.start = seconds(*rc::gen::inRange(-60, 60));
      one.end = seconds(*rc::gen::inRange(-60, 60));
    }
    if (*rc::gen::inRange(0, 5) == 0) {
      one.submit.reset();
    }
    one.job.has_started = *rc::gen::arbitrary<bool>();
    builder.add(one);
  }
  const TraceImport import = builder.finish();
  RC_ASSERT(import.rows == count);
  std::int64_t dropped = 0;
  for (const TraceFinding& finding : import.findings) {
    RC_ASSERT(finding.examples.size() ==
              std::min<std::size_t>(kTraceExamplesMax, static_cast<std::size_t>(finding.count)));
    dropped += finding.effect == TraceEffect::kDropped ? finding.count : 0;
  }
  RC_ASSERT(dropped == import.dropped);
  RC_ASSERT(static_cast<std::int64_t>(import.trace.jobs.size()) + dropped == count);
  std::set<std::string> seen;
  SimTime last;
  for (const TraceJob& job : import.trace.jobs) {
    RC_ASSERT(seen.insert(job.id).second);
    RC_ASSERT(job.submit >= last);
    RC_ASSERT((!job.duration || *job.duration >= Duration()));
    RC_ASSERT((!job.queue || *job.queue >= Duration()));
    RC_ASSERT((!job.gpus || job.gpus->value() <= 1000 || job.gpus->value() % 1000 == 0));
    last = job.submit;
  }
  RC_ASSERT((import.trace.jobs.empty() || import.trace.jobs.front().submit == SimTime()));
}

}  // namespace
}  // namespace septule::interop
