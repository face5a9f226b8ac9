#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "job/serving_record.hpp"
#include "report/serving_figures.hpp"

namespace septule::app {

/// One run as an element of "runs" (docs/output.md): policy, seed, figures, tenants, violations.
nlohmann::ordered_json serving_run_document(const job::ServingRecord& run);
/// The figures of several runs: {"attainment": {"mean", "low", "high"}, ...}.
nlohmann::ordered_json serving_intervals_document(const report::ServingPolicyRuns& policy);
/// An interval, or null.
nlohmann::ordered_json interval_document(const std::optional<job::Interval>& interval);

/// One run for people: a row for each tenant, then its figures.
std::string serving_run_text(const job::ServingRecord& run);

}  // namespace septule::app
