#include "interop/mps_measurements.hpp"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
// clang-format off: needs the names of GoogleTest
#include <rapidcheck/gtest.h>
// clang-format on

#include "interop/interop_support.hpp"

namespace septule::interop {
namespace {

using test::refusal;
using ::testing::HasSubstr;

Result<std::vector<MpsRun>> read(std::string_view text) {
  return parse_mps_measurements({text, "run.csv"});
}

Result<predict::MpsMatrix> read_line(std::string_view text) {
  return parse_mps_line({text, "in", 7});
}

/// The stable form with these levels and rows.
std::string line(std::string_view levels, std::string_view rows) {
  return fmt::format(R"({{"mps_levels":{},"step_time":{}}})", levels, rows);
}

TEST(MpsMeasurements, PlainTable_GivesMatrixAndNames) {
  // Columns are the jobs in order of their first row, levels those of the rows; absent stay empty.
  const auto runs = read("job,atp,step_s\nbert,100,0.1\nbert,50,0.15\ncnn,50,0.2\ncnn,100,0.19\n");
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(runs->size(), 1U);
  const MpsRun& run = runs->front();
  EXPECT_EQ(run.name, "");
  ASSERT_EQ(run.jobs.size(), 2U);
  EXPECT_EQ(run.jobs[0].name, "bert");
  EXPECT_EQ(run.jobs[1].name, "cnn");
  EXPECT_EQ(run.jobs[0].memory, std::nullopt);
  EXPECT_EQ(run.jobs[0].smallest, std::nullopt);
  ASSERT_EQ(run.matrix.levels.size(), 2U);
  EXPECT_EQ(run.matrix.levels[0].atp, ActiveThreadPercentage(100));
  EXPECT_EQ(run.matrix.levels[1].atp, ActiveThreadPercentage(50));
  EXPECT_EQ(run.matrix.levels[0].step[0], 0.1);
  EXPECT_EQ(run.matrix.levels[0].step[1], 0.19);
  EXPECT_EQ(run.matrix.levels[1].step[0], 0.15);
  EXPECT_EQ(run.matrix.levels[1].step[1], 0.2);
  EXPECT_EQ(run.matrix.levels[0].step[2], std::nullopt);
  EXPECT_EQ(run.matrix.counters[0], predict::JobCounters{});
}

TEST(MpsMeasurements, EveryColumnWithBomAndCrlf_IsRead) {
  // Runs are told apart by their column, and what is said of a job once holds for all its rows.
  const auto runs = read(
      "\xEF\xBB\xBFRun,Job,ATP,Step_S,memory_gib,smallest,sm_percent,memory_percent,power_w,"
      "footprint_mib\r\nn1,a,100,1,9.5,2G,40,0,150,9000\r\nn2,a,14,2,,,,,,\r\n"
      "n1,a,50,3,9.5,,40,,,\r\n");
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(runs->size(), 2U);
  const MpsRun& first = runs->front();
  EXPECT_EQ(first.name, "n1");
  EXPECT_EQ(first.jobs[0].memory, Bytes::mebibytes(9728));
  EXPECT_EQ(first.jobs[0].smallest, predict::Slice::k2g);
  EXPECT_EQ(first.matrix.counters[0],
            (predict::JobCounters{
                .sm_percent = 40, .memory_percent = 0, .power_watts = 150, .footprint_mib = 9000}));
  ASSERT_EQ(first.matrix.levels.size(), 2U);
  EXPECT_EQ(first.matrix.levels[1].step[0], 3);
  const MpsRun& second = runs->back();
  EXPECT_EQ(second.name, "n2");
  EXPECT_EQ(second.jobs[0].memory, std::nullopt);
  EXPECT_EQ(second.matrix.counters[0], predict::JobCounters{});
  ASSERT_EQ(second.matrix.levels.size(), 1U);
}

TEST(MpsMeasurements, FaultsOfATable_NameLineAndColumn) {
  // Every refusal says where, what and what would be valid; nothing is guessed.
  const std::string head = "job,atp,step_s\n";
  EXPECT_EQ(refusal(read(head + "a,100,1\na,50,2\nb,100,1\n")),
            "run.csv:4: column atp: job \"b\" has no time at 50 %, but job \"a\" has (line 3); "
            "expected every job of a co-run at the same percentages");
  EXPECT_EQ(refusal(read(head + "a,100,1\na,100,1\n")),
            "run.csv:3: column atp: job \"a\" already has a time at 100 % in line 2; expected one");
  EXPECT_EQ(refusal(read(head + "a,100,0\n")),
            "run.csv:2: column step_s: \"0\" is out of range; expected a step time above 0 (1e-12 "
            "to 1e12) in seconds");
  for (const char* time : {"-1", "1e13", "1e-13"}) {
    EXPECT_THAT(refusal(read(head + "a,100," + time)), HasSubstr("is out of range; expected"));
  }
  for (const char* time : {"nan", "inf", "-inf", "fast", "", "1 s", "0x1"}) {
    EXPECT_THAT(refusal(read(head + "a,100," + time)),
                HasSubstr("is not a number; expected a step time"));
  }
  for (const char* level : {"0", "101", "-5", "33.3", "all", ""}) {
    EXPECT_THAT(refusal(read(head + "a," + level + ",1\n")),
                HasSubstr("expected a whole percentage from 1 to 100"));
  }
  EXPECT_THAT(refusal(read(head + "a,100,1\nb,100,1\nc,100,1\nd,100,1\ne,100,1\nf,100,1\n"
                                  "g,100,1\nh,100,1\n")),
              HasSubstr("run.csv:9: column job: \"h\" is the eighth job (no column \"run\""));
  EXPECT_THAT(refusal(read(head + ",100,1\n")), HasSubstr("column job: is empty"));
  EXPECT_THAT(refusal(read(head + "a,100\n")), HasSubstr("2 cells; the heading has 3"));
  EXPECT_THAT(refusal(read(head)), HasSubstr("no measurements below the heading"));
  EXPECT_THAT(refusal(read("")), HasSubstr("the text is empty"));
  EXPECT_THAT(refusal(read("job,atp\na,100\n")), HasSubstr("no column \"step_s\""));
  EXPECT_THAT(refusal(read("job,atp,step_s,smaller\na,100,1,2g\n")),
              HasSubstr("unknown column \"smaller\"; did you mean smallest?"));
  EXPECT_THAT(refusal(read("job;atp;step_s\na;1;1\n")), HasSubstr("separated by commas"));
  EXPECT_THAT(refusal(read("job,atp,step_s,job\na,1,1,a\n")), HasSubstr("appears twice"));
  EXPECT_THAT(refusal(read("job,atp,step_s,\na,1,1,\n")), HasSubstr("without a heading"));
}

TEST(MpsMeasurements, FaultsOfWhatIsDeclared_NameTheValue) {
  // A limit of its own for each column, and one value for each job.
  const auto with = [](const std::string& column, const std::string& cell) {
    return refusal(read("job,atp,step_s," + column + "\na,100,1," + cell + "\n"));
  };
  EXPECT_EQ(with("memory_gib", "0"),
            "run.csv:2: column memory_gib: \"0\" is out of range; expected GiB above 0, at most "
            "4096 (MiB go into memory_mib), or nothing");
  EXPECT_EQ(with("memory_mib", "much"),
            "run.csv:2: column memory_mib: \"much\" is not a number; expected MiB above 0, at most "
            "4194304, or nothing");
  EXPECT_THAT(with("sm_percent", "101"), HasSubstr("a percentage from 0 to 100"));
  EXPECT_THAT(with("memory_percent", "-1"), HasSubstr("a percentage from 0 to 100"));
  EXPECT_THAT(with("power_w", "0"), HasSubstr("watts above 0"));
  EXPECT_THAT(with("footprint_mib", "0"), HasSubstr("MiB above 0"));
  EXPECT_THAT(with("smallest", "5g"), HasSubstr("expected 1g, 2g, 3g, 4g or 7g"));
  EXPECT_THAT(refusal(read("job,atp,step_s,memory_gib,memory_mib\na,100,1,1,1024\n")),
              HasSubstr("expected one of them"));
  EXPECT_EQ(refusal(read("job,atp,step_s,smallest\na,100,1,2g\na,50,1,\na,14,1,3g\n")),
            "run.csv:4: column smallest: \"3g\" is not what an earlier row of job \"a\" says; "
            "expected the same, or nothing");
  EXPECT_THAT(refusal(read("job,atp,step_s,power_w\na,100,1,150\na,50,1,151\n")),
              HasSubstr("is not what an earlier row of job \"a\" says"));
}

TEST(MpsMeasurements, LikelySlips_SayWhatToWrite) {
  // What people write in the table and in JSON, and the hint that each gets.
  const auto json = [](const std::string& levels, const std::string& job) {
    return refusal(read(R"({"schema":"septule-mps/1","mps_levels":)" + levels +
                        R"(,"jobs":[{"name":"a",)" + job + "}]}"));
  };
  for (const char* level : {"50%", "50 %"}) {
    EXPECT_THAT(refusal(read(fmt::format("job,atp,step_s\na,{},1\n", level))),
                HasSubstr("(the active thread percentage); write 50"));
    EXPECT_THAT(json(fmt::format("[\"{}\"]", level), R"("step_s":[1])"), HasSubstr("; write 50"));
  }
  for (const char* level : {"500%", "%", "0.5"}) {
    EXPECT_THAT(refusal(read(fmt::format("job,atp,step_s\na,{},1\n", level))),
                ::testing::Not(HasSubstr("write")));
  }
  EXPECT_THAT(refusal(read("job,atp,step_s,smallest\na,100,1,3g.20gb\n")),
              HasSubstr("or nothing (write 3g without the memory of the profile"));
  EXPECT_THAT(json("[100]", R"("step_s":[1],"smallest":"3G.20gb")"), HasSubstr("(write 3g"));
  EXPECT_THAT(json("[100]", R"("step_s":[1],"smallest":"5g.20gb")"),
              ::testing::Not(HasSubstr("write")));
  EXPECT_EQ(
      refusal(read("job,atp,step_ms\na,100,1\n")),
      "run.csv:1: unknown column \"step_ms\"; did you mean step_s? Any unit does: only ratios "
      "within a job count");
  EXPECT_THAT(json("[100]", R"("step_ms":[1])"),
              HasSubstr("unknown field \"step_ms\"; did you mean step_s? Any unit does"));
  EXPECT_THAT(refusal(read("job,atp,step_s,memory_gib\na,100,1,9728\n")),
              HasSubstr("(MiB go into memory_mib)"));
  EXPECT_THAT(refusal(read(R"({"jobs":[]})")),
              HasSubstr("\"schema\" is missing; expected \"schema\": \"septule-mps/1\""));
  EXPECT_THAT(refusal(read(R"([{"name":"x"}])")),
              HasSubstr(R"({"schema": "septule-mps/1", "runs": [...]})"));
}

TEST(MpsMeasurements, RunsAboveTheLimit_AreRefused) {
  // The written limits hold: levels of a run and runs of a text.
  std::string levels = "job,atp,step_s\n";
  for (int i = 1; i <= 17; ++i) {
    levels += fmt::format("a,{},1\n", i);
  }
  EXPECT_THAT(refusal(read(levels)), HasSubstr("run.csv:18: column atp: more than 16 levels"));
  std::string runs = "run,job,atp,step_s\n";
  for (std::size_t i = 0; i <= kMpsRunsMax; ++i) {
    runs += fmt::format("r{},a,1,1\n", i);
  }
  EXPECT_THAT(refusal(read(runs)), HasSubstr("column run: more than 1000 runs"));
  std::string rows = "run,job,atp,step_s\n";
  for (std::size_t i = 0; i < kMpsRowsMax; ++i) {
    rows += fmt::format("r{},{},{},1\n", i / 100, i / 16 % 7, 1 + i % 16);
  }
  EXPECT_THAT(refusal(read(rows)), ::testing::Not(HasSubstr("rows; that is the limit")));
  EXPECT_EQ(refusal(read(rows + "r,1,1,1\n")),
            "run.csv:20002: more than 20000 rows; that is the limit");
}

TEST(MpsMeasurements, WholePercentages_MayBeWrittenAsDecimals) {
  // A spreadsheet's "100.0" is 100 in both forms, and then the same level as "100".
  const auto table = read("job,atp,step_s\na,100.0,1\nb,100,2\na,5e1,1\nb,50.00,2\n");
  ASSERT_TRUE(table) << table.error().message;
  const auto json = read(
      R"({"schema": "septule-mps/1", "mps_levels": [100.0, 5e1], "jobs": [
         {"name": "a", "step_s": [1, 1]}, {"name": "b", "step_s": [2, 2]}]})");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(table->at(0).matrix, json->at(0).matrix);
  for (const char* level : {"100.5", "0.5", "100.0001", "0", "101", "nan", "inf", "1e9", ""}) {
    EXPECT_THAT(refusal(read(fmt::format("job,atp,step_s\na,{},1\n", level))),
                HasSubstr("expected a whole percentage from 1 to 100"))
        << level;
  }
}

