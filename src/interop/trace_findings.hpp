#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace septule::interop {

/// What can be odd about a trace or one of its rows (docs/formats.md, "Findings").
enum class TraceFindingKind {
  kRaggedRow,          ///< not as many cells as the heading has
  kUnreadableCell,     ///< a value without which the row says nothing, not readable
  kUnreadableDetail,   ///< another value, not readable
  kNoSubmission,       ///< when it was submitted is not said
  kDuplicateId,        ///< an earlier row has the same id
  kEndBeforeStart,     ///< it ends before it starts
  kNegativeDuration,   ///< a run time below 0
  kAbsurdDuration,     ///< a run time above ten years
  kAbsurdSubmission,   ///< submitted more than kTraceSecondsMax after the first job
  kBadGpuCount,        ///< below 0 or above kTraceGpusMax
  kJobStep,            ///< a part of a job of its own row
  kNeverScheduled,     ///< submitted, but never started
  kNoDuration,         ///< started, but how long it ran is not said
  kZeroDuration,       ///< a run time of 0
  kStillRunning,       ///< it was running when the log was written
  kNoGpuCount,         ///< how many GPUs it asked for is not said
  kNoId,               ///< no id
  kZeroMemory,         ///< GPU or host memory of 0 or less
  kAbsurdMemory,       ///< more memory than any GPU or host has
  kPartOfGpus,         ///< more than one GPU, but not a whole number of them
  kStartBeforeSubmit,  ///< it starts before it is submitted
  kAbsurdWait,         ///< a wait above kTraceSecondsMax
  kBadAttempt,         ///< an attempt without both times, or one that ends before it starts
  kBadPriority,        ///< a priority that is none
  kBadPhases,          ///< phases that are none, or of signatures that nobody knows
  kMissingColumn,      ///< an optional column of the format is not there
  kCpuOnly,            ///< asks for no GPU
  kUnordered,          ///< stands after a row submitted later
  kUnknownColumn,      ///< a column that the format does not have
  kGangDropped,        ///< more than one GPU, and gangs are not wanted
};
inline constexpr int kTraceFindingKindCount = 30;

/// What was done about it.
enum class TraceEffect {
  kNoted,     ///< nothing is lost
  kRepaired,  ///< the row is kept, a value of it was changed or taken as unknown
  kUnusable,  ///< the row is kept as it is, but cannot be simulated
  kDropped,   ///< the row is left out
};
std::string_view trace_effect_name(TraceEffect effect);

/// One row or column where it was seen.
struct TraceExample {
  int line = 0;
  std::string text;  ///< which job, which value; fit for one line
};

/// Everything found of one kind.
struct TraceFinding {
  TraceFindingKind kind = TraceFindingKind::kRaggedRow;
  TraceEffect effect = TraceEffect::kNoted;
  std::int64_t count = 0;
  std::vector<TraceExample> examples;  ///< the first kTraceExamplesMax
};
inline constexpr std::size_t kTraceExamplesMax = 3;

/// "never-scheduled": the kind in documents.
std::string_view trace_finding_name(TraceFindingKind kind);
/// "never started; kept without a duration, cannot be simulated": what it is and what was done.
std::string_view trace_finding_text(TraceFindingKind kind);
TraceEffect trace_finding_effect(TraceFindingKind kind);

/// Counts findings by kind. A value; one thread.
class TraceFindings {
 public:
  /// `text` must be fit for one line (hostile parts quoted).
  void add(TraceFindingKind kind, int line, std::string_view text);
  bool has_room_for_example(TraceFindingKind kind) const;
  std::int64_t count(TraceFindingKind kind) const;
  /// Those with a count, in the order of the enumeration.
  std::vector<TraceFinding> list() const;

 private:
  std::array<TraceFinding, kTraceFindingKindCount> by_kind_{};
};

/// "trace.csv: 3 rows: negative duration; dropped: line 4 (job "7": -5 s), ...".
std::string trace_finding_message(std::string_view source_name, const TraceFinding& finding);

/// What --strict asks: kInvalidInput naming every finding by which a row is dropped, repaired or
/// cannot be simulated; success if there is none.
Status check_no_faults(std::string_view source_name, const std::vector<TraceFinding>& findings);

}  // namespace septule::interop
