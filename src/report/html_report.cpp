#include "report/html_report.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/html_report_plots.hpp"
#include "report/html_report_tables.hpp"
#include "report/number_text.hpp"
#include "report/svg_plot_timeline.hpp"

namespace septule::report {

namespace {

constexpr std::string_view kPageStyle = R"(
body{margin:0;background:var(--paper);color:var(--ink);line-height:1.5;
font:16px/1.5 system-ui,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
main{max-width:1120px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:2.6rem 0 .3rem;padding-top:.9rem;border-top:1px solid var(--grid)}
h3{font-size:1rem;margin:1.6rem 0 .2rem;overflow-wrap:anywhere}
p{margin:.2rem 0 .9rem;max-width:46rem;overflow-wrap:anywhere}
.lead,.note{color:var(--ink2)}
.note{font-size:.85rem}
.frame{overflow-x:auto;margin:.6rem 0 1rem}
.frame>.plot{min-width:620px}
.frame.wide>.plot{min-width:820px}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(290px,1fr));gap:14px 22px}
table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums}
th,td{padding:.4rem 0 .4rem 1.1rem;text-align:right;vertical-align:top;white-space:nowrap}
th:first-child{text-align:left;font-weight:600;padding-left:0}
thead th{color:var(--ink2);font-weight:600;border-bottom:1px solid var(--line)}
tbody tr+tr>*{border-top:1px solid var(--grid)}
td small{display:block;color:var(--ink2);font-size:.78rem}
.text{text-align:left;white-space:normal;min-width:16rem}
.key{width:.75em;height:.75em;margin-right:.5em;display:inline-block}
.key .bar{stroke:none}
pre{background:var(--band);padding:.8rem 1rem;border-radius:6px;overflow-x:auto;font-size:.85rem}
summary{cursor:pointer;font-weight:600;margin:.6rem 0}
footer{margin-top:3rem;color:var(--ink2);font-size:.85rem}
@media print{details>*{display:block}}
)";

constexpr int kPiecesPerPolicyMax = 4000;

std::string head(const StudyReport& study) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
      "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n<main>\n",
      xml_escaped(study.title),
      plot_style(),
      kPageStyle);
}

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

std::string section(std::string_view title, std::string_view text) {
  return fmt::format("<h2>{}</h2>\n<p class=\"note\">{}</p>\n", title, text);
}

std::string framed(const std::string& drawing) {
  return "<div class=\"frame\">\n" + drawing + "</div>\n";
}

std::string figures(const StudyReport& study) {
  std::string out = html_overview(study);
  out += section("Policies",
                 "Means over seeds. Small: the 95 % confidence interval of the mean (Student t), "
                 "where there is more than one seed.");
  out += html_policy_table(study);
  if (study.policies.size() > 1) {
    out += fmt::format(
        "<h3>Compared with {}</h3>\n<p class=\"note\">Mean change, paired by seed: both policies "
        "meet the same jobs at the same times. Small: its 95 % interval.</p>\n",
        xml_escaped(study.policies.front().name));
    out += html_comparison_table(study);
  }
  out += "<details><summary>All figures, with units and formulas</summary>\n";
  return out + html_all_figures(study) + "</details>\n";
}

std::string distributions(const StudyReport& study) {
  return section("How long jobs take",
                 "Share of jobs that were done within a time after their submission; all jobs of "
                 "all seeds.") +
         framed(html_distribution(study)) +
         section("What the time goes into",
                 "Mean time per finished job by kind; the parts add up to the mean JCT.") +
         framed(html_breakdown(study));
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
  return section("Queue and throughput",
                 fmt::format("One run of each policy ({}). Long series are drawn as means over "
                             "1/120 of the run.",
                             representative_seeds(study))) +
         framed(html_series(study, &job::SeriesPoint::queue, "jobs waiting")) +
         framed(html_series(study, &job::SeriesPoint::stp, "STP (sum of the jobs' speeds)"));
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
  timeline.end = last_makespan(study);
  timeline.gpus_max = options.timeline_gpus_max;
  const int policies = static_cast<int>(study.policies.size());
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
  std::string out = section(
      "GPUs over time",
      fmt::format("One run of each policy ({}). Each band is a GPU, each row of it a memory slice; "
                  "a job stands on the slices of its GPU instance. Jobs that share an instance "
                  "divide its height. Point at a piece to read what it is.",
                  representative_seeds(study)));
  out += "<div class=\"frame wide\">\n" + svg_timeline_legend("key") + "</div>\n";
  for (std::size_t i = 0; i < study.policies.size(); ++i) {
    out += timeline_of(study, i, options);
  }
  return out;
}

std::string origin(const StudyReport& study) {
  std::string out = section("How to get these figures", "Equal input gives equal output.");
  if (!study.command.empty()) {
    out += fmt::format("<pre><code>{}</code></pre>\n", xml_escaped(study.command));
  }
  return out + html_options(study);
}

}  // namespace

std::string html_report(const StudyReport& study, const HtmlOptions& options) {
  std::string out = head(study) + summary(study);
  if (study.policies.empty()) {
    out += "<p>No policy was run.</p>\n";
  } else {
    out += figures(study) + distributions(study) + series(study) + timelines(study, options);
  }
  out += origin(study);
  out += fmt::format(
      "<footer>Made by Septule {}. Nothing on this page is fetched from "
      "elsewhere.</footer>\n",
      xml_escaped(study.version));
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace septule::report