TEST(MpsMeasurements, JsonOfOneRun_IsWhatTheTableGives) {
  // Both forms carry the same content.
  const auto json = read(R"({"schema": "septule-mps/1", "mps_levels": [100, 50], "jobs": [
      {"name": "a", "step_s": [1, 3], "memory_gib": 9.5, "smallest": "2g", "sm_percent": 40,
       "memory_percent": 0, "power_w": 150, "footprint_mib": 9000},
      {"name": "b", "step_s": [0.5, 0.25], "memory_mib": 100, "power_w": null}]})");
  ASSERT_TRUE(json) << json.error().message;
  const auto table = read(
      "job,atp,step_s,memory_mib,smallest,sm_percent,memory_percent,power_w,footprint_mib\n"
      "a,100,1,9728,2g,40,0,150,9000\na,50,3,,,,,,\nb,100,0.5,100,,,,,\nb,50,0.25,,,,,,\n");
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(json->size(), 1U);
  EXPECT_EQ(json->front().matrix, table->front().matrix);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(json->front().jobs[i].name, table->front().jobs[i].name);
    EXPECT_EQ(json->front().jobs[i].memory, table->front().jobs[i].memory);
    EXPECT_EQ(json->front().jobs[i].smallest, table->front().jobs[i].smallest);
  }
}

