#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/text.hpp"
#include "support/read_file.hpp"

namespace septule::test {

/// Rows of a plain CSV file by heading; cells may be quoted, without quotes inside. For tests only.
inline std::vector<std::map<std::string, std::string>> csv_rows(const std::filesystem::path& path) {
  const auto cells_of = [](std::string_view line) {
    std::vector<std::string> cells(1);
    bool is_quoted = false;
    for (const char c : line) {
      if (c == '"') {
        is_quoted = !is_quoted;
      } else if (c == ',' && !is_quoted) {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    return cells;
  };
  const std::string text = read_file(path);
  std::vector<std::string> headings;
  std::vector<std::map<std::string, std::string>> rows;
  for (const std::string_view line : split_lines(text)) {
    const std::vector<std::string> cells = cells_of(line);
    if (headings.empty()) {
      headings = cells;
    } else if (!line.empty()) {
      std::map<std::string, std::string> row;
      for (std::size_t i = 0; i < headings.size() && i < cells.size(); ++i) {
        row[headings[i]] = cells[i];
      }
      rows.push_back(row);
    }
  }
  return rows;
}

/// A cell that holds a number.
inline double number_of(const std::map<std::string, std::string>& row, const std::string& name) {
  return checked_value(parse_number(row.at(name)), "the cell holds a number");
}

}  // namespace septule::test
