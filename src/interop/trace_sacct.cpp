// Slurm's accounting as sacct -P prints it: a heading, then one job a line; cells stand between '|'
// and are never quoted.
#include <algorithm>
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

enum class Column {
  kId,
  kRawId,  // where there is no kId
  kSubmit,
  kStart,
  kEnd,
  kElapsedRaw,
  kElapsed,
  kAllocTres,
  kReqTres,
  kReqMem,
  kAllocCpus,
  kUser,
  kPartition,
  kState,
  kName,
};
constexpr std::array<std::pair<Column, std::string_view>, 15> kColumns = {{
    {Column::kId, "JobID"},
    {Column::kRawId, "JobIDRaw"},
    {Column::kSubmit, "Submit"},
    {Column::kStart, "Start"},
    {Column::kEnd, "End"},
    {Column::kElapsedRaw, "ElapsedRaw"},
    {Column::kElapsed, "Elapsed"},
    {Column::kAllocTres, "AllocTRES"},
    {Column::kReqTres, "ReqTRES"},
    {Column::kReqMem, "ReqMem"},
    {Column::kAllocCpus, "AllocCPUS"},
    {Column::kUser, "User"},
    {Column::kPartition, "Partition"},
    {Column::kState, "State"},
    {Column::kName, "JobName"},
}};
constexpr std::string_view kExpected =
    "JobID,User,Partition,State,Submit,Start,End,ElapsedRaw,AllocTRES,ReqMem";
constexpr std::size_t kCellsMax = 256;

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  std::size_t from = 0;
  // One more than is allowed tells a line of too many cells; what follows is not looked at.
  while (cells.size() <= kCellsMax) {
    const std::size_t end = std::min(line.find('|', from), line.size());
    cells.push_back(trimmed(line.substr(from, end - from)));
    if (end == line.size()) {
      break;
    }
    from = end + 1;
  }
  return cells;
}

bool is_blank(std::string_view cell) {
  return is_blank_cell(cell) || lower_case(cell) == "unknown";
}

/// "CANCELLED by 123" -> "cancelled".
std::string state_of(std::string_view cell) {
  std::string_view word = cell.substr(0, cell.find(' '));
  while (word.ends_with('+')) {
    word.remove_suffix(1);
  }
  return lower_case(word);
}

/// What a list of trackable resources ("cpu=8,gres/gpu:a100=2,mem=64G") says.
struct Tres {
  GpuMilli gpus;  // 0 = none are named
  std::string gpu_model;
  std::optional<double> cpus;
  std::optional<double> nodes;
  std::string_view memory;
};

/// Nothing if a number of GPUs cannot be read.
std::optional<Tres> tres_of(std::string_view text) {
  Tres tres;
  std::optional<GpuMilli> total;
  GpuMilli typed;
  for (const std::string_view item : split_outside_brackets(text, ',')) {
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string_view name = item.substr(0, equals);
    const std::string_view value = item.substr(std::min(equals + 1, item.size()));
    constexpr std::string_view kTyped = "gres/gpu:";
    if (name == "gres/gpu" || name.starts_with(kTyped)) {
      const std::optional<GpuMilli> count = parse_gpus(value);
      if (!count) {
        return std::nullopt;
      }
      if (name == "gres/gpu") {
        total = count;
      } else {
        typed = typed + *count;
        tres.gpu_model += tres.gpu_model.empty() ? "" : "|";
        tres.gpu_model += name.substr(kTyped.size());
      }
    } else if (name == "cpu") {
      tres.cpus = parse_number(value);
    } else if (name == "node") {
      tres.nodes = parse_number(value);
    } else if (name == "mem") {
      tres.memory = value;
    }
  }
  tres.gpus = total.value_or(typed);
  return tres;
}

