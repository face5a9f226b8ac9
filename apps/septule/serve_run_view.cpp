#include "septule/serve_run_view.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/number_text.hpp"
#include "report/table.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;
using report::Align;

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json tenant_document(const job::ServingTenantRecord& tenant) {
  Json retraining = Json::array();
  for (const auto& [begin, end] : tenant.retraining) {
    retraining.push_back({{"begin_s", begin.to_seconds()}, {"end_s", end.to_seconds()}});
  }
  return {{"name", tenant.name},
          {"weight", tenant.weight},
          {"arrived", tenant.arrived},
          {"in_slo", tenant.in_slo},
          {"goodput", tenant.goodput},
          {"p50_ms", number_or_null(tenant.p50_ms)},
          {"p99_ms", number_or_null(tenant.p99_ms)},
          {"retrainings_done", tenant.retrainings_done},
          {"retrainings_missed", tenant.retrainings_missed},
          {"retraining", std::move(retraining)}};
}

}  // namespace

Json serving_run_document(const job::ServingRecord& run) {
  Json figures = Json::object();
  for (const report::ServingFigure& figure : report::serving_figures()) {
    figures[figure.name] = number_or_null(figure.value(run));
  }
  Json tenants = Json::array();
  for (const job::ServingTenantRecord& tenant : run.tenants) {
    tenants.push_back(tenant_document(tenant));
  }
  return {{"policy", run.policy},
          {"forecaster", run.forecaster.empty() ? Json(nullptr) : Json(run.forecaster)},
          {"mode", run.mode},
          {"seed", run.seed},
          {"gpus", run.gpu_count},
          {"length_s", run.span.to_seconds()},
          {"figures", std::move(figures)},
          {"tenants", std::move(tenants)},
          {"violations", run.violations},
          {"digest", fmt::format("{:016x}", run.digest)}};
}

Json interval_document(const std::optional<job::Interval>& interval) {
  if (!interval) {
    return nullptr;
  }
  return {{"mean", interval->mean},
          {"low", number_or_null(interval->low)},
          {"high", number_or_null(interval->high)}};
}

Json serving_intervals_document(const report::ServingPolicyRuns& policy) {
  Json figures = Json::object();
  for (const report::ServingFigure& figure : report::serving_figures()) {
    figures[figure.name] = interval_document(report::serving_interval(policy, figure));
  }
  return figures;
}

std::string serving_run_text(const job::ServingRecord& run) {
  report::Table table({{"TENANT"},
                       {"REQUESTS", Align::kRight},
                       {"WITHIN SLO", Align::kRight},
                       {"ACCURACY", Align::kRight},
                       {"GOODPUT", Align::kRight},
                       {"P50 MS", Align::kRight},
                       {"P99 MS", Align::kRight},
                       {"RETRAINED", Align::kRight}});
  for (const job::ServingTenantRecord& tenant : run.tenants) {
    table.add_row({quoted_for_message(tenant.name),
                   report::grouped_text(tenant.arrived, 0),
                   report::part_text(tenant.in_slo, tenant.arrived),
                   report::part_text(tenant.goodput, tenant.in_slo),
                   report::grouped_text(tenant.goodput, 1),
                   report::known_text(tenant.p50_ms, 1),
                   report::known_text(tenant.p99_ms, 1),
                   fmt::format("{} of {}",
                               tenant.retrainings_done,
                               tenant.retrainings_done + tenant.retrainings_missed)});
  }
  std::string text = table.text() + "\n";
  for (const report::ServingFigure& figure : report::serving_figures()) {
    text +=
        fmt::format("{:<24} {}\n", figure.title, report::figure_text(figure, figure.value(run)));
  }
  for (const std::string& violation : run.violations) {
    text += fmt::format("the checkers object: {}\n", violation);
  }
  return text;
}

}  // namespace septule::app
