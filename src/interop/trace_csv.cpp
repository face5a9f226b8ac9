// CSV traces: one table of columns for each format, one reader for all.
#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "interop/csv_reader.hpp"
#include "interop/input_text.hpp"
#include "interop/trace_phases.hpp"
#include "interop/trace_readers.hpp"

namespace septule::interop {

namespace {

using Kind = TraceFindingKind;

/// What a column says.
enum class Field {
  kIgnored,
  kId,
  kSubmit,
  kStart,
  kEnd,
  kDuration,
  kQueue,
  kGpus,
  kGpuMilli,  ///< of one GPU, beside kGpus
  kGpuModel,
  kGpuMemory,  ///< GiB
  kUser,
  kVc,
  kStatus,
  kCpus,
  kCpuMilli,
  kHostMemoryGib,
  kHostMemoryMib,
  kApp,
  kPriority,
  kPhases,
};
enum class Need {
  kRequired,
  kOptional,
  kExtra,  ///< most files lack it, which is not worth a word
};

struct ColumnSpec {
  std::string_view name;
  Field field = Field::kIgnored;
  Need need = Need::kOptional;
};

constexpr ColumnSpec kSeptuleColumns[] = {
    {"job_id", Field::kId},
    {"submit_s", Field::kSubmit, Need::kRequired},
    {"duration_s", Field::kDuration, Need::kRequired},
    {"gpus", Field::kGpus, Need::kRequired},
    {"gpu_model", Field::kGpuModel},
    {"gpu_mem_gib", Field::kGpuMemory},
    {"user", Field::kUser},
    {"vc", Field::kVc},
    {"status", Field::kStatus},
    {"queue_s", Field::kQueue},
    {"cpus", Field::kCpus},
    {"host_mem_gib", Field::kHostMemoryGib},
    {"app", Field::kApp},
    {"priority", Field::kPriority, Need::kExtra},
    {"phases", Field::kPhases, Need::kExtra},
};
constexpr ColumnSpec kHeliosColumns[] = {
    {"job_id", Field::kId},
    {"user", Field::kUser},
    {"vc", Field::kVc},
    {"gpu_num", Field::kGpus, Need::kRequired},
    {"cpu_num", Field::kCpus},
    {"node_num", Field::kIgnored},
    {"state", Field::kStatus},
    {"submit_time", Field::kSubmit, Need::kRequired},
    {"start_time", Field::kStart},
    {"end_time", Field::kEnd},
    {"duration", Field::kDuration, Need::kRequired},
    {"queue", Field::kQueue},
};
constexpr ColumnSpec kSerenColumns[] = {
    {"job_id", Field::kId},
    {"user", Field::kUser},
    {"node_num", Field::kIgnored},
    {"gpu_num", Field::kGpus, Need::kRequired},
    {"cpu_num", Field::kCpus},
    {"type", Field::kApp},
    {"state", Field::kStatus},
    {"submit_time", Field::kSubmit, Need::kRequired},
    {"start_time", Field::kStart},
    {"end_time", Field::kEnd},
    {"duration", Field::kDuration, Need::kRequired},
    {"queue", Field::kQueue},
    {"gpu_time", Field::kIgnored},
};
constexpr ColumnSpec kKalosColumns[] = {
    {"job_id", Field::kId},
    {"user", Field::kUser},
    {"node_num", Field::kIgnored},
    {"gpu_num", Field::kGpus, Need::kRequired},
    {"cpu_num", Field::kCpus},
    {"mem_per_pod_GB", Field::kIgnored},  // one pod's, and how many pods there are is not said
    {"shared_mem_per_pod", Field::kIgnored},
    {"type", Field::kApp},
    {"state", Field::kStatus},
    {"submit_time", Field::kSubmit, Need::kRequired},
    {"start_time", Field::kStart},
    {"end_time", Field::kEnd},
    {"fail_time", Field::kIgnored},
    {"stop_time", Field::kIgnored},
    {"duration", Field::kDuration, Need::kRequired},
    {"queue", Field::kQueue},
    {"gpu_time", Field::kIgnored},
};
constexpr ColumnSpec kOpenbColumns[] = {
    {"name", Field::kId},
    {"cpu_milli", Field::kCpuMilli},
    {"memory_mib", Field::kHostMemoryMib},
    {"num_gpu", Field::kGpus, Need::kRequired},
    {"gpu_milli", Field::kGpuMilli, Need::kRequired},
    {"gpu_spec", Field::kGpuModel},
    {"qos", Field::kApp},
    {"pod_phase", Field::kStatus},
    {"creation_time", Field::kSubmit, Need::kRequired},
    {"deletion_time", Field::kEnd, Need::kRequired},
    {"scheduled_time", Field::kStart, Need::kRequired},
};

std::span<const ColumnSpec> columns_of(TraceFormat format) {
  switch (format) {
    case TraceFormat::kSeptule:
      return kSeptuleColumns;
    case TraceFormat::kHelios:
      return kHeliosColumns;
    case TraceFormat::kAcmeSeren:
      return kSerenColumns;
    case TraceFormat::kAcmeKalos:
      return kKalosColumns;
    case TraceFormat::kOpenb:
      return kOpenbColumns;
    case TraceFormat::kPhilly:
    case TraceFormat::kSwf:
    case TraceFormat::kSacct:
      break;
  }
  return {};
}

/// Whether a row of our own without a duration never ran: of other states it may have.
bool is_status_of_no_run(std::string_view status) {
  return status == "pending" || status == "cancelled";
}

constexpr double kGibibyte = 1073741824.0;
constexpr double kMebibyte = 1048576.0;

/// A row's GPU columns, until both have been read.
struct RawRow {
  TraceRow row;
  std::optional<std::int64_t> gpu_milli;
};

class CsvTraceReader {
 public:
  CsvTraceReader(const InputText& input,
                 TraceFormat format,
                 std::span<const std::string> signatures)
      : input_(input),
        format_(format),
        specs_(columns_of(format)),
        phase_names_(phase_signature_names(signatures)),
        builder_(std::string(input.source_name)) {}

