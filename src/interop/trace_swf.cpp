// SWF, the Standard Workload Format of the Parallel Workloads Archive: ';' begins a comment, a job
// is 18 numbers, -1 = unknown.
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/input_text.hpp"
#include "interop/trace_readers.hpp"

namespace septule::interop {

namespace {

using Kind = TraceFindingKind;

constexpr std::size_t kFields = 18;
using Fields = std::array<std::string_view, kFields>;
// The fields that are used, counted from 0.
constexpr std::size_t kJob = 0;
constexpr std::size_t kSubmit = 1;
constexpr std::size_t kWait = 2;
constexpr std::size_t kRun = 3;
constexpr std::size_t kProcessorsAllocated = 4;
constexpr std::size_t kMemoryUsed = 6;
constexpr std::size_t kProcessorsRequested = 7;
constexpr std::size_t kMemoryRequested = 9;
constexpr std::size_t kStatus = 10;
constexpr std::size_t kUser = 11;
constexpr std::size_t kExecutable = 13;
constexpr std::size_t kQueue = 14;
constexpr std::size_t kPartition = 15;

/// Fields of a line; nothing if there are not 18.
std::optional<Fields> fields_of(std::string_view line, std::size_t& count) {
  Fields fields;
  count = 0;
  std::string_view rest = trimmed(line);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
    if (count < kFields) {
      fields.at(count) = rest.substr(0, end);
    }
    ++count;
    rest = trimmed(rest.substr(end));
  }
  return count == kFields ? std::optional(fields) : std::nullopt;
}

bool is_unknown(std::string_view field) {
  return field == "-1" || field == "-1.0";
}

std::string text_of(std::string_view field) {
  return is_unknown(field) ? std::string() : std::string(field);
}

/// The names of the archive's status numbers.
std::string status_text(std::string_view field) {
  constexpr std::array<std::string_view, 6> kNames = {
      "failed", "completed", "partial", "partial", "partial", "cancelled"};
  const std::optional<std::int64_t> number = parse_integer(field);
  if (!number || *number < 0 || *number >= static_cast<std::int64_t>(kNames.size())) {
    return "";
  }
  return std::string(kNames.at(static_cast<std::size_t>(*number)));
}

class SwfReader {
 public:
  SwfReader(const InputText& input, std::int64_t processors_per_gpu)
      : input_(input),
        processors_per_gpu_(processors_per_gpu),
        builder_(std::string(input.source_name)) {}

  Result<TraceImport> read() {
    const auto visit = [this](int line, std::string_view text) -> Result<TraceLine> {
      if (text.starts_with(';')) {
        return TraceLine::kOther;
      }
      read_line(line, text);
      return TraceLine::kRow;
    };
    SEPTULE_TRY_STATUS(visit_trace_lines(input_, visit));
    return builder_.finish();
  }

 private:
  void read_line(int line, std::string_view text) {
    std::size_t count = 0;
    const std::optional<Fields> fields = fields_of(text, count);
    if (!fields) {
      builder_.drop(Kind::kRaggedRow, line, fmt::format("{} fields, {} expected", count, kFields));
      return;
    }
    TraceRow row;
    row.job.line = line;
    for (const std::size_t field :
         {kSubmit, kWait, kRun, kProcessorsAllocated, kProcessorsRequested}) {
      if (!parse_seconds(fields->at(field))) {
        builder_.drop(
            Kind::kUnreadableCell,
            line,
            fmt::format("field {}: {}", field + 1, quoted_for_message(fields->at(field), 40)));
        return;
      }
    }
    const auto known = [&](std::size_t field) {
      return is_unknown(fields->at(field)) ? std::nullopt : parse_seconds(fields->at(field));
    };
    row.job.id = text_of(fields->at(kJob));
    row.job.status = status_text(fields->at(kStatus));
    row.job.user = text_of(fields->at(kUser));
    row.job.app = text_of(fields->at(kExecutable));
    row.job.vc = text_of(fields->at(kQueue));
    if (row.job.vc.empty()) {
      row.job.vc = text_of(fields->at(kPartition));
    }
    row.submit = known(kSubmit);
    row.job.queue = known(kWait);
    row.job.duration = known(kRun);
    const bool has_run = row.job.duration && *row.job.duration != Duration();
    row.job.has_started = has_run || row.job.status != "cancelled";
    read_processors(*fields, row);
    builder_.add(std::move(row));
  }

  /// GPUs from processors (requested, else allocated), host memory from KB per processor.
  void read_processors(const Fields& fields, TraceRow& row) const {
    const std::size_t from =
        is_unknown(fields.at(kProcessorsRequested)) ? kProcessorsAllocated : kProcessorsRequested;
    if (is_unknown(fields.at(from))) {
      return;
    }
    const std::optional<GpuMilli> processors = parse_gpus(fields.at(from));
    if (!processors) {
      return;
    }
    const std::int64_t per_gpu = processors_per_gpu_ * kGpuMilliWhole;
    row.job.gpus = *processors;
    if (processors_per_gpu_ > 1 && processors->value() > 0) {
      row.job.gpus = GpuMilli((processors->value() + per_gpu - 1) / per_gpu * kGpuMilliWhole);
    }
    row.job.cpus = processors->value() >= 0
                       ? std::optional(static_cast<double>(processors->value()) / kGpuMilliWhole)
                       : std::nullopt;
    const std::size_t memory =
        is_unknown(fields.at(kMemoryRequested)) ? kMemoryUsed : kMemoryRequested;
    if (!is_unknown(fields.at(memory)) && processors->value() > 0) {
      constexpr double kKibibyte = 1024;
      row.job.host_memory = parse_memory(
          fields.at(memory), kKibibyte * static_cast<double>(processors->value()) / kGpuMilliWhole);
      if (row.job.host_memory == Bytes(0)) {
        row.job.host_memory.reset();  // the archive writes 0 for "not recorded" too
      }
    }
  }

  const InputText& input_;
  std::int64_t processors_per_gpu_;
  TraceBuilder builder_;
};

}  // namespace

Result<TraceImport> read_swf_trace(const InputText& input, std::int64_t processors_per_gpu) {
  return SwfReader(input, processors_per_gpu).read();
}

}  // namespace septule::interop
