#include "report/study_table.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/forecasts.hpp"
#include "report/number_text.hpp"
#include "report/table.hpp"

namespace septule::report {

namespace {

using Figure = double job::RunFigures::*;

/// A name on one line of a terminal: as it is if nothing in it could move the cursor.
std::string safe_name(const std::string& name, std::size_t width_max = 40) {
  const bool is_plain = is_valid_utf8(name) && std::ranges::none_of(name, [](char c) {
                          return static_cast<unsigned char>(c) < 0x20U || c == '\x7f';
                        });
  return is_plain ? shortened_text(name, width_max) : quoted_for_message(name);
}

std::string mean_cell(const PolicyReport& policy, Figure figure, int decimals) {
  const auto interval = policy_interval(policy, figure);
  return interval.has_value() ? fixed_text(interval->mean, decimals) : "N/A";
}

std::string bounds_cell(const PolicyReport& policy, Figure figure, int decimals) {
  const auto interval = policy_interval(policy, figure);
  return interval.has_value() ? bounds_text(*interval, decimals) : "N/A";
}

std::string figures_table(const StudyReport& study) {
  const bool has_rejected = has_rejected_jobs(study);
  std::vector<Table::Column> columns = {{"policy"},
                                        {"mean JCT s", Align::kRight},
                                        {"95 % interval", Align::kRight},
                                        {"makespan s", Align::kRight},
                                        {"STP/GPU", Align::kRight},
                                        {"wait s", Align::kRight},
                                        {"slowdown p90", Align::kRight},
                                        {"re-cuts", Align::kRight}};
  if (has_rejected) {
    columns.push_back({"done / rejected", Align::kRight});
  }
  Table table(std::move(columns));
  for (const PolicyReport& policy : study.policies) {
    std::vector<std::string> cells = {safe_name(policy.name),
                                      mean_cell(policy, &job::RunFigures::mean_jct_s, 1),
                                      bounds_cell(policy, &job::RunFigures::mean_jct_s, 1),
                                      mean_cell(policy, &job::RunFigures::makespan_s, 0),
                                      mean_cell(policy, &job::RunFigures::stp_per_gpu, 3),
                                      mean_cell(policy, &job::RunFigures::mean_wait_s, 1),
                                      mean_cell(policy, &job::RunFigures::slowdown_p90, 2),
                                      mean_cell(policy, &job::RunFigures::reconfigurations, 1)};
    if (has_rejected) {
      cells.push_back(done_and_rejected_text(policy));
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

std::string comparison_table(const StudyReport& study) {
  const std::string heading =
      has_one_base(study) ? "against " + safe_name(study.policies.front().name) : "compared";
  Table table({{heading},
               {"mean JCT", Align::kRight},
               {"95 % interval", Align::kRight},
               {"makespan", Align::kRight},
               {"95 % interval", Align::kRight},
               {"STP/GPU", Align::kRight},
               {"95 % interval", Align::kRight}});
  for (std::size_t i = 0; i < study.policies.size(); ++i) {
    const PolicyReport& policy = study.policies[i];
    if (policy.base == i) {
      continue;
    }
    std::vector<std::string> cells = {safe_name(comparison_name(study, policy), 100)};
    for (const Figure figure : {&job::RunFigures::mean_jct_s,
                                &job::RunFigures::makespan_s,
                                &job::RunFigures::stp_per_gpu}) {
      const auto ratio = paired_ratio(policy, study.policies[policy.base], figure);
      cells.push_back(ratio.has_value() ? change_text(ratio->mean) : "N/A");
      cells.push_back(ratio.has_value() ? change_bounds_text(*ratio) : "N/A");
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

}  // namespace

std::string study_table(const StudyReport& study) {
  const std::string seeds =
      study.policies.empty() ? "no policy" : seeds_text(study.policies.front().seeds);
  std::string out = fmt::format(
      "{}; {}; {}\n\n", safe_name(study.cluster, 100), safe_name(study.trace, 200), seeds);
  if (study.policies.empty()) {
    return out + "No policy was run.\n";
  }
  out += figures_table(study);
  if (study.policies.size() > 1) {
    out += "\n" + comparison_table(study);
  }
  out += "\nMeans over seeds; intervals are 95 % (Student t), comparisons paired by seed.\n";
  for (const std::string& note : study.notes) {
    out += safe_name(note, 1000) + "\n";
  }
  if (const std::string errors = forecast_errors_text(study); !errors.empty()) {
    out += safe_name(errors, 1000) + "\n";
  }
  return out;
}

}  // namespace septule::report