  Result<TraceImport> read() {
    const CsvLimits limits{.bytes_max = kTraceBytesMax, .rows_max = kTraceRowsMax + 1};
    SEPTULE_TRY_STATUS(visit_csv(input_, limits, [&](const CsvRow& row) -> Status {
      if (columns_.empty()) {
        return read_heading(row);
      }
      read_row(row);
      return {};
    }));
    return builder_.finish();
  }

 private:
  Status read_heading(const CsvRow& row) {
    std::vector<std::string> known;
    for (const ColumnSpec& spec : specs_) {
      known.push_back(lower_case(spec.name));
    }
    std::set<std::string> seen;
    for (const std::string& cell : row.cells) {
      const std::string name = lower_case(trimmed(cell));
      const auto at = std::ranges::find(known, name);
      if (!name.empty() && !seen.insert(name).second) {
        return input_error(input_.source_name,
                           row.line,
                           "",
                           fmt::format("the column {} is there twice", quoted_for_message(name)));
      }
      if (at == known.end()) {
        builder_.note(Kind::kUnknownColumn, row.line, quoted_for_message(name));
        columns_.push_back({});
      } else {
        columns_.push_back(specs_[static_cast<std::size_t>(at - known.begin())]);
      }
    }
    for (const ColumnSpec& spec : specs_) {
      const bool is_there = seen.contains(lower_case(spec.name));
      if (!is_there && spec.need == Need::kRequired) {
        return input_error(input_.source_name,
                           row.line,
                           "",
                           fmt::format("the heading has no column {}; a {} trace has {}",
                                       spec.name,
                                       trace_format_name(format_),
                                       fmt::join(trace_csv_columns(format_), ",")));
      }
      if (!is_there && spec.need != Need::kExtra && spec.field != Field::kIgnored) {
        builder_.note(Kind::kMissingColumn, row.line, fmt::format("{}", spec.name));
      }
    }
    return {};
  }

  void read_row(const CsvRow& row) {
    if (row.cells.size() != columns_.size()) {
      builder_.drop(Kind::kRaggedRow,
                    row.line,
                    fmt::format("{} cells, {} columns", row.cells.size(), columns_.size()));
      return;
    }
    RawRow raw;
    raw.row.job.line = row.line;
    std::vector<std::string> repairs;
    std::vector<std::size_t> extras;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view cell = trimmed(row.cells[i]);
      if (is_blank_cell(cell) || read_cell(columns_[i].field, cell, raw)) {
        continue;
      }
      if (columns_[i].need == Need::kExtra) {
        extras.push_back(i);
        continue;
      }
      std::string what = fmt::format("column {}: {}{}",
                                     columns_[i].name,
                                     quoted_for_message(cell, 40),
                                     expected_of(columns_[i].field));
      if (columns_[i].need == Need::kRequired) {
        builder_.drop(Kind::kUnreadableCell, row.line, what);
        return;
      }
      repairs.push_back(std::move(what));
    }
    for (const std::string& what : repairs) {
      builder_.note(Kind::kUnreadableDetail, row.line, what);
    }
    for (const std::size_t i : extras) {
      read_extra(columns_[i].field, trimmed(row.cells[i]), raw.row.job);
    }
    complete(raw);
    builder_.add(std::move(raw.row));
  }