TEST(MpsMeasurements, FaultsOfJson_NameLineAndField) {
  // Paths count from 0, lines are those of the value.
  const auto run = [](const std::string& levels, const std::string& jobs) {
    return refusal(read("{\"schema\": \"septule-mps/1\",\n\"mps_levels\": " + levels +
                        ",\n\"jobs\": [" + jobs + "]}"));
  };
  EXPECT_EQ(run("[100,50]", R"({"name": "a", "step_s": [1]})"),
            "run.csv:3: /jobs/0/step_s: is a list of 1; expected a list of 2: a time for each of "
            "the mps_levels");
  EXPECT_EQ(run("[100]", R"({"name": "a", "step_s": [-1]})"),
            "run.csv:3: /jobs/0/step_s/0: is the number -1; expected a step time above 0 (1e-12 to "
            "1e12) in seconds");
  EXPECT_THAT(run("[100]", R"({"name": "a", "step_s": [null]})"), HasSubstr("nothing (null)"));
  EXPECT_THAT(run("[100]", R"({"name": "a", "step_s": ["1"]})"), HasSubstr("the text \"1\""));
  EXPECT_THAT(run("[100]", R"({"name": "a", "step_s": [NaN]})"), HasSubstr("not valid JSON"));
  EXPECT_THAT(run("[100]", R"({"name": "a", "step_s": [1e999]})"), HasSubstr("not valid JSON"));
  EXPECT_THAT(run("[101]", R"({"name": "a", "step_s": [1]})"), HasSubstr("/mps_levels/0"));
  EXPECT_THAT(run("[33.3]", R"({"name": "a", "step_s": [1]})"), HasSubstr("whole percentage"));
  EXPECT_THAT(run("[50,50]", R"({"name": "a", "step_s": [1, 1]})"),
              HasSubstr("/mps_levels/1: 50 % is given twice"));
  EXPECT_THAT(run("[]", R"({"name": "a", "step_s": []})"), HasSubstr("expected the percentages"));
  EXPECT_THAT(run("[1]", ""), HasSubstr("/jobs: is empty; expected 1 to 7 jobs"));
  EXPECT_THAT(run("[1]", R"({"name":"a","step_s":[1]},{"name":"a","step_s":[1]})"),
              HasSubstr("/jobs/1/name: the job \"a\" is given twice"));
  EXPECT_THAT(run("[1]", R"({"name":"a","step_s":[1],"smallest":5})"),
              HasSubstr("/jobs/0/smallest: is the number 5; expected 1g, 2g"));
  EXPECT_THAT(run("[1]", R"({"name":"a","step_s":[1],"power_w":"x"})"),
              HasSubstr("/jobs/0/power_w: is the text \"x\"; expected watts above 0"));
  EXPECT_THAT(run("[1]", R"({"name":"a","step_s":[1],"memory_gib":1,"memory_mib":1})"),
              HasSubstr("expected one of them"));
  EXPECT_THAT(run("[1]", R"({"name":"a","step_s":[1],"mem":1})"), HasSubstr("unknown field"));
  std::string eight;
  for (int i = 0; i < 8; ++i) {
    eight += fmt::format("{}{{\"name\":\"j{}\",\"step_s\":[1]}}", i == 0 ? "" : ",", i);
  }
  EXPECT_THAT(run("[1]", eight), HasSubstr("/jobs: has 8 items; at most 7"));
  EXPECT_THAT(refusal(read("[]")), HasSubstr("expected a map of fields"));
  EXPECT_THAT(refusal(read("{}")), HasSubstr("the field \"schema\" is missing"));
  EXPECT_THAT(refusal(read(R"({"schema":"septule-mps/2"})")),
              HasSubstr("expected \"septule-mps/1\""));
  EXPECT_THAT(refusal(read(R"({"schema":"septule-mps/1","runs":[]})")), HasSubstr("/runs: is"));
  EXPECT_THAT(refusal(read(R"({"schema":"septule-mps/1","runs":[
      {"name":"x","mps_levels":[1],"jobs":[{"name":"a","step_s":[1]}]},
      {"name":"x","mps_levels":[1],"jobs":[{"name":"a","step_s":[1]}]}]})")),
              HasSubstr("run.csv:3: /runs/1/name: the run \"x\" is given twice"));
}

