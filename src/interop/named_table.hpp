#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "interop/csv_reader.hpp"
#include "interop/limits.hpp"

namespace septule::interop {

/// A CSV text whose cells are asked for by name of column and number of row, the heading not
/// counted. Invariant: every row has as many cells as the heading. Errors are kInvalidInput and
/// name source, line and column. Immutable once read; any thread may ask.
class NamedTable {
 public:
  /// Fails for a text without a heading, a row of another number of cells, and more than
  /// `rows_max` rows.
  static Result<NamedTable> read(const InputText& input, std::size_t rows_max);

  std::size_t size() const { return rows_.size() - 1; }
  /// The heading's cells, in order.
  std::span<const std::string> columns() const { return rows_.front().cells; }
  bool has_column(std::string_view column) const;
  /// The line the row stands on. `row` < size().
  int line(std::size_t row) const { return rows_[row + 1].line; }

  /// The cell as it is; fails if there is no such column. `row` < size().
  Result<std::string> text(std::size_t row, std::string_view column) const;
  /// The cell as a finite number.
  Result<double> number(std::size_t row, std::string_view column) const;
  /// The cell as a whole number from `min` to `max`.
  Result<int> integer(std::size_t row, std::string_view column, int min, int max) const;
  /// `what` is wrong with a cell.
  Error error(std::size_t row, std::string_view column, std::string_view what) const;

 private:
  NamedTable() = default;

  std::string source_;
  std::vector<CsvRow> rows_;
};

}  // namespace septule::interop