  /// A cell of a column of kExtra. What is wrong with it is a finding of its own kind.
  void read_extra(Field field, std::string_view cell, TraceJob& job) {
    const auto note = [&](Kind kind, std::string_view what) {
      builder_.note(
          kind, job.line, fmt::format("job {}: {}", quoted_for_message(job.id, 40), what));
    };
    if (field == Field::kPriority) {
      job.priority = parse_priority(cell);
      if (!job.priority) {
        note(Kind::kBadPriority, quoted_for_message(cell, 40));
      }
      return;
    }
    Result<std::vector<TracePhase>> phases = parse_phases(cell, phase_names_);
    if (phases) {
      job.phases = std::move(*phases);
    } else {
      note(Kind::kBadPhases, phases.error().message);
    }
  }

  /// What follows from several columns.
  void complete(RawRow& raw) const {
    TraceJob& job = raw.row.job;
    if (raw.gpu_milli && job.gpus == GpuMilli(kGpuMilliWhole)) {
      job.gpus = GpuMilli(*raw.gpu_milli);  // a share; several GPUs are whole ones
    }
    const bool has_run = job.duration && *job.duration != Duration();
    if (format_ == TraceFormat::kSeptule) {
      raw.row.job.has_started = job.duration || !is_status_of_no_run(job.status);
    } else if (!raw.row.start && !has_run) {
      raw.row.job.has_started = false;
    }
  }

  template <class T>
  static bool store(std::optional<T>& place, std::optional<T> value) {
    place = std::move(value);
    return place.has_value();
  }

  static bool store_cpus(std::optional<double>& place, std::string_view cell, double unit) {
    const std::optional<double> number = parse_number(cell);
    constexpr double kCpusMax = 1e9;
    if (!number || *number < 0 || *number > kCpusMax) {
      return false;
    }
    place = *number * unit;
    return true;
  }

  /// What would be valid, where it is not plain from the name of the column.
  static std::string_view expected_of(Field field) {
    switch (field) {
      case Field::kDuration:
      case Field::kQueue:
        return ", expected seconds or [D-]HH:MM:SS";
      case Field::kSubmit:
      case Field::kStart:
      case Field::kEnd:
        return ", expected seconds, [D-]HH:MM:SS or a date with time";
      default:
        return "";
    }
  }

  /// False if the cell cannot be read.
  static bool read_cell(Field field, std::string_view cell, RawRow& raw) {
    TraceJob& job = raw.row.job;
    switch (field) {
      case Field::kSubmit:
        return store(raw.row.submit, parse_instant(cell));
      case Field::kStart:
        return store(raw.row.start, parse_instant(cell));
      case Field::kEnd:
        return store(raw.row.end, parse_instant(cell));
      case Field::kDuration:
        return store(job.duration, parse_run_time(cell));
      case Field::kQueue:
        return store(job.queue, parse_run_time(cell));
      case Field::kGpus:
        return store(job.gpus, parse_gpus(cell));
      case Field::kGpuMilli:
        return store(raw.gpu_milli, parse_integer(cell));
      case Field::kGpuMemory:
        return store(job.gpu_memory, parse_memory(cell, kGibibyte));
      case Field::kHostMemoryGib:
        return store(job.host_memory, parse_memory(cell, kGibibyte));
      case Field::kHostMemoryMib:
        return store(job.host_memory, parse_memory(cell, kMebibyte));
      case Field::kCpus:
        return store_cpus(job.cpus, cell, 1);
      case Field::kCpuMilli:
        return store_cpus(job.cpus, cell, 1e-3);
      case Field::kId:
      case Field::kGpuModel:
      case Field::kUser:
      case Field::kVc:
      case Field::kStatus:
      case Field::kApp:
        store_text(field, cell, job);
        return true;
      case Field::kIgnored:
        return true;
      case Field::kPriority:
      case Field::kPhases:
        return false;  // read_extra() does
    }
    return false;
  }

  static void store_text(Field field, std::string_view cell, TraceJob& job) {
    if (field == Field::kId) {
      job.id = cell;
    } else if (field == Field::kGpuModel) {
      job.gpu_model = cell;
    } else if (field == Field::kUser) {
      job.user = cell;
    } else if (field == Field::kVc) {
      job.vc = cell;
    } else if (field == Field::kStatus) {
      job.status = lower_case(cell);
    } else {
      job.app = cell;
    }
  }

  const InputText& input_;
  TraceFormat format_;
  std::span<const ColumnSpec> specs_;
  std::vector<std::string> phase_names_;  // ascending
  std::vector<ColumnSpec> columns_;       // in the order of the file
  TraceBuilder builder_;
};

}  // namespace

std::vector<std::string_view> trace_csv_columns(TraceFormat format) {
  std::vector<std::string_view> names;
  for (const ColumnSpec& spec : columns_of(format)) {
    if (spec.need != Need::kExtra) {
      names.push_back(spec.name);
    }
  }
  return names;
}

Result<TraceImport> read_csv_trace(const InputText& input,
                                   TraceFormat format,
                                   std::span<const std::string> signatures) {
  return CsvTraceReader(input, format, signatures).read();
}

}  // namespace septule::interop
