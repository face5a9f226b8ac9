#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "interop/trace_formats.hpp"

// The readers behind import_trace(), one per family of formats.
namespace septule::interop {

/// The heading of a CSV format without its extras, or empty; for messages and detection.
std::vector<std::string_view> trace_csv_columns(TraceFormat format);

/// `signatures`: TraceImportOptions::signatures.
Result<TraceImport> read_csv_trace(const InputText& input,
                                   TraceFormat format,
                                   std::span<const std::string> signatures);
Result<TraceImport> read_philly_trace(const InputText& input);
Result<TraceImport> read_swf_trace(const InputText& input, std::int64_t processors_per_gpu);

Result<TraceImport> read_sacct_trace(const InputText& input);
/// Whether a line is a heading that sacct -P prints.
bool is_sacct_heading(std::string_view line);

/// What a line of a trace was: rows count against kTraceRowsMax.
enum class TraceLine { kRow, kOther };
/// Calls `visit(line number, text)` for each line that is not blank, trimmed. Fails where `visit`
/// fails, beyond kTraceRowsMax rows, and for a text that checked_text() refuses.
Status visit_trace_lines(const InputText& input,
                         const std::function<Result<TraceLine>(int, std::string_view)>& visit);

/// What cells say, the same way in each format. Nothing = not readable.
std::optional<GpuMilli> parse_gpus(std::string_view text);
/// Memory given in units of `unit` bytes; 0 and less becomes 0.
std::optional<Bytes> parse_memory(std::string_view text, double unit);
/// A length of time: seconds or [D-]HH:MM:SS.
std::optional<Duration> parse_run_time(std::string_view text);
/// An instant: a length of time since some origin, or a date with time.
std::optional<Duration> parse_instant(std::string_view text);
/// Whether a cell says nothing: empty, "None", "null", "NaN", "NaT", "N/A".
bool is_blank_cell(std::string_view text);

}  // namespace septule::interop
