#include "interop/trace_phases.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
// clang-format off: needs the names of GoogleTest
#include <rapidcheck/gtest.h>
// clang-format on

#include "interop/limits.hpp"
#include "interop/trace_findings.hpp"
#include "interop/trace_formats.hpp"
#include "interop/trace_workload.hpp"

namespace septule::interop {
namespace {

using ::testing::HasSubstr;
using Kind = TraceFindingKind;

constexpr std::string_view kHeading = "job_id,submit_s,duration_s,gpus,app,priority,phases\n";

std::string refusal(std::string_view text) {
  const auto phases = parse_phases(text, phase_signature_names({}));
  return phases.has_value() ? std::string() : phases.error().message;
}

TraceImport read(std::string_view rows) {
  auto import = import_trace({fmt::format("{}{}", kHeading, rows), "t.csv"},
                             {.format = TraceFormat::kSeptule});
  EXPECT_TRUE(import) << import.error().message;
  return std::move(*import);
}

/// Findings about priorities and phases, with their messages.
std::map<Kind, std::string> messages_of(const std::vector<TraceFinding>& findings) {
  std::map<Kind, std::string> messages;
  for (const TraceFinding& finding : findings) {
    if (finding.kind == Kind::kBadPriority || finding.kind == Kind::kBadPhases) {
      messages[finding.kind] = trace_finding_message("t.csv", finding);
    }
  }
  return messages;
}

TEST(ParsePriority, WholeNumbersInRange_AreRead) {
  // Aim: every whole number of the range, also as spreadsheets write it, and nothing else.
  for (int priority = -kTracePriorityMax; priority <= kTracePriorityMax; ++priority) {
    EXPECT_EQ(parse_priority(fmt::format("{}", priority)), priority);
    EXPECT_EQ(parse_priority(fmt::format("{}.0", priority)), priority);
  }
  for (const char* text : {"", "1001", "-1001", "0.5", "1e300", "nan", "high", "1 2", "--1"}) {
    EXPECT_EQ(parse_priority(text), std::nullopt) << text;
  }
}

TEST(ParsePhases, OneAndSeveral_AreRead) {
  // Aim: fractions and names, blanks and other spellings of names included.
  const auto names = phase_signature_names({});
  const auto one = parse_phases("0.5=resnet:256", names);
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_EQ(one->size(), 1U);
  EXPECT_EQ(one->front().begins_at, 0.5);
  EXPECT_EQ(one->front().signature, "resnet:256");
  const auto two = parse_phases(" 0.25 = ResNet|bs64 ; 0.75=GNN (batch size 64) ", names);
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(phases_text(*two), "0.25=resnet:64;0.75=gnn:64");
  EXPECT_EQ(phases_text({}), "");
}

TEST(ParsePhases, OwnNames_AreKnownBesideTheBuiltInOnes) {
  // Aim: names handed over are taken as normalised_app() writes them; names ascend, each once.
  const std::vector<std::string> own = {"MyNet:8", "resnet:64"};
  const auto names = phase_signature_names(own);
  EXPECT_EQ(names.size(), 33U);
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_TRUE(parse_phases("0.5=mynet:8", names));
  EXPECT_FALSE(parse_phases("0.5=mynet:8", phase_signature_names({})));
}

TEST(ParsePhases, OtherTexts_AreRefusedWithPlaceValueAndWhatIsValid) {
  // Aim: each fault names the phase, the value and what would be valid.
  EXPECT_EQ(refusal("resnet:64"),
            "phase 1 is \"resnet:64\"; expected FRACTION=SIGNATURE, as in 0.5=resnet:64");
  EXPECT_EQ(refusal("half=resnet:64"),
            "phase 1 is \"half=resnet:64\"; expected FRACTION=SIGNATURE, as in 0.5=resnet:64");
  EXPECT_EQ(refusal("0.5=resnet:64;"),
            "phase 2 is \"\"; expected FRACTION=SIGNATURE, as in 0.5=resnet:64");
  EXPECT_EQ(refusal("0=resnet:64"), "phase 1 begins at 0; expected a fraction above 0 and below 1");
  EXPECT_EQ(refusal("1=resnet:64"), "phase 1 begins at 1; expected a fraction above 0 and below 1");
  EXPECT_EQ(refusal("0.5=resnet:64;0.5=gnn:64"),
            "phase 2 begins at 0.5; expected a fraction above 0.5 and below 1");
  EXPECT_THAT(refusal("0.5=resnt:64"), HasSubstr("phase 1: unknown signature \"resnt:64\""));
  EXPECT_THAT(refusal("0.5=resnt:64"), HasSubstr("resnet:64"));
  EXPECT_THAT(refusal("0.5="), HasSubstr("phase 1: unknown signature \"\""));
  EXPECT_THAT(refusal("nan=resnet:64"), HasSubstr("phase 1 is \"nan=resnet:64\""));
  EXPECT_EQ(refusal(std::string(kTracePhasesMax, ';')), "65 phases; expected at most 64");
  EXPECT_THAT(refusal("0.5=" + std::string(500, 'x')), ::testing::SizeIs(::testing::Lt(400U)));
}

TEST(CheckPhases, HandMadePhases_AreHeldToTheSame) {
  // Aim: what a text cannot state passes no other way.
  const auto names = phase_signature_names({});
  EXPECT_TRUE(check_phases({}, names));
  const std::vector<TracePhase> descending = {{0.6, "gnn:64"}, {0.3, "gnn:64"}};
  EXPECT_THAT(check_phases(descending, names).error().message, HasSubstr("begins at 0.3"));
  const std::vector<TracePhase> unknown = {{0.6, "none:1"}};
  EXPECT_THAT(check_phases(unknown, names).error().message, HasSubstr("unknown signature"));
  const std::vector<TracePhase> many(kTracePhasesMax + 1);
  EXPECT_THAT(check_phases(many, names).error().message, HasSubstr("65 phases"));
}

RC_GTEST_PROP(ParsePhases, AnyPhases_ReadBackExactly, ()) {
  // Aim: any ascending fractions survive their text, to the last bit.
  const auto names = phase_signature_names({});
  std::vector<TracePhase> phases;
  std::int64_t numerator = 0;
  constexpr std::int64_t kDenominator = 9007199254740991;
  const int count = *rc::gen::inRange(1, 20);
  for (int i = 0; i < count; ++i) {
    numerator += *rc::gen::inRange<std::int64_t>(1, kDenominator / 20 - 1);
    phases.push_back(
        {.begins_at = static_cast<double>(numerator) / static_cast<double>(kDenominator),
         .signature = *rc::gen::elementOf(names)});
  }
  const auto back = parse_phases(phases_text(phases), names);
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->size() == phases.size());
  for (std::size_t i = 0; i < phases.size(); ++i) {
    RC_ASSERT((*back)[i].begins_at == phases[i].begins_at);
    RC_ASSERT((*back)[i].signature == phases[i].signature);
  }
}

TEST(ImportTrace, PriorityAndPhases_AreReadWhereTheyAreSaid) {
  // Aim: empty cells say nothing; nothing is said about columns that are not there.
  const TraceImport import = read(
      "a,0,5,1,resnet:64,3,0.5=resnet:256;0.8=gnn:64\n"
      "b,1,5,1,,,\n"
      "c,2,5,1,,-1000,None\n");
  EXPECT_EQ(import.dropped, 0);
  EXPECT_TRUE(messages_of(import.findings).empty());
  EXPECT_EQ(import.trace.jobs[0].priority, 3);
  EXPECT_EQ(phases_text(import.trace.jobs[0].phases), "0.5=resnet:256;0.8=gnn:64");
  EXPECT_EQ(import.trace.jobs[1].priority, std::nullopt);
  EXPECT_TRUE(import.trace.jobs[1].phases.empty());
  EXPECT_EQ(import.trace.jobs[2].priority, -1000);
  const auto plain = import_trace({fmt::format("{}\na,0,5,1,,,,,,,,,\n", kTraceHeading), "t"}, {});
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->findings.empty());
}

