#include "septule/trace_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "interop/trace_workload.hpp"
#include "report/table.hpp"
#include "septule/files.hpp"
#include "septule/inputs.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

/// Six decimals: what lies behind them is rounding, not the trace.
double rounded(double value) {
  constexpr double kParts = 1e6;
  return std::round(value * kParts) / kParts;
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(rounded(*value)) : Json(nullptr);
}

Json distribution_document(const std::optional<interop::TraceDistribution>& distribution) {
  if (!distribution) {
    return nullptr;
  }
  Json document{{"known", distribution->known}, {"mean", rounded(distribution->mean)}};
  for (std::size_t i = 0; i < interop::kTraceQuantilePercents.size(); ++i) {
    document[fmt::format("p{}", interop::kTraceQuantilePercents.at(i))] =
        rounded(distribution->quantiles.at(i));
  }
  return document;
}

Json bars_document(const std::vector<interop::TraceBar>& bars) {
  Json list = Json::array();
  for (const interop::TraceBar& bar : bars) {
    list.push_back({{"label", bar.label}, {"count", bar.count}});
  }
  return list;
}

/// Four figures, and no exponent for large ones.
std::string number_text(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string or_na(const std::optional<double>& value) {
  return value ? number_text(*value) : "N/A";
}

std::string percent_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", *share * 100) : "N/A";
}

void add_distribution(report::Table& table,
                      const std::string& name,
                      const std::optional<interop::TraceDistribution>& distribution) {
  std::vector<std::string> cells = {name};
  if (!distribution) {
    cells.insert(cells.end(), 2 + interop::kTraceQuantilePercents.size(), "N/A");
    cells[1] = "0";
  } else {
    cells.push_back(fmt::format("{}", distribution->known));
    cells.push_back(number_text(distribution->mean));
    for (const double value : distribution->quantiles) {
      cells.push_back(number_text(value));
    }
  }
  table.add_row(std::move(cells));
}

/// Bars of at most 50 characters, the longest for the largest count; empty ends are left out.
std::string bars_text(const std::string& title, std::vector<interop::TraceBar> bars) {
  const auto is_filled = [](const interop::TraceBar& bar) { return bar.count > 0; };
  bars.erase(bars.begin(), std::ranges::find_if(bars, is_filled));
  while (!bars.empty() && !is_filled(bars.back())) {
    bars.pop_back();
  }
  if (bars.empty()) {
    return "";
  }
  std::int64_t largest = 1;
  std::size_t label_size = 0;
  for (const interop::TraceBar& bar : bars) {
    largest = std::max(largest, bar.count);
    label_size = std::max(label_size, bar.label.size());
  }
  constexpr std::int64_t kColumns = 50;
  std::string text = fmt::format("\n{}\n", title);
  for (const interop::TraceBar& bar : bars) {
    const std::int64_t length = (bar.count * kColumns + largest - 1) / largest;
    text += fmt::format("  {:<{}}  {}{}{}\n",
                        bar.label,
                        label_size,
                        std::string(static_cast<std::size_t>(length), '#'),
                        length > 0 ? " " : "",
                        bar.count);
  }
  return text;
}

/// In the largest unit of which there are two or more.
std::string span_text(double seconds) {
  constexpr std::array<std::pair<double, std::string_view>, 3> kUnits = {
      {{86400, "days"}, {3600, "h"}, {60, "min"}}};
  for (const auto& [unit, name] : kUnits) {
    if (seconds >= 2 * unit) {
      return fmt::format("{:.4g} {}", seconds / unit, name);
    }
  }
  return fmt::format("{:.4g} s", seconds);
}

/// One character for each part of the span: " .:-=+*#%@", the last for the largest count.
std::string sparkline_text(const std::vector<interop::TraceBar>& bars) {
  if (bars.empty()) {
    return "";
  }
  constexpr std::string_view kLevels = " .:-=+*#%@";
  const std::int64_t largest = std::ranges::max(bars, {}, &interop::TraceBar::count).count;
  std::string line;
  for (const interop::TraceBar& bar : bars) {
    const auto steps = static_cast<std::int64_t>(kLevels.size()) - 1;
    const std::int64_t level = (bar.count * steps + largest - 1) / largest;
    line += kLevels.at(static_cast<std::size_t>(level));
  }
  return fmt::format(
      "\nsubmissions over time, {} parts of the span; blank: none, then {} up to {} in one\n"
      "  |{}|\n",
      bars.size(),
      kLevels.substr(1),
      largest,
      line);
}

}  // namespace

OptionRecord trace_format_option() {
  OptionRecord option{.name = "format",
                      .short_name = 'f',
                      .value = "FORMAT",
                      .text = "What the file is; auto looks at its beginning.",
                      .default_text = "auto",
                      .choices = {"auto"}};
  for (int i = 0; i < interop::kTraceFormatCount; ++i) {
    option.choices.emplace_back(interop::trace_format_name(static_cast<interop::TraceFormat>(i)));
  }
  return option;
}

OptionRecord processors_per_gpu_option() {
  return {.name = "processors-per-gpu",
          .value = "N",
          .text = "How many processors of an SWF trace stand for one GPU.",
          .default_text = "1",
          .min = 1,
          .max = 1000,
          .is_integer = true};
}

OptionRecord signatures_option() {
  return {.name = "signatures",
          .value = "FILE",
          .text =
              "Signatures of your own jobs (docs/formats.md, Signatures), which app and phases "
              "of a trace may name beside the built-in ones.",
          .completion = CompletionKind::kFile};
}

