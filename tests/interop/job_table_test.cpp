#include "interop/job_table.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
// clang-format off: needs the names of GoogleTest
#include <rapidcheck/gtest.h>
// clang-format on

#include "interop/interop_support.hpp"

namespace septule::interop {
namespace {

using test::model;
using test::profile_of;
using test::refusal;
using ::testing::HasSubstr;

Result<JobTable> read(std::string_view text, std::string_view key = "A100-40GB") {
  return parse_job_table({text, "jobs.csv"}, model(key));
}

double speed_of(const plan::JobSpeeds& job, const gpu::Geometry& geometry, std::string_view name) {
  return job.speed.at(static_cast<std::size_t>(profile_of(geometry, name).value()));
}

TEST(JobTable, PlainTable_GivesSpeedsByProfile) {
  // Shape columns fill the plain profiles, the rest of the profiles stays at "does not fit".
  const auto table =
      read("name,memory_gib,s7,s4,s3,s2,s1\nbert,9.5,1,0.8,0.7,0.5,0\nresnet,,1,,0.8,0.6,0.4\n");
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->jobs.size(), 2U);
  const gpu::Geometry& a100 = model("A100-40GB");
  EXPECT_EQ(table->jobs[0].name, "bert");
  EXPECT_EQ(table->jobs[0].memory, Bytes::mebibytes(9728));
  EXPECT_EQ(speed_of(table->jobs[0], a100, "4g.20gb"), 0.8);
  EXPECT_EQ(speed_of(table->jobs[0], a100, "1g.5gb"), 0);
  EXPECT_EQ(speed_of(table->jobs[1], a100, "1g.5gb"), 0.4);
  EXPECT_EQ(speed_of(table->jobs[1], a100, "4g.20gb"), 0);
  EXPECT_EQ(speed_of(table->jobs[1], a100, "1g.10gb"), 0);
  EXPECT_EQ(table->jobs[1].memory, std::nullopt);
  EXPECT_EQ(table->jobs[1].weight, 1);
  EXPECT_TRUE(table->notes.empty());
}

TEST(JobTable, ProfileColumnsWithBomAndCrlf_AreRead) {
  // Real spreadsheets save a byte order mark and CRLF; columns may be named by profile.
  const auto table = read("\xEF\xBB\xBFName,weight,MIG 3g.20gb,1G.5GB+ME\r\na,2,0.7,1e-3\r\n\r\n");
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->jobs.size(), 1U);
  EXPECT_EQ(table->jobs[0].weight, 2);
  EXPECT_EQ(speed_of(table->jobs[0], model("A100-40GB"), "1g.5gb+me"), 0.001);
}

TEST(JobTable, ShapeThatTheGpuLacks_IsIgnoredWithNote) {
  // s7 and s3 are always accepted, so that one file serves several models.
  const auto table = read("name,s7,s4,s3,s2,s1\na,1,1,0.5,0.5,0.25\n", "A30-24GB");
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->notes.size(), 2U);
  EXPECT_THAT(table->notes[0], HasSubstr("column s7 is not used"));
  EXPECT_THAT(table->notes[1], HasSubstr("column s3"));
  EXPECT_EQ(speed_of(table->jobs[0], model("A30-24GB"), "4g.24gb"), 1);
}

