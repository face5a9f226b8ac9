#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "job/metrics.hpp"
#include "job/serving_record.hpp"

namespace septule::report {

/// A figure of a run of the serving simulator: how it is named, written and reckoned. One table
/// behind page, terminal, CSV and JSON.
struct ServingFigure {
  const char* name;     ///< of the field in files
  const char* title;    ///< on pages and in tables
  const char* unit;     ///< "1" = a share or a plain number
  const char* formula;  ///< a sentence for readers
  std::optional<double> (*value)(const job::ServingRecord& run);  ///< nothing = does not apply
  int decimals;
  bool is_share;  ///< written in per cent for people
};
/// All of them, in the order of tables; static lifetime.
std::span<const ServingFigure> serving_figures();
/// The figure of this name, which exists.
const ServingFigure& serving_figure(std::string_view name);

/// For people: "97.21 %", "1,234.5", "N/A".
std::string figure_text(const ServingFigure& figure, std::optional<double> value);

/// The runs of one policy over the same windows and seeds as those of the others, in one order.
struct ServingPolicyRuns {
  std::string name;
  std::vector<job::ServingRecord> runs;
};

/// Mean and 95 % interval of a figure over the runs to which it applies; nothing if to none.
std::optional<job::Interval> serving_interval(const ServingPolicyRuns& policy,
                                              const ServingFigure& figure);
/// Mean and 95 % interval of policy / base of the weighted goodput, paired run by run (the windows
/// cancel out); runs whose base is 0 are left out; nothing if none is left.
std::optional<job::Interval> goodput_ratio(const ServingPolicyRuns& policy,
                                           const ServingPolicyRuns& base);

/// The policies for a terminal: a row each with attainment, accuracy, goodput with its interval and
/// its ratio to the first, and what moving cost. Ends with a line feed.
std::string serving_comparison_text(const std::vector<ServingPolicyRuns>& policies);

/// One row per tenant and point of its series; a heading first; RFC 4180 with "\n".
std::string serving_csv(const job::ServingRecord& run);

}  // namespace septule::report
