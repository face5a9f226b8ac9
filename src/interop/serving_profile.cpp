#include "interop/serving_profile.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "gpu/profile.hpp"
#include "interop/input_text.hpp"
#include "interop/named_table.hpp"
#include "interop/serving_profile_formats.hpp"

namespace septule::interop {

namespace {

using Field = ProfileField;

bool has_columns(const NamedTable& table, std::span<const ProfileColumn> columns) {
  return std::ranges::all_of(columns, [&](const ProfileColumn& column) {
    return column.need == ProfileColumn::Need::kOptional || table.has_column(column.name);
  });
}

/// Our own form without a column or two is told from a stranger by these.
bool is_septule_heading(const NamedTable& table) {
  return table.has_column("throughput_rps") || table.has_column("latency_ms") ||
         table.has_column("slices");
}

Result<const ProfileTable*> table_of_heading(const NamedTable& table, std::string_view source) {
  for (const OtherTable& other : other_tables()) {
    if (table.has_column(other.column) &&
        (other.other_column.empty() || table.has_column(other.other_column))) {
      return input_error(source, 1, "", fmt::format("holds {}", other.what));
    }
  }
  for (const ProfileTable& known : profile_tables()) {
    if (has_columns(table, known.columns)) {
      return &known;
    }
  }
  const ProfileTable& own = profile_tables().back();
  for (const ProfileColumn& column : own.columns) {
    if (is_septule_heading(table) && column.need == ProfileColumn::Need::kRequired &&
        !table.has_column(column.name)) {
      return input_error(
          source, 1, "", fmt::format("the column {} is missing; a profile needs it", column.name));
    }
  }
  std::vector<std::string> names;
  for (const ProfileTable& known : profile_tables()) {
    names.emplace_back(known.name);
  }
  return input_error(source,
                     1,
                     "",
                     fmt::format("the heading is that of no known table of serving profiles; "
                                 "expected model,slices,batch,throughput_rps,latency_ms or one of "
                                 "{}",
                                 joined_with_and(names)));
}

/// Reads all rows of one text.
class ProfileReader {
 public:
  ProfileReader(const InputText& input, const NamedTable& cells, const ProfileTable& table)
      : input_(input), cells_(cells), table_(table) {}

  Result<ServingProfiles> read() {
    SEPTULE_TRY_STATUS(check_columns());
    ServingProfiles profiles;
    profiles.format = table_.format;
    profiles.source = input_.source_name;
    if (!table_.note.empty()) {
      profiles.notes.emplace_back(table_.note);
    }
    for (std::size_t row = 0; row < cells_.size(); ++row) {
      SEPTULE_TRY_STATUS(add(row));
    }
    drop_lower_ranks();
    for (const auto& [reason, count] : left_out_) {
      profiles.notes.push_back(
          fmt::format("{} {} left out: {}", count, count == 1 ? "row" : "rows", reason));
    }
    std::vector<ServingProfileRow> rows;
    for (Ranked& ranked : rows_) {
      rows.push_back(std::move(ranked.row));
    }
    if (rows.empty()) {
      return input_error(input_.source_name, 0, "", "holds no row of a profile");
    }
    SEPTULE_TRY(profiles.models, grouped_profiles(input_.source_name, std::move(rows)));
    return profiles;
  }

 private:
  struct Ranked {
    ServingProfileRow row;
    int rank = 0;
  };

  /// Our own form has no columns of others: one that is misspelt would be overlooked.
  Status check_columns() {
    for (std::size_t i = 0; i < cells_.columns().size(); ++i) {
      const std::string& name = cells_.columns()[i];
      const auto found = std::ranges::find(table_.columns, name, &ProfileColumn::name);
      if (found != table_.columns.end()) {
        present_.push_back(&*found);
        const auto earlier = cells_.columns().first(i);
        if (std::ranges::find(earlier, name) != earlier.end()) {
          return input_error(input_.source_name, 1, "", fmt::format("column {} twice", name));
        }
      } else if (table_.format == ServingProfileFormat::kSeptule) {
        std::vector<std::string> known;
        for (const ProfileColumn& column : table_.columns) {
          known.emplace_back(column.name);
        }
        return input_error(input_.source_name, 1, "", unknown_name_text("column", name, known));
      }
    }
    return {};
  }

