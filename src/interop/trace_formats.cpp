#include "interop/trace_formats.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "interop/csv_reader.hpp"
#include "interop/input_text.hpp"
#include "interop/trace_readers.hpp"

namespace septule::interop {

namespace {

constexpr std::array<std::pair<TraceFormat, std::string_view>, kTraceFormatCount> kNames = {{
    {TraceFormat::kSeptule, "septule"},
    {TraceFormat::kPhilly, "philly"},
    {TraceFormat::kHelios, "helios"},
    {TraceFormat::kAcmeSeren, "acme-seren"},
    {TraceFormat::kAcmeKalos, "acme-kalos"},
    {TraceFormat::kOpenb, "openb"},
    {TraceFormat::kSwf, "swf"},
    {TraceFormat::kSacct, "sacct"},
}};

constexpr std::string_view kFormatsKnown =
    "septule, philly, helios, acme-seren, acme-kalos, openb, swf, sacct";

/// Fails for what is not text at all: archives are common here, and their bytes say nothing.
Status check_not_compressed(const InputText& input) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kMagics = {{
      {"\x1F\x8B", "gzip; run gunzip on it first"},
      {"PK\x03\x04", "a zip archive; unpack it first"},
      {"\x28\xB5\x2F\xFD", "zstd; run unzstd on it first"},
      {"\xFD"
       "7zXZ",
       "xz; run unxz on it first"},
      {"BZh", "bzip2; run bunzip2 on it first"},
  }};
  for (const auto& [magic, what] : kMagics) {
    if (input.text.starts_with(magic)) {
      return input_error(input.source_name, 0, "", fmt::format("is compressed with {}", what));
    }
  }
  return {};
}

/// The beginning of a text, whole lines of it, so that detection does not read a gigabyte.
std::string_view beginning_of(std::string_view text) {
  constexpr std::size_t kBytes = std::size_t{1} << 16U;
  if (text.size() <= kBytes) {
    return text;
  }
  const std::size_t end = text.rfind('\n', kBytes);
  return text.substr(0, end == std::string_view::npos ? kBytes : end + 1);
}

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

bool is_swf_line(std::string_view line) {
  int fields = 0;
  bool is_numeric = true;
  std::string_view rest = trimmed(line);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
    is_numeric = is_numeric && parse_number(rest.substr(0, end)).has_value();
    ++fields;
    rest = trimmed(rest.substr(end));
  }
  constexpr int kSwfFields = 18;
  return is_numeric && fields == kSwfFields;
}

std::vector<std::string> heading_cells(std::string_view line) {
  std::vector<std::string> cells;
  for (const std::string_view cell : split_outside_brackets(line, ',')) {
    std::string name = lower_case(trimmed(cell));
    std::erase(name, '"');
    cells.push_back(std::move(name));
  }
  return cells;
}

bool has_column(const std::vector<std::string>& heading, std::string_view name) {
  return std::ranges::find(heading, name) != heading.end();
}

/// The CSV format of which the heading has the most columns; of two, the one with fewer of its own
/// (Acme's two share theirs). More than half of a format's columns must be there, so that one
/// common name proves nothing; our own names are not used by others.
std::optional<TraceFormat> format_of_heading(const std::vector<std::string>& heading) {
  if (has_column(heading, "submit_s") || has_column(heading, "duration_s")) {
    return TraceFormat::kSeptule;
  }
  std::optional<TraceFormat> best;
  std::size_t best_shared = 0;
  std::size_t best_columns = 0;
  for (const auto& [format, name] : kNames) {
    const std::vector<std::string_view> columns = trace_csv_columns(format);
    const auto shared = static_cast<std::size_t>(std::ranges::count_if(
        columns, [&](std::string_view column) { return has_column(heading, lower_case(column)); }));
    const bool is_better =
        shared > best_shared || (shared == best_shared && columns.size() < best_columns);
    if (shared * 2 > columns.size() && is_better) {
      best = format;
      best_shared = shared;
      best_columns = columns.size();
    }
  }
  return best;
}

}  // namespace

std::string_view trace_format_name(TraceFormat format) {
  const auto* const found =
      std::ranges::find(kNames, format, &std::pair<TraceFormat, std::string_view>::first);
  SEPTULE_CHECK(found != kNames.end(), "a format is one of the enumerators");
  return found->second;
}

std::optional<TraceFormat> parse_trace_format(std::string_view text) {
  const auto* const found =
      std::ranges::find(kNames, text, &std::pair<TraceFormat, std::string_view>::second);
  return found == kNames.end() ? std::nullopt : std::optional(found->first);
}

