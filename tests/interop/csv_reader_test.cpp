#include "interop/csv_reader.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/interop_support.hpp"

namespace septule::interop {
namespace {

using test::refusal;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CsvReader, QuotesAndLineEnds_AreUnderstood) {
  // Cells may hold commas, quotation marks and line ends; rows know the line they begin on.
  const auto rows = read_csv({"a,\"b,\"\"c\"\"\"\r\n\n \"d\ne\" , f\ng", "x.csv"}, 10);
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 3U);
  EXPECT_THAT((*rows)[0].cells, ElementsAre("a", "b,\"c\""));
  EXPECT_EQ((*rows)[0].line, 1);
  EXPECT_THAT((*rows)[1].cells, ElementsAre("d\ne", "f"));
  EXPECT_EQ((*rows)[1].line, 3);
  EXPECT_THAT((*rows)[2].cells, ElementsAre("g"));
  EXPECT_EQ((*rows)[2].line, 5);
}

TEST(CsvReader, Faults_NameTheLine) {
  // A quote in the wrong place or never closed, and the limits.
  EXPECT_THAT(refusal(read_csv({"a\nb\"c\n", "x.csv"}, 10)), HasSubstr("x.csv:2: a misplaced"));
  EXPECT_THAT(refusal(read_csv({"a\n\"b\n\nc", "x.csv"}, 10)), HasSubstr("x.csv:2: a quoted cell"));
  EXPECT_THAT(refusal(read_csv({"a\nb\nc\n", "x.csv"}, 1)), HasSubstr("x.csv:3: more than 1 rows"));
  EXPECT_THAT(refusal(read_csv({"a\n" + std::string(64, ','), "x.csv"}, 2)),
              HasSubstr("x.csv:2: more than 64 columns"));
  EXPECT_TRUE(read_csv({std::string(63, ','), "x.csv"}, 2));
}

TEST(VisitCsv, Rows_ArriveOneByOneWithinTheLimitsGiven) {
  // Larger limits for one reader loosen no other, and the visitor can stop the reading.
  const std::string text = "a,b\n1,2\n\n3,4\n";
  std::vector<int> lines;
  const auto visit = [&](CsvRow row) {
    lines.push_back(row.line);
    return row.cells.front() == "3" ? Status(Error{ErrorCode::kFailed, "enough"}) : Status();
  };
  const Status stopped = visit_csv({text, "x"}, {.bytes_max = 100, .rows_max = 10}, visit);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().message, "enough");
  EXPECT_EQ(lines, (std::vector<int>{1, 2, 4}));
  const auto ignore = [](const CsvRow& /*row*/) { return Status(); };
  EXPECT_TRUE(visit_csv({text, "x"}, {.bytes_max = 100, .rows_max = 3}, ignore));
  EXPECT_FALSE(visit_csv({text, "x"}, {.bytes_max = 100, .rows_max = 2}, ignore));
  EXPECT_FALSE(visit_csv({text, "x"}, {.bytes_max = 5, .rows_max = 10}, ignore));
}

}  // namespace
}  // namespace septule::interop
