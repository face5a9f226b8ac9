#include "interop/rate_trace.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "interop/csv_reader.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

namespace {

/// A heading's first column and what one of its units lasts; 0 = no length.
struct TimeAxis {
  std::string_view name;
  std::int64_t unit_s = 0;
};
constexpr std::array<TimeAxis, 5> kAxes = {
    {{"t_s", 1}, {"minute", 60}, {"hour", 3600}, {"bin_10min", 600}, {"step", 0}}};

/// Times lie on a grid of nanoseconds; beyond this an instant is refused.
constexpr double kAxisSecondsMax = 4e9;

bool is_rate_name(std::string_view name) {
  const std::string lower = lower_case(name);
  return lower.find("rps") != std::string::npos || lower.find("qps") != std::string::npos;
}

/// Reads the rows of one text.
class RateTraceReader {
 public:
  explicit RateTraceReader(const InputText& input) : input_(input) {
    trace_.source = input.source_name;
  }

  Result<RateTrace> read() {
    const CsvLimits limits = {.bytes_max = kRateTraceBytesMax, .rows_max = kRateTraceRowsMax + 1};
    SEPTULE_TRY_STATUS(visit_csv(input_, limits, [&](const CsvRow& row) -> Status {
      if (heading_.empty()) {
        return read_heading(row);
      }
      if (row.cells.size() != heading_.size()) {
        return input_error(
            input_.source_name,
            row.line,
            "",
            fmt::format("has {} cells; the heading has {}", row.cells.size(), heading_.size()));
      }
      return is_pattern_ ? add_arrival(row) : add_row(row);
    }));
    if (is_pattern_ ? trace_.series.empty() : times_.empty()) {
      return input_error(input_.source_name, 0, "", "holds no rows below its heading");
    }
    if (is_pattern_) {
      return finish_pattern();
    }
    SEPTULE_TRY_STATUS(find_steps());
    return std::move(trace_);
  }

 private:
  Status read_heading(const CsvRow& row) {
    heading_ = row.cells;
    if (heading_ == std::vector<std::string>{"model", "arrival_ms"}) {
      is_pattern_ = true;
      constexpr std::int64_t kCycleMilliseconds = 1000;
      pattern_.cycle = Duration::milliseconds(kCycleMilliseconds);
      return {};
    }
    const auto* const axis = std::ranges::find(kAxes, heading_.front(), &TimeAxis::name);
    if (axis == kAxes.end()) {
      return input_error(input_.source_name,
                         row.line,
                         "",
                         fmt::format("the first column is {}; a trace of rates begins with t_s, "
                                     "minute, bin_10min, hour or step, an arrival pattern has "
                                     "model,arrival_ms",
                                     quoted_for_message(heading_.front())));
    }
    unit_s_ = axis->unit_s;
    if (heading_.size() == 1) {
      return input_error(
          input_.source_name, row.line, "", "has no column of rates beside the times");
    }
    for (std::size_t i = 1; i < heading_.size(); ++i) {
      if (const std::string fault = name_fault(heading_[i]); !fault.empty()) {
        return input_error(input_.source_name, row.line, fmt::format("column {}", i + 1), fault);
      }
      const auto end = heading_.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(heading_.begin(), end, heading_[i]) != end) {
        return input_error(
            input_.source_name,
            row.line,
            "",
            fmt::format("the column {} is there twice", quoted_for_message(heading_[i])));
      }
      const bool is_rate = unit_s_ == 0 || is_rate_name(heading_[i]);
      trace_.series.push_back(
          {heading_[i], is_rate ? RateUnit::kRequestsPerSecond : RateUnit::kRequestsPerStep, {}});
    }
    return {};
  }

  Error error(const CsvRow& row, std::size_t column, std::string_view what) const {
    return input_error(input_.source_name,
                       row.line,
                       fmt::format("column {}", one_line(heading_[column])),
                       fmt::format("{} {}", quoted_for_message(row.cells[column]), what));
  }