TEST(ImportTrace, OddPrioritiesAndPhases_AreCountedLocatedAndStrictlyRefused) {
  // Aim: the row stays, its value is taken as not said; what, where, which value, what is valid.
  const TraceImport import = read(
      "a,0,5,1,,urgent,\n"
      "b,1,5,1,,1001,0.9=resnet:64;0.2=gnn:64\n"
      "c,2,5,1,,,0.5=resnt:64\n");
  EXPECT_EQ(import.trace.jobs.size(), 3U);
  for (const TraceJob& job : import.trace.jobs) {
    EXPECT_EQ(job.priority, std::nullopt);
    EXPECT_TRUE(job.phases.empty());
  }
  const auto messages = messages_of(import.findings);
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(
      messages.at(Kind::kBadPriority),
      "t.csv: 2 rows repaired: a priority that is no whole number from -1000 to 1000; taken as "
      "not said: line 2 (job \"a\": \"urgent\"), line 3 (job \"b\": \"1001\")");
  EXPECT_THAT(messages.at(Kind::kBadPhases),
              HasSubstr("line 3 (job \"b\": phase 2 begins at 0.2; expected a fraction above 0.9 "
                        "and below 1), line 4 (job \"c\": phase 1: unknown signature"));
  const Status strict = check_no_faults("t.csv", import.findings);
  ASSERT_FALSE(strict);
  EXPECT_THAT(strict.error().message, HasSubstr("2 x bad-priority (first in line 2)"));
  EXPECT_THAT(strict.error().message, HasSubstr("2 x bad-phases (first in line 3)"));
}

