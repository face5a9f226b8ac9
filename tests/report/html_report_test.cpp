#include "report/html_report.hpp"

#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "report/html_report_plots.hpp"
#include "report/sweep_plot.hpp"
#include "support/study_builder.hpp"
#include "support/xml_check.hpp"

namespace septule::report {
namespace {

/// A page that loads nothing: no address, no script, no element or attribute that fetches.
void expect_self_contained(const std::string& page) {
  const test::XmlReader reader(page);
  ASSERT_EQ(reader.fault(), "");
  std::set<std::string> ids;
  const std::set<std::string> fetching = {"script",
                                          "link",
                                          "img",
                                          "iframe",
                                          "object",
                                          "embed",
                                          "video",
                                          "audio",
                                          "source",
                                          "image",
                                          "use",
                                          "base",
                                          "form",
                                          "a"};
  for (const test::XmlElement& element : reader.elements()) {
    EXPECT_FALSE(fetching.contains(element.name)) << element.name;
    for (const auto& [key, value] : element.attributes) {
      EXPECT_FALSE(key == "src" || key == "href" || key.starts_with("on")) << key;
      EXPECT_TRUE(key != "id" || ids.insert(value).second) << "id twice: " << value;
    }
    if (element.name == "style") {
      EXPECT_EQ(element.text.find("url("), std::string::npos);
      EXPECT_EQ(element.text.find("@import"), std::string::npos);
    }
  }
  // Patterns that are used exist.
  for (const test::XmlElement& element : reader.elements()) {
    const std::string fill = element.attribute("fill");
    if (fill.starts_with("url(#")) {
      EXPECT_TRUE(ids.contains(fill.substr(5, fill.size() - 6))) << fill;
    }
  }
}

TEST(HtmlReport, Study_IsOneWellFormedSelfContainedPage) {
  // All drawings inside their boxes; every part is there.
  const std::string page = html_report(test::made_up_study());
  EXPECT_EQ(test::drawing_faults(page), "");
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_EQ(page.find("//"), std::string::npos);
  expect_self_contained(page);
  for (const char* const part : {"<h2>Policies</h2>",
                                 "Compared with nopart",
                                 "<h2>How long jobs take</h2>",
                                 "<h2>What the time goes into</h2>",
                                 "<h2>Queue and throughput</h2>",
                                 "<h2>GPUs over time</h2>",
                                 "septule simulate --gpus 8xA100-40GB",
                                 "prefers-color-scheme:dark",
                                 "One run of each policy (seed 1)"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  for (const job::FigureColumn& column : job::figure_columns()) {
    EXPECT_NE(page.find(fmt::format("<code>{}</code>", column.name)), std::string::npos);
  }
}

TEST(HtmlReport, Means_StandWithTheirIntervals) {
  // 1000 and 2000: 1500, from 1500 - 12.7062 x 500 on; the one is half of the other at both seeds.
  StudyReport study;
  for (const double factor : {1.0, 0.5}) {
    PolicyReport policy;
    for (const std::uint64_t seed : {1U, 2U}) {
      job::RunFigures run;
      run.jobs_done = 1;
      run.mean_jct_s = factor * 1000 * static_cast<double>(seed);
      run.makespan_s = 90 + static_cast<double>(seed) / 100;
      policy.runs.push_back(run);
      policy.seeds.push_back(seed);
    }
    study.policies.push_back(policy);
  }
  const std::string page = html_report(study);
  EXPECT_NE(page.find("<td>1,500.0<small>-4,853.1 to 7,853.1</small></td>"), std::string::npos);
  EXPECT_NE(page.find("<td>90.02<small>89.95\xe2\x80\x93"
                      "90.08</small></td>"),
            std::string::npos);
  EXPECT_NE(page.find("<td>-50.0 %<small>-50.0 % to -50.0 %</small></td>"), std::string::npos);
}

TEST(HtmlReport, EqualStudies_GiveEqualBytes) {
  // Nothing of the machine or the moment gets in.
  EXPECT_EQ(html_report(test::made_up_study()), html_report(test::made_up_study()));
}

TEST(HtmlReport, Policies_HaveOneColourInAllDrawings) {
  // The third policy's line, bar and key are of one class.
  const std::string page = html_report(test::made_up_study());
  // Key in three tables (nothing is said about the policies); three bars; a line and its legend in
  // three plots.
  EXPECT_EQ(test::count_class(page, "c2"), 3 + 3 + 6);
}

/// Two policies on two clusters at two gaps, the pictures' runs with them.
StudyReport sweep_study() {
  StudyReport study = test::made_up_study({.policies = {"nopart", "miso"}, .seeds = 2});
  const std::vector<PolicyReport> made = study.policies;
  study.policies.clear();
  for (const char* const cluster : {"2 x A100-40GB", "2 x A30-24GB"}) {
    for (const int gap : {30, 5}) {
      for (PolicyReport policy : made) {
        policy.policy = policy.name;
        policy.summary = "about " + policy.policy;
        policy.cluster = cluster;
        policy.gap = seconds_to_duration(gap);
        policy.name = fmt::format("{} on {}, gap {} s", policy.policy, cluster, gap);
        policy.base = gap == 30 ? 0 : 2;
        study.policies.push_back(policy);
      }
    }
  }
  return study;
}

TEST(HtmlReport, SweepsOfClusters_AreColouredByPolicy) {
  // The chart comes first, gaps are columns, and pictures of single runs are those of one gap.
  const StudyReport study = sweep_study();
  const std::string page = html_report(study);
  EXPECT_EQ(test::drawing_faults(page), "");
  expect_self_contained(page);
  EXPECT_LT(page.find("<h2>Over the load</h2>"), page.find("<table>"));
  EXPECT_NE(page.find("<th>gap 30 s</th><th>gap 5 s</th>"), std::string::npos);
  EXPECT_NE(page.find("The first gap only (30 s). One run"), std::string::npos);
  EXPECT_NE(page.find("<h3>miso on 2 x A30-24GB, gap 30 s</h3>"), std::string::npos);
  EXPECT_EQ(page.find("<h3>miso on 2 x A30-24GB, gap 5 s</h3>"), std::string::npos);
  EXPECT_EQ(page.find("class=\"bar c2\""), std::string::npos);
  EXPECT_EQ(page.find("class=\"line c2"), std::string::npos);
  EXPECT_NE(page.find("class=\"line c1 dash1\""), std::string::npos);
}

TEST(HtmlReport, PoliciesAndTerms_AreExplained) {
  // Once per policy, whatever number of clusters and gaps it has; escaped.
  StudyReport study = sweep_study();
  for (PolicyReport& policy : study.policies) {
    policy.summary += " & more";
  }
  const std::string page = html_report(study);
  const std::size_t at = page.find("about miso &amp; more");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(page.find("about miso", at + 1), std::string::npos);
  EXPECT_NE(page.find("<th>re-cut</th>"), std::string::npos);
}

TEST(HtmlReport, RejectedJobs_GetAColumn) {
  // Only when there are any.
  StudyReport study = test::made_up_study();
  EXPECT_EQ(html_report(study).find("done / rejected"), std::string::npos);
  for (job::RunFigures& run : study.policies[0].runs) {
    run.jobs_done = 38;
    run.jobs_rejected = 2;
  }
  const std::string page = html_report(study);
  EXPECT_NE(page.find("<th>jobs done / rejected</th>"), std::string::npos);
  EXPECT_NE(page.find("<td>38 / 2</td>"), std::string::npos);
}

TEST(SweepPlot, Clusters_DifferByTheirDashes) {
  // One line per policy and cluster, colours by policy, points by gap.
  const LinePlot plot = sweep_plot(sweep_study());
  ASSERT_EQ(plot.lines.size(), 4U);
  EXPECT_EQ(plot.lines[1].name, "miso on 2 x A100-40GB");
  EXPECT_EQ(plot.lines[1].index, 1);
  EXPECT_EQ(plot.lines[3].name, "miso on 2 x A30-24GB");
  EXPECT_EQ(plot.lines[3].index, 1 + kPlotColours);
  ASSERT_EQ(plot.lines[3].points.size(), 2U);
  EXPECT_EQ(plot.lines[3].points[0].x, 5);
  EXPECT_TRUE(sweep_plot(test::made_up_study()).lines.empty());
  EXPECT_TRUE(sweep_plot({}).lines.empty());
}

TEST(HtmlReport, HostileTexts_AreShownNotObeyed) {
  // Every text of a study is somebody's input.
  const std::string hostile = "</title></style><script>alert(1)</script>\"'&\x01\xff\n]]>--";
  StudyReport study = test::made_up_study({.policies = {hostile, "b" + hostile}});
  study.title = study.cluster = study.trace = study.command = study.version = hostile;
  study.options = {{hostile, hostile}};
  for (ReportGpu& gpu : study.gpus) {
    gpu.label = hostile;
  }
  for (PolicyReport& policy : study.policies) {
    policy.policy = "p" + policy.name;
    policy.cluster = policy.summary = hostile;
    policy.gap = seconds_to_duration(policy.name == hostile ? 5 : 6);
    for (std::string& name : policy.representative->job_names) {
      name = hostile;
    }
  }
  const std::string page = html_report(study);
  EXPECT_EQ(test::drawing_faults(page), "");
  expect_self_contained(page);
  EXPECT_NE(page.find("&lt;script&gt;alert(1)"), std::string::npos);
}

TEST(HtmlReport, EmptyStudies_SaySo) {
  // No policy at all; policies without runs; runs without anything recorded.
  const std::string none = html_report({});
  EXPECT_NE(none.find("No policy was run."), std::string::npos);
  expect_self_contained(none);
  StudyReport study;
  study.policies.resize(2);
  const std::string bare = html_report(study);
  EXPECT_EQ(test::drawing_faults(bare), "");
  EXPECT_NE(bare.find("N/A"), std::string::npos);
  EXPECT_NE(bare.find("no data"), std::string::npos);
  EXPECT_NE(bare.find("No timeline was recorded."), std::string::npos);
  study.policies[0].representative.emplace();
  EXPECT_EQ(test::drawing_faults(html_report(study)), "");
}

TEST(HtmlReport, OneSeed_ShowsNoIntervals) {
  // There is nothing small beside a mean that comes from one run.
  const std::string page = html_report(test::made_up_study({.seeds = 1}));
  EXPECT_EQ(page.find("<small>"), std::string::npos);
  EXPECT_EQ(test::count_class(page, "bound"), 0);
  EXPECT_NE(html_report(test::made_up_study()).find("<small>"), std::string::npos);
}

TEST(HtmlReport, DegenerateFigures_AreDrawn) {
  // All equal, all zero, a makespan of zero, JCTs of zero.
  StudyReport study = test::made_up_study();
  for (PolicyReport& policy : study.policies) {
    for (job::RunFigures& run : policy.runs) {
      run = job::RunFigures{};
      run.jobs_done = 1;
    }
    policy.jct_s.assign(100, 0.0);
    policy.representative->run.makespan = SimTime();
  }
  EXPECT_EQ(test::drawing_faults(html_report(study)), "");
  study.policies[0].jct_s.assign(100, 7.0);
  EXPECT_EQ(test::drawing_faults(html_report(study)), "");
}

TEST(HtmlReport, LargeStudy_StaysWithinItsSize) {
  // Eleven policies, 1,000 jobs, 64 GPUs and long series make less than 6 MB, by the limits.
  const std::vector<std::string> policies = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};
  const StudyReport study =
      test::made_up_study({.policies = policies, .seeds = 2, .jobs = 1000, .gpus = 64});
  const std::string page = html_report(study);
  EXPECT_LT(page.size(), 6000000U);
  EXPECT_NE(page.find("Not drawn: GPUs "), std::string::npos);
  EXPECT_EQ(test::drawing_faults(page), "");
  // A narrower limit gives a smaller page.
  EXPECT_LT(html_report(study, {.timeline_pieces_max = 1}).size(), 800000U);
}

TEST(DistributionPoints, FewSamples_AreTheirExactSteps) {
  // From 0 at the least sample to 1 at the largest; zeros cannot stand on a logarithmic axis.
  const auto points = distribution_points({30, 10, 20, 10, 0});
  ASSERT_EQ(points.size(), 5U);
  EXPECT_EQ(points[0].y, 0);
  EXPECT_EQ(points[1].x, 10);
  EXPECT_EQ(points[1].y, 0.25);
  EXPECT_EQ(points[2].y, 0.5);
  EXPECT_EQ(points[4].x, 30);
  EXPECT_EQ(points[4].y, 1);
  EXPECT_TRUE(distribution_points({}).empty());
  EXPECT_TRUE(distribution_points({0, -1}).empty());
}

RC_GTEST_PROP(DistributionPoints, AnySample_RisesToOne, ()) {
  // Ascending in both directions, each point true of the sample, at most 401 of them.
  const auto raw =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(1000, rc::gen::inRange(1, 10000)));
  const std::vector<double> samples(raw.begin(), raw.end());
  const auto points = distribution_points(samples);
  RC_ASSERT(points.size() <= 401U);
  RC_ASSERT(points.back().y == 1);
  for (std::size_t i = 1; i < points.size(); ++i) {
    RC_ASSERT(points[i].x >= points[i - 1].x);
    RC_ASSERT(points[i].y > points[i - 1].y);
    const auto below =
        std::ranges::count_if(samples, [&](double sample) { return sample <= points[i].x; });
    RC_ASSERT(static_cast<double>(below) / 1000 >= points[i].y - 1e-12);
  }
}

TEST(SeriesPoints, ShortSeries_AreDrawnAsTheyAre) {
  // Up to the end, where the last value is repeated; later points belong to nobody.
  const std::vector<job::SeriesPoint> series = {{test::at_seconds(0), 1, 0, 0},
                                                {test::at_seconds(5), 3, 0, 0},
                                                {test::at_seconds(20), 9, 0, 0}};
  const auto points = series_points(series, &job::SeriesPoint::queue, test::at_seconds(10));
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[1].y, 3);
  EXPECT_EQ(points[2].x, 10);
  EXPECT_EQ(points[2].y, 3);
  EXPECT_TRUE(series_points(series, &job::SeriesPoint::queue, SimTime()).empty());
  EXPECT_TRUE(series_points({}, &job::SeriesPoint::queue, test::at_seconds(10)).empty());
}

TEST(SeriesPoints, LongSeries_KeepTheirMeanOverTime) {
  // The area under the drawn steps is that under the series.
  Rng rng(5);
  std::vector<job::SeriesPoint> series;
  double area = 0;
  double time = 0;
  for (int i = 0; i < 5000; ++i) {
    const double value = 10 * rng.uniform();
    const double length = i == 2000 ? 3000.0 : 10 * rng.uniform();
    series.push_back({test::at_seconds(time), value, 0, 0});
    area += value * length;
    time += length;
  }
  const auto points = series_points(series, &job::SeriesPoint::queue, test::at_seconds(time));
  ASSERT_LE(points.size(), 121U);
  double drawn = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    drawn += points[i].y * (points[i + 1].x - points[i].x);
  }
  EXPECT_NEAR(drawn / area, 1, 1e-6);
}

}  // namespace
}  // namespace septule::report
