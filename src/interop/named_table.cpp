#include "interop/named_table.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

Result<NamedTable> NamedTable::read(const InputText& input, std::size_t rows_max) {
  NamedTable table;
  table.source_ = input.source_name;
  SEPTULE_TRY(table.rows_, read_csv(input, rows_max));
  if (table.rows_.empty()) {
    return input_error(input.source_name, 0, "", "holds no heading");
  }
  const std::size_t cells = table.rows_.front().cells.size();
  for (const CsvRow& row : table.rows_) {
    if (row.cells.size() != cells) {
      return input_error(input.source_name,
                         row.line,
                         "",
                         fmt::format("has {} cells; the heading has {}", row.cells.size(), cells));
    }
  }
  return table;
}

bool NamedTable::has_column(std::string_view column) const {
  return std::ranges::find(columns(), column) != columns().end();
}

Result<std::string> NamedTable::text(std::size_t row, std::string_view column) const {
  const auto& heading = rows_.front().cells;
  const auto found = std::ranges::find(heading, column);
  if (found == heading.end()) {
    return input_error(
        source_, rows_.front().line, "", fmt::format("has no column \"{}\"", column));
  }
  return rows_[row + 1].cells[static_cast<std::size_t>(found - heading.begin())];
}

Result<double> NamedTable::number(std::size_t row, std::string_view column) const {
  SEPTULE_TRY(const std::string cell, text(row, column));
  const std::optional<double> value = parse_number(cell);
  if (!value) {
    return error(row, column, fmt::format("{} is not a number", quoted_for_message(cell)));
  }
  return *value;
}

Result<int> NamedTable::integer(std::size_t row, std::string_view column, int min, int max) const {
  SEPTULE_TRY(const std::string cell, text(row, column));
  const std::optional<std::int64_t> value = parse_integer(cell);
  if (!value || *value < min || *value > max) {
    return error(row,
                 column,
                 fmt::format("{} is not valid; expected a whole number from {} to {}",
                             quoted_for_message(cell),
                             min,
                             max));
  }
  return static_cast<int>(*value);
}

Error NamedTable::error(std::size_t row, std::string_view column, std::string_view what) const {
  return input_error(source_, rows_[row + 1].line, column, what);
}

}  // namespace septule::interop
