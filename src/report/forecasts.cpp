#include "report/forecasts.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "report/number_text.hpp"
#include "report/study_rows.hpp"
#include "report/svg_plot.hpp"

namespace septule::report {

namespace {

constexpr std::size_t kPointsMax = 400;
/// Means of fewer stays say little.
constexpr std::int64_t kStaysFew = 20;
/// The whole GPU: speeds are relative to it, so that no belief about it can be wrong. Learned
/// predictors know GPUs of seven slices only.
constexpr ComputeSlices kWhole(7);

bool is_judged(const job::ForecastSums& sums) {
  return sums.slices != kWhole && sums.count > 0;
}

struct ForecastRow {
  const RepresentativeRun& run;
  const job::SpeedForecast& forecast;
};

struct Column {
  const char* name;
  const char* unit;
  const char* formula;
  std::string (*cell)(const ForecastRow& row);
};

std::string speed_text(double speed) {
  return fixed_text(speed, 6);
}

constexpr std::array kColumns = std::to_array<Column>({
    {"policy",
     "text",
     "name of the policy",
     [](const ForecastRow& row) { return row.run.run.policy; }},
    {"seed",
     "1",
     "seed of the run",
     [](const ForecastRow& row) { return fmt::format("{}", row.run.run.seed); }},
    {"job",
     "1",
     "number of the job, from 0 in order of submission",
     [](const ForecastRow& row) { return fmt::format("{}", row.forecast.job.value()); }},
    {"name",
     "text",
     "the job's name in the trace",
     [](const ForecastRow& row) { return job_name(row.run, row.forecast.job); }},
    {"slices",
     "compute slices",
     "of the instance that it ran on",
     [](const ForecastRow& row) { return fmt::format("{}", row.forecast.slices.value()); }},
    {"decided_s",
     "s",
     "decision to run it there, from the start of the trace",
     [](const ForecastRow& row) { return exact_seconds_text(row.forecast.decided - SimTime()); }},
    {"begin_s",
     "s",
     "first completed step there",
     [](const ForecastRow& row) { return exact_seconds_text(row.forecast.begin - SimTime()); }},
    {"believed",
     "1",
     "speed that was believed then, relative to the whole GPU",
     [](const ForecastRow& row) { return speed_text(row.forecast.believed); }},
    {"actual",
     "1",
     "speed that it had, relative to the whole GPU",
     [](const ForecastRow& row) { return speed_text(row.forecast.actual); }},
    {"error",
     "1",
     "believed - actual",
     [](const ForecastRow& row) {
       return speed_text(row.forecast.believed - row.forecast.actual);
     }},
});

/// The policies of the page that have forecasts.
std::vector<std::size_t> rows_with_forecasts(const StudyReport& study) {
  std::vector<std::size_t> rows;
  for (const std::size_t row : first_gap_rows(study)) {
    if (!study.policies[row].forecasts.empty()) {
      rows.push_back(row);
    }
  }
  return rows;
}

std::string full_name(const PolicyReport& policy) {
  return policy_key(policy) + (policy.cluster.empty() ? std::string() : " on " + policy.cluster);
}

std::string error_table(const StudyReport& study, const std::vector<std::size_t>& rows) {
  std::string out =
      "<div class=\"frame\"><table><thead><tr><th>policy</th><th>instance</th><th>stays</th>"
      "<th>mean absolute error</th><th>bias</th></tr></thead><tbody>\n";
  for (const std::size_t row : rows) {
    for (const job::ForecastSums& sums : study.policies[row].forecasts) {
      if (!is_judged(sums)) {
        continue;
      }
      const auto count = static_cast<double>(sums.count);
      out += fmt::format("<tr><th>{}</th><td>{}</td><td>{}{}</td><td>{}</td><td>{}</td></tr>\n",
                         xml_escaped(full_name(study.policies[row])),
                         slice_name(sums.slices),
                         sums.count,
                         sums.count < kStaysFew ? " (few)" : "",
                         fixed_text(sums.error_abs / count, 4),
                         fixed_text(sums.error / count, 4));
    }
  }
  return out + "</tbody></table></div>\n";
}

/// Every n-th, so that no more than the limit are left.
std::vector<PlotPoint> points_of(const RepresentativeRun& run, ComputeSlices slices) {
  std::vector<PlotPoint> all;
  for (const job::SpeedForecast& forecast : run.run.forecasts) {
    if (forecast.slices == slices) {
      all.push_back({forecast.actual, forecast.believed, {}, {}});
    }
  }
  std::vector<PlotPoint> points;
  const std::size_t step = all.size() / kPointsMax + 1;
  for (std::size_t i = 0; i < all.size(); i += step) {
    points.push_back(all[i]);
  }
  return points;
}

std::string drawing(const StudyReport& study,
                    const std::vector<std::size_t>& rows,
                    ComputeSlices slices) {
  LinePlot plot;
  plot.title = "Believed and actual speed on " + slice_name(slices);
  plot.x = {"actual speed relative to the whole GPU", AxisKind::kNumber, 0.0, {}};
  plot.y = {"believed speed", AxisKind::kNumber, 0.0, {}};
  plot.shape = LineShape::kDots;
  for (const std::size_t row : rows) {
    const PolicyReport& policy = study.policies[row];
    if (!policy.representative.has_value()) {
      continue;
    }
    std::vector<PlotPoint> points = points_of(*policy.representative, slices);
    if (!points.empty()) {
      plot.lines.push_back({full_name(policy), colour_index(study, policy), std::move(points)});
    }
  }
  if (plot.lines.empty()) {
    return {};
  }
  return fmt::format("<h3>{}</h3>\n<div class=\"frame\">\n{}</div>\n",
                     slice_name(slices),
                     svg_line_plot(plot, Embedding::kInline));
}

}  // namespace

std::string slice_name(ComputeSlices slices) {
  return fmt::format("{}g", slices.value());
}

bool has_forecasts(const StudyReport& study) {
  return std::ranges::any_of(study.policies,
                             [](const PolicyReport& policy) { return !policy.forecasts.empty(); });
}

std::vector<CsvColumn> forecast_columns() {
  std::vector<CsvColumn> columns;
  for (const Column& column : kColumns) {
    columns.push_back({column.name, column.unit, column.formula});
  }
  return columns;
}

std::string forecasts_csv(const RepresentativeRun& run) {
  std::string out = csv_heading(forecast_columns());
  for (const job::SpeedForecast& forecast : run.run.forecasts) {
    const ForecastRow row{run, forecast};
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      out += (i > 0 ? "," : "") + csv_cell(kColumns[i].cell(row));
    }
    out += "\n";
  }
  return out;
}