TEST(ImportTrace, OtherFormats_HaveNoSuchColumns) {
  // Aim: a column named like ours in the log of a cluster is theirs, and is not used.
  const auto import = import_trace({"gpu_num,submit_time,duration,priority\n1,0,5,high\n", "h.csv"},
                                   {.format = TraceFormat::kHelios});
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_EQ(import->trace.jobs.at(0).priority, std::nullopt);
  EXPECT_TRUE(messages_of(import->findings).empty());
}

TEST(TraceCsv, PriorityAndPhases_AreWrittenOnlyWhereAJobHasThem) {
  // Aim: other traces keep their thirteen columns byte for byte; each column comes on its own.
  Trace trace;
  trace.jobs.resize(2);
  trace.jobs[0].id = "a";
  trace.jobs[1].id = "b";
  EXPECT_EQ(trace_csv(trace), fmt::format("{}\na,0,,,,,,,,,,,\nb,0,,,,,,,,,,,\n", kTraceHeading));
  trace.jobs[1].priority = -2;
  EXPECT_EQ(trace_csv(trace),
            fmt::format("{},priority\na,0,,,,,,,,,,,,\nb,0,,,,,,,,,,,,-2\n", kTraceHeading));
  trace.jobs[0].phases = {{0.5, "gnn:64"}};
  EXPECT_EQ(trace_csv(trace),
            fmt::format("{},priority,phases\na,0,,,,,,,,,,,,,0.5=gnn:64\nb,0,,,,,,,,,,,,-2,\n",
                        kTraceHeading));
  trace.jobs[1].priority.reset();
  EXPECT_EQ(trace_csv(trace),
            fmt::format("{},phases\na,0,,,,,,,,,,,,0.5=gnn:64\nb,0,,,,,,,,,,,,\n", kTraceHeading));
}