  std::string_view column_of(Field field) const {
    const auto found = std::ranges::find(table_.columns, field, &ProfileColumn::field);
    return found == table_.columns.end() ? "latency" : found->name;
  }
  Error error(Field field, std::string_view what) const {
    return input_error(input_.source_name, line_, fmt::format("column {}", column_of(field)), what);
  }
  std::string_view cell(Field field) const { return use_[static_cast<std::size_t>(field)]; }

  void leave_out(std::string_view reason) {
    const auto found =
        std::ranges::find(left_out_, reason, &std::pair<std::string_view, int>::first);
    if (found == left_out_.end()) {
      left_out_.emplace_back(reason, 1);
    } else {
      ++found->second;
    }
  }

  Status add(std::size_t row) {
    line_ = cells_.line(row);
    std::vector<std::string> texts;
    texts.reserve(present_.size());  // the views below point into it
    use_ = {};
    for (const ProfileColumn* column : present_) {
      SEPTULE_TRY(std::string text, cells_.text(row, column->name));
      texts.push_back(std::move(text));
      if (column->field != Field::kUnused) {
        use_[static_cast<std::size_t>(column->field)] = texts.back();
      }
    }
    const ProfileRowUse use = use_of_row(table_.format, use_);
    if (!use.left_out.empty()) {
      leave_out(use.left_out);
      return {};
    }
    Ranked ranked;
    ranked.rank = use.rank;
    SEPTULE_TRY(ranked.row, read_row());
    rows_.push_back(std::move(ranked));
    return {};
  }

