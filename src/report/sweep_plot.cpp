#include "report/sweep_plot.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "report/study_rows.hpp"

namespace septule::report {

namespace {

/// The points of one policy on one cluster, by gap.
PlotLine line_of(const StudyReport& study, const PolicyReport& first) {
  PlotLine line;
  line.name = policy_key(first);
  if (!first.cluster.empty()) {
    line.name += " on " + first.cluster;
  }
  for (const PolicyReport& policy : study.policies) {
    const bool is_of_line =
        policy_key(policy) == policy_key(first) && policy.cluster == first.cluster;
    const auto interval = is_of_line && policy.gap.has_value()
                              ? policy_interval(policy, &job::RunFigures::mean_jct_s)
                              : std::nullopt;
    if (interval.has_value() && policy.gap.has_value()) {
      line.points.push_back(
          {policy.gap->to_seconds(), interval->mean, interval->low, interval->high});
    }
  }
  std::ranges::stable_sort(line.points, {}, &PlotPoint::x);
  return line;
}

}  // namespace

LinePlot sweep_plot(const StudyReport& study) {
  LinePlot plot;
  plot.title = "Mean job completion time over the load; " + study.cluster;
  plot.x = {"mean gap between submissions (less = more load)", AxisKind::kTime, {}, {}};
  plot.y = {"mean job completion time", AxisKind::kTime, 0.0, {}};
  // So many styles that no cluster's dashes are those of another.
  const int styles = (policy_count(study) + kPlotColours - 1) / kPlotColours * kPlotColours;
  int cluster = 0;
  for (const auto& rows : rows_by_cluster(study, first_gap_rows(study))) {
    for (const std::size_t row : rows) {
      PlotLine line = line_of(study, study.policies[row]);
      line.index = colour_index(study, study.policies[row]) + cluster * styles;
      if (!line.points.empty()) {
        plot.lines.push_back(std::move(line));
      }
    }
    ++cluster;
  }
  return plot;
}

}  // namespace septule::report
