#include "report/html_report_tables.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/number_text.hpp"
#include "report/study_rows.hpp"
#include "report/svg_plot_text.hpp"

namespace septule::report {

namespace {

using Figure = double job::RunFigures::*;

/// A figure as the tables show it.
struct ShownFigure {
  const char* title;
  Figure member;
  int decimals;
};

constexpr std::array kMainFigures = std::to_array<ShownFigure>({
    {"mean JCT, s", &job::RunFigures::mean_jct_s, 1},
    {"makespan, s", &job::RunFigures::makespan_s, 0},
    {"STP per GPU", &job::RunFigures::stp_per_gpu, 3},
    {"mean wait, s", &job::RunFigures::mean_wait_s, 1},
    {"slowdown p90", &job::RunFigures::slowdown_p90, 2},
    {"within 1.5 x ideal", &job::RunFigures::share_within_1_5, 3},
    {"utilisation", &job::RunFigures::utilisation, 3},
    {"re-cuts", &job::RunFigures::reconfigurations, 0},
    {"energy, kWh (estimate)", &job::RunFigures::energy_kwh, 2},
});

constexpr std::array kCompared = std::to_array<ShownFigure>({
    {"mean JCT", &job::RunFigures::mean_jct_s, 1},
    {"p95 JCT", &job::RunFigures::p95_jct_s, 1},
    {"makespan", &job::RunFigures::makespan_s, 1},
    {"STP per GPU", &job::RunFigures::stp_per_gpu, 1},
    {"mean wait", &job::RunFigures::mean_wait_s, 1},
    {"slowdown p90", &job::RunFigures::slowdown_p90, 1},
    {"energy (estimate)", &job::RunFigures::energy_kwh, 1},
});

std::string framed(const std::string& rows) {
  return "<div class=\"frame\"><table>\n" + rows + "</table></div>\n";
}

/// A name with the colour that its policy has in all drawings.
std::string policy_name(const StudyReport& study,
                        const PolicyReport& policy,
                        const std::string& name) {
  const int index = colour_index(study, policy);
  return fmt::format(
      "<svg class=\"key\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><rect class=\"bar {}\" "
      "width=\"12\" height=\"12\" rx=\"2\"/>{}</svg>{}",
      plot_class(index),
      area_stripes(index, 0, 0, 12, 12),
      xml_escaped(name));
}

/// A table with a row per policy and cluster and a column per gap. `cell` writes an element.
template <typename Cell>
std::string by_gap(const StudyReport& study, const Cell& cell) {
  const std::vector<Duration> gaps = gaps_of(study);
  std::string rows = "<thead><tr><th>policy</th>";
  for (const Duration gap : gaps) {
    rows += fmt::format("<th>gap {} s</th>", exact_seconds_text(gap));
  }
  rows += "</tr></thead><tbody>\n";
  for (const std::size_t row : first_gap_rows(study)) {
    const PolicyReport& first = study.policies[row];
    const std::string place = first.cluster.empty() ? first.cluster : " on " + first.cluster;
    rows += fmt::format("<tr><th>{}</th>", policy_name(study, first, policy_key(first) + place));
    for (const Duration gap : gaps) {
      const auto at = std::ranges::find_if(study.policies, [&](const PolicyReport& policy) {
        return policy.gap == gap && policy.cluster == first.cluster &&
               policy_key(policy) == policy_key(first);
      });
      rows += at == study.policies.end() ? "<td>N/A</td>" : cell(*at);
    }
    rows += "</tr>\n";
  }
  return framed(rows + "</tbody>");
}

std::string interval_cell(const std::optional<job::Interval>& interval, int decimals) {
  if (!interval.has_value()) {
    return "<td>N/A</td>";
  }
  const bool has_bounds = interval->low.has_value() && interval->high.has_value();
  const std::string bounds = has_bounds ? fmt::format("<small>{}{}{}</small>",
                                                      grouped_text(*interval->low, decimals),
                                                      *interval->low < 0 ? " to " : "\xe2\x80\x93",
                                                      grouped_text(*interval->high, decimals))
                                        : std::string();
  return fmt::format("<td>{}{}</td>", grouped_text(interval->mean, decimals), bounds);
}

std::string change_cell(const std::optional<job::Interval>& ratio) {
  if (!ratio.has_value()) {
    return "<td>N/A</td>";
  }
  const bool has_bounds = ratio->low.has_value() && ratio->high.has_value();
  const std::string bounds = has_bounds ? fmt::format("<small>{} to {}</small>",
                                                      change_text(*ratio->low),
                                                      change_text(*ratio->high))
                                        : std::string();
  return fmt::format("<td>{}{}</td>", change_text(ratio->mean), bounds);
}

}  // namespace

std::string html_sweep_table(const StudyReport& study) {
  return by_gap(study, [](const PolicyReport& policy) {
    return interval_cell(policy_interval(policy, &job::RunFigures::mean_jct_s), 1);
  });
}

std::string html_sweep_comparison(const StudyReport& study) {
  return by_gap(study, [&](const PolicyReport& policy) {
    const PolicyReport& base = study.policies[policy.base];
    return &base == &policy ? std::string("<td>base</td>")
                            : change_cell(paired_ratio(policy, base, &job::RunFigures::mean_jct_s));
  });
}

std::string html_policy_notes(const StudyReport& study) {
  std::string rows;
  std::vector<std::string> told;
  for (const PolicyReport& policy : study.policies) {
    const std::string& key = policy_key(policy);
    if (!policy.summary.empty() && std::ranges::find(told, key) == told.end()) {
      told.push_back(key);
      rows += fmt::format("<tr><th>{}</th><td class=\"text\">{}</td></tr>\n",
                          policy_name(study, policy, key),
                          xml_escaped(policy.summary));
    }
  }
  return rows.empty() ? rows : framed("<tbody>\n" + rows + "</tbody>");
}

std::string html_policy_table(const StudyReport& study) {
  const bool has_rejected = has_rejected_jobs(study);
  std::string rows = "<thead><tr><th>policy</th><th>runs</th>";
  rows += has_rejected ? "<th>jobs done / rejected</th>" : "";
  for (const ShownFigure& figure : kMainFigures) {
    rows += fmt::format("<th>{}</th>", figure.title);
  }
  rows += "</tr></thead><tbody>\n";
  for (const PolicyReport& policy : study.policies) {
    rows += fmt::format(
        "<tr><th>{}</th><td>{}</td>", policy_name(study, policy, policy.name), policy.runs.size());
    rows += has_rejected ? fmt::format("<td>{}</td>", done_and_rejected_text(policy)) : "";
    for (const ShownFigure& figure : kMainFigures) {
      rows += interval_cell(policy_interval(policy, figure.member), figure.decimals);
    }
    rows += "</tr>\n";
  }
  return framed(rows + "</tbody>");
}

std::string html_comparison_table(const StudyReport& study) {
  std::string rows =
      fmt::format("<thead><tr><th>{}</th>",
                  has_one_base(study) ? "against " + xml_escaped(study.policies.front().name)
                                      : std::string("compared"));
  for (const ShownFigure& figure : kCompared) {
    rows += fmt::format("<th>{}</th>", figure.title);
  }
  rows += "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < study.policies.size(); ++i) {
    const PolicyReport& policy = study.policies[i];
    if (policy.base == i) {
      continue;
    }
    const std::string against = has_one_base(study)
                                    ? std::string()
                                    : " against " + xml_escaped(study.policies[policy.base].name);
    rows += fmt::format("<tr><th>{}{}</th>", policy_name(study, policy, policy.name), against);
    for (const ShownFigure& figure : kCompared) {
      rows += change_cell(paired_ratio(policy, study.policies[policy.base], figure.member));
    }
    rows += "</tr>\n";
  }
  return framed(rows + "</tbody>");
}

