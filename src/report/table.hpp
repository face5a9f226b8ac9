#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace septule::report {

enum class Align { kLeft, kRight };

/// A table of text cells for people: columns two spaces apart, no trailing spaces, one line per
/// row. A missing figure is written "N/A" by whoever fills the cell. Value; no thread rule.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns);

  /// One cell per column.
  void add_row(std::vector<std::string> cells);
  bool is_empty() const { return rows_.empty(); }
  /// Header and rows, each line ended by a line feed. Cell width is counted in code points.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace septule::report
