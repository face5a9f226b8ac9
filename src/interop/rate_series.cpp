// From a trace of rates to the series of a tenant.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "interop/input_text.hpp"
#include "interop/rate_trace.hpp"

namespace septule::interop {

namespace {

constexpr std::int64_t kSecond = 1000000000;

std::string seconds_text(Duration length) {
  return fmt::format("{:.9g} s", length.to_seconds());
}

/// Takes the part of a trace that a selection asks for. All times in whole steps of the trace.
class SeriesMaker {
 public:
  SeriesMaker(const RateTrace& trace, const RateSelection& selection)
      : trace_(trace), selection_(selection) {}

  Result<serve::RateSeries> make() {
    SEPTULE_TRY_STATUS(check_selection());
    SEPTULE_TRY(series_, find_series());
    serve::RateSeries out;
    if (trace_.pattern.has_value()) {
      SEPTULE_TRY(out, of_pattern());
    } else {
      SEPTULE_TRY(out, of_rows());
    }
    SEPTULE_TRY_STATUS(scale(out));
    return out;
  }

 private:
  Error error(std::string_view what) const { return input_error(trace_.source, 0, "", what); }

  Status check_selection() const {
    const int scalings = static_cast<int>(selection_.scale.has_value()) +
                         static_cast<int>(selection_.mean_rps.has_value()) +
                         static_cast<int>(selection_.peak_rps.has_value());
    if (scalings > 1) {
      return error("scaled in more than one way; expected one of scale, mean_rps and peak_rps");
    }
    for (const std::optional<double>& factor :
         {selection_.scale, selection_.mean_rps, selection_.peak_rps}) {
      if (factor.has_value() && !(*factor > 0 && *factor <= kRateRpsMax)) {
        return error(
            fmt::format("scaled by or to {}; expected a number above 0, at most 1e9", *factor));
      }
    }
    if (selection_.from < Duration() ||
        (selection_.length.has_value() && *selection_.length <= Duration()) ||
        (selection_.step.has_value() && *selection_.step <= Duration())) {
      return error("a part from before the begin, or a length or step not above 0 s");
    }
    return {};
  }

  Result<std::size_t> find_series() const {
    std::vector<std::string> names;
    for (const RateTrace::Series& series : trace_.series) {
      names.push_back(series.name);
    }
    const std::string wanted =
        selection_.column.empty() && names.size() > 1 ? "requests" : selection_.column;
    if (wanted.empty()) {
      return std::size_t{0};
    }
    const auto found = std::ranges::find(names, wanted);
    if (found != names.end()) {
      return static_cast<std::size_t>(found - names.begin());
    }
    if (selection_.column.empty()) {
      return error(
          fmt::format("has the series {}; say which column is meant", listed_names(names)));
    }
    return error(unknown_name_text("column of rates", wanted, names));
  }

  /// What a step of the trace lasts.
  Duration trace_step() const {
    return trace_.step.value_or(selection_.step.value_or(Duration::nanoseconds(kSecond)));
  }

  /// `length` in whole steps of the trace.
  Result<std::int64_t> steps_of(Duration length, std::string_view name) const {
    const std::int64_t step = trace_step().to_nanoseconds();
    if (length.to_nanoseconds() % step != 0) {
      return error(fmt::format("{} {} is no whole number of the trace's steps of {}",
                               name,
                               seconds_text(length),
                               seconds_text(trace_step())));
    }
    return length.to_nanoseconds() / step;
  }

