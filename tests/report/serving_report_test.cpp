#include "report/serving_report.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/serving_timeline.hpp"
#include "support/xml_check.hpp"

namespace septule::report {
namespace {

using testing::HasSubstr;
using testing::Not;

SimTime at_s(std::int64_t seconds) {
  return SimTime::nanoseconds(seconds * 1000000000);
}

/// A run of `seconds` whose GPU changes every `every` seconds between two layouts.
job::ServingRecord made_up_run(std::int64_t seconds, std::int64_t every) {
  job::ServingRecord run;
  run.policy = "septule";
  run.mode = "request";
  run.forecaster = "ewma-trend";
  run.seed = 7;
  run.gpu_count = 1;
  run.span = Duration::milliseconds(seconds * 1000);
  run.moves = 10;
  run.moves_with_free_slot = 4;
  run.capacity_lost = 20;
  run.capacity_lost_in_place = 100;
  run.gpu_seconds_used = static_cast<double>(seconds);
  for (int tenant = 0; tenant < 2; ++tenant) {
    job::ServingTenantRecord record;
    record.name = tenant == 0 ? "bert <a> & b" : "vgg";
    record.p50_ms = 12.5;
    record.p99_ms = 80 + tenant;
    for (std::int64_t second = 0; second < seconds; ++second) {
      record.series.push_back({.begin = at_s(second),
                               .arrived = 10,
                               .in_slo = 9,
                               .capacity = 14,
                               .goodput = 8.1,
                               .forecast_rps = tenant == 0 ? 11.0 : 0.0});
      record.arrived += 10;
      record.in_slo += 9;
      record.goodput += 8.1;
    }
    run.weighted_goodput += record.goodput;
    run.tenants.push_back(std::move(record));
  }
  run.tenants[1].retraining = {{at_s(1), at_s(seconds / 2)}};
  run.bound = run.weighted_goodput * 1.01;
  run.planned_goodput = run.weighted_goodput * 1.02;
  for (std::int64_t begin = 0; begin < seconds; begin += every) {
    const bool is_odd = begin / every % 2 == 1;
    run.timeline.push_back(
        {.gpu = 0,
         .begin = at_s(begin),
         .end = at_s(std::min(begin + every, seconds)),
         .uses = {{0, 4, is_odd ? "vgg retrains" : "bert <a> & b", is_odd ? 1 : 0, is_odd},
                  {4, 4, "vgg", 1, false}}});
  }
  return run;
}

ServingReport made_up_report(std::int64_t seconds, std::int64_t every) {
  ServingReport report;
  report.title = "Two tenants & <one> GPU";
  report.lead = "bert and \"vgg\"";
  report.policies = {{"septule", {made_up_run(seconds, every)}},
                     {"ekya-like", {made_up_run(seconds, every)}}};
  report.policies[1].runs.front().weighted_goodput /= 1.25;
  report.policies[1].runs.front().bound = std::nullopt;
  report.policies[1].runs.front().timeline.clear();
  report.settings = {{"margin", "0.45"}};
  report.notes = {"a note <with marks>"};
  report.command = "septule serve simulate tenants.yaml";
  report.version = "0.1.0";
  return report;
}

TEST(ServingReport, Page_IsOneWellFormedSelfContainedPage) {
  // Aim: XML without a fault, drawings inside their boxes, nothing that a browser would fetch.
  const std::string page = serving_page(made_up_report(200, 20));
  EXPECT_EQ(test::XmlReader(page).fault(), "");
  EXPECT_EQ(test::drawing_faults(page), "");
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("bert &lt;a&gt; &amp; b"));
  EXPECT_THAT(page, HasSubstr("When models were retrained"));
}

TEST(ServingReport, Page_OfADayAtOneSecond_IsSmall) {
  // Aim: 86,400 steps with a change every second stay below 2 MB, and what is left out is said.
  const std::string page = serving_page(made_up_report(86400, 1));
  EXPECT_LT(page.size(), 2000000U);
  EXPECT_EQ(test::XmlReader(page).fault(), "");
  EXPECT_THAT(page, HasSubstr("lasted longest in each of"));
}

TEST(ServingReport, Page_UnknownFiguresAreNotNumbers) {
  // Aim: without a bound there is no gap, and that is N/A; the ratio is the first against the
  // other.
  const std::string page = serving_page(made_up_report(200, 20));
  EXPECT_THAT(page, HasSubstr("<th>gap to the bound</th><td>1.00 %</td><td>N/A</td>"));
  EXPECT_THAT(page, HasSubstr("<th>overhead hidden</th><td>80.00 %</td>"));
  EXPECT_THAT(page, HasSubstr("<tr><th>ekya-like</th><td>1.250</td><td>1 run</td>"));
  EXPECT_THAT(page, HasSubstr("No timeline was recorded."));
}

TEST(ServingReport, Page_ViolationsAreShown) {
  // Aim: what the checkers object to cannot be overlooked.
  ServingReport report = made_up_report(20, 5);
  report.policies.front().runs.front().violations = {"GPU 0 overlaps <itself>"};
  EXPECT_THAT(serving_page(report),
              HasSubstr("The checkers object to septule, seed 7: GPU 0 overlaps &lt;itself&gt;"));
}

TEST(ServingTimeline, Pieces_UnchangedUseIsOnePiece) {
  // Aim: the instance that stays is one rectangle; the one that changes is one for each change.
  const std::vector<ServingPiece> pieces = serving_pieces(made_up_run(100, 10).timeline);
  ASSERT_EQ(pieces.size(), 11U);
  EXPECT_EQ(pieces.back().use.label, "vgg");
  EXPECT_EQ(pieces.back().end, at_s(100));
  EXPECT_EQ(pieces[1].use.label, "vgg retrains");
  EXPECT_TRUE(pieces[1].use.is_warming_up);
}

TEST(ServingTimeline, CoarseSpans_TakeWhatLastedLongest) {
  // Aim: of two uses in a part the longer one stands for it, and parts cover the run without gaps.
  const std::vector<job::ServingSpan> spans = {
      {.gpu = 0, .begin = at_s(0), .end = at_s(3), .uses = {{0, 8, "a", 0, false}}},
      {.gpu = 0, .begin = at_s(3), .end = at_s(10), .uses = {{0, 8, "b", 1, false}}},
      {.gpu = 0, .begin = at_s(10), .end = at_s(21), .uses = {{0, 8, "c", 2, false}}}};
  const std::vector<job::ServingSpan> coarse = coarse_spans(spans, at_s(21), 2);
  ASSERT_EQ(coarse.size(), 2U);
  EXPECT_EQ(coarse[0].uses.front().label, "b");
  EXPECT_EQ(coarse[1].uses.front().label, "c");
  EXPECT_EQ(coarse[0].end, coarse[1].begin);
  EXPECT_EQ(coarse[1].end, at_s(21));
}

}  // namespace
}  // namespace septule::report
