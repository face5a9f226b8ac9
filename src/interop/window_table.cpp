#include "interop/window_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "interop/input_text.hpp"
#include "interop/job_rows.hpp"

namespace septule::interop {

namespace {

enum Extra : std::size_t {
  kUser,
  kTrust,
  kSolo,
  kKind,
  kKernel,
  kUsable,
  kSerial,
  kMemoryShare,
  kSmPercent,
  kMemoryPercent,
  kExtraCount
};
constexpr std::array<std::string_view, kExtraCount> kHeadings = {"user",
                                                                 "trust",
                                                                 "solo_s",
                                                                 "kind",
                                                                 "kernel_us",
                                                                 "w",
                                                                 "serial_share",
                                                                 "memory_share",
                                                                 "sm_percent",
                                                                 "memory_percent"};
constexpr std::array<predict::JobKind, 3> kKinds = {
    predict::JobKind::kInference, predict::JobKind::kTraining, predict::JobKind::kHpc};

/// What a number may be.
struct Range {
  double min = 0;
  double max = 1;
  bool is_min_valid = true;
  std::string_view expected;
};
constexpr Range kPercent{.min = 0, .max = 100, .expected = "0 to 100, or nothing"};
constexpr Range kShare{.min = 0, .max = 1, .expected = "a share of 0 to 1, or nothing"};
constexpr Range kPart{.min = 0,
                      .max = 1,
                      .is_min_valid = false,
                      .expected = "a part of the SMs above 0, at most 1, or nothing"};
constexpr Range kMicroseconds{
    .min = 0.001, .max = 1e9, .expected = "microseconds from 0.001 to 1000000000, or nothing"};
constexpr Range kSeconds{.min = kWindowSecondsMin,
                         .max = kWindowSecondsMax,
                         .expected = "seconds from 0.000001 to 315360000"};

/// Makes a WindowRow of one row's cells.
class RowReader {
 public:
  RowReader(const InputText& input, JobRow& row) : input_(input), row_(row) {}

  Result<WindowRow> read() {
    WindowRow out;
    out.line = row_.line;
    out.job.name = std::move(row_.job.name);
    out.job.memory = row_.job.memory;
    out.speed = std::move(row_.job.speed);
    out.has_speeds =
        std::any_of(out.speed.begin(), out.speed.end(), [](double speed) { return speed > 0; });
    SEPTULE_TRY(out.job.user, label(kUser));
    SEPTULE_TRY(out.job.trust, label(kTrust));
    if (cell(kSolo).empty()) {
      return error(kSolo, fmt::format("is missing or empty; expected {}", kSeconds.expected));
    }
    SEPTULE_TRY(const std::optional<double> solo, number(kSolo, kSeconds));
    out.job.solo = seconds_to_duration(solo.value_or(kWindowSecondsMin));
    SEPTULE_TRY(out.kind, kind());
    SEPTULE_TRY(const std::optional<double> kernel, number(kKernel, kMicroseconds));
    if (kernel.has_value()) {
      out.kernel = seconds_to_duration(*kernel * 1e-6);
    }
    SEPTULE_TRY(out.usable, number(kUsable, kPart));
    SEPTULE_TRY(out.serial_share, number(kSerial, kShare));
    SEPTULE_TRY(out.memory_share, number(kMemoryShare, kShare));
    if (out.serial_share.value_or(0) + out.memory_share.value_or(0) > 1) {
      return error(kMemoryShare,
                   fmt::format("{} beside a serial share of {} is more than the whole step; "
                               "expected a sum of 1 at most",
                               quoted_for_message(cell(kMemoryShare)),
                               cell(kSerial)));
    }
    SEPTULE_TRY(out.sm_percent, number(kSmPercent, kPercent));
    SEPTULE_TRY(out.memory_percent, number(kMemoryPercent, kPercent));
    return out;
  }

 private:
  std::string_view cell(Extra column) const { return row_.extra[column]; }
  Error error(Extra column, std::string_view what) const {
    return input_error(
        input_.source_name, row_.line, fmt::format("column {}", kHeadings[column]), what);
  }

  Result<std::string> label(Extra column) const {
    if (cell(column).empty()) {
      return std::string();
    }
    if (const std::string fault = name_fault(cell(column)); !fault.empty()) {
      return error(column, fault);
    }
    return std::string(cell(column));
  }

  Result<std::optional<double>> number(Extra column, const Range& range) const {
    if (cell(column).empty()) {
      return std::optional<double>();
    }
    const std::optional<double> value = parse_number(cell(column));
    const bool is_valid = value.has_value() && *value <= range.max &&
                          (range.is_min_valid ? *value >= range.min : *value > range.min);
    if (!is_valid) {
      return error(column,
                   fmt::format("{} is {}; expected {}",
                               quoted_for_message(cell(column)),
                               value.has_value() ? "out of range" : "not a number",
                               range.expected));
    }
    return std::optional<double>(*value + 0.0);
  }

  Result<predict::JobKind> kind() const {
    const std::string text = lower_case(cell(kKind));
    if (text.empty()) {
      return predict::JobKind::kUnknown;
    }
    std::vector<std::string> known;
    for (const predict::JobKind candidate : kKinds) {
      if (text == predict::job_kind_name(candidate)) {
        return candidate;
      }
      known.emplace_back(predict::job_kind_name(candidate));
    }
    return error(kKind, unknown_name_text("kind of job", cell(kKind), known));
  }

  const InputText& input_;
  JobRow& row_;
};

}  // namespace

Result<WindowTable> parse_window_table(const InputText& input, const gpu::Geometry& geometry) {
  SEPTULE_TRY(JobRows rows,
              read_job_rows(input,
                            geometry,
                            {.extra = kHeadings,
                             .speeds = JobRowsFormat::Speeds::kOptional,
                             .example = "name,user,memory_gib,solo_s,s7,s4,s3,s2,s1"}));
  if (rows.rows.size() > kWindowJobsMax) {
    return input_error(input.source_name,
                       rows.rows[kWindowJobsMax].line,
                       "the window",
                       fmt::format("has {} jobs; expected {} at most, taken from the head of the "
                                   "queue",
                                   rows.rows.size(),
                                   kWindowJobsMax));
  }
  WindowTable table;
  table.notes = std::move(rows.notes);
  for (JobRow& row : rows.rows) {
    SEPTULE_TRY(WindowRow read, RowReader(input, row).read());
    table.rows.push_back(std::move(read));
  }
  return table;
}

}  // namespace septule::interop
