#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "interop/trace.hpp"
#include "interop/trace_findings.hpp"

namespace septule::interop {

/// One row of a raw trace, its cells read but not judged. Instants count from the source's own
/// origin. `job.submit`, `job.duration` and `job.queue` are filled by the builder where they follow
/// from instants. A plain value.
struct TraceRow {
  TraceJob job;
  std::optional<Duration> submit;
  std::optional<Duration> start;
  std::optional<Duration> end;
  bool is_still_running = false;  ///< the duration is what it had run so far
};

/// A trace with everything odd about its source. rows = kept jobs + rows dropped.
struct TraceImport {
  Trace trace;
  std::int64_t rows = 0;
  std::int64_t dropped = 0;
  std::vector<TraceFinding> findings;
};

/// Judges rows one by one, the same way for every format: each fault is counted and located, the
/// first that drops a row ends its judgement. finish() sorts by submission and makes times relative
/// to the first one. One owner, one thread.
class TraceBuilder {
 public:
  explicit TraceBuilder(std::string name);

  /// A row that was read.
  void add(TraceRow row);
  /// A row that could not be read, and why.
  void drop(TraceFindingKind kind, int line, std::string_view text);
  /// Something odd that drops no row.
  void note(TraceFindingKind kind, int line, std::string_view text);
  TraceImport finish();

 private:
  struct Kept {
    Duration submit;
    std::size_t place = 0;  // among those kept, in the order of the source
    TraceJob job;
  };

  bool is_dropped_for_times(TraceRow& row);
  bool is_dropped_for_gpus(const TraceRow& row);
  void judge_duration(const TraceRow& row);
  void judge_memory(TraceJob& job);
  void judge_texts(TraceJob& job);

  std::string name_;
  TraceFindings findings_;
  std::vector<Kept> kept_;
  std::unordered_map<std::string, int> line_of_id_;  // asked, never iterated
  std::int64_t rows_ = 0;
  std::int64_t dropped_ = 0;
  std::optional<Duration> submit_max_;
};

}  // namespace septule::interop
