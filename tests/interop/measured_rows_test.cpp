#include "interop/measured_rows.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/interop_support.hpp"

namespace septule::interop {
namespace {

using test::refusal;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Of two classes, the second of which is the filler.
Result<std::vector<MeasuredRow>> read(const std::string& rows) {
  const std::string text = "row,n_active,measurement,mix,val5,c0,c1,c2,c3,c4,c5,c6\n" + rows;
  return read_measured_rows({text, "rows.csv"}, {false, true});
}

TEST(MeasuredRows, Columns_AreThoseOfTheRow) {
  // Aim: each figure comes from its column.
  const auto rows = read("0,2,7,8,4,0,1,1,0,1,1,1\n1,1,9,3,0,1,1,1,1,1,1,0\n");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 2U);
  const MeasuredRow& row = rows->front();
  EXPECT_EQ(row.active, 2);
  EXPECT_EQ(row.measurement, 7);
  EXPECT_EQ(row.mix, 8);
  EXPECT_EQ(row.fold, 4);
  EXPECT_THAT(row.classes, ElementsAre(0, 1, 1, 0, 1, 1, 1));
}

TEST(MeasuredRows, Contradictions_AreRefused) {
  // Aim: order, number of jobs, classes, one fold per mix, no rows.
  EXPECT_THAT(refusal(read("1,1,0,0,0,0,1,1,1,1,1,1\n")), HasSubstr("expected 0 (in order)"));
  EXPECT_THAT(refusal(read("0,2,0,0,0,0,1,1,1,1,1,1\n")), HasSubstr("the classes name 1 jobs"));
  EXPECT_THAT(refusal(read("0,1,0,0,0,2,1,1,1,1,1,1\n")), HasSubstr("rows.csv:2: c0: \"2\""));
  EXPECT_THAT(refusal(read("0,1,0,0,5,0,1,1,1,1,1,1\n")), HasSubstr("rows.csv:2: val5: \"5\""));
  EXPECT_THAT(refusal(read("0,1,0,6,2,0,1,1,1,1,1,1\n1,1,0,6,3,0,1,1,1,1,1,1\n")),
              HasSubstr("rows.csv:3: val5: is 3; mix 6 was in fold 2 before"));
  EXPECT_THAT(refusal(read("")), HasSubstr("rows.csv: no rows"));
  EXPECT_THAT(refusal(read_measured_rows({"row,n_active\n0,1\n", "r"}, {})),
              HasSubstr("r:1: has no column \"measurement\""));
}

}  // namespace
}  // namespace septule::interop
