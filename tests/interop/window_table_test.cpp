#include "interop/window_table.hpp"

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

using test::model;
using test::profile_of;
using ::testing::HasSubstr;

Result<WindowTable> read(std::string_view text, std::string_view key = "A100-80GB") {
  return parse_window_table({text, "jobs.csv"}, model(key));
}

TEST(WindowTable, EveryColumn_IsRead) {
  // All columns in any order; what is stated arrives with its unit.
  const auto table = read(
      "solo_s,name,user,trust,memory_gib,s7,s4,s3,s2,s1,kind,kernel_us,w,serial_share,"
      "memory_share,sm_percent,memory_percent\n"
      "120.5,bert,ann,lab,9,0.98,0.7,0.6,0.4,0,training,80,0.9,0.1,0.2,85,40\n");
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->rows.size(), 1U);
  const WindowRow& row = table->rows[0];
  EXPECT_EQ(row.line, 2);
  EXPECT_EQ(row.job.name, "bert");
  EXPECT_EQ(row.job.user, "ann");
  EXPECT_EQ(row.job.trust, "lab");
  EXPECT_EQ(row.job.memory, Bytes::mebibytes(9216));
  EXPECT_EQ(row.job.solo, Duration::milliseconds(120500));
  EXPECT_TRUE(row.has_speeds);
  const auto index = static_cast<std::size_t>(profile_of(model("A100-80GB"), "4g.40gb").value());
  EXPECT_EQ(row.speed.at(index), 0.7);
  EXPECT_EQ(row.kind, predict::JobKind::kTraining);
  EXPECT_EQ(row.kernel, Duration::nanoseconds(80000));
  EXPECT_EQ(row.usable, 0.9);
  EXPECT_EQ(row.serial_share, 0.1);
  EXPECT_EQ(row.memory_share, 0.2);
  EXPECT_EQ(row.sm_percent, 85);
  EXPECT_EQ(row.memory_percent, 40);
}

TEST(WindowTable, NameAndTimeOnly_AreEnough) {
  // Everything else is unknown, and unknown is nothing rather than 0.
  const auto table = read("name,solo_s\na,60\nb,30\n");
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_FALSE(table->rows[0].has_speeds);
  EXPECT_EQ(table->rows[0].job.memory, std::nullopt);
  EXPECT_EQ(table->rows[0].kernel, std::nullopt);
  EXPECT_EQ(table->rows[0].usable, std::nullopt);
  EXPECT_EQ(table->rows[0].kind, predict::JobKind::kUnknown);
  EXPECT_EQ(table->rows[1].job.user, "");
}

TEST(WindowTable, WhatIsWrong_IsSaidWithItsPlace) {
  // One message for each kind of fault: which line, which column, what would be valid.
  const struct {
    const char* text;
    const char* expected;
  } cases[] = {
      {"name,solo_s\na,-1\n",
       "jobs.csv:2: column solo_s: \"-1\" is out of range; expected seconds"},
      {"name,solo_s\na,0\n", "out of range"},
      {"name,solo_s\na,nan\n", "\"nan\" is not a number"},
      {"name,solo_s\na,\n", "column solo_s: is missing or empty"},
      {"name,s7\na,1\n", "column solo_s: is missing or empty"},
      {"name,solo_s,w\na,1,0\n", "column w: \"0\" is out of range; expected a part of the SMs"},
      {"name,solo_s,w\na,1,1.5\n", "column w"},
      {"name,solo_s,serial_share,memory_share\na,1,0.6,0.6\n", "more than the whole step"},
      {"name,solo_s,kernel_us\na,1,0\n", "column kernel_us"},
      {"name,solo_s,sm_percent\na,1,101\n", "column sm_percent"},
      {"name,solo_s,kind\na,1,trainin\n", "training"},
      {"name,solo_s,occupancy\na,1,1\n", "occupancy"},
      {"name,solo_s\na,1\na,2\n", "already given in line 2"},
      {"name,solo_s\n", "no jobs below the heading"},
      {"", "the text is empty"},
  };
  for (const auto& one : cases) {
    const auto table = read(one.text);
    ASSERT_FALSE(table) << one.text;
    EXPECT_EQ(table.error().code, ErrorCode::kInvalidInput);
    EXPECT_THAT(table.error().message, HasSubstr(one.expected)) << one.text;
  }
}

TEST(WindowTable, TooManyJobs_RefusedWithTheLimit) {
  // Aim: a queue of a day is no window: memory and time would grow beyond sense.
  std::string text = "name,solo_s\n";
  for (std::size_t i = 0; i < kWindowJobsMax; ++i) {
    text += fmt::format("j{},1\n", i);
  }
  EXPECT_TRUE(read(text).has_value());
  const auto table = read(text + "last,1\n");
  ASSERT_FALSE(table.has_value());
  EXPECT_EQ(table.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(table.error().message, HasSubstr("has 1001 jobs; expected 1000 at most"));
}

RC_GTEST_PROP(WindowTable, AnyText_IsReadOrRefused, (const std::string& body)) {
  // Hostile texts end in a message or in rows whose figures are in their ranges.
  const auto table = read("name,solo_s,s7,w,kernel_us\n" + body);
  if (table) {
    for (const WindowRow& row : table->rows) {
      RC_ASSERT(row.job.solo > Duration());
      RC_ASSERT(!row.usable.has_value() || (*row.usable > 0 && *row.usable <= 1));
    }
  }
}

}  // namespace
}  // namespace septule::interop
