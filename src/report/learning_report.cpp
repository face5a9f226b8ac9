#include "report/learning_report.hpp"

#include <fmt/format.h>

#include "report/html_page.hpp"
#include "report/number_text.hpp"
#include "report/svg_plot_bars.hpp"
#include "report/svg_plot_text.hpp"
#include "report/table.hpp"

namespace septule::report {

namespace {

constexpr int kGainDecimals = 3;
constexpr std::string_view kNotKnown = "N/A";

std::string percent_text(double share) {
  return fixed_text(100 * share, 2) + " %";
}

std::string gain_text(const std::optional<double>& gain) {
  return gain ? fixed_text(*gain, kGainDecimals) : std::string(kNotKnown);
}

std::string share_text(const std::optional<double>& share) {
  return share ? percent_text(*share) : std::string(kNotKnown);
}

std::string time_cell(const std::optional<double>& time_us) {
  return time_us ? fixed_text(*time_us, *time_us < 100 ? 1 : 0) : std::string(kNotKnown);
}

/// A mean with its interval below it.
template <class Text>
std::string interval_cell(const std::optional<job::Interval>& interval, Text text) {
  if (!interval) {
    return fmt::format("<td>{}</td>", kNotKnown);
  }
  const bool has_bounds = interval->low.has_value() && interval->high.has_value();
  return fmt::format("<td>{}{}</td>",
                     text(interval->mean),
                     has_bounds ? fmt::format("<small>{}\xe2\x80\x93{}</small>",
                                              text(*interval->low),
                                              text(*interval->high))
                                : std::string());
}

std::string table_of(const MethodComparison& comparison) {
  std::string rows =
      "<table>\n<thead><tr><th>method</th><th>gain over time sharing</th><th>best window</th>"
      "<th>of the exact gain</th><th>worst window</th><th>decision, \xc2\xb5s</th>"
      "<th></th></tr></thead>\n<tbody>\n";
  for (const MethodFigures& method : comparison.methods) {
    rows += fmt::format(
        "<tr><th>{}</th>{}<td>{}</td>{}<td>{}</td><td>{}</td>"
        "<td class=\"text\">{}</td></tr>\n",
        xml_escaped(method.name),
        interval_cell(method.gain, [](double gain) { return fixed_text(gain, kGainDecimals); }),
        gain_text(method.gain_max),
        interval_cell(method.of_exact, percent_text),
        share_text(method.of_exact_least),
        time_cell(method.decision_time_us),
        xml_escaped(method.text));
  }
  return rows + "</tbody>\n</table>\n";
}

std::string bars_of(const MethodComparison& comparison) {
  BarPlot plot;
  plot.title = comparison.title;
  plot.axis = {"mean gain over time sharing", AxisKind::kNumber, 0.0, {}};
  int index = 0;
  for (const MethodFigures& method : comparison.methods) {
    Bar bar;
    bar.name = method.name;
    bar.index = index++;
    if (method.gain) {
      bar.parts = {method.gain->mean};
      bar.low = method.gain->low;
      bar.high = method.gain->high;
      bar.text = fixed_text(method.gain->mean, kGainDecimals);
    }
    plot.bars.push_back(std::move(bar));
  }
  return svg_bar_plot(plot, Embedding::kInline);
}

std::string settings_of(const LearningReport& report) {
  std::string rows = "<table>\n<tbody>\n";
  for (const auto& [name, value] : report.settings) {
    rows += fmt::format(
        "<tr><th>{}</th><td class=\"text\">{}</td></tr>\n", xml_escaped(name), xml_escaped(value));
  }
  return html_framed(rows + "</tbody>\n</table>\n");
}

}  // namespace

std::string comparison_text(const MethodComparison& comparison) {
  Table table({{"METHOD"},
               {"GAIN", Align::kRight},
               {"95 %", Align::kRight},
               {"BEST", Align::kRight},
               {"OF EXACT", Align::kRight},
               {"95 %", Align::kRight},
               {"WORST", Align::kRight},
               {"DECISION US", Align::kRight}});
  for (const MethodFigures& method : comparison.methods) {
    std::string bounds(kNotKnown);
    if (method.of_exact && method.of_exact->low && method.of_exact->high) {
      bounds = fmt::format("{}-{}",
                           fixed_text(100 * *method.of_exact->low, 2),
                           percent_text(*method.of_exact->high));
    }
    table.add_row({method.name,
                   method.gain ? gain_text(method.gain->mean) : std::string(kNotKnown),
                   method.gain ? bounds_text(*method.gain, kGainDecimals) : std::string(kNotKnown),
                   gain_text(method.gain_max),
                   method.of_exact ? percent_text(method.of_exact->mean) : std::string(kNotKnown),
                   bounds,
                   share_text(method.of_exact_least),
                   time_cell(method.decision_time_us)});
  }
  std::string out = comparison.title + "\n";
  if (!comparison.note.empty()) {
    out += comparison.note + "\n";
  }
  return out + table.text();
}

std::string learning_page(const LearningReport& report) {
  std::string out = html_page_begin(report.title);
  out += fmt::format("<h1>{}</h1>\n<p class=\"lead\">{}</p>\n",
                     xml_escaped(report.title),
                     xml_escaped(report.lead));
  for (const MethodComparison& comparison : report.comparisons) {
    out += html_section(xml_escaped(comparison.title), xml_escaped(comparison.note));
    out += html_framed(bars_of(comparison)) + html_framed(table_of(comparison));
  }
  if (!report.curves.empty()) {
    out += html_section("The training", "Over the updates of the network.");
    for (const LinePlot& curve : report.curves) {
      out += fmt::format("<h3>{}</h3>\n", xml_escaped(curve.title));
      out += html_framed(svg_line_plot(curve, Embedding::kInline));
    }
  }
  out += html_section("How to get these figures", "Equal input gives equal output.");
  if (!report.command.empty()) {
    out += fmt::format("<pre><code>{}</code></pre>\n", xml_escaped(report.command));
  }
  if (!report.settings.empty()) {
    out += settings_of(report);
  }
  return out + html_page_end(report.version);
}

}  // namespace septule::report