  Status add_row(const CsvRow& row) {
    const std::optional<double> time = parse_number(row.cells.front());
    const double unit = unit_s_ == 0 ? 1 : static_cast<double>(unit_s_);
    if (!time.has_value() || std::abs(*time) * unit > kAxisSecondsMax) {
      return error(row, 0, "is no time; expected a number within 4e9 s");
    }
    const std::int64_t instant = seconds_to_duration(*time * unit).to_nanoseconds();
    if (!times_.empty() && instant <= times_.back()) {
      return error(row, 0, "is not later than the row before; expected ascending times");
    }
    times_.push_back(instant);
    trace_.rows.push_back({row.line, 0});
    for (std::size_t i = 1; i < row.cells.size(); ++i) {
      std::optional<double> value;
      if (row.cells[i].empty()) {
        value = std::numeric_limits<double>::quiet_NaN();
      } else {
        value = parse_number(row.cells[i]);
        if (!value.has_value() || *value < 0 || *value > kRateRpsMax) {
          return error(row, i, "is no rate; expected a number from 0 to 1e9, or nothing");
        }
      }
      trace_.series[i - 1].values.push_back(*value + 0.0);
    }
    return {};
  }

  /// The step is the least time between two rows; every row lies on its grid.
  Status find_steps() {
    std::int64_t step = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 1; i < times_.size(); ++i) {
      step = std::min(step, times_[i] - times_[i - 1]);
    }
    constexpr std::int64_t kSecond = 1000000000;
    if (times_.size() == 1) {
      step = unit_s_ == 0 ? kSecond : unit_s_ * kSecond;
    }
    for (std::size_t i = 0; i < times_.size(); ++i) {
      const std::int64_t since = times_[i] - times_.front();
      if (since % step != 0) {
        return input_error(
            input_.source_name,
            trace_.rows[i].line,
            fmt::format("column {}", heading_.front()),
            fmt::format("is no whole number of steps of {:.9g} s after the first row; expected "
                        "equal steps",
                        Duration::nanoseconds(step).to_seconds()));
      }
      trace_.rows[i].index = since / step;
    }
    if (Duration::nanoseconds(times_.back() - times_.front()).to_seconds() > kServingSecondsMax) {
      return input_error(input_.source_name,
                         trace_.rows.back().line,
                         "",
                         "the trace spans more than ten years of 365 days; that is the limit");
    }
    if (trace_.rows.back().index >= kRateStepsMax) {
      return input_error(input_.source_name,
                         trace_.rows.back().line,
                         "",
                         fmt::format("the trace spans more than {} steps of {:.9g} s; that is the "
                                     "limit",
                                     kRateStepsMax,
                                     Duration::nanoseconds(step).to_seconds()));
    }
    if (unit_s_ != 0) {
      trace_.step = Duration::nanoseconds(step);
    } else if (step != kSecond) {
      return input_error(input_.source_name,
                         trace_.rows[1].line,
                         "column step",
                         "steps are counted one by one; expected whole numbers that follow each "
                         "other");
    }
    return {};
  }

  Status add_arrival(const CsvRow& row) {
    const std::string& name = row.cells.front();
    if (const std::string fault = name_fault(name); !fault.empty()) {
      return input_error(input_.source_name, row.line, "column model", fault);
    }
    const std::optional<double> time = parse_number(row.cells.back());
    const Duration cycle = pattern_.cycle;
    constexpr double kMillisecondsPerSecond = 1e3;
    if (!time.has_value() || *time < 0 || *time >= cycle.to_seconds() * kMillisecondsPerSecond) {
      return error(row, 1, "is no time in the pattern; expected 0 ms to below 1000 ms");
    }
    auto found = std::ranges::find(trace_.series, name, &RateTrace::Series::name);
    if (found == trace_.series.end()) {
      if (trace_.series.size() == kColumnsMax) {
        return input_error(input_.source_name,
                           row.line,
                           "column model",
                           fmt::format("more than {} models; that is the limit", kColumnsMax));
      }
      trace_.series.push_back({name, RateUnit::kRequestsPerSecond, {}});
      pattern_.arrivals.emplace_back();
      found = trace_.series.end() - 1;
    }
    const auto at = static_cast<std::size_t>(found - trace_.series.begin());
    pattern_.arrivals[at].push_back(seconds_to_duration(*time / kMillisecondsPerSecond));
    return {};
  }

  Result<RateTrace> finish_pattern() {
    for (std::vector<Duration>& arrivals : pattern_.arrivals) {
      std::ranges::sort(arrivals);
    }
    trace_.pattern = std::move(pattern_);
    return std::move(trace_);
  }

  const InputText& input_;
  RateTrace trace_;
  RateTrace::Pattern pattern_;  // used if is_pattern_
  std::vector<std::string> heading_;
  std::vector<std::int64_t> times_;  // by row, ns
  std::int64_t unit_s_ = 0;
  bool is_pattern_ = false;
};

}  // namespace

Result<RateTrace> parse_rate_trace(const InputText& input) {
  return RateTraceReader(input).read();
}

}  // namespace septule::interop
