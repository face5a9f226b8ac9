#pragma once

#include <string>

#include "interop/trace_formats.hpp"
#include "interop/trace_statistics.hpp"
#include "interop/trace_workload.hpp"
#include "support/fuzz_support.hpp"

namespace septule::fuzz {

/// What holds for every trace that was read: rows are kept or dropped, messages are good, and what
/// is written reads back as the same bytes without another row being dropped.
inline void require_good_import(const interop::TraceImport& import) {
  require(import.rows == import.dropped + static_cast<std::int64_t>(import.trace.jobs.size()),
          "every row is kept or dropped");
  for (const interop::TraceFinding& finding : import.findings) {
    require(finding.count > 0, "a finding was found");
    require_good(interop::trace_finding_message("trace", finding));
  }
  if (const Status strict = interop::check_no_faults("trace", import.findings); !strict) {
    require_good(strict.error());
  }
  const interop::TraceStatistics statistics = interop::trace_statistics(import.trace);
  require(statistics.jobs == static_cast<std::int64_t>(import.trace.jobs.size()),
          "statistics count every job");
  if (import.trace.jobs.empty()) {
    return;
  }
  const std::string text = interop::trace_csv(import.trace);
  const auto back =
      interop::import_trace({text, "again"}, {.format = interop::TraceFormat::kSeptule});
  require(back.has_value() && back->dropped == 0, "what was written reads back");
  require(interop::trace_csv(back->trace) == text, "what was written reads back the same");
  const auto workload = interop::workload_from_trace(import.trace, {});
  if (!workload) {
    require_good(workload.error());
  }
}

/// Reads a text as this format and checks the outcome.
inline void try_format(std::string_view text, interop::TraceFormat format) {
  const auto import = interop::import_trace({text, "trace"}, {.format = format});
  if (import) {
    require_good_import(*import);
  } else {
    require_good(import.error());
  }
}

}  // namespace septule::fuzz
