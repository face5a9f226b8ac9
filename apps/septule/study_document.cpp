#include "septule/study_document.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/digest.hpp"
#include "gpu/partition.hpp"
#include "report/forecasts.hpp"
#include "septule/study_effective.hpp"
#include "septule/trace_view.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

/// Results of one policy on one cluster at one gap.
struct Row {
  int group = 0;
  int policy = 0;
  std::size_t first_trial = 0;  ///< one trial per seed from there on
};

std::vector<Row> rows_of(const sim::Study& study) {
  std::vector<Row> rows;
  const std::size_t seeds = study.spec().seeds.size();
  for (std::size_t trial = 0; trial < study.trials().size(); trial += seeds) {
    rows.push_back({study.trials()[trial].group, study.trials()[trial].policy, trial});
  }
  return rows;
}

std::string row_name(const sim::Study& study, const Row& row) {
  std::string name(study.spec().policies[static_cast<std::size_t>(row.policy)]->name);
  if (study.spec().clusters.size() > 1) {
    const auto cluster = static_cast<std::size_t>(study.cluster_of(row.group));
    name += " on " + study.spec().clusters[cluster].name();
  }
  if (study.spec().gaps.size() > 1) {
    name += fmt::format(", gap {} s", study.gap_of(row.group).to_seconds());
  }
  return name;
}

std::vector<report::ReportGpu> report_gpus(const sim::StudyCluster& cluster) {
  std::vector<report::ReportGpu> gpus;
  for (int gpu = 0; gpu < cluster.gpu_count; ++gpu) {
    gpus.push_back({fmt::format("GPU {}", gpu), cluster.geometry->memory_slices()});
  }
  return gpus;
}

report::PolicyReport policy_report(const FinishedStudy& finished, const Row& row) {
  report::PolicyReport policy;
  const sim::StudySpec& spec = finished.study->spec();
  const auto& variant = *spec.policies[static_cast<std::size_t>(row.policy)];
  const sim::StudyCluster& cluster =
      spec.clusters[static_cast<std::size_t>(finished.study->cluster_of(row.group))];
  policy.name = row_name(*finished.study, row);
  policy.policy = variant.name;
  policy.summary = variant.summary;
  policy.cluster = spec.clusters.size() > 1 ? cluster.name() : std::string();
  if (spec.gaps.size() > 1) {
    policy.gap = finished.study->gap_of(row.group);
  }
  policy.seeds = spec.seeds;
  policy.has_fixed_jobs = spec.arrivals.kind == job::ArrivalKind::kTrace;
  for (std::size_t i = 0; i < policy.seeds.size(); ++i) {
    const sim::TrialResult& result = finished.results[row.first_trial + i];
    policy.runs.push_back(result.figures);
    for (const Duration jct : result.jct) {
      policy.jct_s.push_back(jct.to_seconds());
    }
  }
  for (std::size_t i = 0; i < policy.seeds.size(); ++i) {
    job::add_forecast_sums(policy.forecasts, finished.results[row.first_trial + i].forecasts);
  }
  policy.representative = finished.representatives[row.first_trial];
  policy.gpus = report_gpus(cluster);
  return policy;
}

std::string clusters_text(const sim::StudySpec& spec) {
  std::string text;
  for (const sim::StudyCluster& cluster : spec.clusters) {
    text += (text.empty() ? "" : ", ") + cluster.name();
  }
  return text;
}

Json interval_document(const std::optional<job::Interval>& interval) {
  if (!interval) {
    return {{"mean", nullptr}, {"ci95", nullptr}};
  }
  const bool has_bounds = interval->low.has_value() && interval->high.has_value();
  return {{"mean", interval->mean},
          {"ci95", has_bounds ? Json::array({*interval->low, *interval->high}) : Json(nullptr)}};
}

std::string layout_text(const gpu::Geometry& geometry, const gpu::Layout& layout) {
  std::string text;
  for (const gpu::PlacedProfile& placed : layout) {
    text += fmt::format("{}{}@{}",
                        text.empty() ? "" : ",",
                        geometry.profile(placed.profile).name,
                        placed.start.value());
  }
  return text;
}

/// Where the columns of all characterisation runs of a row came from.
job::MeasurementCounts measurements_of(const FinishedStudy& finished, const Row& row) {
  job::MeasurementCounts sum;
  for (std::size_t i = 0; i < finished.study->spec().seeds.size(); ++i) {
    const job::MeasurementCounts& one = finished.results[row.first_trial + i].measurements;
    sum.drawn += one.drawn;
    sum.nearest += one.nearest;
    sum.modelled += one.modelled;
    sum.unmeasured += one.unmeasured;
  }
  return sum;
}