TEST(MpsLine, SevenColumns_KeepTheirPlaces) {
  // The stable form: null is an absent job, wherever it stands; any positive scale is kept.
  const auto matrix = read_line(
      line("[100,50.0]", "[[null,0.5,null,3,null,null,7e3],[null,1,null,4,null,null,8e3]]") +
      "\r\n");
  ASSERT_TRUE(matrix) << matrix.error().message;
  ASSERT_EQ(matrix->levels.size(), 2U);
  EXPECT_EQ(matrix->levels[1].atp, ActiveThreadPercentage(50));
  EXPECT_EQ(matrix->levels[0].step[0], std::nullopt);
  EXPECT_EQ(matrix->levels[0].step[1], 0.5);
  EXPECT_EQ(matrix->levels[1].step[6], 8000);
}

TEST(MpsLine, AsAMeasurement_LeavesAbsentColumnsOut) {
  // The same text given as FILE names its jobs by their columns.
  const auto runs = read(line("[100]", "[[null,0.5,null,3,null,null,7]]"));
  ASSERT_TRUE(runs) << runs.error().message;
  const MpsRun& run = runs->front();
  ASSERT_EQ(run.jobs.size(), 3U);
  EXPECT_EQ(run.jobs[0].name, "job-2");
  EXPECT_EQ(run.jobs[2].name, "job-7");
  EXPECT_EQ(run.matrix.levels[0].step[2], 7);
  EXPECT_EQ(run.matrix.levels[0].step[3], std::nullopt);
}

