#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "job/metrics.hpp"
#include "report/svg_plot.hpp"

namespace septule::report {

/// A method over a set of windows. A plain value.
struct MethodFigures {
  std::string name;                        ///< "exact"
  std::string text;                        ///< half a sentence on it; may be empty
  std::optional<job::Interval> gain;       ///< over time sharing, mean over windows
  std::optional<double> gain_max;          ///< of the best window
  std::optional<job::Interval> of_exact;   ///< gain / gain of the exact answer, mean over windows
  std::optional<double> of_exact_least;    ///< of the worst window
  std::optional<double> decision_time_us;  ///< median of one window; nothing = not timed
};

/// Methods on the same windows. A plain value.
struct MethodComparison {
  std::string title;
  std::string note;  ///< which jobs and windows these are
  std::vector<MethodFigures> methods;
};

/// How a training went and what came of it: the curves, the comparison with other methods, how to
/// get the same again. A plain value; drawings take its parts, nothing is worked out here.
struct LearningReport {
  std::string title;
  std::string lead;              ///< one sentence below the title
  std::vector<LinePlot> curves;  ///< x = updates of the network
  std::vector<MethodComparison> comparisons;
  std::vector<std::pair<std::string, std::string>> settings;  ///< names and values
  std::string command;                                        ///< that made it
  std::string version;
};

/// The table of one comparison for people, as text. What is not known is N/A.
std::string comparison_text(const MethodComparison& comparison);
/// One self-contained page: no script, nothing fetched, well-formed XML. Equal reports give equal
/// bytes.
std::string learning_page(const LearningReport& report);

}  // namespace septule::report
