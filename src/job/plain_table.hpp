#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace septule::job {

/// One row of a PlainTable: its line in the file (from 1) and one cell per heading, trimmed.
struct PlainRow {
  int line = 0;
  std::vector<std::string_view> cells;
};

/// A cell as it is named in messages: the file's row and a column.
struct CellPlace {
  int line = 0;
  std::string_view column;
};

/// The text form of the tables of this layer (docs/formats.md, "Tables of jobs"): a first line
/// "# FORMAT", comments and facts ("# gpu: A100-40GB") behind '#', a heading, rows of cells
/// separated by commas, no quoting. Views into the text given to parse(), which must outlive it.
/// Limits: kTextBytesMax, kColumnsMax, the number of rows asked for. A value; any thread.
class PlainTable {
 public:
  static constexpr std::size_t kTextBytesMax = std::size_t{1} << 20U;
  static constexpr std::size_t kColumnsMax = 64;

  struct Options {
    std::string_view source_name;
    std::string_view format;  ///< "septule-signatures/1"
    std::size_t rows_max = 10000;
  };
  /// Fails with kInvalidInput naming source and line.
  static Result<PlainTable> parse(std::string_view text, const Options& options);

  const std::vector<std::string_view>& headings() const { return headings_; }
  const std::vector<PlainRow>& rows() const { return rows_; }
  int heading_line() const { return heading_line_; }
  /// Index of the column with this heading.
  std::optional<std::size_t> column(std::string_view heading) const;
  /// The value of "# name: value"; empty if there is none.
  std::string_view fact(std::string_view name) const;

  /// "SOURCE:LINE: column NAME: what"; without the parts that are 0 or empty.
  Error error(const CellPlace& place, std::string_view what) const;
  /// The cell as a number within limits; nothing if the cell is empty.
  struct Range {
    double min = 0;
    double max = 0;
  };
  Result<std::optional<double>> number(const PlainRow& row,
                                       std::size_t column,
                                       const Range& range) const;
  /// The same for a cell that must not be empty.
  Result<double> required_number(const PlainRow& row, std::size_t column, const Range& range) const;
  Result<int> required_integer(const PlainRow& row, std::size_t column, const Range& range) const;

 private:
  Status read_comment(std::string_view line);
  Status read_heading(std::string_view line, int number);
  Status read_row(std::string_view line, int number);

  std::string source_name_;
  std::vector<std::pair<std::string_view, std::string_view>> facts_;
  std::vector<std::string_view> headings_;
  int heading_line_ = 0;
  std::vector<PlainRow> rows_;
};

}  // namespace septule::job