Json forecasts_document(const std::vector<job::ForecastSums>& forecasts) {
  Json document = Json::object();
  for (const job::ForecastSums& sums : forecasts) {
    const auto count = static_cast<double>(sums.count);
    document[report::slice_name(sums.slices)] = {
        {"stays", sums.count}, {"mae", sums.error_abs / count}, {"bias", sums.error / count}};
  }
  return document;
}

Json policy_document(const FinishedStudy& finished, const Row& row, const Row& base) {
  const sim::Study& study = *finished.study;
  const sim::StudySpec& spec = study.spec();
  const auto& variant = *spec.policies[static_cast<std::size_t>(row.policy)];
  const sim::StudyCluster& cluster =
      spec.clusters[static_cast<std::size_t>(study.cluster_of(row.group))];
  const report::PolicyReport policy = policy_report(finished, row);
  const report::PolicyReport first = policy_report(finished, base);
  Json document{{"name", variant.name}, {"cluster", cluster.name()}};
  const bool has_gap = job::has_gaps(spec.arrivals.kind);
  document["gap_s"] = has_gap ? Json(study.gap_of(row.group).to_seconds()) : Json(nullptr);
  const gpu::Layout& layout = study.layout_of(study.trials()[row.first_trial]);
  document["layout"] =
      variant.needs_layout ? Json(layout_text(*cluster.geometry, layout)) : Json(nullptr);
  Json versus{
      {"policy", spec.policies[static_cast<std::size_t>(base.policy)]->name},
      {"cluster", spec.clusters[static_cast<std::size_t>(study.cluster_of(base.group))].name()}};
  for (const job::FigureColumn& column : job::figure_columns()) {
    document[column.name] = interval_document(report::policy_interval(policy, column.member));
    versus[column.name] = interval_document(report::paired_ratio(policy, first, column.member));
  }
  document["versus"] = std::move(versus);
  if (finished.predictor->is_learned() && variant.has_error) {
    const job::MeasurementCounts counts = measurements_of(finished, row);
    document["forecasts"] = forecasts_document(policy.forecasts);
    document["measured_columns"] = {
        {"drawn", counts.drawn}, {"nearest", counts.nearest}, {"modelled", counts.modelled}};
  }
  Digest digest;
  for (std::size_t i = 0; i < spec.seeds.size(); ++i) {
    digest.add(finished.results[row.first_trial + i].digest);
  }
  document["digest"] = digest.text();
  return document;
}

/// The first policy of the first cluster at the same gap.
std::size_t base_of(const sim::Study& study, const std::vector<Row>& rows, const Row& row) {
  const auto gaps = static_cast<int>(study.spec().gaps.size());
  const auto found = std::ranges::find_if(
      rows, [&](const Row& candidate) { return candidate.group % gaps == row.group % gaps; });
  return static_cast<std::size_t>(found - rows.begin());
}

/// "optsta on 8xA100-40GB, gap 60 s: 4g.20gb@0,3g.20gb@4", each layout that was chosen or given.
std::vector<std::string> layout_lines(const sim::Study& study) {
  std::vector<std::string> lines;
  for (const Row& row : rows_of(study)) {
    const sim::Trial& trial = study.trials()[row.first_trial];
    if (study.spec().policies[static_cast<std::size_t>(row.policy)]->needs_layout) {
      const auto cluster = static_cast<std::size_t>(study.cluster_of(row.group));
      const gpu::Geometry& geometry = *study.spec().clusters[cluster].geometry;
      lines.push_back(fmt::format(
          "{}: {}", row_name(study, row), layout_text(geometry, study.layout_of(trial))));
    }
  }
  return lines;
}

/// What a learned predictor was and saw, a sentence each; nothing if no policy predicts.
std::vector<std::string> predictor_notes(const FinishedStudy& finished) {
  if (!finished.predictor->is_learned() || !has_predicting_policy(finished.study->spec())) {
    return {};
  }
  std::string first = fmt::format("Predictor: {}. Measurements: {}.",
                                  finished.predictor->text,
                                  finished.predictor->measurements->text());
  for (const std::string& caution : finished.predictor->cautions) {
    first += " " + caution;
  }
  std::vector<std::string> notes = {std::move(first)};
  for (const Row& row : rows_of(*finished.study)) {
    const job::MeasurementCounts counts = measurements_of(finished, row);
    if (counts.nearest > 0 || (counts.drawn > 0 && counts.modelled > 0)) {
      notes.push_back(fmt::format(
          "Columns measured under {}: {} drawn at the same number of co-runners, {} at the nearest "
          "number, {} from the truth model for want of a measurement.",
          row_name(*finished.study, row),
          counts.drawn,
          counts.nearest,
          counts.modelled));
    }
    if (counts.unmeasured > 0) {
      notes.push_back(fmt::format(
          "Under {} {} columns held no step at any level: those jobs were taken to scale with the "
          "root of their share of the GPU until they were measured.",
          row_name(*finished.study, row),
          counts.unmeasured));
    }
  }
  return notes;
}

