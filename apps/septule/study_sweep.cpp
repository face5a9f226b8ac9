#include "septule/study_sweep.hpp"

#include <algorithm>
#include <string_view>

#include "report/svg_plot.hpp"

namespace septule::app {

std::string sweep_drawing(const FinishedStudy& finished) {
  const sim::Study& study = *finished.study;
  if (study.spec().gaps.size() < 2) {
    return {};
  }
  report::LinePlot plot;
  plot.title = "Mean job completion time over the load; " + study.spec().clusters.front().name();
  plot.x = {"mean gap between submissions (less = more load)", report::AxisKind::kTime, {}, {}};
  plot.y = {"mean job completion time", report::AxisKind::kTime, 0.0, {}};
  const report::StudyReport report = study_report(finished);
  const std::size_t seeds = study.spec().seeds.size();
  for (std::size_t i = 0; i < report.policies.size(); ++i) {
    const report::PolicyReport& policy = report.policies[i];
    const auto interval = report::policy_interval(policy, &job::RunFigures::mean_jct_s);
    if (!interval) {
      continue;
    }
    const std::string name = policy.name.substr(0, policy.name.rfind(", gap "));
    auto line = std::ranges::find(plot.lines, name, &report::PlotLine::name);
    if (line == plot.lines.end()) {
      plot.lines.push_back({name, static_cast<int>(plot.lines.size()), {}});
      line = plot.lines.end() - 1;
    }
    const Duration gap = study.gap_of(study.trials()[i * seeds].group);
    line->points.push_back({gap.to_seconds(), interval->mean, interval->low, interval->high});
  }
  for (report::PlotLine& line : plot.lines) {
    std::ranges::sort(line.points, {}, &report::PlotPoint::x);
  }
  return report::svg_line_plot(plot, report::Embedding::kStandalone);
}

}  // namespace septule::app