std::string forecast_errors_text(const StudyReport& study) {
  std::string text;
  for (const std::size_t row : rows_with_forecasts(study)) {
    std::string figures;
    for (const job::ForecastSums& sums : study.policies[row].forecasts) {
      if (is_judged(sums)) {
        figures += fmt::format("{}{} {}{}",
                               figures.empty() ? " " : ", ",
                               slice_name(sums.slices),
                               fixed_text(sums.error_abs / static_cast<double>(sums.count), 4),
                               sums.count < kStaysFew ? " (few stays)" : "");
      }
    }
    if (!figures.empty()) {
      text += (text.empty() ? "" : "; ") + full_name(study.policies[row]) + figures;
    }
  }
  return text.empty() ? text
                      : fmt::format(
                            "Mean error of predicted speeds, whole GPU = 1: {}; more in "
                            "report.html of --out.",
                            text);
}

std::string html_forecasts(const StudyReport& study) {
  const std::vector<std::size_t> rows = rows_with_forecasts(study);
  if (rows.empty()) {
    return {};
  }
  std::string out =
      "<h2>Predicted against realised speed</h2>\n<p class=\"note\">For each stay of a job alone "
      "on "
      "an instance: the speed that the predictor believed when the decision was made, and the "
      "speed "
      "that the job then had, both relative to the whole GPU. Table: all seeds; bias = mean of "
      "believed - actual. Drawings: one run of each policy; on the diagonal the prediction was "
      "right.</p>\n";
  for (const std::string& note : study.predictor_notes) {
    out += fmt::format("<p class=\"note\">{}</p>\n", xml_escaped(note));
  }
  out += error_table(study, rows);
  out += fmt::format(
      "<p class=\"note\">{}g is left out: speeds are relative to it. Few = fewer than {} stays. "
      "septule and its variants correct what they believe of a kind of job by the step times of "
      "jobs that run alone; miso and its variants believe each job's own characterisation run to "
      "its end, as in the paper.</p>\n",
      kWhole.value(),
      kStaysFew);
  std::set<ComputeSlices, std::greater<>> slices;
  for (const std::size_t row : rows) {
    for (const job::ForecastSums& sums : study.policies[row].forecasts) {
      if (is_judged(sums) && sums.error_abs > 0) {  // all points on the diagonal show nothing
        slices.insert(sums.slices);
      }
    }
  }
  for (const ComputeSlices each : slices) {
    out += drawing(study, rows, each);
  }
  return out;
}

}  // namespace septule::report
