#include "report/learning_report.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/xml_check.hpp"

namespace septule::report {
namespace {

using testing::HasSubstr;
using testing::Not;

LearningReport made_up_report() {
  LearningReport report;
  report.title = "A network & its <windows>";
  report.lead = "trained \"somewhere\"";
  LinePlot curve;
  curve.title = "Share of the exact gain";
  curve.x = {"updates", AxisKind::kNumber, {}, {}};
  curve.y = {"share", AxisKind::kPercent, {}, {}};
  curve.lines.push_back({"validation", 0, {{0, 0.8, {}, {}}, {1000, 0.98, 0.97, 0.99}}});
  report.curves.push_back(curve);
  MethodComparison comparison;
  comparison.title = "Held-out jobs";
  comparison.note = "2 windows of 12 jobs";
  comparison.methods.push_back({.name = "exact",
                                .text = "groups with barriers",
                                .gain = job::Interval{1.5, 1.4, 1.6},
                                .gain_max = 1.75,
                                .of_exact = job::Interval{1, 1, 1},
                                .of_exact_least = 1.0,
                                .decision_time_us = 12345});
  comparison.methods.push_back({.name = "rl",
                                .text = "",
                                .gain = job::Interval{1.48, {}, {}},
                                .gain_max = {},
                                .of_exact = {},
                                .of_exact_least = {},
                                .decision_time_us = {}});
  report.comparisons.push_back(comparison);
  report.settings = {{"seed", "1"}};
  report.command = "septule train window --seed 1";
  report.version = "0.1.0";
  return report;
}

TEST(LearningReport, Page_IsOneWellFormedSelfContainedPage) {
  // Aim: XML without a fault, drawings inside their boxes, nothing that a browser would fetch.
  const std::string page = learning_page(made_up_report());
  EXPECT_EQ(test::XmlReader(page).fault(), "");
  EXPECT_EQ(test::drawing_faults(page), "");
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("A network &amp; its &lt;windows&gt;"));
  EXPECT_THAT(page, HasSubstr("septule train window --seed 1"));
}

TEST(LearningReport, Page_UnknownFiguresAreNotNumbers) {
  // Aim: what was not measured is N/A in page and table, never 0.
  const std::string page = learning_page(made_up_report());
  EXPECT_THAT(page, HasSubstr("<th>rl</th><td>1.480</td><td>N/A</td><td>N/A</td>"));
  const std::string text = comparison_text(made_up_report().comparisons.front());
  EXPECT_THAT(text, HasSubstr("rl      1.480"));
  EXPECT_THAT(text, HasSubstr("N/A"));
}

TEST(LearningReport, Text_HasARowForEachMethod) {
  // Aim: the figures of the table are those handed over.
  const std::string text = comparison_text(made_up_report().comparisons.front());
  EXPECT_THAT(text, HasSubstr("Held-out jobs\n2 windows of 12 jobs\n"));
  EXPECT_THAT(text, HasSubstr("[1.400, 1.600]"));
  EXPECT_THAT(text, HasSubstr("1.750"));
  EXPECT_THAT(text, HasSubstr("100.00-100.00 %"));
  EXPECT_THAT(text, HasSubstr("12345"));
}

TEST(LearningReport, Page_WithoutCurvesOrComparisons_IsStillAPage) {
  // Aim: a report of nothing has its title and no empty table.
  LearningReport report;
  report.title = "nothing";
  const std::string page = learning_page(report);
  EXPECT_EQ(test::XmlReader(page).fault(), "");
  EXPECT_THAT(page, Not(HasSubstr("<table")));
}

}  // namespace
}  // namespace septule::report
