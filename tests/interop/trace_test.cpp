#include "interop/trace.hpp"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
// clang-format off: needs the names of GoogleTest
#include <rapidcheck/gtest.h>
// clang-format on

#include "interop/trace_formats.hpp"

namespace septule::interop {
namespace {

constexpr std::int64_t kSecond = 1000000000;

std::optional<std::int64_t> ns(const std::optional<Duration>& duration) {
  return duration ? std::optional(duration->to_nanoseconds()) : std::nullopt;
}

TEST(ParseSeconds, DecimalTexts_AreExact) {
  // A double would lose nanoseconds of instants since 1970; the digits are read as they stand.
  EXPECT_EQ(ns(parse_seconds("0")), 0);
  EXPECT_EQ(ns(parse_seconds("1.5")), 1500000000);
  EXPECT_EQ(ns(parse_seconds("-5")), -5 * kSecond);
  EXPECT_EQ(ns(parse_seconds("1600000000.123456789")), 1600000000123456789);
  EXPECT_EQ(ns(parse_seconds("1600000000.1234567899")), 1600000000123456789);
  EXPECT_EQ(ns(parse_seconds("4000000000")), 4000000000 * kSecond);
  EXPECT_EQ(ns(parse_seconds("1e3")), 1000 * kSecond);
}

TEST(ParseSeconds, OtherTexts_AreRefused) {
  // Anything else, and what lies beyond the limit on either side.
  for (const char* text : {"",
                           "-",
                           ".",
                           "x",
                           "1x",
                           "1 2",
                           "nan",
                           "inf",
                           "4000000001",
                           "-4000000001",
                           "1e99",
                           "99999999999999999999999",
                           "--1",
                           "1.2.3",
                           "+-1"}) {
    EXPECT_EQ(ns(parse_seconds(text)), std::nullopt) << text;
  }
}

TEST(ParseDaysAndClock, SlurmForms_AreExact) {
  // [D-]HH:MM:SS; hours run on where no days are given.
  EXPECT_EQ(ns(parse_days_and_clock("00:00:00")), 0);
  EXPECT_EQ(ns(parse_days_and_clock("0:00:01")), kSecond);
  EXPECT_EQ(ns(parse_days_and_clock("36:05:10")), 129910 * kSecond);
  EXPECT_EQ(ns(parse_days_and_clock("1-12:05:10")), 129910 * kSecond);
  EXPECT_EQ(ns(parse_days_and_clock("46296-07:06:40")), 4000000000 * kSecond);
  for (const char* text : {"",
                           "10",
                           "10:00",
                           "1-10",
                           "1-10:00",
                           "1-24:00:00",
                           "1-1:00:00",
                           "00:60:00",
                           "00:00:60",
                           "00:0:00",
                           "-1:00:00",
                           "1--1:00:00",
                           "00:00:00.5",
                           "00:00:00x",
                           " 00:00:00",
                           "46296-07:06:41",
                           "99999999:00:00"}) {
    EXPECT_EQ(ns(parse_days_and_clock(text)), std::nullopt) << text;
  }
}

TEST(ParseTimestamp, PublishedForms_CountFrom1970InUtc) {
  // The forms of Philly, Helios and Acme, and the corners of the calendar.
  EXPECT_EQ(ns(parse_timestamp("1970-01-01 00:00:00")), 0);
  EXPECT_EQ(ns(parse_timestamp("2000-02-29 12:00:00")), 951825600 * kSecond);
  EXPECT_EQ(ns(parse_timestamp("2017-10-09 07:02:41")), 1507532561 * kSecond);
  EXPECT_EQ(ns(parse_timestamp("2020-04-01T00:00:00Z")), 1585699200 * kSecond);
  EXPECT_EQ(ns(parse_timestamp("2023-03-01 08:00:00+08:00")), 1677628800 * kSecond);
  EXPECT_EQ(ns(parse_timestamp("2023-03-01 08:00:00+0800")), 1677628800 * kSecond);
  EXPECT_EQ(ns(parse_timestamp("2023-02-28 19:30:00.25-04:30")), 1677628800 * kSecond + 250000000);
  EXPECT_EQ(ns(parse_timestamp("2023-03-01 00:00")), 1677628800 * kSecond);
}

TEST(ParseTimestamp, ImpossibleDates_AreRefused) {
  // Days that no month has, years outside the range, halves of a form.
  for (const char* text : {"",
                           "2023-02-29 00:00:00",
                           "2023-13-01 00:00:00",
                           "2023-00-01 00:00:00",
                           "2023-01-32 00:00:00",
                           "1969-12-31 23:59:59",
                           "2097-01-01 00:00:00",
                           "2023-01-01",
                           "2023-01-01 24:00:00",
                           "2023-01-01 00:60:00",
                           "2023-01-01 00:00:61",
                           "2023-01-01 00:00:00 PST",
                           "2023-01-01 00:00:00+25:00",
                           "2023-01-01 00:00:00+0",
                           "23-01-01 0:00:00",
                           "2023-01-01 00:00:00.",
                           "yesterday"}) {
    EXPECT_EQ(ns(parse_timestamp(text)), std::nullopt) << text;
  }
}

TEST(ParseTimestamp, EachDayFrom1970To2095_FollowsTheOneBefore) {
  // The calendar, exhaustively: every day of every month is one day after the day before.
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  std::int64_t day = 0;
  for (int year = 1970; year <= 2095; ++year) {
    for (int month = 1; month <= 12; ++month) {
      const bool is_leap = year % 4 == 0;  // 2000 is one too, and 2100 lies outside
      const int days = kDays[month - 1] + (month == 2 && is_leap ? 1 : 0);
      for (int date = 1; date <= days; ++date) {
        const std::string text = fmt::format("{}-{:02}-{:02} 00:00:00", year, month, date);
        ASSERT_EQ(ns(parse_timestamp(text)), day * 86400 * kSecond) << text;
        ++day;
      }
    }
  }
}

TEST(SecondsText, WholeAndBrokenSeconds_HaveNoTrailingZeros) {
  // What files and messages show.
  EXPECT_EQ(seconds_text(Duration()), "0");
  EXPECT_EQ(seconds_text(Duration::milliseconds(1500)), "1.5");
  EXPECT_EQ(seconds_text(Duration::nanoseconds(-1)), "-0.000000001");
  EXPECT_EQ(gpus_text(GpuMilli(460)), "0.46");
  EXPECT_EQ(gpus_text(GpuMilli(8000)), "8");
}

RC_GTEST_PROP(SecondsText, AnyDuration_ReadsBackExactly, ()) {
  // Text and reader are inverse to the nanosecond.
  const auto value = *rc::gen::inRange<std::int64_t>(-4000000000 * kSecond, 4000000000 * kSecond);
  RC_ASSERT(ns(parse_seconds(seconds_text(Duration::nanoseconds(value)))) == value);
}

TEST(TraceCsv, OddTexts_AreQuotedAndReadBack) {
  // Commas, quotation marks and outer blanks survive.
  Trace trace;
  TraceJob job;
  job.id = "a,b";
  job.duration = Duration::milliseconds(2500);
  job.gpus = GpuMilli(250);
  job.app = "say \"hi\"";
  job.gpu_memory = Bytes::mebibytes(512);
  trace.jobs.push_back(job);
  const std::string text = trace_csv(trace);
  EXPECT_EQ(text,
            std::string(kTraceHeading) + "\n\"a,b\",0,2.5,0.25,,0.5,,,,,,,\"say \"\"hi\"\"\"\n");
  const auto back = import_trace({text, "t.csv"}, {});
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(back->findings.empty());
  EXPECT_EQ(back->trace.jobs.at(0).id, "a,b");
  EXPECT_EQ(back->trace.jobs.at(0).app, "say \"hi\"");
  EXPECT_EQ(trace_csv(back->trace), text);
}

RC_GTEST_PROP(TraceCsv, AnyTrace_ReadsBackByteForByte, ()) {
  // Writing, reading and writing again changes nothing and finds nothing that is lost.
  Trace trace;
  SimTime submit;
  const int count = *rc::gen::inRange(1, 20);
  for (int i = 0; i < count; ++i) {
    TraceJob job;
    job.id = fmt::format("j{}", i);
    job.submit = submit;
    submit = submit + Duration::nanoseconds(*rc::gen::inRange<std::int64_t>(0, 1000 * kSecond));
    if (*rc::gen::arbitrary<bool>()) {
      job.duration = Duration::nanoseconds(*rc::gen::inRange<std::int64_t>(1, 9999 * kSecond));
    }
    if (*rc::gen::arbitrary<bool>()) {
      job.gpus = GpuMilli(*rc::gen::inRange<std::int64_t>(0, 1000));
    }
    if (*rc::gen::arbitrary<bool>()) {
      job.gpu_memory = Bytes(*rc::gen::inRange<std::uint64_t>(1U << 20U, std::uint64_t{1} << 36U));
    }
    job.user = *rc::gen::element<std::string>("", "u1", "u2");
    trace.jobs.push_back(std::move(job));
  }
  const std::string text = trace_csv(trace);
  const auto back = import_trace({text, "t.csv"}, {});
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->dropped == 0);
  RC_ASSERT(trace_csv(back->trace) == text);
}

TEST(TraceOfWorkload, MisoMix_KeepsWorkAndSignature) {
  // The mix has no arrivals and no users; memory readings of measured jobs are no needs.
  const auto workload = job::miso_workload("miso-100");
  ASSERT_TRUE(workload);
  const Trace trace = trace_of_workload(*workload);
  ASSERT_EQ(trace.jobs.size(), 100U);
  EXPECT_FALSE(trace.has_submit_times);
  EXPECT_EQ(trace.jobs.at(0).duration, workload->jobs.at(0).work);
  EXPECT_EQ(trace.jobs.at(0).gpus, GpuMilli(1000));
  EXPECT_EQ(trace.jobs.at(0).user, "");
  EXPECT_EQ(trace.jobs.at(0).gpu_memory, std::nullopt);
  EXPECT_THAT(trace.jobs.at(0).app, ::testing::HasSubstr(":"));
}

}  // namespace
}  // namespace septule::interop
