#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "interop/limits.hpp"
#include "serve/tenant.hpp"

namespace septule::interop {

/// Whether a cell counts the requests of a step or is a rate already.
enum class RateUnit { kRequestsPerStep, kRequestsPerSecond };

/// Request rates over time as a file has them (docs/formats.md, "Trace of request rates"): equal
/// steps, one or several series. Steps may be missing. A plain value.
struct RateTrace {
  struct Series {
    std::string name;  ///< of its column, or the model of an arrival pattern
    RateUnit unit = RateUnit::kRequestsPerSecond;
    std::vector<double> values;  ///< by row, as in the text; NaN = an empty cell
  };
  struct Row {
    int line = 0;
    std::int64_t index = 0;  ///< steps since the first row; ascending
  };
  /// Arrivals of one cycle that repeats: times of each series, ascending, in [0, cycle).
  struct Pattern {
    Duration cycle;
    std::vector<std::vector<Duration>> arrivals;  ///< by series
  };

  std::string source;
  std::optional<Duration> step;  ///< nothing = the text has steps without a length
  std::vector<Row> rows;
  std::vector<Series> series;
  std::optional<Pattern> pattern;  ///< then there are no rows and no step
};

/// Reads a trace; the form is told by the heading. Fails with kInvalidInput naming source, line and
/// column: an unknown heading, times that do not ascend in whole steps, negative or unreadable
/// values, no rows.
Result<RateTrace> parse_rate_trace(const InputText& input);

/// What to do where the trace has no row.
enum class GapHandling {
  kRefuse,
  kHold,  ///< the last known rate goes on
};

/// Which part of a trace, and how large.
struct RateSelection {
  std::string column;              ///< of the series; empty = "requests", or the only one
  Duration from;                   ///< after the first row; >= 0
  std::optional<Duration> length;  ///< nothing = to the end; > 0
  /// Length of a step of the series made: a multiple of the trace's (means are taken) or a part of
  /// it (values repeat). Of steps without a length: what they last. Nothing = the trace's own; 1 s
  /// for patterns and steps without a length.
  std::optional<Duration> step;
  std::optional<double> scale;     ///< factor, > 0
  std::optional<double> mean_rps;  ///< scaled to this mean over the part taken, > 0
  std::optional<double> peak_rps;  ///< scaled to this largest value, > 0
  GapHandling gaps = GapHandling::kRefuse;
};

/// Makes the series. Fails with kInvalidInput: no such column, a part outside the trace, a gap in
/// the part (naming the first one and the longest part without any), a step that does not divide,
/// more than one of scale, mean and peak, a mean asked for where all rates are 0.
Result<serve::RateSeries> rate_series(const RateTrace& trace, const RateSelection& selection);

}  // namespace septule::interop