/// "64G", "4000M", "512" (MiB); until Slurm 21.08 also for each CPU ("4Gc") or node ("64Gn").
/// Nothing if it cannot be read.
std::optional<Bytes> memory_of(std::string_view text, const Tres& tres) {
  std::optional<double> times = 1;
  if (text.ends_with('c') || text.ends_with('n')) {
    times = text.back() == 'c' ? tres.cpus : tres.nodes;
    text.remove_suffix(1);
  }
  constexpr std::string_view kUnits = "KMGTP";
  constexpr double kStep = 1024;
  double unit = kStep * kStep;
  const std::size_t at = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  if (at != std::string_view::npos) {
    unit = kStep;
    for (std::size_t i = 0; i < at; ++i) {
      unit *= kStep;
    }
    text.remove_suffix(1);
  }
  return times ? parse_memory(text, unit * *times) : std::nullopt;
}

class SacctReader {
 public:
  explicit SacctReader(const InputText& input)
      : input_(input), builder_(std::string(input.source_name)) {}

  Result<TraceImport> read() {
    const auto visit = [this](int line, std::string_view text) -> Result<TraceLine> {
      if (columns_ == 0) {
        SEPTULE_TRY_STATUS(read_heading(line, text));
        return TraceLine::kOther;
      }
      read_line(line, text);
      return TraceLine::kRow;
    };
    SEPTULE_TRY_STATUS(visit_trace_lines(input_, visit));
    return builder_.finish();
  }