std::string html_all_figures(const StudyReport& study) {
  std::string rows = "<thead><tr><th>figure</th><th>unit</th>";
  for (const PolicyReport& policy : study.policies) {
    rows += fmt::format("<th>{}</th>", policy_name(study, policy, policy.name));
  }
  rows += "<th class=\"text\">formula</th></tr></thead><tbody>\n";
  for (const job::FigureColumn& column : job::figure_columns()) {
    rows += fmt::format("<tr><th><code>{}</code></th><td>{}</td>",
                        xml_escaped(column.name),
                        xml_escaped(column.unit));
    for (const PolicyReport& policy : study.policies) {
      rows += interval_cell(policy_interval(policy, column.member), column.decimals);
    }
    rows += fmt::format("<td class=\"text\">{}</td></tr>\n", xml_escaped(column.formula));
  }
  return framed(rows + "</tbody>");
}

std::string html_options(const StudyReport& study) {
  if (study.options.empty()) {
    return {};
  }
  std::string rows = "<tbody>\n";
  for (const NamedValue& option : study.options) {
    rows += fmt::format("<tr><th>{}</th><td class=\"text\">{}</td></tr>\n",
                        xml_escaped(option.name),
                        xml_escaped(option.value));
  }
  return framed(rows + "</tbody>");
}

}  // namespace septule::report
