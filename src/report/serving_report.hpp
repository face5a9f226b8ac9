#pragma once

#include <string>
#include <vector>

#include "job/serving_record.hpp"
#include "report/serving_figures.hpp"
#include "report/study.hpp"

namespace septule::report {

/// What a page on served tenants is made from. A plain value; any text in it may hold any bytes.
/// `policies.front().runs.front()` is the run that is drawn; the tables are of all.
struct ServingReport {
  std::string title;
  std::string lead;                         ///< a sentence on what was served, and where
  std::vector<ServingPolicyRuns> policies;  ///< >= 1, each with >= 1 run
  int memory_slices = 8;                    ///< of each GPU
  std::vector<NamedValue> settings;
  std::vector<std::string> notes;  ///< what has to be known to read the figures; a sentence each
  std::string command;             ///< what to type to get the same page
  std::string version;             ///< of Septule
};

/// Limits of a page, so that a day at one-second steps makes a page that a browser opens (below
/// 2 MB).
struct ServingPageLimits {
  int gpus_max = 8;       ///< GPUs drawn of a run
  int pieces_max = 3600;  ///< rectangles of all timelines together
  int tenants_max = 24;   ///< tenants with plots of their own
  int runs_max = 4;       ///< policies whose first run is drawn
  int points_max = 240;   ///< of a line; longer series are drawn as means over equal parts
};

/// One self-contained page: no script, nothing fetched, well-formed XML, equal input gives equal
/// bytes. Figures of every policy (with intervals over several runs), how each compares with the
/// first; layouts over time by GPU, retraining windows, and for each tenant rates against capacity.
/// What a run lacks is said, not drawn.
std::string serving_page(const ServingReport& report, const ServingPageLimits& limits = {});

}  // namespace septule::report