  Result<serve::RateSeries> of_rows() const {
    const std::int64_t steps = trace_.rows.back().index + 1;
    SEPTULE_TRY(const std::int64_t from, steps_of(selection_.from, "from"));
    std::int64_t count = steps - from;
    if (selection_.length.has_value()) {
      SEPTULE_TRY(count, steps_of(*selection_.length, "length"));
    }
    if (from >= steps || count > steps - from) {
      return error(
          fmt::format("the part from {} over {} is not in the trace, which has {} (from 0)",
                      seconds_text(selection_.from),
                      seconds_text(selection_.length.value_or(trace_step())),
                      seconds_text(scaled(trace_step(), static_cast<double>(steps)))));
    }
    SEPTULE_TRY(std::vector<double> values, taken(from, count));
    if (trace_.series[series_].unit == RateUnit::kRequestsPerStep) {
      const double step_s = trace_step().to_seconds();
      for (double& value : values) {
        value /= step_s;
      }
    }
    return resampled(std::move(values));
  }

  /// The values of the steps from .. from + count - 1, with gaps handled.
  Result<std::vector<double>> taken(std::int64_t from, std::int64_t count) const {
    const std::vector<double>& all = trace_.series[series_].values;
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(count));
    const auto begin = std::ranges::lower_bound(trace_.rows, from, {}, &RateTrace::Row::index);
    auto row = static_cast<std::size_t>(begin - trace_.rows.begin());
    std::optional<double> last;
    for (std::int64_t step = from; step < from + count; ++step) {
      const bool is_there = row < trace_.rows.size() && trace_.rows[row].index == step;
      const double value = is_there ? all[row] : std::nan("");
      row += is_there ? 1 : 0;
      if (!std::isnan(value)) {
        last = value;
      } else if (selection_.gaps == GapHandling::kRefuse || !last.has_value()) {
        return gap(step, from, count);
      }
      values.push_back(*last);
    }
    return values;
  }

  bool is_known(std::size_t row) const { return !std::isnan(trace_.series[series_].values[row]); }

  /// The first gap as an error, with the longest part without any.
  Error gap(std::int64_t at, std::int64_t from, std::int64_t count) const {
    std::int64_t best_from = 0;
    std::int64_t best = 0;
    std::int64_t run_from = 0;
    std::int64_t run = 0;
    for (std::size_t i = 0; i < trace_.rows.size(); ++i) {
      const std::int64_t index = trace_.rows[i].index;
      if (index < from || index >= from + count || !is_known(i)) {
        run = 0;
        continue;
      }
      const bool goes_on = run > 0 && run_from + run == index;
      run_from = goes_on ? run_from : index;
      run = goes_on ? run + 1 : 1;
      if (run > best) {
        best = run;
        best_from = run_from;
      }
    }
    const auto after = std::ranges::lower_bound(trace_.rows, at, {}, &RateTrace::Row::index);
    const int line = after == trace_.rows.end() ? trace_.rows.back().line : after->line;
    const auto in_seconds = [&](std::int64_t steps) {
      return seconds_text(scaled(trace_step(), static_cast<double>(steps)));
    };
    std::string valid = "expected a trace without gaps, or gaps: hold (the last rate goes on)";
    if (best > 0) {
      valid += fmt::format(", or a part of it: the longest without a gap is from {} over {}",
                           in_seconds(best_from),
                           in_seconds(best));
    }
    return input_error(
        trace_.source,
        line,
        fmt::format("column {}", one_line(trace_.series[series_].name)),
        fmt::format("a gap: the rate {} after the begin is not known; {}", in_seconds(at), valid));
  }