 private:
  Status read_heading(int line, std::string_view text) {
    const std::vector<std::string_view> cells = cells_of(text);
    const auto refuse = [&](std::string_view what) {
      return input_error(
          input_.source_name,
          line,
          "",
          fmt::format("{}; expected the output of sacct -aXP --format={}", what, kExpected));
    };
    if (cells.size() > kCellsMax) {
      return refuse(fmt::format("more than {} columns", kCellsMax));
    }
    columns_ = cells.size();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string name = lower_case(cells[i]);
      const auto* const known = std::ranges::find_if(
          kColumns, [&](const auto& column) { return lower_case(column.second) == name; });
      if (known == kColumns.end()) {
        if (!name.empty()) {  // sacct -p ends each line with a '|'
          builder_.note(Kind::kUnknownColumn, line, quoted_for_message(name));
        }
        continue;
      }
      if (place_of(known->first)) {
        return refuse(fmt::format("the column {} is there twice", known->second));
      }
      place_of(known->first) = i;
    }
    for (const Column column : {Column::kUser, Column::kPartition, Column::kState}) {
      if (!has(column)) {
        builder_.note(Kind::kMissingColumn,
                      line,
                      fmt::format("{}", kColumns.at(static_cast<std::size_t>(column)).second));
      }
    }
    const char* missing = nullptr;
    if (!has(Column::kId) && !has(Column::kRawId)) {
      missing = "JobID";
    } else if (!has(Column::kSubmit)) {
      missing = "Submit";
    } else if (!has(Column::kStart)) {
      missing = "Start";
    } else if (!has(Column::kEnd) && !has(Column::kElapsedRaw) && !has(Column::kElapsed)) {
      missing = "End, ElapsedRaw or Elapsed";
    } else if (!has(Column::kAllocTres) && !has(Column::kReqTres)) {
      missing = "AllocTRES or ReqTRES";
    }
    return missing == nullptr ? Status()
                              : refuse(fmt::format("the heading has no column {}", missing));
  }

  std::optional<std::size_t>& place_of(Column column) {
    return places_.at(static_cast<std::size_t>(column));
  }
  bool has(Column column) const { return places_.at(static_cast<std::size_t>(column)).has_value(); }

  /// Empty if there is no such column or the cell says nothing.
  std::string_view cell(Column column) const {
    const std::optional<std::size_t> place = places_.at(static_cast<std::size_t>(column));
    return !place || is_blank(cells_[*place]) ? std::string_view() : cells_[*place];
  }

  void read_line(int line, std::string_view text) {
    cells_ = cells_of(text);
    if (cells_.size() != columns_) {
      builder_.drop(
          Kind::kRaggedRow, line, fmt::format("{} cells, {} columns", cells_.size(), columns_));
      return;
    }
    TraceRow row;
    row.job.line = line;
    row.job.id = has(Column::kId) ? cell(Column::kId) : cell(Column::kRawId);
    if (row.job.id.find('.') != std::string::npos) {
      builder_.drop(
          Kind::kJobStep, line, fmt::format("job {}", quoted_for_message(row.job.id, 40)));
      return;
    }
    row.job.user = cell(Column::kUser);
    row.job.vc = cell(Column::kPartition);
    row.job.app = cell(Column::kName);
    row.job.status = state_of(cell(Column::kState));
    if (read_times(row) && read_resources(row.job)) {
      judge_start(row);
      builder_.add(std::move(row));
    }
  }

  /// False if the row was dropped.
  bool read_times(TraceRow& row) {
    const auto read = [&](Column column, auto parse, std::optional<Duration>& place) {
      const std::string_view text = cell(column);
      if (text.empty()) {
        return true;
      }
      place = parse(text);
      return place.has_value() || drop_cell(column, row.job.line);
    };
    // Elapsed first: if both are there, ElapsedRaw says the same and replaces it.
    return read(Column::kSubmit, parse_instant, row.submit) &&
           read(Column::kStart, parse_instant, row.start) &&
           read(Column::kEnd, parse_instant, row.end) &&
           read(Column::kElapsed, parse_run_time, row.job.duration) &&
           read(Column::kElapsedRaw, parse_run_time, row.job.duration);
  }

  bool drop_cell(Column column, int line) {
    builder_.drop(Kind::kUnreadableCell,
                  line,
                  fmt::format("column {}: {}",
                              kColumns.at(static_cast<std::size_t>(column)).second,
                              quoted_for_message(cell(column), 40)));
    return false;
  }

  /// False if the row was dropped.
  bool read_resources(TraceJob& job) {
    const Column source = cell(Column::kAllocTres).empty() ? Column::kReqTres : Column::kAllocTres;
    Tres tres;
    if (!cell(source).empty()) {
      std::optional<Tres> read = tres_of(cell(source));
      if (!read) {
        return drop_cell(source, job.line);
      }
      tres = std::move(*read);
      job.gpus = tres.gpus;
      job.gpu_model = tres.gpu_model;
    }
    if (!tres.cpus) {
      tres.cpus = parse_number(cell(Column::kAllocCpus));
    }
    constexpr double kCpusMax = 1e9;
    if (tres.cpus && (*tres.cpus < 0 || *tres.cpus > kCpusMax)) {
      tres.cpus.reset();
    }
    job.cpus = tres.cpus;
    const std::string_view memory = tres.memory.empty() ? cell(Column::kReqMem) : tres.memory;
    if (!memory.empty()) {
      job.host_memory = memory_of(memory, tres);
      if (!job.host_memory) {
        builder_.note(Kind::kUnreadableDetail,
                      job.line,
                      fmt::format("job {}: host memory {}",
                                  quoted_for_message(job.id, 40),
                                  quoted_for_message(memory, 40)));
      } else if (job.host_memory == Bytes(0)) {
        job.host_memory.reset();  // all memory of the node, however much that is
      }
    }
    return true;
  }

  /// Whether it ran, and whether it still did.
  void judge_start(TraceRow& row) const {
    const std::optional<Duration>& run = row.job.duration;
    const bool has_run = run ? *run > Duration() : row.start && row.end && *row.start < *row.end;
    const bool has_ended_idle = !has_run && (run || row.end) && row.job.status == "cancelled";
    row.job.has_started = row.job.status != "pending" && (row.start || has_run) && !has_ended_idle;
    row.is_still_running = run && (row.job.status == "running" || row.job.status == "suspended" ||
                                   (has(Column::kEnd) && !row.end));
  }

  const InputText& input_;
  std::size_t columns_ = 0;  // of the heading; 0 = not seen yet
  std::array<std::optional<std::size_t>, kColumns.size()> places_;
  std::vector<std::string_view> cells_;  // of the row in progress
  TraceBuilder builder_;
};

}  // namespace

bool is_sacct_heading(std::string_view line) {
  bool has_id = false;
  const std::vector<std::string_view> cells = cells_of(line);
  for (const std::string_view cell : cells) {
    const std::string name = lower_case(cell);
    has_id = has_id || name == "jobid" || name == "jobidraw";
  }
  return has_id && cells.size() > 1;
}

Result<TraceImport> read_sacct_trace(const InputText& input) {
  return SacctReader(input).read();
}

}  // namespace septule::interop
