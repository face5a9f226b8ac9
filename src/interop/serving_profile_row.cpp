// One row of a table of serving profiles.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "gpu/profile.hpp"
#include "interop/input_text.hpp"
#include "interop/serving_profile_formats.hpp"

namespace septule::interop {

namespace {

using Field = ProfileField;

class ProfileRowReader {
 public:
  explicit ProfileRowReader(const ProfileRowText& row) : row_(row) {}

  Result<ServingProfileRow> read() const {
    ServingProfileRow out;
    out.line = row_.line;
    out.model = cell(Field::kModel);
    if (const std::string fault = name_fault(out.model); !fault.empty()) {
      return error(Field::kModel, fault);
    }
    out.gpu = cell(Field::kGpu).empty() ? row_.table.gpu : cell(Field::kGpu);
    if (const std::string fault = name_fault(out.gpu); !out.gpu.empty() && !fault.empty()) {
      return error(Field::kGpu, fault);
    }
    out.source = !cell(Field::kSource).empty()
                     ? cell(Field::kSource)
                     : (row_.table.source.empty() ? row_.source_name : row_.table.source);
    if (!name_fault(out.source).empty()) {
      out.source = one_line(out.source);
    }
    const std::optional<ComputeSlices> slices = parse_slices(cell(Field::kSlices));
    if (!slices.has_value()) {
      return error(Field::kSlices,
                   fmt::format("{} is no number of compute slices; expected 1 to 16, \"2g\" or a "
                               "profile like \"2g.20gb\"",
                               quoted_for_message(cell(Field::kSlices))));
    }
    serve::ProfileRow& row = out.row;
    row.slices = *slices;
    SEPTULE_TRY(row.batch, whole(Field::kBatch, kBatchMax));
    SEPTULE_TRY(row.processes, whole(Field::kProcesses, kProcessesMax));
    constexpr int kPercent = 100;
    SEPTULE_TRY(const std::optional<int> share, optional_whole(Field::kShare, kPercent));
    row.share = ActiveThreadPercentage(share.value_or(kPercent));
    SEPTULE_TRY_STATUS(read_figures(row));
    SEPTULE_TRY(row.memory, memory());
    SEPTULE_TRY(row.is_suspect, suspect());
    return out;
  }

 private:
  std::string_view cell(Field field) const { return row_.cells[static_cast<std::size_t>(field)]; }
  const ProfileColumn* column_of(Field field) const {
    const auto found = std::ranges::find(row_.table.columns, field, &ProfileColumn::field);
    return found == row_.table.columns.end() ? nullptr : &*found;
  }
  Error error(Field field, std::string_view what) const {
    const ProfileColumn* column = column_of(field);
    return input_error(
        row_.source_name,
        row_.line,
        fmt::format("{}{}", row_.place, column == nullptr ? "latency" : column->name),
        what);
  }

  Status read_figures(serve::ProfileRow& row) const {
    constexpr double kMillisecondsMax = kServingSecondsMax * 1e3;
    SEPTULE_TRY(const double latency_ms, number(Field::kLatency, kMillisecondsMax));
    row.latency = seconds_to_duration(latency_ms * 1e-3);
    if (row.latency <= Duration()) {
      return error(Field::kLatency, "is below a nanosecond");
    }
    if (row_.table.format == ServingProfileFormat::kMlPerf) {
      row.throughput_rps = 1e3 / latency_ms;
    } else {
      SEPTULE_TRY(row.throughput_rps, number(Field::kThroughput, kRateRpsMax));
    }
    row.meaning = row_.table.meaning;
    if (!cell(Field::kMeaning).empty()) {
      const std::optional<serve::LatencyMeaning> meaning =
          serve::parse_latency_meaning(cell(Field::kMeaning));
      if (!meaning.has_value()) {
        return error(Field::kMeaning,
                     fmt::format("{} is not known; expected mean, p50, p90, p95, p99 or unstated",
                                 quoted_for_message(cell(Field::kMeaning))));
      }
      row.meaning = *meaning;
    }
    return {};
  }

  Result<std::optional<int>> optional_whole(Field field, int max) const {
    if (cell(field).empty()) {
      return std::optional<int>();
    }
    const std::optional<std::int64_t> value = parse_integer(cell(field));
    if (!value.has_value() || *value < 1 || *value > max) {
      return error(field,
                   fmt::format("{} is not valid; expected a whole number from 1 to {}",
                               quoted_for_message(cell(field)),
                               max));
    }
    return std::optional<int>(static_cast<int>(*value));
  }

  /// An absent column counts as 1, an empty cell of one that is needed does not.
  Result<int> whole(Field field, int max) const {
    SEPTULE_TRY(const std::optional<int> value, optional_whole(field, max));
    const ProfileColumn* column = column_of(field);
    if (!value.has_value() && column != nullptr && column->need == ProfileColumn::Need::kRequired) {
      return error(field, fmt::format("is empty; expected a whole number from 1 to {}", max));
    }
    return value.value_or(1);
  }

  /// Above 0.
  Result<double> number(Field field, double max) const {
    const std::optional<double> value = parse_number(cell(field));
    if (!value.has_value() || *value <= 0 || *value > max) {
      return error(field,
                   fmt::format("{} is not valid; expected a number above 0, at most {:.15g}",
                               quoted_for_message(cell(field)),
                               max));
    }
    return *value;
  }

  Result<std::optional<Bytes>> memory() const {
    constexpr double kGibibyte = 1073741824.0;
    constexpr double kMebibyte = 1048576.0;
    constexpr double kMebibytesPerGibibyte = 1024;
    if (!cell(Field::kMemoryGib).empty()) {
      SEPTULE_TRY(const double gib, number(Field::kMemoryGib, kMemoryGibibytesMax));
      return std::optional(Bytes(static_cast<std::uint64_t>(std::llround(gib * kGibibyte))));
    }
    if (!cell(Field::kMemoryMib).empty()) {
      SEPTULE_TRY(const double mib,
                  number(Field::kMemoryMib, kMemoryGibibytesMax * kMebibytesPerGibibyte));
      return std::optional(Bytes(static_cast<std::uint64_t>(std::llround(mib * kMebibyte))));
    }
    return std::optional<Bytes>();
  }

  Result<bool> suspect() const {
    const std::string_view text = cell(Field::kSuspect);
    if (text.empty() || text == "0") {
      return false;
    }
    if (text == "1") {
      return true;
    }
    return error(Field::kSuspect,
                 fmt::format("{} is not valid; expected 0 or 1", quoted_for_message(text)));
  }

  const ProfileRowText& row_;
};

}  // namespace

std::optional<ComputeSlices> parse_slices(std::string_view text) {
  constexpr int kSlicesMax = 16;
  std::optional<std::int64_t> slices = parse_integer(text);
  if (!slices.has_value() && text.ends_with('g')) {
    slices = parse_integer(text.substr(0, text.size() - 1));
  }
  if (!slices.has_value()) {
    if (const std::optional<gpu::ProfileNameParts> parts = gpu::parse_profile_name(text)) {
      slices = parts->gpu.value();
    }
  }
  if (!slices.has_value() || *slices < 1 || *slices > kSlicesMax) {
    return std::nullopt;
  }
  return ComputeSlices(static_cast<int>(*slices));
}

Result<ServingProfileRow> read_profile_row(const ProfileRowText& row) {
  return ProfileRowReader(row).read();
}

}  // namespace septule::interop
