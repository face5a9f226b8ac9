#include "report/forecasts.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "report/html_report.hpp"
#include "report/study_rows.hpp"
#include "support/read_file.hpp"
#include "support/study_builder.hpp"
#include "support/xml_check.hpp"

namespace septule::report {
namespace {

/// The made-up study, its last policy with forecasts on 7g and 2g.
StudyReport study_with_forecasts(int stays) {
  StudyReport study = test::made_up_study();
  PolicyReport& policy = study.policies.back();
  SEPTULE_CHECK(policy.representative.has_value(), "made-up policies have a run");
  auto& forecasts = policy.representative->run.forecasts;
  for (int i = 0; i < stays; ++i) {
    const double actual = 0.3 + 0.4 * i / stays;
    forecasts.push_back({.job = job::JobId(i % 40),
                         .slices = ComputeSlices(2),
                         .decided = test::at_seconds(10 * i),
                         .begin = test::at_seconds(10 * i + 2.5),
                         .believed = actual + 0.1,
                         .actual = actual});
  }
  forecasts.push_back({.job = job::JobId(0),
                       .slices = ComputeSlices(7),
                       .decided = test::at_seconds(1),
                       .begin = test::at_seconds(2),
                       .believed = 1,
                       .actual = 1});
  policy.forecasts = job::forecast_sums(forecasts);
  study.predictor_notes = {"Policies believe ours & see <what>."};
  return study;
}

TEST(Forecasts, Columns_AreDocumentedAsTheyAreWritten) {
  // Aim: docs/formats.md lists exactly the columns of the file, with unit and formula.
  const std::string text = test::read_file(std::string(SEPTULE_SOURCE_DIR) + "/docs/formats.md");
  const std::size_t from = text.find("\n## Forecast rows\n");
  ASSERT_NE(from, std::string::npos);
  std::string rows;
  for (const std::string_view line :
       split_lines(std::string_view(text).substr(from, text.find("\n## ", from + 1) - from))) {
    rows += line.starts_with("| `") ? std::string(line) + "\n" : "";
  }
  std::string expected;
  for (const CsvColumn& column : forecast_columns()) {
    expected += fmt::format("| `{}` | {} | {} |\n", column.name, column.unit, column.formula);
  }
  EXPECT_EQ(rows, expected);
}

TEST(Forecasts, Csv_HasARowForEachStay) {
  // Aim: cells in the order of the heading; error is the difference; times are exact.
  StudyReport study = study_with_forecasts(2);
  RepresentativeRun run = *study.policies.back().representative;
  run.run.policy = "mi,so";
  run.run.seed = 3;
  run.job_names = {"a \"b\"", "c"};
  EXPECT_EQ(forecasts_csv(run),
            "policy,seed,job,name,slices,decided_s,begin_s,believed,actual,error\n"
            "\"mi,so\",3,0,\"a \"\"b\"\"\",2,0,2.5,0.400000,0.300000,0.100000\n"
            "\"mi,so\",3,1,c,2,10,12.5,0.600000,0.500000,0.100000\n"
            "\"mi,so\",3,0,\"a \"\"b\"\"\",7,1,2,1.000000,1.000000,0.000000\n");
}

TEST(Forecasts, Page_ShowsErrorsAndADrawingPerSlice) {
  // Aim: a well-formed page: table, notes, and dots for 2g, not too many; none for 7g, where all
  // is right by definition.
  const StudyReport study = study_with_forecasts(2000);
  const std::string page = html_report(study);
  EXPECT_EQ(test::drawing_faults(page), "");
  EXPECT_NE(page.find("<h2>Predicted against realised speed</h2>"), std::string::npos);
  EXPECT_NE(page.find("Policies believe ours &amp; see &lt;what&gt;."), std::string::npos);
  EXPECT_NE(page.find("<td>2g</td><td>2000</td><td>0.1000</td><td>0.1000</td>"), std::string::npos);
  EXPECT_EQ(page.find("<h3>7g</h3>"), std::string::npos);
  EXPECT_EQ(page.find("<td>7g</td>"), std::string::npos);
  EXPECT_EQ(page.find("(few)"), std::string::npos);
  const std::size_t two = page.find("<h3>2g</h3>");
  ASSERT_NE(two, std::string::npos);
  const std::string part = page.substr(two, page.find("</svg>", two) - two);
  std::size_t dots = 0;
  for (std::size_t at = part.find("<circle"); at != std::string::npos;
       at = part.find("<circle", at + 1)) {
    ++dots;
  }
  EXPECT_GT(dots, 200U);
  EXPECT_LE(dots, 400U);
  EXPECT_EQ(html_report(study), page);
}

TEST(Forecasts, FewStays_AreMarked) {
  // Aim: a mean of 19 stays is marked in page and line, one of 20 is not.
  EXPECT_NE(html_forecasts(study_with_forecasts(19)).find("<td>2g</td><td>19 (few)</td>"),
            std::string::npos);
  EXPECT_NE(html_forecasts(study_with_forecasts(20)).find("<td>2g</td><td>20</td>"),
            std::string::npos);
  const std::string name = policy_key(study_with_forecasts(19).policies.back());
  EXPECT_EQ(forecast_errors_text(study_with_forecasts(19)),
            "Mean error of predicted speeds, whole GPU = 1: " + name +
                " 2g 0.1000 (few stays); more in report.html of --out.");
  EXPECT_EQ(forecast_errors_text(study_with_forecasts(20)).find("few"), std::string::npos);
  EXPECT_EQ(forecast_errors_text(study_with_forecasts(0)), "");
}

TEST(Forecasts, PolicyWithoutPoints_IsInNoKey) {
  // Aim: a drawing lists only policies that have points of its slice.
  StudyReport study = study_with_forecasts(30);
  PolicyReport& other = study.policies.front();
  SEPTULE_CHECK(other.representative.has_value(), "made-up policies have a run");
  other.representative->run.forecasts = {
      {.slices = ComputeSlices(3), .believed = 0.5, .actual = 0.4}};
  other.forecasts = job::forecast_sums(other.representative->run.forecasts);
  const std::string page = html_forecasts(study);
  const std::size_t three = page.find("<h3>3g</h3>");
  const std::size_t two = page.find("<h3>2g</h3>");
  ASSERT_NE(three, std::string::npos);
  ASSERT_LT(three, two);
  EXPECT_NE(page.substr(three, two - three).find(policy_key(other)), std::string::npos);
  EXPECT_EQ(page.substr(two).find(policy_key(other)), std::string::npos);
  // A slice of which the run that is drawn has no stay gets no empty drawing.
  other.representative->run.forecasts.clear();
  EXPECT_EQ(html_forecasts(study).find("<h3>3g</h3>"), std::string::npos);
}

TEST(Forecasts, StudyWithoutThem_PageIsAsBefore) {
  // Aim: a table's study gets no part about predictions.
  const StudyReport study = test::made_up_study();
  EXPECT_FALSE(has_forecasts(study));
  EXPECT_EQ(html_forecasts(study), "");
  EXPECT_EQ(html_report(study).find("realised"), std::string::npos);
  EXPECT_TRUE(has_forecasts(study_with_forecasts(1)));
}

TEST(ForecastSums, AnyOrderOfParts_AddUpBySlice) {
  // Aim: sums of parts are the sums of all, the most slices first.
  std::vector<job::SpeedForecast> all;
  for (int i = 0; i < 30; ++i) {
    all.push_back(
        {.slices = ComputeSlices(1 + i % 4), .believed = 0.5 + 0.01 * (i % 7), .actual = 0.53});
  }
  const auto whole = job::forecast_sums(all);
  ASSERT_EQ(whole.size(), 4U);
  EXPECT_EQ(whole.front().slices, ComputeSlices(4));
  EXPECT_EQ(whole.back().slices, ComputeSlices(1));
  const std::span<const job::SpeedForecast> view(all);
  auto parts = job::forecast_sums(view.first(11));
  job::add_forecast_sums(parts, job::forecast_sums(view.subspan(11)));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(parts[i].count, whole[i].count);
    EXPECT_NEAR(parts[i].error, whole[i].error, 1e-12);
    EXPECT_NEAR(parts[i].error_abs, whole[i].error_abs, 1e-12);
  }
  EXPECT_TRUE(job::forecast_sums({}).empty());
}

}  // namespace
}  // namespace septule::report
