#include "report/html_report_plots.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/number_text.hpp"
#include "report/svg_plot_bars.hpp"

namespace septule::report {

namespace {

constexpr std::size_t kDistributionPoints = 400;
constexpr std::size_t kSeriesParts = 120;
constexpr int kPanelWidth = 340;

using Figure = double job::RunFigures::*;

struct Panel {
  const char* title;
  AxisKind kind;
  Figure member;
  int decimals;
};

BarPlot panel_of(const StudyReport& study, const Panel& panel) {
  BarPlot plot;
  plot.title = panel.title;
  plot.axis = {panel.title, panel.kind, {}, {}};
  plot.width = kPanelWidth;
  for (std::size_t i = 0; i < study.policies.size(); ++i) {
    Bar bar;
    bar.name = study.policies[i].name;
    bar.index = static_cast<int>(i);
    const auto interval = policy_interval(study.policies[i], panel.member);
    if (interval.has_value()) {
      bar.parts = {interval->mean};
      bar.low = interval->low;
      bar.high = interval->high;
      bar.text = grouped_text(interval->mean, panel.decimals);
    }
    plot.bars.push_back(std::move(bar));
  }
  return plot;
}

/// Value of a series at the cuts of `parts` equal parts: mean over time within each.
std::vector<PlotPoint> part_means(const std::vector<job::SeriesPoint>& series,
                                  double job::SeriesPoint::* member,
                                  SimTime end) {
  const double part_s = end.to_seconds() / static_cast<double>(kSeriesParts);
  std::vector<double> sums(kSeriesParts, 0);
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double from = std::max(series[i].time.to_seconds(), 0.0);
    const double next = i + 1 < series.size() ? series[i + 1].time.to_seconds() : end.to_seconds();
    const double to = std::min(next, end.to_seconds());
    auto part = static_cast<std::size_t>(std::min(from / part_s, 1e9));
    for (; part < kSeriesParts && static_cast<double>(part) * part_s < to; ++part) {
      const double begin = std::max(from, static_cast<double>(part) * part_s);
      const double finish = std::min(to, static_cast<double>(part + 1) * part_s);
      sums[part] += std::max(finish - begin, 0.0) * series[i].*member;
    }
  }
  std::vector<PlotPoint> points;
  for (std::size_t part = 0; part < kSeriesParts; ++part) {
    points.push_back({static_cast<double>(part) * part_s, sums[part] / part_s, {}, {}});
  }
  return points;
}

}  // namespace

SimTime last_makespan(const StudyReport& study) {
  SimTime last;
  for (const PolicyReport& policy : study.policies) {
    if (policy.representative.has_value()) {
      last = std::max(last, policy.representative->run.makespan);
    }
  }
  return last;
}

std::string html_overview(const StudyReport& study) {
  constexpr std::array kPanels = std::to_array<Panel>({
      {"mean JCT, s (less is better)", AxisKind::kNumber, &job::RunFigures::mean_jct_s, 0},
      {"makespan, s (less is better)", AxisKind::kNumber, &job::RunFigures::makespan_s, 0},
      {"STP per GPU (more is better)", AxisKind::kNumber, &job::RunFigures::stp_per_gpu, 3},
  });
  std::string out = "<div class=\"panels\">\n";
  for (const Panel& panel : kPanels) {
    out += "<div>" + svg_bar_plot(panel_of(study, panel), Embedding::kInline) + "</div>\n";
  }
  return out + "</div>\n";
}

std::vector<PlotPoint> distribution_points(const std::vector<double>& samples) {
  std::vector<double> sorted;
  std::ranges::copy_if(
      samples, std::back_inserter(sorted), [](double sample) { return sample > 0; });
  std::ranges::sort(sorted);
  std::vector<PlotPoint> points;
  if (sorted.empty()) {
    return points;
  }
  points.push_back({sorted.front(), 0, {}, {}});
  const std::size_t count = std::min(sorted.size(), kDistributionPoints);
  for (std::size_t i = 1; i <= count; ++i) {
    // The sample up to which i of `count` equal shares lie; the last one is the largest.
    const std::size_t rank = sorted.size() * i / count;
    const double share = static_cast<double>(rank) / static_cast<double>(sorted.size());
    points.push_back({sorted[rank - 1], share, {}, {}});
  }
  return points;
}

std::string html_distribution(const StudyReport& study) {
  LinePlot plot;
  plot.title = "Distribution of job completion times";
  plot.x = {"job completion time (logarithmic)", AxisKind::kLogTime, {}, {}};
  plot.y = {"share of jobs", AxisKind::kPercent, 0.0, 1.0};
  plot.shape = LineShape::kSteps;
  for (std::size_t i = 0; i < study.policies.size(); ++i) {
    plot.lines.push_back({study.policies[i].name,
                          static_cast<int>(i),
                          distribution_points(study.policies[i].jct_s)});
  }
  return svg_line_plot(plot, Embedding::kInline);
}

std::string html_breakdown(const StudyReport& study) {
  BarPlot plot;
  plot.title = "What the mean JCT consists of";
  plot.axis = {"mean time per job, s", AxisKind::kNumber, {}, {}};
  plot.part_names = {"wait", "characterisation", "reconfiguration", "running"};
  for (std::size_t i = 0; i < study.policies.size(); ++i) {
    Bar bar;
    bar.name = study.policies[i].name;
    bar.index = static_cast<int>(i);
    for (const Figure member : {&job::RunFigures::mean_wait_s,
                                &job::RunFigures::mean_characterisation_s,
                                &job::RunFigures::mean_reconfiguration_s,
                                &job::RunFigures::mean_running_s}) {
      const auto interval = policy_interval(study.policies[i], member);
      if (interval.has_value()) {
        bar.parts.push_back(interval->mean);
      }
    }
    const auto jct = policy_interval(study.policies[i], &job::RunFigures::mean_jct_s);
    bar.text = jct.has_value() ? grouped_text(jct->mean, 0) + " s" : "N/A";
    plot.bars.push_back(std::move(bar));
  }
  return svg_bar_plot(plot, Embedding::kInline);
}

std::vector<PlotPoint> series_points(const std::vector<job::SeriesPoint>& series,
                                     double job::SeriesPoint::* member,
                                     SimTime end) {
  if (series.empty() || end <= SimTime()) {
    return {};
  }
  std::vector<PlotPoint> points;
  if (series.size() > kSeriesParts) {
    points = part_means(series, member, end);
  } else {
    for (const job::SeriesPoint& point : series) {
      if (point.time <= end) {
        points.push_back({point.time.to_seconds(), point.*member, {}, {}});
      }
    }
  }
  if (!points.empty()) {
    points.push_back({end.to_seconds(), points.back().y, {}, {}});
  }
  return points;
}

std::string html_series(const StudyReport& study,
                        double job::SeriesPoint::* member,
                        const std::string& title) {
  LinePlot plot;
  plot.title = title + " over time";
  plot.x = {"time since the start of the trace", AxisKind::kTime, 0.0, {}};
  plot.y = {title, AxisKind::kNumber, 0.0, {}};
  plot.shape = LineShape::kSteps;
  for (std::size_t i = 0; i < study.policies.size(); ++i) {
    const PolicyReport& policy = study.policies[i];
    PlotLine line{policy.name, static_cast<int>(i), {}};
    if (policy.representative.has_value()) {
      const job::RunRecord& run = policy.representative->run;
      line.points = series_points(run.series, member, run.makespan);
    }
    plot.lines.push_back(std::move(line));
  }
  return svg_line_plot(plot, Embedding::kInline);
}

}  // namespace septule::report
