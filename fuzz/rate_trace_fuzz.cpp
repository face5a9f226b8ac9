#include <cmath>

#include "interop/rate_trace.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

/// A selection asked of every series; small enough that steps of nanoseconds make no large series.
static void take(const interop::RateTrace& trace, const interop::RateSelection& selection) {
  const auto series = interop::rate_series(trace, selection);
  if (!series) {
    fuzz::require_good(series.error());
    return;
  }
  fuzz::require(!series->values.empty(), "a series has values");
  fuzz::require(series->step > Duration(), "a series has a step");
  for (const double value : series->values) {
    fuzz::require(std::isfinite(value) && value >= 0, "rates are finite and not below 0");
  }
  fuzz::require(series->peak() >= series->values.front(), "the peak is the largest");
}

static int run_one(const std::uint8_t* data, std::size_t size) {
  const auto trace = interop::parse_rate_trace({fuzz::text_of(data, size), "trace.csv"});
  if (!trace) {
    fuzz::require_good(trace.error());
    return 0;
  }
  fuzz::require(!trace->series.empty(), "a trace has series");
  const Duration second = Duration::milliseconds(1000);
  for (const interop::RateTrace::Series& series : trace->series) {
    take(*trace, {.column = series.name});
    take(*trace, {.column = series.name, .step = second, .mean_rps = 5.0});
    take(*trace,
         {.column = series.name,
          .from = second,
          .length = second,
          .gaps = interop::GapHandling::kHold});
  }
  take(*trace, {});
  take(*trace, {.column = "nothing"});
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
