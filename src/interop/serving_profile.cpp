#include "interop/serving_profile.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
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
    SEPTULE_TRY(ranked.row,
                read_profile_row({.source_name = input_.source_name,
                                  .line = line_,
                                  .place = "column ",
                                  .table = table_,
                                  .cells = use_}));
    rows_.push_back(std::move(ranked));
    return {};
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
    std::ranges::sort(sorted, [](const Ranked* a, const Ranked* b) {
      const auto left = point_of(*a);
      const auto right = point_of(*b);
      return left != right ? left < right
                           : std::pair(-a->rank, a->row.line) < std::pair(-b->rank, b->row.line);
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

Result<std::vector<serve::ModelProfile>> grouped_profiles(std::string_view source_name,
                                                          std::vector<ServingProfileRow> rows) {
  std::vector<serve::ModelProfile> profiles;
  const auto point = [](const serve::ProfileRow& row) {
    return std::tuple(row.slices, row.batch, row.processes, row.share);
  };
  const auto owner = [](const ServingProfileRow& row) { return std::tie(row.model, row.gpu); };
  std::ranges::sort(rows, [&](const ServingProfileRow& a, const ServingProfileRow& b) {
    return owner(a) != owner(b) ? owner(a) < owner(b)
                                : std::pair(point(a.row), a.line) < std::pair(point(b.row), b.line);
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
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(first_lines[i], i); });
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
                                 listed_names(gpus)));
}

}  // namespace septule::interop
