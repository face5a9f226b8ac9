#include "interop/trace_workload.hpp"

#include <map>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
// clang-format off: needs the names of GoogleTest
#include <rapidcheck/gtest.h>
// clang-format on

#include "interop/trace_formats.hpp"
#include "support/read_file.hpp"
#include "support/shared_data.hpp"

namespace septule::interop {
namespace {

using ::testing::HasSubstr;
using Kind = TraceFindingKind;
using Counts = std::map<Kind, std::int64_t>;

Trace trace_of(std::string_view rows) {
  const std::string text = fmt::format("{}\n{}", kTraceHeading, rows);
  auto import = import_trace({text, "t.csv"}, {});
  EXPECT_TRUE(import) << import.error().message;
  return std::move(import)->trace;
}

Counts counts_of(const TraceWorkload& made) {
  Counts counts;
  for (const TraceFinding& finding : made.findings) {
    counts[finding.kind] = finding.count;
  }
  return counts;
}

const job::PerfSignature& signature_of(const TraceWorkload& made, std::size_t at) {
  return made.workload.signatures.at(
      static_cast<std::size_t>(made.workload.jobs.at(at).signature.value()));
}

TEST(NormalisedApp, FormsOfTheCollections_AreOneForm) {
  // "model:batch", whatever the source wrote; without a batch size only the letter case changes.
  EXPECT_EQ(normalised_app("resnet:64"), "resnet:64");
  EXPECT_EQ(normalised_app("ResNet|bs64"), "resnet:64");
  EXPECT_EQ(normalised_app("Bert (batch size 8)"), "bert:8");
  EXPECT_EQ(normalised_app("LM (batch size 10)|gns"), "lm:10");
  EXPECT_EQ(normalised_app("vgg19"), "vgg19");
  EXPECT_EQ(normalised_app("LS"), "ls");
  EXPECT_EQ(normalised_app(""), "");
  EXPECT_EQ(normalised_app("|bs"), "");
  EXPECT_EQ(normalised_app("x|bsy"), "x");
  EXPECT_EQ(normalised_app("x (batch size )"), "x (batch size )");
}

TEST(WorkloadFromTrace, MeasuredApps_HaveTheMeasuredSignature) {
  // Each of the forms finds the built-in table; equal apps share one signature.
  const auto made = workload_from_trace(trace_of("a,0,100,1,,,u,,,,,,resnet:64\n"
                                                 "b,5,200,1,,3.5,v,,,,,,ResNet|bs64\n"
                                                 "c,9,300,2,,,u,,,,,,Bert (batch size 8)\n"),
                                        {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->findings.empty());
  EXPECT_EQ(made->jobs_measured, 3);
  EXPECT_EQ(made->jobs_synthetic, 0);
  EXPECT_EQ(made->workload.signatures.size(), 2U);
  EXPECT_EQ(signature_of(*made, 0).name, "resnet:64");
  EXPECT_EQ(signature_of(*made, 1).name, "resnet:64");
  EXPECT_EQ(signature_of(*made, 2).name, "bert:8");
  EXPECT_FALSE(signature_of(*made, 0).times.empty());
  const job::JobSpec& second = made->workload.jobs.at(1);
  EXPECT_EQ(second.work, Duration::milliseconds(200000));
  EXPECT_EQ(second.submit, SimTime() + Duration::milliseconds(5000));
  EXPECT_EQ(second.memory, Bytes::mebibytes(3584));
  EXPECT_EQ(made->workload.jobs.at(0).memory, std::nullopt);
  EXPECT_EQ(made->workload.jobs.at(2).gpus, 2);
  EXPECT_EQ(made->workload.jobs.at(0).user, job::UserId(1));
  EXPECT_EQ(second.user, job::UserId(2));
  EXPECT_EQ(made->workload.jobs.at(2).user, job::UserId(1));
}

TEST(WorkloadFromTrace, Shares_BecomeOneGpuWithThatSaturation) {
  // 0.46 of a GPU is one GPU of which the job can use 46 %.
  const auto made = workload_from_trace(trace_of("a,0,100,0.46,,,,,,,,,LS\n"), {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->workload.jobs.at(0).gpus, 1);
  EXPECT_EQ(made->jobs_share, 1);
  const auto& synthetic = signature_of(*made, 0).synthetic;
  ASSERT_TRUE(synthetic);
  EXPECT_DOUBLE_EQ(synthetic->saturation, 0.46);
  EXPECT_EQ(synthetic->bound, job::Bound::kCompute);
}

TEST(WorkloadFromTrace, RowsThatCannotBeSimulated_AreCountedAndLocated) {
  // What the import kept for the record is left out here, each with its line.
  const Trace trace = trace_of(
      "a,0,100,1,,,,,,,,,\n"
      "b,1,,1,,,,,pending,,,,\n"
      "c,2,,1,,,,,,,,,\n"
      "d,3,0,1,,,,,,,,,\n"
      "e,4,10,0,,,,,,,,,\n"
      "f,5,10,,,,,,,,,,\n"
      "g,6,10,4,,,,,,,,,\n");
  const auto made = workload_from_trace(trace, {.gangs = GangHandling::kDrop});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->jobs_in_trace, 7);
  EXPECT_EQ(made->workload.jobs.size(), 1U);
  EXPECT_EQ(counts_of(*made),
            (Counts{{Kind::kNeverScheduled, 1},
                    {Kind::kNoDuration, 1},
                    {Kind::kZeroDuration, 1},
                    {Kind::kCpuOnly, 1},
                    {Kind::kNoGpuCount, 1},
                    {Kind::kGangDropped, 1}}));
  const auto kept = workload_from_trace(trace, {});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->workload.jobs.size(), 2U);
  EXPECT_EQ(kept->workload.jobs.at(1).gpus, 4);
  const auto strict = workload_from_trace(trace, {.strictness = TraceStrictness::kStrict});
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(strict.error().message, HasSubstr("1 x never-scheduled (first in line 3)"));
}

TEST(WorkloadFromTrace, RowThatNeverRan_IsTheSameFaultAsInItsImport) {
  // One fault is told once: neither its missing duration nor its missing GPUs beside it.
  const Trace trace = trace_of(
      "a,0,100,1,,,,,,,,,\n"
      "b,1,,1,,,,,cancelled,,,,\n"
      "c,2,,,,,,,pending,,,,\n");
  const auto made = workload_from_trace(trace, {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(counts_of(*made), (Counts{{Kind::kNeverScheduled, 2}}));
}

TEST(WorkloadFromTrace, HandMadeFaults_AreFoundToo) {
  // A trace that no importer has judged: negative durations, duplicates, absurd memory.
  Trace trace = trace_of(
      "a,0,10,1,,,,,,,,,\nb,0,10,1,,,,,,,,,\nc,0,10,1,,,,,,,,,\n"
      "d,0,10,1,,,,,,,,,\n");
  trace.jobs[1].id = "a";
  trace.jobs[2].duration = Duration::nanoseconds(-1);
  trace.jobs[3].gpu_memory = Bytes(0);
  const auto made = workload_from_trace(trace, {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(
      counts_of(*made),
      (Counts{{Kind::kDuplicateId, 1}, {Kind::kNegativeDuration, 1}, {Kind::kZeroMemory, 1}}));
  EXPECT_EQ(made->workload.jobs.size(), 2U);
}

TEST(WorkloadFromTrace, BadOptionsAndEmptyResult_AreRefused) {
  // Each with what would be valid.
  const Trace trace = trace_of("a,0,10,1,,,,,,,,,\n");
  EXPECT_THAT(workload_from_trace(trace, {.speed_up = 0}).error().message, HasSubstr("0.001"));
  EXPECT_THAT(workload_from_trace(trace, {.memory_preset = "x"}).error().message,
              HasSubstr("unknown memory preset"));
  EXPECT_THAT(workload_from_trace(trace, {.compute_bound_share = 2}).error().message,
              HasSubstr("0 to 1"));
  EXPECT_THAT(workload_from_trace(trace_of("a,0,10,0,,,,,,,,,\n"), {}).error().message,
              HasSubstr("none of its 1 jobs"));
}

TEST(WorkloadFromTrace, SpeedUp_DividesSubmissionsAndNothingElse) {
  // Replay at twice the speed: arrivals twice as dense, work unchanged.
  const Trace trace = trace_of("a,100,10,1,,,,,,,,,\nb,103,10,1,,,,,,,,,\nc,110,10,1,,,,,,,,,\n");
  const auto made = workload_from_trace(trace, {.speed_up = 2});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->workload.jobs.at(0).submit, SimTime());
  EXPECT_EQ(made->workload.jobs.at(1).submit, SimTime() + Duration::milliseconds(1500));
  EXPECT_EQ(made->workload.jobs.at(2).submit, SimTime() + Duration::milliseconds(5000));
  EXPECT_EQ(made->workload.jobs.at(2).work, Duration::milliseconds(10000));
}

TEST(WorkloadFromTrace, AddingAJob_ChangesNoOther) {
  // Draws come from streams named after the job or its program, not from its place.
  const auto before =
      workload_from_trace(trace_of("a,0,10,1,,,,,,,,,\nb,1,10,1,,,,,,,,,gpt|bs8\n"), {.seed = 7});
  const auto after = workload_from_trace(
      trace_of("x,0,10,1,,,,,,,,,gpt|bs8\na,0,10,1,,,,,,,,,\nb,1,10,1,,,,,,,,,gpt|bs8\n"),
      {.seed = 7});
  ASSERT_TRUE(before);
  ASSERT_TRUE(after);
  for (std::size_t i = 0; i < 2; ++i) {
    const job::PerfSignature& old = signature_of(*before, i);
    const job::PerfSignature& now = signature_of(*after, i + 1);
    EXPECT_EQ(old.name, now.name);
    EXPECT_EQ(old.memory, now.memory);
    EXPECT_EQ(old.synthetic->saturation, now.synthetic->saturation);
  }
  // Jobs of one program with a batch size are alike.
  EXPECT_EQ(after->workload.jobs.at(0).signature, after->workload.jobs.at(2).signature);
  EXPECT_EQ(after->workload.signatures.size(), 2U);
}

TEST(WorkloadFromTrace, GeneratedTrace_ComesBackAsItWas) {
  // Generating, writing, reading and simulating see the same jobs, shifted to the first submission.
  job::GenerateOptions options;
  options.jobs = 200;
  options.seed = 5;
  options.duration_max = Duration::milliseconds(7200000);
  options.arrivals.gap = Duration::milliseconds(10000);
  options.gang_share = 0.2;
  const auto generated = job::generate_workload(options);
  ASSERT_TRUE(generated) << generated.error().message;
  const std::string text = trace_csv(trace_of_workload(*generated));
  const auto import = import_trace({text, "g.csv"}, {});
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_TRUE(import->findings.empty());
  const auto made = workload_from_trace(import->trace, {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->findings.empty());
  EXPECT_EQ(made->jobs_measured, 200);
  ASSERT_EQ(made->workload.jobs.size(), 200U);
  const Duration shift = generated->jobs.front().submit - SimTime();
  for (std::size_t i = 0; i < 200; ++i) {
    const job::JobSpec& was = generated->jobs[i];
    const job::JobSpec& is = made->workload.jobs[i];
    EXPECT_EQ(is.name, was.name);
    EXPECT_EQ(is.work, was.work);
    EXPECT_EQ(is.gpus, was.gpus);
    EXPECT_EQ(is.submit + shift, was.submit);
    EXPECT_EQ(signature_of(*made, i).name,
              generated->signatures.at(static_cast<std::size_t>(was.signature.value())).name);
  }
}

TEST(WorkloadFromTrace, ConvertedTraces_AreSimulatedWhole) {
  // Every job of the demo trace and of the measured ones becomes a job; memory stays as measured.
  SEPTULE_REQUIRE_SHARED(folder, "data/traces");
  for (const auto& [file, jobs] : {std::pair{"demo_itp02_4weeks.csv", 2438U},
                                   std::pair{"carma_t1.csv", 60U},
                                   std::pair{"shockwave_220.csv", 220U}}) {
    const std::string text = test::read_file(folder / file);
    const auto import = import_trace({text, file}, {});
    ASSERT_TRUE(import) << import.error().message;
    const auto made = workload_from_trace(import->trace, {});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->workload.jobs.size(), jobs) << file;
    EXPECT_TRUE(made->findings.empty()) << file;
    for (std::size_t i = 0; i < import->trace.jobs.size(); ++i) {
      EXPECT_EQ(made->workload.jobs.at(i).memory, import->trace.jobs.at(i).gpu_memory);
    }
  }
}

}  // namespace
}  // namespace septule::interop