TEST(MpsLine, Fillers_ArePossibleInFullLinesOnly) {
  // The published arrays have seven columns and hold fillers; what is measured as a FILE does not.
  using Fillers = predict::MpsMatrix::Fillers;
  const std::string full = line("[100]", "[[1,2,3,4,5,6,7]]");
  const auto matrix = read_line(full);
  ASSERT_TRUE(matrix) << matrix.error().message;
  EXPECT_EQ(matrix->fillers, Fillers::kPossible);
  const auto runs = read(full);
  ASSERT_TRUE(runs) << runs.error().message;
  EXPECT_EQ(runs->front().matrix.fillers, Fillers::kNone);
  const auto six = read_line(line("[100]", "[[1,2,3,4,5,6,null]]"));
  ASSERT_TRUE(six) << six.error().message;
  EXPECT_EQ(six->fillers, Fillers::kNone);
  const auto table =
      read("job,atp,step_s\na,100,1\nb,100,1\nc,100,1\nd,100,1\ne,100,1\nf,100,1\ng,100,1\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->front().matrix.fillers, Fillers::kNone);
}

TEST(MpsLine, Counters_BelongToTheirColumns) {
  // Optional lists of seven; null where not known, and for every absent job.
  const std::string text =
      R"({"mps_levels":[100],"step_time":[[1,null,1,1,1,1,1]],)"
      R"("sm_percent":[10,null,null,0,100,1,1],"power_w":[1,null,null,1,1,1,250]})";
  const auto matrix = read_line(text);
  ASSERT_TRUE(matrix) << matrix.error().message;
  EXPECT_EQ(matrix->counters[0].sm_percent, 10);
  EXPECT_EQ(matrix->counters[2].sm_percent, std::nullopt);
  EXPECT_EQ(matrix->counters[6].power_watts, 250);
  EXPECT_EQ(matrix->counters[6].footprint_mib, std::nullopt);
  EXPECT_THAT(refusal(read_line(R"({"mps_levels":[1],"step_time":[[1,null,1,1,1,1,1]],)"
                                R"("power_w":[1,2,1,1,1,1,1]})")),
              HasSubstr("in:7: /power_w/1: is the number 2, but step_time is null there"));
  EXPECT_THAT(refusal(read_line(R"({"mps_levels":[1],"step_time":[[1,1,1,1,1,1,1]],)"
                                R"("power_w":[1,2,1,1,1,1]})")),
              HasSubstr("/power_w: is a list of 6; expected a list of 7"));
}

TEST(MpsLine, SmallestSlice_GoesIntoTheMatrix) {
  // Declared by name, kept in compute slices; as a measurement it is declared of the job.
  const std::string text = R"({"mps_levels":[100],"step_time":[[1,null,1,1,1,1,1]],)"
                           R"("smallest":["3g",null,null,"1g","7g","2g","4g"]})";
  const auto matrix = read_line(text);
  ASSERT_TRUE(matrix) << matrix.error().message;
  EXPECT_EQ(matrix->smallest[0], ComputeSlices(3));
  EXPECT_EQ(matrix->smallest[2], std::nullopt);
  EXPECT_EQ(matrix->smallest[4], ComputeSlices(7));
  const auto runs = read(text);
  ASSERT_TRUE(runs) << runs.error().message;
  EXPECT_EQ(runs->front().jobs[0].smallest, predict::Slice::k3g);
  EXPECT_EQ(runs->front().jobs[5].smallest, predict::Slice::k4g);
  EXPECT_EQ(runs->front().matrix.smallest[0], std::nullopt);
  EXPECT_THAT(refusal(read_line(R"({"mps_levels":[1],"step_time":[[1,null,1,1,1,1,1]],)"
                                R"("smallest":["5g",null,null,null,null,null,null]})")),
              HasSubstr("in:7: /smallest/0: is the text \"5g\"; expected 1g, 2g, 3g, 4g or 7g"));
  EXPECT_THAT(refusal(read_line(R"({"mps_levels":[1],"step_time":[[1,null,1,1,1,1,1]],)"
                                R"("smallest":[null,"1g",null,null,null,null,null]})")),
              HasSubstr("/smallest/1: is the text \"1g\", but step_time is null there"));
}

TEST(MpsLine, Faults_NameTheLineOfTheStream) {
  // A line is named by its number in the stream, a cell by its pointer, a column from 1.
  const std::string seven = "[1,1,1,1,1,1,1]";
  EXPECT_EQ(refusal(read_line(line("[100]", "[[1,1,1,-2,1,1,1]]"))),
            "in:7: /step_time/0/3: is the number -2; expected a step time above 0 (1e-12 to 1e12), "
            "or null for an absent job");
  EXPECT_EQ(refusal(read_line(line("[100,14]", "[" + seven + ",[1,1,null,1,1,1,1]]"))),
            "in:7: /step_time/1/2: is null at 14 %, but column 3 has a time at another level; "
            "expected a time at each level, or null at all for an absent job");
  EXPECT_EQ(refusal(read_line(line("[100,50,14]", "[" + seven + "]"))),
            "in:7: /step_time: is a list of 1; expected a list of 3: a row for each of the "
            "mps_levels");
  EXPECT_EQ(refusal(read_line(line("[100]", "[[1,1,1,1,1,1,1,1]]"))),
            "in:7: /step_time/0: is a list of 8; expected a list of 7: seven columns, null for an "
            "absent job");
  EXPECT_THAT(refusal(read_line(line("[100]", "[[null,null,null,null,null,null,null]]"))),
              HasSubstr("every column is null; expected the times of 1 to 7 jobs"));
  EXPECT_THAT(refusal(read_line(line("[0]", "[" + seven + "]"))), HasSubstr("/mps_levels/0"));
  EXPECT_THAT(refusal(read_line(line("[100]", "[[0,1,1,1,1,1,1]]"))), HasSubstr("the number 0"));
  EXPECT_THAT(refusal(read_line(line("[100]", "[[NaN,1,1,1,1,1,1]]"))), HasSubstr("in:7: not"));
  EXPECT_THAT(refusal(read_line("{}")), HasSubstr("the field \"mps_levels\" is missing"));
  EXPECT_THAT(refusal(read_line(R"({"mps_levels":[1]})")), HasSubstr("\"step_time\" is missing"));
  EXPECT_THAT(refusal(read_line("{\"mps_levels\":[1]")), HasSubstr("in:7: the JSON text ends"));
  EXPECT_THAT(refusal(read_line("7")), HasSubstr("expected a map of fields"));
  EXPECT_THAT(refusal(read_line("job,atp,step_s")), HasSubstr("not valid JSON"));
}

RC_GTEST_PROP(MpsMeasurements, TableAndJson_AgreeForAnyMatrix, ()) {
  // Any legal co-run written in both forms is read as the same matrix.
  const auto jobs = *rc::gen::inRange<std::size_t>(1, 8);
  const auto levels = *rc::gen::unique<std::vector<int>>(3, rc::gen::inRange(1, 101));
  std::vector<std::string> rows;
  std::string json_jobs;
  for (std::size_t j = 0; j < jobs; ++j) {
    std::string times;
    for (const int level : levels) {
      const int time = *rc::gen::inRange(1, 1000000);
      rows.push_back(fmt::format("j{},{},{}e-6\n", j, level, time));
      times += fmt::format("{}{}e-6", times.empty() ? "" : ",", time);
    }
    json_jobs += fmt::format(R"({}{{"name":"j{}","step_s":[{}]}})", j == 0 ? "" : ",", j, times);
  }
  const auto json =
      read(fmt::format(R"({{"schema":"septule-mps/1","mps_levels":[{}],"jobs":[{}]}})",
                       fmt::join(levels, ","),
                       json_jobs));
  const auto table = read(fmt::format("job,atp,step_s\n{}", fmt::join(rows, "")));
  RC_ASSERT(json.has_value());
  RC_ASSERT(table.has_value());
  RC_ASSERT(json->front().matrix == table->front().matrix);
}

}  // namespace
}  // namespace septule::interop
