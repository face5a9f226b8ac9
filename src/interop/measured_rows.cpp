#include "interop/measured_rows.hpp"

#include <map>

#include <fmt/format.h>

#include "interop/input_text.hpp"
#include "interop/named_table.hpp"

namespace septule::interop {

namespace {

constexpr std::size_t kRowsMax = 100000;
constexpr int kIdMax = 1000000;

Result<MeasuredRow> read_row(const NamedTable& table,
                             std::size_t i,
                             const std::vector<bool>& is_filler) {
  MeasuredRow row;
  SEPTULE_TRY(const int index, table.integer(i, "row", 0, kIdMax));
  if (static_cast<std::size_t>(index) != i) {
    return table.error(i, "row", fmt::format("is {}; expected {} (in order)", index, i));
  }
  constexpr int kColumns = static_cast<int>(predict::kCoRunnersMax);
  SEPTULE_TRY(row.active, table.integer(i, "n_active", 1, kColumns));
  SEPTULE_TRY(row.measurement, table.integer(i, "measurement", 0, kIdMax));
  SEPTULE_TRY(row.mix, table.integer(i, "mix", 0, kIdMax));
  SEPTULE_TRY(row.fold, table.integer(i, "val5", 0, kMeasuredFolds - 1));
  const int class_last = static_cast<int>(is_filler.size()) - 1;
  int real = 0;
  for (std::size_t column = 0; column < row.classes.size(); ++column) {
    SEPTULE_TRY(row.classes[column], table.integer(i, fmt::format("c{}", column), 0, class_last));
    real += is_filler[static_cast<std::size_t>(row.classes[column])] ? 0 : 1;
  }
  if (real != row.active) {
    return table.error(
        i, "n_active", fmt::format("is {}; the classes name {} jobs", row.active, real));
  }
  return row;
}

}  // namespace

Result<std::vector<MeasuredRow>> read_measured_rows(const InputText& input,
                                                    const std::vector<bool>& is_filler) {
  SEPTULE_TRY(const NamedTable table, NamedTable::read(input, kRowsMax));
  if (table.size() == 0) {
    return input_error(input.source_name, 0, "", "no rows; expected a heading and a row each");
  }
  std::vector<MeasuredRow> rows;
  std::map<int, int> fold_of_mix;
  for (std::size_t i = 0; i < table.size(); ++i) {
    SEPTULE_TRY(const MeasuredRow row, read_row(table, i, is_filler));
    const int fold = fold_of_mix.try_emplace(row.mix, row.fold).first->second;
    if (fold != row.fold) {
      return table.error(i,
                         "val5",
                         fmt::format("is {}; mix {} was in fold {} before (a mix sits in one fold)",
                                     row.fold,
                                     row.mix,
                                     fold));
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace septule::interop