Result<std::vector<job::PerfSignature>> load_signatures(const std::string& path, Digest& digest) {
  if (path.empty()) {
    return std::vector<job::PerfSignature>();
  }
  SEPTULE_TRY(const std::string text, read_input(path));
  digest.add(text);
  return job::parse_signatures(text, source_name_of(path));
}

Result<LoadedTrace> load_trace(const Invocation& invocation, const std::string& path) {
  SEPTULE_TRY(const std::string text, read_input(path, interop::kTraceBytesMax));
  const std::string name = source_name_of(path);
  const interop::InputText input{text, name};
  LoadedTrace loaded;
  if (invocation.text("format") == "auto") {
    SEPTULE_TRY(loaded.format, interop::detect_trace_format(input));
  } else {
    loaded.format = checked_value(interop::parse_trace_format(invocation.text("format")),
                                  "the choices of --format are the formats");
  }
  Digest unused;
  SEPTULE_TRY(const std::vector<job::PerfSignature> signatures,
              load_signatures(invocation.text("signatures"), unused));
  const interop::TraceImportOptions options{
      .format = loaded.format,
      .processors_per_gpu = static_cast<std::int64_t>(invocation.number("processors-per-gpu")),
      .signatures = interop::signature_names(signatures)};
  SEPTULE_TRY(loaded.import, interop::import_trace(input, options));
  return loaded;
}

void say_findings(std::string_view source_name,
                  const std::vector<interop::TraceFinding>& findings) {
  for (const interop::TraceFinding& finding : findings) {
    const std::string message = interop::trace_finding_message(source_name, finding);
    if (finding.effect == interop::TraceEffect::kNoted) {
      say_note(message);
    } else {
      say_warning(message);
    }
  }
}

Json findings_document(const std::vector<interop::TraceFinding>& findings) {
  Json list = Json::array();
  for (const interop::TraceFinding& finding : findings) {
    Json examples = Json::array();
    for (const interop::TraceExample& example : finding.examples) {
      examples.push_back({{"line", example.line > 0 ? Json(example.line) : Json(nullptr)},
                          {"text", example.text}});
    }
    list.push_back({{"kind", interop::trace_finding_name(finding.kind)},
                    {"effect", interop::trace_effect_name(finding.effect)},
                    {"count", finding.count},
                    {"text", interop::trace_finding_text(finding.kind)},
                    {"examples", std::move(examples)}});
  }
  return list;
}

Json statistics_document(const interop::TraceStatistics& statistics) {
  return {{"jobs", statistics.jobs},
          {"span_s", or_null(statistics.span_s)},
          {"users", statistics.users ? Json(*statistics.users) : Json(nullptr)},
          {"gpu_hours", or_null(statistics.gpu_hours)},
          {"duration_s", distribution_document(statistics.duration_s)},
          {"gap_s", distribution_document(statistics.gap_s)},
          {"gap_squared_variation", or_null(statistics.gap_variation)},
          {"gpus", distribution_document(statistics.gpus)},
          {"gpu_memory_gib", distribution_document(statistics.gpu_memory_gib)},
          {"share_one_gpu", or_null(statistics.share_one_gpu)},
          {"share_part_gpu", or_null(statistics.share_part_gpu)},
          {"share_several_gpus", or_null(statistics.share_several_gpus)},
          {"share_cpu_only", or_null(statistics.share_cpu_only)},
          {"share_within_2h", or_null(statistics.share_within_2h)},
          {"duration_histogram", bars_document(statistics.duration_bars)},
          {"gpu_histogram", bars_document(statistics.gpu_bars)},
          {"arrival_histogram", bars_document(statistics.arrival_bars)}};
}

std::string statistics_text(std::string_view name, const interop::TraceStatistics& statistics) {
  const std::string span = statistics.span_s ? span_text(*statistics.span_s) : "N/A";
  std::string text = fmt::format("{}: {} jobs; span {}; users {}; GPU-hours {}\n\n",
                                 name,
                                 statistics.jobs,
                                 span,
                                 statistics.users ? fmt::format("{}", *statistics.users) : "N/A",
                                 or_na(statistics.gpu_hours));
  std::vector<report::Table::Column> columns = {
      {""}, {"KNOWN", report::Align::kRight}, {"MEAN", report::Align::kRight}};
  for (const int percent : interop::kTraceQuantilePercents) {
    columns.push_back({fmt::format("{} %", percent), report::Align::kRight});
  }
  report::Table table(std::move(columns));
  add_distribution(table, "duration, s", statistics.duration_s);
  add_distribution(table, "gap between jobs, s", statistics.gap_s);
  add_distribution(table, "GPUs", statistics.gpus);
  add_distribution(table, "GPU memory, GiB", statistics.gpu_memory_gib);
  text += table.text();
  text += fmt::format("\none GPU {}; a share of one {}; several {}; none {}\n",
                      percent_text(statistics.share_one_gpu),
                      percent_text(statistics.share_part_gpu),
                      percent_text(statistics.share_several_gpus),
                      percent_text(statistics.share_cpu_only));
  text += fmt::format("at most 2 h: {}\n", percent_text(statistics.share_within_2h));
  text += fmt::format("squared coefficient of variation of the gaps: {} (Poisson: 1)\n",
                      or_na(statistics.gap_variation));
  text += bars_text("duration", statistics.duration_bars);
  text += bars_text("GPUs", statistics.gpu_bars);
  return text + sparkline_text(statistics.arrival_bars);
}

}  // namespace septule::app
