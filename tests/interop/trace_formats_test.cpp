#include "interop/trace_formats.hpp"

#include <map>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/interop_support.hpp"
#include "support/read_file.hpp"

namespace septule::interop {
namespace {

using test::refusal;
using ::testing::HasSubstr;

Result<TraceImport> read(std::string_view text, std::optional<TraceFormat> format = std::nullopt) {
  return import_trace({text, "trace"}, {.format = format});
}

std::string fixture(std::string_view name) {
  return test::read_file(fmt::format("{}/tests/golden/fixtures/{}", SEPTULE_SOURCE_DIR, name));
}

std::map<TraceFindingKind, std::int64_t> counts_of(const TraceImport& import) {
  std::map<TraceFindingKind, std::int64_t> counts;
  for (const TraceFinding& finding : import.findings) {
    counts[finding.kind] = finding.count;
  }
  return counts;
}

using Counts = std::map<TraceFindingKind, std::int64_t>;
using Kind = TraceFindingKind;

TEST(TraceFormat, Names_ReadBack) {
  // Names are what --format takes.
  for (int i = 0; i < kTraceFormatCount; ++i) {
    const auto format = static_cast<TraceFormat>(i);
    EXPECT_EQ(parse_trace_format(trace_format_name(format)), format);
  }
  EXPECT_EQ(parse_trace_format("pbs"), std::nullopt);
}

TEST(DetectTraceFormat, EachFixture_IsRecognised) {
  // Also with a byte order mark, CRLF and blank lines before.
  const std::pair<const char*, TraceFormat> cases[] = {{"philly.json", TraceFormat::kPhilly},
                                                       {"helios.csv", TraceFormat::kHelios},
                                                       {"seren.csv", TraceFormat::kAcmeSeren},
                                                       {"kalos.csv", TraceFormat::kAcmeKalos},
                                                       {"openb.csv", TraceFormat::kOpenb},
                                                       {"small.swf", TraceFormat::kSwf},
                                                       {"sacct.txt", TraceFormat::kSacct},
                                                       {"odd_trace.csv", TraceFormat::kSeptule}};
  for (const auto& [name, format] : cases) {
    const std::string text = fixture(name);
    ASSERT_FALSE(text.empty()) << name;
    for (const std::string& form : {text, "\xEF\xBB\xBF" + text, "\r\n\n" + text}) {
      const auto found = detect_trace_format({form, name});
      ASSERT_TRUE(found) << name << ": " << found.error().message;
      EXPECT_EQ(*found, format) << name;
    }
  }
  EXPECT_EQ(*detect_trace_format({"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n", "x"}),
            TraceFormat::kSwf);
}

TEST(DetectTraceFormat, OtherTexts_AreRefusedWithTheReason) {
  // A guess that is wrong would be worse than a question.
  EXPECT_THAT(refusal(detect_trace_format({"a,b\n1,2\n", "x"})), HasSubstr("say it with --format"));
  EXPECT_THAT(refusal(detect_trace_format({"\x1F\x8B\x08", "x"})), HasSubstr("gunzip"));
  EXPECT_THAT(refusal(detect_trace_format({"PK\x03\x04", "x"})), HasSubstr("zip"));
  EXPECT_THAT(refusal(detect_trace_format({"sn,cpu_milli,memory_mib,gpu,model\n", "x"})),
              HasSubstr("list of pods"));
  EXPECT_THAT(refusal(detect_trace_format({" \n\n", "x"})), HasSubstr("empty"));
  EXPECT_THAT(refusal(detect_trace_format({"1 2 3\n", "x"})), HasSubstr("not clear"));
}

TEST(ImportTrace, Philly_TakesLastAttemptAndSumOfAttempts) {
  // GPUs of the last attempt, duration of all; what never ran, repeats or cannot be read is told.
  const auto import = read(fixture("philly.json"));
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_EQ(import->rows, 7);
  EXPECT_EQ(import->dropped, 3);
  ASSERT_EQ(import->trace.jobs.size(), 4U);
  const TraceJob& job = import->trace.jobs.at(1);
  EXPECT_EQ(job.id, "application_1");
  EXPECT_EQ(job.line, 2);
  EXPECT_EQ(job.submit, SimTime() + Duration::milliseconds(3761000));
  EXPECT_EQ(job.duration, Duration::milliseconds(4200000));
  EXPECT_EQ(job.gpus, GpuMilli(3000));
  EXPECT_EQ(job.queue, Duration::milliseconds(30000));
  EXPECT_EQ(job.status, "pass");
  EXPECT_EQ(counts_of(*import),
            (Counts{{Kind::kUnreadableCell, 2},
                    {Kind::kDuplicateId, 1},
                    {Kind::kNeverScheduled, 2},
                    {Kind::kBadAttempt, 1},
                    {Kind::kUnordered, 1}}));
}

TEST(ImportTrace, PhillyThatIsNoListOfJobs_IsRefused) {
  // Broken JSON, another shape, nesting, nothing at all.
  const auto message = [](std::string_view text) {
    return refusal(read(text, TraceFormat::kPhilly));
  };
  EXPECT_THAT(message("{}"), HasSubstr("expected a list of jobs"));
  EXPECT_THAT(message("17"), HasSubstr("expected a list of jobs"));
  EXPECT_THAT(message("[]"), HasSubstr("no jobs"));
  EXPECT_THAT(message("[{\"jobid\": \"a\""), HasSubstr("ends in the middle"));
  EXPECT_THAT(message("[\n{},\n{]"), HasSubstr("trace:3: not valid JSON"));
  EXPECT_THAT(message("[" + std::string(100, '[') + std::string(101, ']')), HasSubstr("nested"));
}

TEST(ImportTrace, PhillyElementsThatAreNoJobs_AreCounted) {
  // Each element of the list is a row, whatever it is.
  const auto import =
      read(R"([1, "x", null, true, [], [1], {"submitted_time": 7}, {}])", TraceFormat::kPhilly);
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_EQ(import->rows, 8);
  EXPECT_EQ(import->dropped, 8);
  EXPECT_EQ(counts_of(*import), (Counts{{Kind::kUnreadableCell, 7}, {Kind::kNoSubmission, 1}}));
}

TEST(ImportTrace, PhillyWithLongAttempts_DoesNotOverflow) {
  // Sums of attempts end at the limit of a duration, far below what a Duration holds.
  std::string text = R"([{"jobid": "a", "submitted_time": "2017-01-01 00:00:00", "attempts": [)";
  for (int i = 0; i < 100; ++i) {
    text += i == 0 ? "" : ",";
    text += R"({"start_time": "1970-01-01 00:00:00", "end_time": "2096-01-01 00:00:00"})";
  }
  const auto import = read(text + "]}]", TraceFormat::kPhilly);
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_EQ(counts_of(*import), (Counts{{Kind::kAbsurdDuration, 1}}));
}

TEST(ImportTrace, Helios_KeepsCpuJobsAndCountsThoseThatNeverRan) {
  // gpu_num 0 is a CPU job; a start of None means that it was cancelled in the queue.
  const auto import = read(fixture("helios.csv"));
  ASSERT_TRUE(import) << import.error().message;
  ASSERT_EQ(import->trace.jobs.size(), 5U);
  EXPECT_EQ(import->trace.jobs.at(0).id, "1");
  EXPECT_EQ(import->trace.jobs.at(0).gpus, GpuMilli(8000));
  EXPECT_EQ(import->trace.jobs.at(2).gpus, GpuMilli(0));
  EXPECT_EQ(import->trace.jobs.at(3).duration, std::nullopt);
  EXPECT_EQ(import->trace.jobs.at(3).queue, Duration::milliseconds(180000));
  EXPECT_EQ(counts_of(*import),
            (Counts{{Kind::kEndBeforeStart, 1},
                    {Kind::kNeverScheduled, 1},
                    {Kind::kCpuOnly, 1},
                    {Kind::kUnordered, 1}}));
}

TEST(ImportTrace, Acme_HonoursOffsets) {
  // 08:00 at +08:00 is one minute before 00:01 UTC.
  const auto seren = read(fixture("seren.csv"));
  ASSERT_TRUE(seren) << seren.error().message;
  EXPECT_TRUE(seren->findings.empty());
  EXPECT_EQ(seren->trace.jobs.at(0).id, "ta1");
  EXPECT_EQ(seren->trace.jobs.at(0).app, "Pretrain");
  EXPECT_EQ(seren->trace.jobs.at(1).submit, SimTime() + Duration::milliseconds(60000));
  EXPECT_EQ(seren->trace.jobs.at(1).gpus, GpuMilli(1000));
  const auto kalos = read(fixture("kalos.csv"));
  ASSERT_TRUE(kalos) << kalos.error().message;
  EXPECT_EQ(kalos->trace.jobs.at(0).duration, Duration::milliseconds(47000));
  EXPECT_EQ(counts_of(*kalos), (Counts{{Kind::kNeverScheduled, 1}}));
}

TEST(ImportTrace, Openb_KeepsSharesAndModels) {
  // gpu_milli counts only where one GPU is asked for; several are whole ones.
  const auto import = read(fixture("openb.csv"));
  ASSERT_TRUE(import) << import.error().message;
  const std::vector<TraceJob>& jobs = import->trace.jobs;
  ASSERT_EQ(jobs.size(), 5U);
  EXPECT_EQ(jobs[1].gpus, GpuMilli(460));
  EXPECT_EQ(jobs[1].gpu_model, "V100M16|V100M32");
  EXPECT_EQ(jobs[1].duration, Duration::milliseconds(590000));
  EXPECT_EQ(jobs[1].queue, Duration::milliseconds(10000));
  EXPECT_EQ(jobs[1].cpus, 6.0);
  EXPECT_EQ(jobs[1].host_memory, Bytes::mebibytes(12288));
  EXPECT_EQ(jobs[3].gpus, GpuMilli(8000));
  EXPECT_EQ(counts_of(*import),
            (Counts{{Kind::kNeverScheduled, 1}, {Kind::kZeroMemory, 1}, {Kind::kCpuOnly, 1}}));
}

TEST(ImportTrace, Swf_TakesProcessorsForGpus) {
  // -1 is unknown; requested processors come before allocated ones; several may be one GPU.
  const auto import = read(fixture("small.swf"));
  ASSERT_TRUE(import) << import.error().message;
  ASSERT_EQ(import->trace.jobs.size(), 4U);
  EXPECT_EQ(import->trace.jobs[0].gpus, GpuMilli(8000));
  EXPECT_EQ(import->trace.jobs[0].queue, Duration::milliseconds(5000));
  EXPECT_EQ(import->trace.jobs[1].duration, std::nullopt);
  EXPECT_EQ(import->trace.jobs[3].gpus, GpuMilli(2000));
  EXPECT_EQ(import->trace.jobs[3].host_memory, Bytes::mebibytes(2048));
  EXPECT_EQ(counts_of(*import),
            (Counts{{Kind::kRaggedRow, 1}, {Kind::kNeverScheduled, 1}, {Kind::kZeroDuration, 1}}));
  const std::string text = fixture("small.swf");
  const auto fourth = import_trace({text, "x"}, {.processors_per_gpu = 4});
  ASSERT_TRUE(fourth);
  EXPECT_EQ(fourth->trace.jobs[0].gpus, GpuMilli(2000));
  EXPECT_EQ(fourth->trace.jobs[3].gpus, GpuMilli(1000));
}

constexpr std::string_view kSacctHeading = "JobID|Submit|Start|End|Elapsed|AllocTRES|State\n";

TEST(ImportTrace, Sacct_TakesGpusOfTresAndToldTimes) {
  // The plain count comes before those of types; Unknown = never ran; ids stay text.
  const auto import = read(fixture("sacct.txt"));
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_EQ(import->rows, 10);
  const std::vector<TraceJob>& jobs = import->trace.jobs;
  ASSERT_EQ(jobs.size(), 7U);
  EXPECT_EQ(jobs[0].gpus, GpuMilli(2000));
  EXPECT_EQ(jobs[0].gpu_model, "a100");
  EXPECT_EQ(jobs[0].duration, Duration::milliseconds(3600000));
  EXPECT_EQ(jobs[0].queue, Duration::milliseconds(30000));
  EXPECT_EQ(jobs[0].vc, "gpu");
  EXPECT_EQ(jobs[1].id, "4002_1");
  EXPECT_EQ(jobs[1].host_memory, Bytes::mebibytes(16000));
  EXPECT_EQ(jobs[2].gpus, GpuMilli(0));
  EXPECT_EQ(jobs[3].status, "cancelled");
  EXPECT_EQ(jobs[3].duration, std::nullopt);
  EXPECT_EQ(jobs[4].gpus, GpuMilli(2000));
  EXPECT_EQ(jobs[4].gpu_model, "a100|v100");
  EXPECT_EQ(jobs[4].host_memory, std::nullopt);
  EXPECT_EQ(jobs[6].id, "4007_[2-9]");
  EXPECT_EQ(counts_of(*import),
            (Counts{{Kind::kRaggedRow, 1},
                    {Kind::kUnreadableCell, 1},
                    {Kind::kJobStep, 1},
                    {Kind::kNeverScheduled, 2},
                    {Kind::kStillRunning, 1},
                    {Kind::kCpuOnly, 1}}));
}

TEST(ImportTrace, SacctColumns_MayBeFewAndInAnyOrder) {
  // sacct -p ends lines with a '|'; Elapsed has days; ReqTRES stands in for an empty AllocTRES.
  const auto import = read(
      "reqtres|ALLOCTRES|Elapsed|Start|Submit|JobIDRaw|\n"
      "gres/gpu=4||1-00:00:10|2026-03-02T08:00:00|2026-03-02T08:00:00|7|\n"
      "gres/gpu=4|cpu=1|00:01:00|2026-03-02T08:00:00|2026-03-02T08:00:00|8|\n");
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_EQ(import->trace.jobs.at(0).id, "7");
  EXPECT_EQ(import->trace.jobs.at(0).gpus, GpuMilli(4000));
  EXPECT_EQ(import->trace.jobs.at(0).duration, Duration::milliseconds(86410000));
  EXPECT_EQ(import->trace.jobs.at(1).gpus, GpuMilli(0));
  EXPECT_EQ(counts_of(*import).count(Kind::kUnknownColumn), 0U);
}

TEST(ImportTrace, SacctMemory_HasUnitsAndIsForEachCpuOrNode) {
  // Until Slurm 21.08 ReqMem ended in c or n; a bare number is MiB; 0 is not known.
  const std::pair<const char*, std::optional<Bytes>> cases[] = {{"4G", Bytes::mebibytes(4096)},
                                                                {"4Gc", Bytes::mebibytes(16384)},
                                                                {"2Gn", Bytes::mebibytes(4096)},
                                                                {"512", Bytes::mebibytes(512)},
                                                                {"2048K", Bytes::mebibytes(2)},
                                                                {"0", std::nullopt},
                                                                {"much", std::nullopt},
                                                                {"c", std::nullopt}};
  for (const auto& [text, memory] : cases) {
    const auto import =
        read(fmt::format("JobID|Submit|Start|ElapsedRaw|AllocTRES|ReqMem\n"
                         "1|2026-03-02T08:00:00|2026-03-02T08:00:00|5|cpu=4,node=2|{}\n",
                         text));
    ASSERT_TRUE(import) << import.error().message;
    EXPECT_EQ(import->trace.jobs.at(0).host_memory, memory) << text;
  }
}

TEST(ImportTrace, SacctTextsThatAreNone_AreRefusedWithTheReason) {
  // Each needed column is named; what is printed for people cannot be read.
  const auto message = [](std::string_view text) {
    return refusal(read(text, TraceFormat::kSacct));
  };
  EXPECT_THAT(message("a|b\n1|2\n"), HasSubstr("no column JobID; expected the output of sacct"));
  EXPECT_THAT(message("JobID|Start|End|AllocTRES\n"), HasSubstr("no column Submit"));
  EXPECT_THAT(message("JobID|Submit|End|AllocTRES\n"), HasSubstr("no column Start"));
  EXPECT_THAT(message("JobID|Submit|Start|AllocTRES\n"), HasSubstr("no column End, ElapsedRaw"));
  EXPECT_THAT(message("JobID|Submit|Start|End\n"), HasSubstr("no column AllocTRES or ReqTRES"));
  EXPECT_THAT(message("JobID|JobID|Submit\n"), HasSubstr("JobID is there twice"));
  EXPECT_THAT(message(kSacctHeading), HasSubstr("no jobs"));
  EXPECT_THAT(message(std::string(300, '|')), HasSubstr("more than 256 columns"));
  EXPECT_THAT(refusal(read("JobID      User    State\n----- ---- ----\n")), HasSubstr("sacct -P"));
}

TEST(ImportTrace, SacctRows_ThatNeverRanOrCannotBeRead_AreTold) {
  // Each odd row by itself: what becomes of it.
  const std::pair<const char*, Kind> cases[] = {
      {"1|2026-03-02T08:00:00|Unknown|Unknown|00:00:00|gres/gpu=1|PENDING", Kind::kNeverScheduled},
      {"1|2026-03-02T08:00:00|None|2026-03-02T08:01:00|00:00:00|gres/gpu=1|CANCELLED by 7",
       Kind::kNeverScheduled},
      {"1|2026-03-02T08:00:00|2026-03-02T08:01:00|2026-03-02T08:01:00|00:00:00|gres/gpu=1|"
       "CANCELLED",
       Kind::kNeverScheduled},
      {"1|2026-03-02T08:00:00|2026-03-02T08:01:00|2026-03-02T08:01:00|00:00:00|gres/gpu=1|FAILED",
       Kind::kZeroDuration},
      {"1|2026-03-02T08:00:00|2026-03-02T08:01:00|Unknown|00:05:00|gres/gpu=1|RUNNING",
       Kind::kStillRunning},
      {"1|Unknown|2026-03-02T08:01:00|Unknown|00:05:00|gres/gpu=1|FAILED", Kind::kNoSubmission},
      {"1|2026-03-02|2026-03-02T08:01:00|Unknown|00:05:00|gres/gpu=1|FAILED",
       Kind::kUnreadableCell},
      {"1|2026-03-02T08:00:00|2026-03-02T08:01:00|Unknown|5 min|gres/gpu=1|FAILED",
       Kind::kUnreadableCell},
      {"1|2026-03-02T08:00:00|2026-03-02T08:01:00|2026-03-02T08:02:00|00:01:00|gres/gpu=-1|FAILED",
       Kind::kBadGpuCount},
      {"1.0|2026-03-02T08:00:00|2026-03-02T08:01:00|2026-03-02T08:02:00|00:01:00||FAILED",
       Kind::kJobStep}};
  for (const auto& [text, kind] : cases) {
    const auto import = read(fmt::format("{}{}\n", kSacctHeading, text));
    ASSERT_TRUE(import) << import.error().message;
    EXPECT_EQ(counts_of(*import).count(kind), 1U) << text;
  }
}

TEST(ImportTrace, EveryOddRow_IsCountedOnceAndLocated) {
  // The whole list of faults of a table, each with the line where it stands.
  const auto import = read(fixture("odd_trace.csv"));
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_EQ(import->rows, 19);
  EXPECT_EQ(import->dropped, 7);
  std::map<Kind, int> line_of;
  for (const TraceFinding& finding : import->findings) {
    EXPECT_EQ(finding.count, 1) << trace_finding_name(finding.kind);
    ASSERT_EQ(finding.examples.size(), 1U);
    line_of[finding.kind] = finding.examples[0].line;
  }
  EXPECT_EQ(line_of,
            (std::map<Kind, int>{{Kind::kRaggedRow, 16},
                                 {Kind::kUnreadableCell, 15},
                                 {Kind::kNoSubmission, 14},
                                 {Kind::kDuplicateId, 12},
                                 {Kind::kNegativeDuration, 5},
                                 {Kind::kAbsurdDuration, 19},
                                 {Kind::kBadGpuCount, 18},
                                 {Kind::kNeverScheduled, 7},
                                 {Kind::kNoDuration, 8},
                                 {Kind::kZeroDuration, 6},
                                 {Kind::kNoId, 13},
                                 {Kind::kZeroMemory, 10},
                                 {Kind::kAbsurdMemory, 11},
                                 {Kind::kPartOfGpus, 17},
                                 {Kind::kStartBeforeSubmit, 20},
                                 {Kind::kCpuOnly, 9},
                                 {Kind::kUnordered, 4}}));
}

TEST(ImportTrace, MemoryBelowTheWrittenStep_IsUnknownAndReadsBack) {
  // 536 bytes and less would be written as 0 GiB, which no reader takes back.
  const std::pair<const char*, std::optional<Bytes>> cases[] = {
      {"0.0000004", std::nullopt}, {"0.0000005", Bytes(537)}, {"0.000001", Bytes(1074)}};
  for (const auto& [gibibytes, memory] : cases) {
    const auto import = read(fmt::format(
        "job_id,submit_s,duration_s,gpus,gpu_mem_gib,host_mem_gib\n1,0,5,1,{0},{0}\n", gibibytes));
    ASSERT_TRUE(import) << import.error().message;
    EXPECT_EQ(import->trace.jobs.at(0).gpu_memory, memory) << gibibytes;
    EXPECT_EQ(import->trace.jobs.at(0).host_memory, memory) << gibibytes;
    const std::string text = trace_csv(import->trace);
    const auto back = read(text);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(trace_csv(back->trace), text);
    EXPECT_EQ(counts_of(*back).count(Kind::kZeroMemory), 0U) << gibibytes;
  }
}

TEST(ImportTrace, Columns_MayBeMissingUnknownOrInAnotherOrder) {
  // Needed columns are asked for by name; others are taken as unknown, which is said once each.
  const auto import = read("GPUS,duration_s,submit_s,colour\n1,5,0,red\n");
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_EQ(import->trace.jobs.at(0).id, "row-2");
  EXPECT_EQ(counts_of(*import),
            (Counts{{Kind::kMissingColumn, 10}, {Kind::kUnknownColumn, 1}, {Kind::kNoId, 1}}));
  const auto minimal = read("job_id,submit_s,duration_s,gpus\na,0,5,1\n");
  ASSERT_TRUE(minimal) << minimal.error().message;
  EXPECT_TRUE(check_no_faults("x", minimal->findings));
  EXPECT_THAT(refusal(read("job_id,submit_s,duration_s\n1,0,5\n")), HasSubstr("no column gpus"));
  EXPECT_THAT(refusal(read("submit_s,submit_s,duration_s,gpus\n")), HasSubstr("there twice"));
  EXPECT_THAT(refusal(read("submit_s,duration_s,gpus\n")), HasSubstr("no jobs"));
  EXPECT_THAT(refusal(read("x,y\n", TraceFormat::kOpenb)), HasSubstr("a openb trace has"));
}

TEST(ImportTrace, Times_MayHaveDaysAndAClock) {
  // [D-]HH:MM:SS wherever seconds may stand; what is neither is told with what would be valid.
  const auto import = read(
      "job_id,submit_s,duration_s,gpus,queue_s\n"
      "a,00:00:10,1-02:00:00,1,0:01:00\n"
      "b,70,36:00:00,1,\n"
      "c,80,5 min,1,\n");
  ASSERT_TRUE(import) << import.error().message;
  ASSERT_EQ(import->trace.jobs.size(), 2U);
  EXPECT_EQ(import->trace.jobs[0].duration, Duration::milliseconds(93600000));
  EXPECT_EQ(import->trace.jobs[0].queue, Duration::milliseconds(60000));
  EXPECT_EQ(import->trace.jobs[1].submit, SimTime() + Duration::milliseconds(60000));
  EXPECT_EQ(import->trace.jobs[1].duration, Duration::milliseconds(129600000));
  for (const TraceFinding& finding : import->findings) {
    if (finding.kind == Kind::kUnreadableCell) {
      EXPECT_THAT(finding.examples.at(0).text, HasSubstr("expected seconds or [D-]HH:MM:SS"));
    }
  }
  EXPECT_EQ(import->dropped, 1);
}

TEST(ImportTrace, Details_ThatCannotBeRead_AreTakenAsUnknown) {
  // Only a value without which the row says nothing drops it.
  const auto import = read(
      "job_id,submit_s,duration_s,gpus,gpu_mem_gib,queue_s,cpus,user\n"
      "a,0,5,1,lots,soon,-3,u\n"
      "b,0,5,1,,,,\"u\n1\"\n");
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_EQ(import->dropped, 0);
  EXPECT_EQ(import->trace.jobs.at(0).gpu_memory, std::nullopt);
  EXPECT_EQ(import->trace.jobs.at(0).cpus, std::nullopt);
  EXPECT_EQ(import->trace.jobs.at(1).user, "");
  EXPECT_EQ(counts_of(*import).at(Kind::kUnreadableDetail), 4);
}

TEST(ImportTrace, DetailWithControlCharacters_ReachesNoMessage) {
  // The status of a job without duration is shown; one with a line break must not break the line.
  const auto import = read("job_id,submit_s,duration_s,gpus,status\na,0,,1,\"run\rning\"\n");
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_EQ(counts_of(*import).at(Kind::kNoDuration), 1);
  EXPECT_EQ(counts_of(*import).at(Kind::kUnreadableDetail), 1);
  for (const TraceFinding& finding : import->findings) {
    EXPECT_EQ(trace_finding_message("t", finding).find('\r'), std::string::npos);
  }
}

TEST(ImportTrace, ManyRows_AreReadBeyondTheLimitsOfOtherTables) {
  // 50,000 rows and more than a megabyte: traces have limits of their own.
  std::string text = "job_id,submit_s,duration_s,gpus,user\n";
  for (int i = 0; i < 50000; ++i) {
    text += fmt::format("a-rather-long-job-id-{},{},60,1,u{}\n", i, i, i % 7);
  }
  ASSERT_GT(text.size(), kInputBytesMax);
  const auto import = read(text);
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_EQ(import->trace.jobs.size(), 50000U);
}

TEST(CheckNoFaults, OnlyNotedFindings_Pass) {
  // --strict refuses what is dropped, repaired or unusable, and names the first line of each.
  const auto odd = read(fixture("odd_trace.csv"));
  const auto good = read(fixture("seren.csv"));
  ASSERT_TRUE(odd);
  ASSERT_TRUE(good);
  EXPECT_TRUE(check_no_faults("x", good->findings));
  const Status status = check_no_faults("x", odd->findings);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("1 x negative-duration (first in line 5)"));
  EXPECT_THAT(status.error().message, ::testing::Not(HasSubstr("cpu-only")));
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidInput);
}

TEST(TraceFindings, EveryKind_HasNameTextAndEffect) {
  // One table behind messages, documents and --strict; names are unique.
  std::map<std::string_view, int> names;
  for (int i = 0; i < kTraceFindingKindCount; ++i) {
    const auto kind = static_cast<Kind>(i);
    ++names[trace_finding_name(kind)];
    EXPECT_FALSE(trace_finding_text(kind).empty());
    EXPECT_FALSE(trace_effect_name(trace_finding_effect(kind)).empty());
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kTraceFindingKindCount));
}

}  // namespace
}  // namespace septule::interop
