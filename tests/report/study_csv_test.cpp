#include "report/study_csv.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "support/read_file.hpp"
#include "support/study_builder.hpp"

namespace septule::report {
namespace {

/// The rows of a CSV text (RFC 4180), cells unquoted.
std::vector<std::vector<std::string>> rows_of(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row = {""};
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && is_quoted && i + 1 < text.size() && text[i + 1] == '"') {
      row.back() += c;
      ++i;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      row.emplace_back();
    } else if (c == '\n' && !is_quoted) {
      rows.push_back(row);
      row = {""};
    } else {
      row.back() += c;
    }
  }
  return rows;
}

std::int64_t nanoseconds_of(const std::string& seconds) {
  const std::size_t point = seconds.find('.');
  std::string digits = point == std::string::npos ? "" : seconds.substr(point + 1);
  digits.resize(9, '0');
  return parse_integer(seconds.substr(0, point) + digits).value_or(-1);
}

/// The rows "| `name` | unit | formula |" of the part of docs/formats.md with this heading.
std::string documented_rows(const std::string& heading) {
  const std::string text = test::read_file(std::string(SEPTULE_SOURCE_DIR) + "/docs/formats.md");
  const std::size_t from = text.find("\n## " + heading + "\n");
  if (from == std::string::npos) {
    return "docs/formats.md has no part " + heading;
  }
  const std::string part = text.substr(from, text.find("\n## ", from + 1) - from);
  std::string rows;
  for (const std::string_view line : split_lines(part)) {
    rows += line.starts_with("| `") ? std::string(line) + "\n" : "";
  }
  return rows;
}

std::string expected_rows(const std::vector<CsvColumn>& columns) {
  std::string rows;
  for (const CsvColumn& column : columns) {
    rows += fmt::format("| `{}` | {} | {} |\n", column.name, column.unit, column.formula);
  }
  return rows;
}

TEST(Formats, RunFigures_AreDocumentedAsTheyAreWritten) {
  // docs/formats.md lists exactly the columns of the file, with unit and formula.
  EXPECT_EQ(documented_rows("Run figures"), expected_rows(run_columns()));
}

TEST(Formats, JobRows_AreDocumentedAsTheyAreWritten) {
  // The same for the file of jobs.
  EXPECT_EQ(documented_rows("Job rows"), expected_rows(job_columns()));
}

TEST(RunsCsv, EveryRun_IsARowOfAllColumns) {
  // In the order of the study, under the heading of the column table.
  const StudyReport study = test::made_up_study();
  const auto rows = rows_of(runs_csv(study));
  ASSERT_EQ(rows.size(), 1 + 3 * 5U);
  const std::vector<CsvColumn> columns = run_columns();
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), columns.size());
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    EXPECT_EQ(rows[0][i], columns[i].name);
  }
  EXPECT_EQ(rows[1][0], "nopart");
  EXPECT_EQ(rows[15][0], "miso");
  EXPECT_EQ(rows[15][1], "5");
  EXPECT_EQ(rows[1][2], fmt::format("{:.2f}", study.policies[0].runs[0].mean_jct_s));
}

TEST(RunsCsv, UnknownFigures_AreEmptyCells) {
  // Without a finished job only the counts of jobs are figures; the same for what is not finite.
  StudyReport study = test::made_up_study();
  study.policies.resize(1);
  study.policies[0].runs[0] = job::RunFigures{};
  study.policies[0].runs[0].jobs_rejected = 40;
  study.policies[0].runs[1].energy_kwh = std::numeric_limits<double>::quiet_NaN();
  const auto rows = rows_of(runs_csv(study));
  const std::vector<CsvColumn> columns = run_columns();
  for (std::size_t i = 2; i < columns.size(); ++i) {
    const std::string expected = columns[i].name == "jobs_done"       ? "0"
                                 : columns[i].name == "jobs_rejected" ? "40"
                                                                      : "";
    EXPECT_EQ(rows[1][i], expected) << columns[i].name;
    EXPECT_EQ(rows[2][i].empty(), columns[i].name == "energy_kwh") << columns[i].name;
  }
}

TEST(RunsCsv, EmptyStudy_IsItsHeading) {
  // A reader finds the columns even if there is no row.
  EXPECT_EQ(rows_of(runs_csv({})).size(), 1U);
}

TEST(JobsCsv, KindsOfTime_AddUpToTheJctInTheFile) {
  // To the nanosecond, for every job of drawn runs.
  const StudyReport study = test::made_up_study();
  for (const PolicyReport& policy : study.policies) {
    const auto rows = rows_of(jobs_csv(*policy.representative));
    ASSERT_EQ(rows.size(), 41U);
    ASSERT_EQ(rows[0][9], "jct_s");
    ASSERT_EQ(rows[0][10], "wait_s");
    ASSERT_EQ(rows[0][13], "running_s");
    for (std::size_t i = 1; i < rows.size(); ++i) {
      std::int64_t sum = 0;
      for (std::size_t kind = 10; kind <= 13; ++kind) {
        sum += nanoseconds_of(rows[i][kind]);
      }
      EXPECT_EQ(sum, nanoseconds_of(rows[i][9]));
      EXPECT_EQ(nanoseconds_of(rows[i][8]) - nanoseconds_of(rows[i][6]), sum);
    }
  }
}

TEST(JobsCsv, RejectedJob_HasNoTimesOfWhatNeverWas) {
  // Start, finish, JCT and slowdown are empty, not 0.
  RepresentativeRun run;
  run.run.policy = "miso";
  run.run.seed = 3;
  job::JobOutcome outcome;
  outcome.id = job::JobId(0);
  outcome.state = job::JobState::kRejected;
  outcome.submit = SimTime::nanoseconds(1500000000);
  outcome.ideal = Duration::milliseconds(2000);
  run.run.jobs = {outcome};
  run.job_names = {"too big"};
  EXPECT_EQ(rows_of(jobs_csv(run))[1],
            (std::vector<std::string>{"miso", "3", "0", "too big", "rejected", "1", "1.5",
                                      "",     "",  "",  "0",       "0",        "0", "0",
                                      "2",    "",  "0", "0",       "0",        "0"}));
}

TEST(JobsCsv, HostileNames_AreReadBackAsTheyWere) {
  // Commas, quotation marks and line ends of names do not make cells or rows.
  RepresentativeRun run = *test::made_up_study().policies[0].representative;
  run.run.policy = "a,b";
  run.job_names[0] = "x\"y\",\nz\r";
  const auto rows = rows_of(jobs_csv(run));
  ASSERT_EQ(rows.size(), 41U);
  EXPECT_EQ(rows[1][0], "a,b");
  EXPECT_EQ(rows[1][3], "x\"y\",\nz\r");
  EXPECT_EQ(rows[1].size(), job_columns().size());
}

}  // namespace
}  // namespace septule::report
