#include "report/html_report.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/forecasts.hpp"
#include "report/html_page.hpp"
#include "report/html_report_plots.hpp"
#include "report/html_report_tables.hpp"
#include "report/number_text.hpp"
#include "report/study_rows.hpp"
#include "report/svg_plot_timeline.hpp"
#include "report/sweep_plot.hpp"

namespace septule::report {

namespace {

constexpr int kPiecesPerPolicyMax = 4000;

constexpr std::string_view kGlossary = R"(<div class="frame"><table><tbody>
<tr><th>JCT</th><td class="text">
job completion time: from a job's submission to its end</td></tr>
<tr><th>STP</th><td class="text">
system throughput: the speeds of all running jobs added up, where 1 is a job alone on a whole GPU;
STP per GPU of a run: useful work divided by GPUs and makespan</td></tr>
<tr><th>slowdown</th><td class="text">
JCT divided by the time that the job needs if it starts at once, alone on a whole GPU; 1 is the best
there is</td></tr>
<tr><th>re-cut</th><td class="text">
a GPU's MIG instances are changed to another layout; jobs that are touched stop for it
(reconfiguration)</td></tr>
<tr><th>characterisation</th><td class="text">
jobs run together under MPS for a short while, to measure how fast each would be on which slice
</td></tr>
</tbody></table></div>
)";

std::string summary(const StudyReport& study) {
  std::string out = fmt::format("<h1>{}</h1>\n<p class=\"lead\">{}; {}",
                                xml_escaped(study.title),
                                xml_escaped(study.cluster),
                                xml_escaped(study.trace));
  if (!study.policies.empty()) {
    out += "; " + xml_escaped(seeds_text(study.policies.front().seeds));
  }
  return out + "</p>\n";
}

/// Says that a part of the page shows one gap of several; empty if there is one.
std::string gap_note(const StudyReport& study) {
  const std::vector<Duration> gaps = gaps_of(study);
  return is_sweep(study) && !gaps.empty()
             ? fmt::format("The first gap only ({} s). ", exact_seconds_text(gaps.front()))
             : std::string();
}

/// The policy that those of a sweep are compared with.
std::string base_name(const StudyReport& study) {
  const PolicyReport& base = study.policies[study.policies.front().base];
  return policy_key(base) + (base.cluster.empty() ? std::string() : " on " + base.cluster);
}

/// One line on each policy, and the words of the page.
std::string meanings(const StudyReport& study) {
  return html_section("What the words mean", "The policies of this study, then the terms.") +
         html_policy_notes(study) + std::string(kGlossary);
}

/// What a study of several gaps is about.
std::string sweep(const StudyReport& study) {
  std::string out = html_section(
      "Over the load",
      "Mean job completion time by policy and mean gap between submissions; all seeds. A small gap "
      "is a high load. Bars: the 95 % confidence interval of the mean.");
  out += html_framed(svg_line_plot(sweep_plot(study), Embedding::kInline));
  out += "<h3>Mean JCT, s</h3>\n" + html_sweep_table(study);
  out += fmt::format(
      "<h3>Change of the mean JCT against {}</h3>\n<p class=\"note\">At the same gap, "
      "paired by seed. Small: its 95 % interval.</p>\n",
      xml_escaped(base_name(study)));
  return out + html_sweep_comparison(study);
}

std::string policy_figures(const StudyReport& study) {
  std::string out = html_policy_table(study);
  if (study.policies.size() > 1) {
    const std::string base =
        is_sweep(study) ? base_name(study) + " at the same gap" : study.policies.front().name;
    out += fmt::format(
        "<h3>Compared with {}</h3>\n<p class=\"note\">Mean change, paired by seed: both policies "
        "meet the same jobs at the same times. Small: its 95 % interval.</p>\n",
        xml_escaped(base));
    out += html_comparison_table(study);
  }
  return out;
}

std::string figures(const StudyReport& study) {
  constexpr std::string_view kNote =
      "Means over seeds. Small: the 95 % confidence interval of the mean (Student t), where there "
      "is more than one seed. Energy is an estimate from a power curve, not a measurement.";
  std::string out;
  if (is_sweep(study)) {
    out += sweep(study);
    out += fmt::format(
        "<details><summary>The main figures at every gap</summary>\n<p class=\"note\">{}</p>\n{}"
        "</details>\n",
        kNote,
        policy_figures(study));
  } else {
    out += html_overview(study, first_gap_rows(study)) + html_section("Policies", kNote) +
           policy_figures(study);
  }
  out += "<details><summary>All figures, with units and formulas</summary>\n";
  return out + html_all_figures(study) + "</details>\n" + meanings(study);
}

/// A drawing for each cluster, under the name of the cluster if there are several.
template <typename Drawing>
std::string per_cluster(const StudyReport& study, const Drawing& drawing) {
  std::string out;
  for (const Rows& rows : rows_by_cluster(study, first_gap_rows(study))) {
    const std::string& cluster = study.policies[rows.front()].cluster;
    out += cluster.empty() ? cluster : fmt::format("<h3>{}</h3>\n", xml_escaped(cluster));
    out += html_framed(drawing(rows));
  }
  return out;
}

std::string distributions(const StudyReport& study) {
  return html_section(
             "How long jobs take",
             gap_note(study) +
                 "Share of jobs that were done within a time after their submission; all jobs "
                 "of all seeds.") +
         per_cluster(study, [&](const Rows& rows) { return html_distribution(study, rows); }) +
         html_section("What the time goes into",
                      gap_note(study) +
                          "Mean time per finished job by kind; the parts add up to the mean JCT.") +
         html_framed(html_breakdown(study, first_gap_rows(study)));
}

/// The seeds of the runs that stand for the others.
std::string representative_seeds(const StudyReport& study) {
  std::vector<std::uint64_t> seeds;
  for (const PolicyReport& policy : study.policies) {
    const bool has_run = policy.representative.has_value();
    if (has_run && std::ranges::find(seeds, policy.representative->run.seed) == seeds.end()) {
      seeds.push_back(policy.representative->run.seed);
    }
  }
  return seeds_text(seeds);
}

std::string series(const StudyReport& study) {
  return html_section(
             "Queue and throughput",
             fmt::format("{}One run of each policy ({}). Long series are drawn as means over "
                         "1/120 of the run.",
                         gap_note(study),
                         representative_seeds(study))) +
         per_cluster(study, [&](const Rows& rows) {
           return html_series(study, rows, &job::SeriesPoint::queue, "jobs waiting") +
                  html_series(study, rows, &job::SeriesPoint::stp, "STP (sum of the jobs' speeds)");
         });
}

std::string timeline_of(const StudyReport& study, std::size_t index, const HtmlOptions& options) {
  const PolicyReport& policy = study.policies[index];
  std::string out = fmt::format("<h3>{}</h3>\n", xml_escaped(policy.name));
  if (!policy.representative.has_value() || policy.representative->run.timeline.empty()) {
    return out + "<p class=\"note\">No timeline was recorded.</p>\n";
  }
  TimelineOptions timeline;
  timeline.title = "GPUs over time, " + policy.name;
  timeline.id = fmt::format("t{}", index);
  const Rows drawn = first_gap_rows(study);
  timeline.end = last_makespan(study, drawn);
  timeline.gpus_max = options.timeline_gpus_max;
  const int policies = static_cast<int>(drawn.size());
  timeline.pieces_max = std::clamp(options.timeline_pieces_max / policies, 1, kPiecesPerPolicyMax);
  const TimelineDrawing drawing = svg_timeline(*policy.representative,
                                               policy.gpus.empty() ? study.gpus : policy.gpus,
                                               timeline,
                                               Embedding::kInline);
  out += "<div class=\"frame wide\">\n" + drawing.svg + "</div>\n";
  if (!drawing.left_out.empty()) {
    out += fmt::format("<p class=\"note\">Not drawn: {}.</p>\n", xml_escaped(drawing.left_out));
  }
  return out;
}

std::string timelines(const StudyReport& study, const HtmlOptions& options) {
  std::string out = html_section(
      "GPUs over time",
      fmt::format(
          "{}One run of each policy ({}). Each band is a GPU, each row of it a memory slice; "
          "a job stands on the slices of its GPU instance. Jobs that share an instance "
          "divide its height. Point at a piece to read what it is.",
          gap_note(study),
          representative_seeds(study)));
  out += "<div class=\"frame wide\">\n" + svg_timeline_legend("key") + "</div>\n";
  for (const std::size_t row : first_gap_rows(study)) {
    out += timeline_of(study, row, options);
  }
  return out;
}

std::string origin(const StudyReport& study) {
  std::string out = html_section("How to get these figures", "Equal input gives equal output.");
  if (!study.command.empty()) {
    out += fmt::format("<pre><code>{}</code></pre>\n", xml_escaped(study.command));
  }
  return out + html_options(study);
}

}  // namespace

std::string html_report(const StudyReport& study, const HtmlOptions& options) {
  std::string out = html_page_begin(study.title) + summary(study);
  if (study.policies.empty()) {
    out += "<p>No policy was run.</p>\n";
  } else {
    out += figures(study) + distributions(study) + html_forecasts(study) + series(study) +
           timelines(study, options);
  }
  out += origin(study);
  return out + html_page_end(study.version);
}

}  // namespace septule::report