TEST(JobTable, Faults_NameLineAndColumn) {
  // Every refusal says where, what and what would be valid.
  EXPECT_EQ(refusal(read("name,s7\na,1\nb,abc\n")),
            "jobs.csv:3: column s7: \"abc\" is not a number; expected 0 (does not fit) or a speed "
            "between 0.000001 and 1000");
  EXPECT_THAT(refusal(read("name,s7\na,-1\n")), HasSubstr("jobs.csv:2: column s7: \"-1\" is out"));
  EXPECT_THAT(refusal(read("name,s7\na,nan\n")), HasSubstr("\"nan\" is not a number"));
  EXPECT_THAT(refusal(read("name,s7\na,1001\n")), HasSubstr("out of range"));
  EXPECT_THAT(refusal(read("name,s7,weight\na,1,0\n")), HasSubstr("column weight: \"0\" is out"));
  EXPECT_THAT(refusal(read("name,s7,memory_gib\na,1,0\n")), HasSubstr("column memory_gib"));
  EXPECT_THAT(refusal(read("name,s7\na\n")), HasSubstr("jobs.csv:2: 1 cells; the heading has 2"));
  EXPECT_THAT(refusal(read("name,s7\na,1\na,1\n")),
              HasSubstr("jobs.csv:3: column name: the job \"a\" was already given in line 2"));
  EXPECT_THAT(refusal(read("name,s7\n,1\n")), HasSubstr("column name: is empty"));
  EXPECT_THAT(refusal(read("name,s7\n")), HasSubstr("jobs.csv:1: no jobs"));
  EXPECT_THAT(refusal(read("")), HasSubstr("jobs.csv: the text is empty"));
  EXPECT_THAT(refusal(read("s7\n1\n")), HasSubstr("no column \"name\""));
  EXPECT_THAT(refusal(read("name\na\n")), HasSubstr("no column gives a speed"));
  EXPECT_THAT(refusal(read("name,s7,7g.40gb\na,1,1\n")), HasSubstr("same profile as column s7"));
  EXPECT_THAT(refusal(read("name,name,s7\na,b,1\n")), HasSubstr("column name: appears twice"));
  EXPECT_THAT(refusal(read("name;s7\na;1\n")), HasSubstr("columns are separated by commas"));
  EXPECT_THAT(refusal(read("name,3g.21gb\na,1\n")), HasSubstr("did you mean 3g.20gb?"));
  EXPECT_THAT(refusal(read("name,s7\n\"a,1\n")), HasSubstr("never ends"));
  EXPECT_THAT(refusal(read("name,s7\na\"b,1\n")), HasSubstr("misplaced quotation mark"));
  EXPECT_THAT(refusal(read(std::string_view("name,s7\na\0,1\n", 13))),
              HasSubstr("jobs.csv:2: a NUL"));
  EXPECT_THAT(refusal(read("name,s7\nok,1\n\xFF,1\n")),
              HasSubstr("jobs.csv:3: bytes that are not"));
  EXPECT_THAT(refusal(read("\xFF\xFEn")), HasSubstr("UTF-16"));
  EXPECT_THAT(refusal(read("name,s7\na,1\n", "RTX-6000D")), HasSubstr("no profile table"));
}

TEST(JobTable, QuotedNewlines_KeepLineNumbersRight) {
  // A quoted cell may span lines; the row's number is that of its first line.
  const auto refused = read("name,\"s7\"\n\n\"two\nlines\",1\n");
  EXPECT_THAT(refusal(refused),
              HasSubstr("jobs.csv:3: column name: \"two\\x0alines\" holds control"));
  EXPECT_THAT(refusal(read("name,s7,\"s4\n\"\na,1,1\nb,1,x\n")),
              HasSubstr("jobs.csv:4: column s4"));
}

TEST(JobTable, HostileNames_ArePrintedHarmlessly) {
  // Nothing of a file reaches a terminal as a control sequence.
  EXPECT_THAT(refusal(read("name,s7\n\x1b[31m,1\n")), HasSubstr("\"\\x1b[31m\""));
  EXPECT_THAT(refusal(read("name,s7,\x1b]0;x\n")), HasSubstr("\\x1b"));
}

TEST(JobTable, Limits_Hold) {
  // One row or column too many is refused, the last allowed one is not.
  std::string rows = "name,s7\n";
  for (int i = 0; i < 10000; ++i) {
    rows += "j" + std::to_string(i) + ",1\n";
  }
  const auto full = read(rows);
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(full->jobs.size(), 10000U);
  EXPECT_THAT(refusal(read(rows + "one more,1\n")), HasSubstr("more than 10000 rows"));
  EXPECT_THAT(refusal(read("name,s7" + std::string(63, ',') + "\n")), HasSubstr("64 columns"));
  EXPECT_THAT(refusal(read(std::string((1U << 20U) + 1, 'a'))), HasSubstr("at most 1048576"));
  EXPECT_THAT(refusal(read("name,s7\n" + std::string(201, 'a') + ",1\n")), HasSubstr("201 bytes"));
}

RC_GTEST_PROP(JobTableProperty, WrittenTables_AreReadBack, ()) {
  // Any speeds in range come back as they were written.
  const auto permille = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 2000));
  RC_PRE(!permille.empty());
  std::string text = "name,s1\n";
  for (std::size_t i = 0; i < permille.size(); ++i) {
    text += "job " + std::to_string(i) + "," + std::to_string(permille[i]) + "e-3\n";
  }
  const auto table = read(text);
  RC_ASSERT(table.has_value());
  RC_ASSERT(table->jobs.size() == permille.size());
  for (std::size_t i = 0; i < permille.size(); ++i) {
    RC_ASSERT(speed_of(table->jobs[i], model("A100-40GB"), "1g.5gb") ==
              std::stod(std::to_string(permille[i]) + "e-3"));
  }
}

}  // namespace
}  // namespace septule::interop
