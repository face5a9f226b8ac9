#include "report/html_report_plots.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/number_text.hpp"
#include "report/study_rows.hpp"
#include "report/svg_plot_bars.hpp"

namespace septule::report {

namespace {

constexpr std::size_t kDistributionPoints = 400;
constexpr std::size_t kSeriesParts = 120;
constexpr int kPanelWidth = 340;
constexpr double kPanelNameMax = 124;  // wider names need panels of the whole width

using Figure = double job::RunFigures::*;

struct Panel {
  const char* title;
  AxisKind kind;
  Figure member;
  int decimals;
};

/// Bars of the rows without their lengths.
std::vector<Bar> bars_of(const StudyReport& study, const Rows& rows) {
  std::vector<Bar> bars;
  for (const std::size_t row : rows) {
    const PolicyReport& policy = study.policies[row];
    Bar bar;
    bar.name = policy_key(policy);
    bar.index = colour_index(study, policy);
    bar.group = policy.cluster;
    bars.push_back(std::move(bar));
  }
  return bars;
}

BarPlot panel_of(const StudyReport& study, const Rows& rows, const Panel& panel) {
  BarPlot plot;
  plot.title = panel.title;
  plot.axis = {panel.title, panel.kind, {}, {}};
  plot.bars = bars_of(study, rows);
  const bool is_narrow = std::ranges::all_of(
      plot.bars, [](const Bar& bar) { return text_width(bar.name) <= kPanelNameMax; });
  plot.width = is_narrow ? kPanelWidth : plot.width;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Bar& bar = plot.bars[i];
    const auto interval = policy_interval(study.policies[rows[i]], panel.member);
    if (interval.has_value()) {
      bar.parts = {interval->mean};
      bar.low = interval->low;
      bar.high = interval->high;
      bar.text = grouped_text(interval->mean, panel.decimals);
    }
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

SimTime last_makespan(const StudyReport& study, const Rows& rows) {
  SimTime last;
  for (const std::size_t row : rows) {
    const PolicyReport& policy = study.policies[row];
    if (policy.representative.has_value()) {
      last = std::max(last, policy.representative->run.makespan);
    }
  }
  return last;
}

std::string html_overview(const StudyReport& study, const Rows& rows) {
  constexpr std::array kPanels = std::to_array<Panel>({
      {"mean JCT, s (less is better)", AxisKind::kNumber, &job::RunFigures::mean_jct_s, 0},
      {"makespan, s (less is better)", AxisKind::kNumber, &job::RunFigures::makespan_s, 0},
      {"STP per GPU (more is better)", AxisKind::kNumber, &job::RunFigures::stp_per_gpu, 3},
  });
  std::string out;
  bool is_narrow = true;
  for (const Panel& panel : kPanels) {
    const BarPlot plot = panel_of(study, rows, panel);
    is_narrow = is_narrow && plot.width == kPanelWidth;
    out += "<div>" + svg_bar_plot(plot, Embedding::kInline) + "</div>\n";
  }
  return fmt::format("<div class=\"panels{}\">\n{}</div>\n", is_narrow ? "" : " whole", out);
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

std::string html_distribution(const StudyReport& study, const Rows& rows) {
  LinePlot plot;
  plot.title = "Distribution of job completion times";
  plot.x = {"job completion time (logarithmic)", AxisKind::kLogTime, {}, {}};
  plot.y = {"share of jobs", AxisKind::kPercent, 0.0, 1.0};
  plot.shape = LineShape::kSteps;
  for (const std::size_t row : rows) {
    const PolicyReport& policy = study.policies[row];
    plot.lines.push_back(
        {policy_key(policy), colour_index(study, policy), distribution_points(policy.jct_s)});
  }
  return svg_line_plot(plot, Embedding::kInline);
}

std::string html_breakdown(const StudyReport& study, const Rows& rows) {
  BarPlot plot;
  plot.title = "What the mean JCT consists of";
  plot.axis = {"mean time per job, s", AxisKind::kNumber, {}, {}};
  plot.part_names = {"wait", "characterisation", "reconfiguration", "running"};
  plot.bars = bars_of(study, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Bar& bar = plot.bars[i];
    const PolicyReport& policy = study.policies[rows[i]];
    for (const Figure member : {&job::RunFigures::mean_wait_s,
                                &job::RunFigures::mean_characterisation_s,
                                &job::RunFigures::mean_reconfiguration_s,
                                &job::RunFigures::mean_running_s}) {
      const auto interval = policy_interval(policy, member);
      if (interval.has_value()) {
        bar.parts.push_back(interval->mean);
      }
    }
    const auto jct = policy_interval(policy, &job::RunFigures::mean_jct_s);
    bar.text = jct.has_value() ? grouped_text(jct->mean, 0) + " s" : "N/A";
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
                        const Rows& rows,
                        double job::SeriesPoint::* member,
                        const std::string& title) {
  LinePlot plot;
  plot.title = title + " over time";
  plot.x = {"time since the start of the trace", AxisKind::kTime, 0.0, {}};
  plot.y = {title, AxisKind::kNumber, 0.0, {}};
  plot.shape = LineShape::kSteps;
  for (const std::size_t row : rows) {
    const PolicyReport& policy = study.policies[row];
    PlotLine line{policy_key(policy), colour_index(study, policy), {}};
    if (policy.representative.has_value()) {
      const job::RunRecord& run = policy.representative->run;
      line.points = series_points(run.series, member, run.makespan);
    }
    plot.lines.push_back(std::move(line));
  }
  return svg_line_plot(plot, Embedding::kInline);
}

}  // namespace septule::report