TEST(WorkloadFromTrace, PriorityAndPhases_ReachTheJobs) {
  // Aim: phases share the signatures of jobs that run them; a priority not said is 0.
  const TraceImport import = read(
      "a,0,5,1,resnet:64,3,0.5=gnn:64;0.75=resnet:64\n"
      "b,1,5,1,gnn:64,,\n"
      "c,2,5,0.5,other:3,-7,0.1=bert:4\n");
  const auto made = workload_from_trace(import.trace, {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->findings.empty());
  const auto& jobs = made->workload.jobs;
  EXPECT_EQ(jobs[0].priority, 3);
  EXPECT_EQ(jobs[1].priority, 0);
  EXPECT_EQ(jobs[2].priority, -7);
  ASSERT_EQ(jobs[0].phases.size(), 2U);
  EXPECT_EQ(jobs[0].phases[0].begins_at, 0.5);
  EXPECT_EQ(jobs[0].phases[0].signature, jobs[1].signature);
  EXPECT_EQ(jobs[0].phases[1].signature, jobs[0].signature);
  EXPECT_TRUE(jobs[1].phases.empty());
  ASSERT_EQ(jobs[2].phases.size(), 1U);
  EXPECT_EQ(
      made->workload.signatures.at(static_cast<std::size_t>(jobs[2].phases[0].signature.value()))
          .name,
      "bert:4");
  EXPECT_TRUE(job::check_workload(made->workload));
}

TEST(WorkloadFromTrace, HandMadePhases_AreCheckedAgain) {
  // Aim: phases that no file could state are left out and counted, and strictly refused.
  TraceImport import = read("a,0,5,1,,,\n");
  import.trace.jobs[0].phases = {{0.5, "mynet:8"}};
  const auto made = workload_from_trace(import.trace, {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->workload.jobs.at(0).phases.empty());
  EXPECT_THAT(messages_of(made->findings).at(Kind::kBadPhases), HasSubstr("\"mynet:8\""));
  EXPECT_FALSE(
      workload_from_trace(import.trace, {.strictness = TraceStrictness::kStrict}).has_value());
}

job::PerfSignature own_signature(std::string name) {
  job::PerfSignature signature;
  signature.name = std::move(name);
  signature.memory = Bytes::mebibytes(1000);
  signature.synthetic = job::SyntheticResponse{.saturation = 0.5, .bound = job::Bound::kMemory};
  return signature;
}

TEST(WorkloadFromTrace, OwnSignatures_StandBesideTheBuiltInOnes) {
  // Aim: app and phases find them whatever the letter case, and one of a built-in name replaces it.
  const std::vector<job::PerfSignature> own = {own_signature("MyNet:8"), own_signature("gnn:64")};
  const auto import =
      import_trace({fmt::format("{}a,0,5,1,mynet:8,,0.5=gnn:64\n"
                                "b,0,5,1,bert:2,,0.5=MYNET:8\n",
                                kHeading),
                    "t.csv"},
                   {.format = TraceFormat::kSeptule, .signatures = signature_names(own)});
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_TRUE(messages_of(import->findings).empty());
  const auto made = workload_from_trace(import->trace, {.signatures = own});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->findings.empty());
  EXPECT_EQ(made->jobs_measured, 2);
  const auto& signatures = made->workload.signatures;
  const auto& jobs = made->workload.jobs;
  ASSERT_EQ(signatures.size(), 3U);
  EXPECT_EQ(signatures[0].name, "MyNet:8");
  EXPECT_EQ(signatures[1].name, "gnn:64");
  EXPECT_TRUE(signatures[1].synthetic.has_value());
  EXPECT_EQ(signatures[2].name, "bert:2");
  EXPECT_EQ(jobs[1].phases.at(0).signature, jobs[0].signature);
  // Written and read again they are the same.
  const std::string text = trace_csv(trace_of_workload(made->workload));
  const auto back = import_trace({text, "t.csv"}, {.signatures = signature_names(own)});
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(messages_of(back->findings).empty());
  EXPECT_EQ(trace_csv(back->trace), text);
}

TEST(WorkloadFromTrace, OwnSignaturesOfOneName_AreRefused) {
  // Aim: a trace could not tell them apart; the message names both.
  const TraceImport import = read("a,0,5,1,,,\n");
  const auto made = workload_from_trace(
      import.trace, {.signatures = {own_signature("x:1"), own_signature("X|bs1")}});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(made.error().message, HasSubstr("\"x:1\" and \"X|bs1\""));
}

TEST(WorkloadFromTrace, GeneratedPhasesAndPriorities_ComeBackAsTheyWere) {
  // Aim: generating, writing, reading and simulating see the same phases and priorities.
  job::GenerateOptions options;
  options.jobs = 300;
  options.seed = 9;
  options.duration_max = Duration::milliseconds(7200000);
  options.arrivals.gap = Duration::milliseconds(10000);
  options.gang_share = 0.1;
  options.phase_share = 0.4;
  options.priority_share = 0.3;
  const auto generated = job::generate_workload(options);
  ASSERT_TRUE(generated) << generated.error().message;
  const std::string text = trace_csv(trace_of_workload(*generated));
  const auto import = import_trace({text, "g.csv"}, {});
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_TRUE(import->findings.empty());
  EXPECT_EQ(trace_csv(import->trace), text);
  const auto made = workload_from_trace(import->trace, {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->findings.empty());
  ASSERT_EQ(made->workload.jobs.size(), generated->jobs.size());
  const auto name_of = [](const job::Workload& workload, job::SignatureIndex index) {
    return workload.signatures.at(static_cast<std::size_t>(index.value())).name;
  };
  int phases = 0;
  for (std::size_t i = 0; i < generated->jobs.size(); ++i) {
    const job::JobSpec& was = generated->jobs[i];
    const job::JobSpec& is = made->workload.jobs[i];
    EXPECT_EQ(is.priority, was.priority);
    ASSERT_EQ(is.phases.size(), was.phases.size());
    for (std::size_t j = 0; j < was.phases.size(); ++j) {
      EXPECT_EQ(is.phases[j].begins_at, was.phases[j].begins_at);
      EXPECT_EQ(name_of(made->workload, is.phases[j].signature),
                name_of(*generated, was.phases[j].signature));
      ++phases;
    }
  }
  EXPECT_GT(phases, 60);
}

}  // namespace
}  // namespace septule::interop