  Result<serve::RateSeries> resampled(std::vector<double> values) const {
    const Duration step = selection_.step.value_or(trace_step());
    const std::int64_t from = trace_step().to_nanoseconds();
    const std::int64_t to = step.to_nanoseconds();
    if (to == from) {
      return serve::RateSeries{step, std::move(values)};
    }
    if (from % to == 0) {
      const std::int64_t parts = from / to;
      if (parts > kRateStepsMax / static_cast<std::int64_t>(values.size())) {
        return error(fmt::format("a step of {} makes more than {} steps; that is the limit",
                                 seconds_text(step),
                                 kRateStepsMax));
      }
      serve::RateSeries out{step, {}};
      for (const double value : values) {
        out.values.insert(out.values.end(), static_cast<std::size_t>(parts), value);
      }
      return out;
    }
    if (to % from != 0) {
      return error(fmt::format("a step of {} is neither a multiple nor a part of the trace's {}",
                               seconds_text(step),
                               seconds_text(trace_step())));
    }
    // The last step may hold fewer values; its mean is over those.
    const auto group = static_cast<std::size_t>(
        std::min<std::int64_t>(to / from, static_cast<std::int64_t>(values.size())));
    serve::RateSeries out{step, {}};
    for (std::size_t i = 0; i < values.size(); i += group) {
      const std::size_t end = std::min(values.size(), i + group);
      double sum = 0;
      for (std::size_t k = i; k < end; ++k) {
        sum += values[k];
      }
      out.values.push_back(sum / static_cast<double>(end - i));
    }
    return out;
  }

  /// Arrivals of the repeating cycle, counted by step.
  Result<serve::RateSeries> of_pattern() const {
    const RateTrace::Pattern& pattern =
        checked_value(trace_.pattern, "a pattern is handled as one");
    const std::int64_t cycle = pattern.cycle.to_nanoseconds();
    const std::int64_t step = selection_.step.value_or(pattern.cycle).to_nanoseconds();
    const std::int64_t from = selection_.from.to_nanoseconds();
    if (cycle % step != 0 && step % cycle != 0) {
      return error(fmt::format("a step of {} is neither a multiple nor a part of the pattern's {}",
                               seconds_text(Duration::nanoseconds(step)),
                               seconds_text(pattern.cycle)));
    }
    const std::int64_t length = selection_.length.value_or(pattern.cycle).to_nanoseconds();
    const std::int64_t count = (length + step - 1) / step;
    if (from % step != 0 || count > kRateStepsMax) {
      return error(
          fmt::format("from {} over {} is no whole number of steps of {}, or more than {} "
                      "of them",
                      seconds_text(selection_.from),
                      seconds_text(Duration::nanoseconds(length)),
                      seconds_text(Duration::nanoseconds(step)),
                      kRateStepsMax));
    }
    const std::vector<Duration>& arrivals = pattern.arrivals[series_];
    serve::RateSeries out{Duration::nanoseconds(step), {}};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t begin = (from + i * step) % cycle;
      const auto first = std::ranges::lower_bound(arrivals, Duration::nanoseconds(begin));
      const auto last =
          std::ranges::lower_bound(arrivals, Duration::nanoseconds(std::min(cycle, begin + step)));
      const std::ptrdiff_t in_step = step >= cycle ? std::ssize(arrivals) : last - first;
      const std::int64_t cycles = std::max<std::int64_t>(1, step / cycle);
      out.values.push_back(static_cast<double>(in_step * cycles) / out.step.to_seconds());
    }
    return out;
  }

  Status scale(serve::RateSeries& out) const {
    double factor = selection_.scale.value_or(1);
    if (selection_.mean_rps.has_value() || selection_.peak_rps.has_value()) {
      const double now = selection_.peak_rps.has_value()
                             ? out.peak()
                             : std::accumulate(out.values.begin(), out.values.end(), 0.0) /
                                   static_cast<double>(out.values.size());
      if (now <= 0) {
        return error(
            "every rate of the part taken is 0, which no factor makes a mean or a peak; expected "
            "a part with requests");
      }
      factor = selection_.peak_rps.value_or(selection_.mean_rps.value_or(now)) / now;
    }
    for (double& value : out.values) {
      value *= factor;
      if (!(value <= kRateRpsMax)) {
        return error("scaled rates are above 1e9 rps; expected less");
      }
    }
    return {};
  }

  const RateTrace& trace_;
  const RateSelection& selection_;
  std::size_t series_ = 0;
};

}  // namespace

Result<serve::RateSeries> rate_series(const RateTrace& trace, const RateSelection& selection) {
  return SeriesMaker(trace, selection).make();
}

}  // namespace septule::interop
