#include "report/table.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace septule::report {

namespace {

/// Code points of a UTF-8 text (continuation bytes are not counted).
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  SEPTULE_CHECK(!columns_.empty(), "a table has columns");
}

void Table::add_row(std::vector<std::string> cells) {
  SEPTULE_CHECK(cells.size() == columns_.size(), "a row has one cell per column");
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = width_of(columns_[i].title);
    for (const auto& row : rows_) {
      width = std::max(width, width_of(row[i]));
    }
    widths.push_back(width);
  }
  const auto line_of = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string padding(widths[i] - width_of(cell), ' ');
      line += i > 0 ? "  " : "";
      line += columns_[i].align == Align::kRight ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  };
  std::string out = line_of([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) {
    out += line_of([&](std::size_t i) -> const std::string& { return row[i]; });
  }
  return out;
}

}  // namespace septule::report