std::vector<std::string> study_notes(const FinishedStudy& finished) {
  const sim::Study& study = *finished.study;
  std::vector<std::string> notes = predictor_notes(finished);
  for (const std::string& line : layout_lines(study)) {
    notes.push_back("Layout of each GPU under " + line + ".");
  }
  if (std::string note = models_note(study.spec()); !note.empty()) {
    note.front() = 'C';
    notes.push_back(note + ".");
  }
  if (study.spec().arrivals.kind == job::ArrivalKind::kTrace && study.spec().seeds.size() > 1) {
    notes.emplace_back(
        "All seeds have the same jobs at the same times, those of the trace: what is equal for all "
        "seeds has no interval, and other intervals are of prediction errors only.");
  }
  return notes;
}

}  // namespace

std::string models_note(const sim::StudySpec& spec) {
  const auto& clusters = spec.clusters;
  const bool is_one_model = std::ranges::all_of(clusters, [&](const sim::StudyCluster& cluster) {
    return cluster.geometry == clusters.front().geometry;
  });
  if (is_one_model) {
    return {};
  }
  const bool has_speed = std::ranges::any_of(
      clusters, [](const sim::StudyCluster& cluster) { return cluster.speed != 1; });
  return has_speed
             ? "clusters of different GPU models are compared with the relative speeds behind "
               "@ (1 without); start-up and checkpoint times are the same on all"
             : "clusters of different GPU models are compared without the speed of the models: "
               "the work of a job is its time alone on the whole GPU of whichever model is "
               "simulated; COUNTxMODEL@X says that one is X times as fast";
}

report::StudyReport study_report(const FinishedStudy& finished) {
  const sim::Study& study = *finished.study;
  const std::vector<Row> rows = rows_of(study);
  report::StudyReport report;
  report.cluster = clusters_text(study.spec());
  report.trace = trace_text(*finished.jobs, study.spec());
  report.title = "Septule study: " + report.trace;
  report.command = finished.settings->command();
  report.version = version();
  report.gpus = report_gpus(study.spec().clusters.front());
  for (const auto& [name, text] : effective_settings(*finished.settings, study.spec())) {
    report.options.push_back({name, text.empty() ? "not given" : text});
  }
  report.predictor_notes = predictor_notes(finished);
  if (!finished.predictor->warning.empty()) {
    report.predictor_notes.push_back("Warning: " + finished.predictor->warning + ".");
  }
  report.notes = study_notes(finished);
  for (const std::string& line : layout_lines(study)) {
    report.options.push_back({"layout chosen", line});
  }
  if (const std::string note = models_note(study.spec()); !note.empty()) {
    report.options.push_back({"note", note});
  }
  for (const Row& row : rows) {
    report.policies.push_back(policy_report(finished, row));
    report.policies.back().base = base_of(study, rows, row);
  }
  return report;
}

Json study_document(const FinishedStudy& finished) {
  const sim::Study& study = *finished.study;
  const sim::StudySpec& spec = study.spec();
  Json clusters = Json::array();
  for (const sim::StudyCluster& cluster : spec.clusters) {
    clusters.push_back({{"name", cluster.name()},
                        {"model", cluster.geometry->key()},
                        {"gpus", cluster.gpu_count},
                        {"speed", cluster.speed}});
  }
  Json options = Json::object();
  for (const auto& [name, text] : effective_settings(*finished.settings, study.spec())) {
    options[name] = text.empty() ? Json(nullptr) : Json(text);
  }
  Json document{{"schema", "septule-study/1"},
                {"version", version()},
                {"command", finished.settings->command()},
                {"clusters", std::move(clusters)},
                {"trace",
                 {{"name", finished.jobs->source_name},
                  {"text", trace_text(*finished.jobs, spec)},
                  {"jobs", finished.jobs->workload.jobs.size()},
                  {"jobs_in_trace", finished.jobs->jobs_in_trace},
                  {"measured_jobs", finished.jobs->jobs_measured},
                  {"findings", findings_document(finished.jobs->findings)}}},
                {"seeds", spec.seeds},
                {"options", std::move(options)}};
  if (finished.predictor->is_learned()) {
    document["predictor"] = {{"text", finished.predictor->text},
                             {"measurements", finished.predictor->measurements->text()}};
    if (!finished.predictor->warning.empty()) {
      document["predictor"]["warning"] = finished.predictor->warning;
    }
  }
  document["policies"] = Json::array();
  const std::vector<Row> rows = rows_of(study);
  for (const Row& row : rows) {
    document["policies"].push_back(policy_document(finished, row, rows[base_of(study, rows, row)]));
  }
  Digest digest;
  for (const sim::TrialResult& result : finished.results) {
    digest.add(result.digest);
  }
  document["digest"] = digest.text();
  return document;
}

}  // namespace septule::app