  Result<ServingProfileRow> read_row() const {
    ServingProfileRow out;
    out.line = line_;
    out.model = cell(Field::kModel);
    if (const std::string fault = name_fault(out.model); !fault.empty()) {
      return error(Field::kModel, fault);
    }
    out.gpu = cell(Field::kGpu).empty() ? table_.gpu : cell(Field::kGpu);
    out.source = !cell(Field::kSource).empty()
                     ? cell(Field::kSource)
                     : (table_.source.empty() ? input_.source_name : table_.source);
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

  Status read_figures(serve::ProfileRow& row) const {
    constexpr double kMillisecondsMax = kServingSecondsMax * 1e3;
    SEPTULE_TRY(const double latency_ms, number(Field::kLatency, kMillisecondsMax));
    row.latency = seconds_to_duration(latency_ms * 1e-3);
    if (row.latency <= Duration()) {
      return error(Field::kLatency, "is below a nanosecond");
    }
    if (table_.format == ServingProfileFormat::kMlPerf) {
      row.throughput_rps = 1e3 / latency_ms;
    } else {
      SEPTULE_TRY(row.throughput_rps, number(Field::kThroughput, kRateRpsMax));
    }
    row.meaning = table_.meaning;
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
    const auto column = std::ranges::find(table_.columns, field, &ProfileColumn::field);
    if (!value.has_value() && column != table_.columns.end() &&
        column->need == ProfileColumn::Need::kRequired) {
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

  static auto point_of(const Ranked& ranked) {
    const serve::ProfileRow& row = ranked.row.row;
    return std::tie(
        ranked.row.model, ranked.row.gpu, row.slices, row.batch, row.processes, row.share);
  }

  /// Of rows for one point keeps the ones of the greatest rank, in the order of the text.
  void drop_lower_ranks() {
    std::vector<const Ranked*> sorted;
    for (const Ranked& ranked : rows_) {
      sorted.push_back(&ranked);
    }
    std::ranges::stable_sort(sorted, [](const Ranked* a, const Ranked* b) {
      const auto left = point_of(*a);
      const auto right = point_of(*b);
      return left == right ? a->rank > b->rank : left < right;
    });
    std::vector<int> lines;
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      const Ranked& best = *sorted[i - 1];
      if (point_of(best) != point_of(*sorted[i])) {
        continue;
      }
      if (sorted[i]->rank < best.rank) {
        lines.push_back(sorted[i]->row.line);
        sorted[i] = sorted[i - 1];
      }
    }
    std::ranges::sort(lines);
    std::erase_if(rows_, [&](const Ranked& ranked) {
      const bool is_lower = std::ranges::binary_search(lines, ranked.row.line);
      if (is_lower) {
        leave_out("another row for the same point says more");
      }
      return is_lower;
    });
  }

  const InputText& input_;
  const NamedTable& cells_;
  const ProfileTable& table_;
  std::vector<const ProfileColumn*> present_;
  std::vector<Ranked> rows_;
  std::vector<std::pair<std::string_view, int>> left_out_;
  ProfileCells use_{};
  int line_ = 0;
};

}  // namespace

std::string_view serving_profile_format_name(ServingProfileFormat format) {
  const auto found = std::ranges::find(profile_tables(), format, &ProfileTable::format);
  SEPTULE_CHECK(found != profile_tables().end(), "a format is one of the enumerators");
  return found->name;
}

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

Result<std::vector<serve::ModelProfile>> grouped_profiles(std::string_view source_name,
                                                          std::vector<ServingProfileRow> rows) {
  std::vector<serve::ModelProfile> profiles;
  const auto point = [](const serve::ProfileRow& row) {
    return std::tuple(row.slices, row.batch, row.processes, row.share);
  };
  const auto owner = [](const ServingProfileRow& row) { return std::tie(row.model, row.gpu); };
  std::ranges::stable_sort(rows, [&](const ServingProfileRow& a, const ServingProfileRow& b) {
    return owner(a) != owner(b) ? owner(a) < owner(b) : point(a.row) < point(b.row);
  });
  std::vector<int> first_lines;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ServingProfileRow& row = rows[i];
    if (i > 0 && owner(rows[i - 1]) == owner(row) && point(rows[i - 1].row) == point(row.row)) {
      return input_error(source_name,
                         row.line,
                         "",
                         fmt::format("model {} has {}g, batch {}, {} processes and {} % already in "
                                     "line {}; expected each point once",
                                     quoted_for_message(row.model),
                                     row.row.slices.value(),
                                     row.row.batch,
                                     row.row.processes,
                                     row.row.share.value(),
                                     rows[i - 1].line));
    }
    if (i == 0 || owner(rows[i - 1]) != owner(row)) {
      profiles.push_back({.model = row.model, .gpu = row.gpu, .source = row.source});
      first_lines.push_back(row.line);
    }
    profiles.back().rows.push_back(row.row);
    first_lines.back() = std::min(first_lines.back(), row.line);
  }
  std::vector<std::size_t> order(profiles.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return first_lines[i]; });
  std::vector<serve::ModelProfile> ordered;
  for (const std::size_t i : order) {
    ordered.push_back(std::move(profiles[i]));
  }
  return ordered;
}

Result<ServingProfiles> parse_serving_profiles(const InputText& input) {
  SEPTULE_TRY(const NamedTable cells, NamedTable::read(input, kServingRowsMax));
  SEPTULE_TRY(const ProfileTable* table, table_of_heading(cells, input.source_name));
  return ProfileReader(input, cells, *table).read();
}

Result<const serve::ModelProfile*> find_profile(const ServingProfiles& profiles,
                                                std::string_view model,
                                                std::string_view gpu) {
  std::vector<const serve::ModelProfile*> found;
  std::vector<std::string> names;
  std::vector<std::string> gpus;
  for (const serve::ModelProfile& profile : profiles.models) {
    if (profile.model == model) {
      found.push_back(&profile);
      gpus.push_back(profile.gpu.empty() ? "a GPU not stated" : profile.gpu);
    } else if (std::ranges::find(names, profile.model) == names.end()) {
      names.push_back(profile.model);
    }
  }
  if (found.empty()) {
    return input_error(
        profiles.source, 0, "", unknown_name_text("model of a profile", model, names));
  }
  if (found.size() == 1) {
    return found.front();
  }
  for (const serve::ModelProfile* profile : found) {
    if (profile->gpu == gpu) {
      return profile;
    }
  }
  return input_error(profiles.source,
                     0,
                     "",
                     fmt::format("model {} has profiles of {}; say which GPU is meant",
                                 quoted_for_message(model),
                                 joined_with_and(gpus)));
}

}  // namespace septule::interop
