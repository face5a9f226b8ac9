#include "report/serving_report.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/check.hpp"
#include "report/html_page.hpp"
#include "report/number_text.hpp"
#include "report/serving_timeline.hpp"
#include "report/svg_plot.hpp"

namespace septule::report {

namespace {

constexpr std::string_view kNotKnown = "N/A";

/// A figure's mean, with its interval below it where there are several runs.
std::string figure_cell(const ServingPolicyRuns& policy, const ServingFigure& figure) {
  const auto interval = serving_interval(policy, figure);
  if (!interval) {
    return fmt::format("<td>{}</td>", kNotKnown);
  }
  const bool has_bounds = interval->low.has_value() && interval->high.has_value();
  return fmt::format("<td>{}{}</td>",
                     figure_text(figure, interval->mean),
                     has_bounds ? fmt::format("<small>{} to {}</small>",
                                              figure_text(figure, interval->low),
                                              figure_text(figure, interval->high))
                                : std::string());
}

std::string figures_table(const ServingReport& report) {
  std::string out = "<table>\n<thead><tr><th>figure</th>";
  for (const ServingPolicyRuns& policy : report.policies) {
    out += fmt::format("<th>{}</th>", xml_escaped(policy.name));
  }
  out += "<th class=\"text\">how it is reckoned</th></tr></thead>\n<tbody>\n";
  for (const ServingFigure& figure : serving_figures()) {
    out += fmt::format("<tr><th>{}</th>", figure.title);
    for (const ServingPolicyRuns& policy : report.policies) {
      out += figure_cell(policy, figure);
    }
    out += fmt::format("<td class=\"text\">{}</td></tr>\n", xml_escaped(figure.formula));
  }
  return html_framed(out + "</tbody>\n</table>\n");
}

std::string ratio_table(const ServingReport& report) {
  const ServingPolicyRuns& first = report.policies.front();
  std::string out = fmt::format(
      "<h3>Goodput of {} against each</h3>\n<p class=\"note\">Mean over runs of the ratio in the "
      "same window with the same requests; above 1 = {} is better. Small: its 95 % "
      "interval.</p>\n<table>\n<tbody>\n",
      xml_escaped(first.name),
      xml_escaped(first.name));
  for (const ServingPolicyRuns& policy : std::span(report.policies).subspan(1)) {
    const auto against = goodput_ratio(first, policy);
    const bool has_bounds = against && against->low && against->high;
    out += fmt::format("<tr><th>{}</th><td>{}{}</td><td>{} run{}</td></tr>\n",
                       xml_escaped(policy.name),
                       against ? fixed_text(against->mean, 3) : std::string(kNotKnown),
                       has_bounds ? "<small>" + bounds_text(*against, 3) + "</small>" : "",
                       policy.runs.size(),
                       policy.runs.size() == 1 ? "" : "s");
  }
  return out + "</tbody>\n</table>\n";
}

std::string tenants_table(const job::ServingRecord& run) {
  std::string out =
      "<table>\n<thead><tr><th>tenant</th><th>weight</th><th>requests</th><th>within the SLO</th>"
      "<th>mean accuracy</th><th>goodput</th><th>p50, ms</th><th>p99, ms</th>"
      "<th>retrained</th><th>missed</th></tr></thead>\n<tbody>\n";
  for (const job::ServingTenantRecord& tenant : run.tenants) {
    out += fmt::format(
        "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
        "<td>{}</td><td>{}</td><td>{}</td></tr>\n",
        xml_escaped(tenant.name),
        fixed_text(tenant.weight, 2),
        grouped_text(tenant.arrived, 0),
        part_text(tenant.in_slo, tenant.arrived),
        part_text(tenant.goodput, tenant.in_slo),
        grouped_text(tenant.goodput, 1),
        known_text(tenant.p50_ms, 1),
        known_text(tenant.p99_ms, 1),
        tenant.retrainings_done,
        tenant.retrainings_missed);
  }
  return html_framed(out + "</tbody>\n</table>\n");
}

/// A value of a series per second, as means over equal parts if it is long.
std::vector<PlotPoint> rate_points(const job::ServingTenantRecord& tenant,
                                   Duration span,
                                   double job::ServingPoint::* member,
                                   int points_max) {
  const std::span<const job::ServingPoint> series = tenant.series;
  std::vector<PlotPoint> points;
  const std::size_t room = static_cast<std::size_t>(std::max(points_max, 2));
  const std::size_t step = (series.size() + room - 1) / room;
  const bool is_rate = member == &job::ServingPoint::forecast_rps;
  double last = 0;
  for (std::size_t from = 0; from < series.size(); from += step) {
    const std::size_t to = std::min(from + step, series.size());
    const SimTime begin = series[from].begin;
    const SimTime end = to < series.size() ? series[to].begin : SimTime() + span;
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) {
      sum += series[i].*member;
    }
    const double seconds = (end - begin).to_seconds();
    const double whole = is_rate ? static_cast<double>(to - from) : seconds;
    last = whole > 0 ? sum / whole : 0;
    points.push_back({begin.to_seconds(), last, {}, {}});
  }
  if (!points.empty()) {
    points.push_back({span.to_seconds(), last, {}, {}});
  }
  return points;
}

/// Rates against capacity of one tenant.
std::string tenant_plot(const job::ServingRecord& run,
                        const job::ServingTenantRecord& tenant,
                        int points_max) {
  struct Line {
    const char* name;
    int index;
    double job::ServingPoint::* member;
  };
  constexpr Line kLines[] = {{"capacity within the SLO", 2, &job::ServingPoint::capacity},
                             {"arrivals", 0, &job::ServingPoint::arrived},
                             {"answered within the SLO", 1, &job::ServingPoint::in_slo},
                             {"forecast", 14, &job::ServingPoint::forecast_rps}};
  LinePlot plot;
  plot.title = "Rates of " + tenant.name;
  plot.x = {"time", AxisKind::kTime, 0.0, std::max(run.span.to_seconds(), 1.0)};
  plot.y = {"requests per second", AxisKind::kNumber, 0.0, {}};
  plot.shape = LineShape::kSteps;
  for (const Line& line : kLines) {
    std::vector<PlotPoint> points = rate_points(tenant, run.span, line.member, points_max);
    const bool is_flat_zero =
        std::ranges::all_of(points, [](const PlotPoint& point) { return point.y == 0; });
    if (line.member == &job::ServingPoint::forecast_rps && is_flat_zero) {
      continue;  // the policy foretells nothing
    }
    plot.lines.push_back({line.name, line.index, std::move(points)});
  }
  return fmt::format("<h3>{}</h3>\n", xml_escaped(tenant.name)) +
         html_framed(svg_line_plot(plot, Embedding::kInline));
}

std::string rates(const job::ServingRecord& run, const ServingPageLimits& limits) {
  std::string out = html_section(
      "Rates against capacity",
      fmt::format("Under {}. Capacity: what the instances that are ready could answer within the "
                  "SLO. Long runs are drawn as means over {} equal parts, which hides bursts "
                  "shorter than that.",
                  xml_escaped(run.policy),
                  limits.points_max));
  std::size_t drawn = 0;
  for (const job::ServingTenantRecord& tenant : run.tenants) {
    if (tenant.series.empty()) {
      out += fmt::format("<p class=\"note\">{}: no series was recorded.</p>\n",
                         xml_escaped(tenant.name));
    } else if (++drawn <= static_cast<std::size_t>(limits.tenants_max)) {
      out += tenant_plot(run, tenant, limits.points_max);
    }
  }
  if (drawn > static_cast<std::size_t>(limits.tenants_max)) {
    out += fmt::format("<p class=\"note\">Left out: {} tenants after the first {}.</p>\n",
                       drawn - static_cast<std::size_t>(limits.tenants_max),
                       limits.tenants_max);
  }
  return out;
}

std::string timeline_of(const ServingReport& report,
                        std::size_t index,
                        const ServingTimelineOptions& common) {
  const ServingPolicyRuns& policy = report.policies[index];
  const job::ServingRecord& run = policy.runs.front();
  std::string out = fmt::format("<h3>{}</h3>\n", xml_escaped(policy.name));
  if (run.timeline.empty()) {
    return out + "<p class=\"note\">No timeline was recorded.</p>\n";
  }
  ServingTimelineOptions options = common;
  options.title = "GPUs over time, " + policy.name;
  options.id = fmt::format("t{}", index);
  options.memory_slices = std::max(report.memory_slices, 1);
  const TimelineDrawing drawing = svg_serving_timeline(run, options, Embedding::kInline);
  out += "<div class=\"frame wide\">\n" + drawing.svg + "</div>\n";
  if (!drawing.left_out.empty()) {
    out += fmt::format("<p class=\"note\">Left out: {}.</p>\n", xml_escaped(drawing.left_out));
  }
  return out;
}

std::string timelines(const ServingReport& report, const ServingPageLimits& limits) {
  const job::ServingRecord& first = report.policies.front().runs.front();
  std::string out = html_section(
      "Layouts over time",
      "The GPUs with their memory slices in place; one run of each policy. A colour is a tenant.");
  out += "<div class=\"frame wide\">\n" + svg_serving_legend(first.tenants, "key") + "</div>\n";
  const std::size_t drawn =
      std::min(report.policies.size(), static_cast<std::size_t>(limits.runs_max));
  const ServingTimelineOptions common{
      .title = {},
      .id = {},
      .gpus_max = limits.gpus_max,
      .pieces_max = std::max(limits.pieces_max / static_cast<int>(drawn), 1)};
  for (std::size_t i = 0; i < drawn; ++i) {
    out += timeline_of(report, i, common);
  }
  if (drawn < report.policies.size()) {
    out += fmt::format("<p class=\"note\">Left out: {} policies after the first {}.</p>\n",
                       report.policies.size() - drawn,
                       drawn);
  }
  const std::string windows = svg_retraining_windows(first, Embedding::kInline);
  if (!windows.empty()) {
    out += html_section(
        "Retraining windows",
        fmt::format("When models were retrained under {}.", xml_escaped(first.policy)));
    out += "<div class=\"frame wide\">\n" + windows + "</div>\n";
  }
  return out;
}

std::string notes_of(const ServingReport& report) {
  std::string items;
  for (const std::string& note : report.notes) {
    items += fmt::format("<li>{}</li>\n", xml_escaped(note));
  }
  for (const ServingPolicyRuns& policy : report.policies) {
    for (const job::ServingRecord& run : policy.runs) {
      for (const std::string& violation : run.violations) {
        items += fmt::format("<li>The checkers object to {}, seed {}: {}</li>\n",
                             xml_escaped(policy.name),
                             run.seed,
                             xml_escaped(violation));
      }
    }
  }
  return items.empty() ? items : "<ul class=\"note\">\n" + items + "</ul>\n";
}

std::string settings_of(const ServingReport& report) {
  std::string out = html_section("How to get these figures", "Equal input gives equal output.");
  if (!report.command.empty()) {
    out += fmt::format("<pre><code>{}</code></pre>\n", xml_escaped(report.command));
  }
  if (report.settings.empty()) {
    return out;
  }
  std::string rows = "<table>\n<tbody>\n";
  for (const NamedValue& setting : report.settings) {
    rows += fmt::format("<tr><th>{}</th><td class=\"text\">{}</td></tr>\n",
                        xml_escaped(setting.name),
                        xml_escaped(setting.value));
  }
  return out + html_framed(rows + "</tbody>\n</table>\n");
}

}  // namespace

std::string serving_page(const ServingReport& report, const ServingPageLimits& limits) {
  SEPTULE_CHECK(!report.policies.empty(), "a page is on at least one policy");
  for (const ServingPolicyRuns& policy : report.policies) {
    SEPTULE_CHECK(!policy.runs.empty(), "every policy of a page has a run");
  }
  const job::ServingRecord& first = report.policies.front().runs.front();
  std::string out = html_page_begin(report.title);
  out += fmt::format("<h1>{}</h1>\n<p class=\"lead\">{}</p>\n",
                     xml_escaped(report.title),
                     xml_escaped(report.lead));
  out += notes_of(report) + figures_table(report);
  if (report.policies.size() > 1) {
    out += ratio_table(report);
  }
  out +=
      html_section("Tenants",
                   first.mode == "plan"
                       ? std::string("As planned.")
                       : fmt::format("Under {}, seed {}.", xml_escaped(first.policy), first.seed));
  out += tenants_table(first) + timelines(report, limits) + rates(first, limits);
  return out + settings_of(report) + html_page_end(report.version);
}

}  // namespace septule::report