Result<TraceFormat> detect_trace_format(const InputText& input) {
  SEPTULE_TRY_STATUS(check_not_compressed(input));
  const std::string_view text = trimmed(without_mark(beginning_of(input.text)));
  if (text.starts_with('[')) {
    return TraceFormat::kPhilly;
  }
  std::string_view line;
  for (const std::string_view one : split_lines(text)) {
    line = trimmed(one);
    if (line.starts_with(';')) {
      return TraceFormat::kSwf;
    }
    if (!line.empty()) {
      break;
    }
  }
  if (line.empty()) {
    return input_error(input.source_name, 0, "", "the text is empty");
  }
  if (is_swf_line(line)) {
    return TraceFormat::kSwf;
  }
  if (is_sacct_heading(line)) {
    return TraceFormat::kSacct;
  }
  if (lower_case(line).starts_with("jobid ")) {
    return input_error(input.source_name,
                       1,
                       "",
                       "this is what sacct prints for people, where long cells are cut; expected "
                       "that of sacct -P");
  }
  const std::vector<std::string> heading = heading_cells(line);
  if (const std::optional<TraceFormat> format = format_of_heading(heading)) {
    return *format;
  }
  if (heading == std::vector<std::string>{"sn", "cpu_milli", "memory_mib", "gpu", "model"}) {
    return input_error(input.source_name,
                       1,
                       "",
                       "this is openb's list of nodes; expected its list of pods "
                       "(openb_pod_list_default.csv)");
  }
  return input_error(
      input.source_name,
      1,
      "",
      fmt::format("the format is not clear from {}; say it with --format (known: {})",
                  quoted_for_message(line),
                  kFormatsKnown));
}

Result<TraceImport> import_trace(const InputText& input, const TraceImportOptions& options) {
  SEPTULE_CHECK(options.processors_per_gpu >= 1, "a GPU stands for one processor or more");
  SEPTULE_TRY_STATUS(check_not_compressed(input));
  std::optional<TraceFormat> format = options.format;
  if (!format) {
    SEPTULE_TRY(format, detect_trace_format(input));
  }
  Result<TraceImport> import = [&] {
    switch (*format) {
      case TraceFormat::kPhilly:
        return read_philly_trace(input);
      case TraceFormat::kSwf:
        return read_swf_trace(input, options.processors_per_gpu);
      case TraceFormat::kSacct:
        return read_sacct_trace(input);
      case TraceFormat::kSeptule:
      case TraceFormat::kHelios:
      case TraceFormat::kAcmeSeren:
      case TraceFormat::kAcmeKalos:
      case TraceFormat::kOpenb:
        break;
    }
    return read_csv_trace(input, *format, options.signatures);
  }();
  if (import && import->rows == 0) {
    return input_error(input.source_name, 0, "", "no jobs; expected one job or more");
  }
  return import;
}

bool is_blank_cell(std::string_view text) {
  const std::string_view cell = trimmed(text);
  return cell.empty() || cell == "None" || cell == "null" || cell == "NULL" || cell == "NaN" ||
         cell == "nan" || cell == "NaT" || cell == "N/A";
}

std::optional<Duration> parse_run_time(std::string_view text) {
  const std::optional<Duration> seconds = parse_seconds(text);
  return seconds ? seconds : parse_days_and_clock(text);
}

std::optional<Duration> parse_instant(std::string_view text) {
  const std::optional<Duration> since = parse_run_time(text);
  return since ? since : parse_timestamp(text);
}

std::optional<GpuMilli> parse_gpus(std::string_view text) {
  const std::optional<double> number = parse_number(text);
  if (!number) {
    return std::nullopt;
  }
  // Beyond the limit every value is refused alike, so it may be cut; a tiny share stays a share.
  const double most = 2.0 * static_cast<double>(kTraceGpusMax);
  const double milli = std::clamp(*number, -most, most) * static_cast<double>(kGpuMilliWhole);
  if (milli > 0) {
    return GpuMilli(std::max<std::int64_t>(1, std::llround(milli)));
  }
  return GpuMilli(milli < 0 ? std::min<std::int64_t>(-1, std::llround(milli)) : 0);
}

std::optional<Bytes> parse_memory(std::string_view text, double unit) {
  const std::optional<double> number = parse_number(text);
  if (!number) {
    return std::nullopt;
  }
  constexpr double kBytesMost = 1e18;  // far beyond what is accepted
  const double bytes = std::clamp(*number * unit, 0.0, kBytesMost);
  return Bytes(static_cast<std::uint64_t>(std::llround(bytes)));
}

Status visit_trace_lines(const InputText& input,
                         const std::function<Result<TraceLine>(int, std::string_view)>& visit) {
  SEPTULE_TRY(std::string_view text, checked_text(input, kTraceBytesMax));
  int line = 0;
  std::size_t rows = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view piece = trimmed(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
    if (piece.empty()) {
      continue;
    }
    SEPTULE_TRY(const TraceLine use, visit(line, piece));
    rows += use == TraceLine::kRow ? 1 : 0;
    if (rows > kTraceRowsMax) {
      return input_error(input.source_name,
                         line,
                         "",
                         fmt::format("more than {} rows; that is the limit", kTraceRowsMax));
    }
  }
  return {};
}

}  // namespace septule::interop
